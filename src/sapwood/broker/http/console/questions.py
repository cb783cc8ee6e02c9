"""Questions of the console's viewers: a filter, and a publication to be explained."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta, Struct

from sapwood.asking.answers import Asked
from sapwood.errors import FilterSyntaxError, InputError
from sapwood.language.explanation_words import explanation_lines, explanation_members
from sapwood.language.explanations import explain
from sapwood.language.written import Written, read_interest
from sapwood.limits import FILTER_STEPS_AT_ONCE, NAME_CHARS_MAX
from sapwood.model.interest import Interest
from sapwood.model.json_objects import check_members, decode_object
from sapwood.model.publication import Publication
from sapwood.xml.encodings import encode_text

_GIVEN: Final = "given"
"""The id of the publication in a question."""

_Name = Annotated[str, Meta(max_length=NAME_CHARS_MAX)]


class Asking(Struct, forbid_unknown_fields=True):
    """A question as it travels: about the subscriptions to a filter, of a client, of a name.

    With `alone`, it is whether the filter accepts the publication, without a subscription.
    """

    filter: str = ""
    xpath: str = ""
    client: _Name = ""
    durable: _Name = ""
    publication: str = ""
    source: _Name = ""
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """A question to brokers; or to none, where only a filter (`alone`) is explained."""

    asked: Asked
    alone: bool


def written_in(given: Mapping[str, str]) -> Written:
    """The filter of a request. Raises `InputError` unless there is one of the two kinds."""
    text, xpath = given.get("filter", ""), given.get("xpath", "")
    if bool(text) == bool(xpath):
        raise InputError("give a filter for records, or an xpath for documents")
    return Written("filter", text) if text else Written("xpath", xpath)


def interest_in(written: Written) -> Interest:
    """The filter, if a broker can parse it at once. Raises `InputError`."""
    return read_interest(written, steps_max=FILTER_STEPS_AT_ONCE)


def question_in(body: bytes) -> Question:
    """The question in a body. Raises `InputError` for an invalid one."""
    try:
        asking = msgspec.json.decode(body, type=Asking)
    except (msgspec.DecodeError, msgspec.ValidationError, RecursionError) as error:
        raise InputError(f"the question is not understood: {error}") from None
    interest = None
    if asking.filter or asking.xpath:
        given = {"filter": asking.filter, "xpath": asking.xpath}
        try:
            interest = interest_in(written_in(given))
        except FilterSyntaxError as error:
            raise InputError(f"the filter: {error}") from None
    publication = publication_in(asking.publication) if asking.publication.strip() else None
    if asking.alone and (interest is None or publication is None):
        raise InputError("give a filter and a publication")
    if interest is None and not asking.client and not asking.durable:
        raise InputError("name what to look for: a filter, a client or a durable subscription")
    asked = Asked(interest, asking.client, asking.durable, publication, asking.source or None)
    return Question(asked, asking.alone)


def publication_in(text: str) -> Publication:
    """A record as JSON, or a document as XML. Raises `InputError`."""
    if text.lstrip().startswith("<"):
        made = Publication(_GIVEN, document=encode_text(text))
        made.read_document()
        return made
    line = text.encode(errors="surrogatepass")
    members = decode_object(line, "record")
    check_members(line, members)
    return Publication(_GIVEN, members)


def matched(question: Question) -> dict[str, Any]:
    """The explanation of whether the filter accepts the publication."""
    asked = question.asked
    assert asked.interest is not None, "a question about a filter has one"
    assert asked.publication is not None, "a question about a filter has a publication"
    found = explain(asked.interest, asked.publication)
    return {"match": explanation_members(found), "lines": [explanation_lines(found)]}
