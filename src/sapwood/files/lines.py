"""Lines of a JSON Lines file to values, and back: pure functions, no files.

::

    subscription:  {"id": "s1", "filter": "price > 10", "home": "r7"}
                   {"id": "s2", "xpath": "//body[headline]//p", "home": "r2"}
                   {"id": "s3", "filter": {"state": ["open"]}, "dialect": "sns"}
    publication:   {"id": "p1", "attributes": {"price": 12}, "home": "r1"}
                   {"id": "p2", "document": "<nitf>...</nitf>", "home": "r1"}

A subscription has a filter (in another `dialect`, where that is named) or an XPath (with
`namespaces`, prefix to namespace, where names compare expanded), a publication a record, a document
or both. `home` may be left out, and a key whose value is `null` counts as left out. Further keys
are the user's own and ignored, but for those that would be a wrong delivery later: a misspelled key
(`hom`), a key of the other kind of line, and a name that stands twice in one object (JSON readers
keep one of the two, and which one is chance).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from sapwood.errors import FilterSyntaxError, InputError, InvalidValueError
from sapwood.files.flat_lines import decode_flat_line
from sapwood.language.dialects import DIALECTS
from sapwood.language.written import Language, Written, as_given, read_advertised, read_interest
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.envelope import Envelope, enveloped
from sapwood.model.interest import Interest
from sapwood.model.json_objects import check_members, decode_flat, decode_object, kind_of
from sapwood.model.publication import Publication, plain_value
from sapwood.model.subscription import Subscription
from sapwood.xml.encodings import decode_text, encode_text

SUBSCRIPTION_KEYS: Final = ("id", "filter", "dialect", "xpath", "namespaces", "home")
ADVERTISEMENT_KEYS: Final = ("id", "filter", "dialect", "xpath", "namespaces", "paths", "home")
PUBLICATION_KEYS: Final = ("id", "attributes", "document", "payload", "blind", "ttl", "home")

_EXAMPLES: Final[Mapping[Language, str]] = MappingProxyType(
    {"filter": "price > 10", "xpath": "//body[headline]//p", "paths": "/news/body(/list)+/p"}
)

T = TypeVar("T")

_MISSPELLED: Final = 0.8
"""The least likeness (`difflib`'s ratio) of a key to a missing one to be taken for it."""


@dataclass(frozen=True, slots=True)
class PublicationLine:
    """A publication and, where the line names it, the home router of its publisher."""

    publication: Publication
    home: str | None


@dataclass(frozen=True, slots=True)
class AdvertisementLine:
    """Advertised content under an id, and the home router of its publisher if named."""

    id: str
    filter: AdvertisedContent
    home: str | None


class SubscriptionText(NamedTuple):
    """A subscription line; the text of its interest is not parsed yet."""

    id: str
    interest: Written
    home: str | None


def decode_subscription(line: bytes, dialect: str | None = None) -> Subscription:
    """The subscription on one line; a filter that names no dialect is in the one given.

    Raises `InputError` (`FilterSyntaxError` with the position for a malformed filter,
    `LimitError` for one that is too large) with the fault and the remedy.
    """
    id_, written, home = split_subscription(line, dialect)
    return Subscription(id_, read_member(written), home)


def split_subscription(line: bytes, dialect: str | None = None) -> SubscriptionText:
    """As `decode_subscription`, without reading the filter, which costs the most by far."""
    members = _members(line, "subscription", SUBSCRIPTION_KEYS)
    id_ = _id(members, "subscription")
    return SubscriptionText(id_, _written(members, dialect=dialect), _home(members))


def read_member(written: Written) -> Interest:
    """The interest of a subscription; errors as `decode_subscription`, naming the member."""
    return _named(read_interest, written)


def _named(read: Callable[[Written], T], written: Written) -> T:
    """The parsed interest; a syntax error names the member."""
    try:
        return read(written)
    except FilterSyntaxError as error:
        reason = f"{written.language}: {error.reason}"
        raise FilterSyntaxError(error.text, error.position, reason) from None


def decode_advertisement(line: bytes) -> AdvertisementLine:
    """The advertisement on one line; errors as `decode_subscription`."""
    members = _members(line, "advertisement", ADVERTISEMENT_KEYS)
    id_, written = _id(members, "advertisement"), _written(members, ("filter", "xpath", "paths"))
    return AdvertisementLine(id_, _named(read_advertised, written), _home(members))


def decode_publication(line: bytes) -> PublicationLine:
    """The publication on one line, and its home; a document has been read.

    The common line is judged by the decoder alone, and any other one is looked at closely.

    Raises `InputError` (`InvalidValueError` with the attribute's name for a value no record may
    hold, `DocumentError` for a document that is none) with the fault and the remedy.
    """
    flat = decode_flat_line(line)
    if flat is not None:
        return PublicationLine(Publication.of_flat(flat.id, flat.attributes), flat.home)
    members = _members(line, "publication", PUBLICATION_KEYS)
    if members.keys().isdisjoint(PUBLICATION_KEYS):
        raise InputError(
            'a publication needs an "id", as in {"id": "p1", "attributes": {...}}; for records '
            "by themselves name the member that is their id, with --id"
        )
    id_ = _id(members, "publication")
    attributes, text = members.get("attributes"), members.get("document")
    if attributes is None and text is None and members.get("payload") is None:
        raise InputError(
            'a publication needs "attributes", an object of named values, or a "document"'
        )
    if attributes is not None and not isinstance(attributes, dict):
        raise InputError(f'"attributes" is {kind_of(attributes)}; it must be an object')
    if text is not None and not isinstance(text, str):
        raise InputError(f'"document" is {kind_of(text)}; write the XML as text')
    document = None if text is None else encode_text(text)
    payload, is_blind = _payload(members.get("payload")), members.get("blind", False)
    if not isinstance(is_blind, bool):
        raise InputError(f'"blind" is {kind_of(is_blind)}; it is true or false')
    envelope = _envelope(members.get("ttl"))
    publication = Publication(
        id_, attributes, document, payload, is_blind=is_blind, envelope=envelope
    )
    publication.read_document()
    return PublicationLine(publication, _home(members))


def _envelope(written: object) -> Envelope | None:
    """The envelope of a time to live, in seconds."""
    if written is None:
        return None
    if isinstance(written, bool) or not isinstance(written, int | float):
        raise InputError(f'"ttl" is {kind_of(written)}; it is a number of seconds')
    return enveloped(written)


def _payload(written: object) -> bytes | None:
    """The bytes that a text in base64 stands for."""
    if written is None:
        return None
    try:
        return msgspec.convert(written, bytes)
    except msgspec.ValidationError:
        raise InputError('"payload" is no base64; write the bytes as text in base64') from None


def decode_record(line: bytes, id_member: str) -> PublicationLine:
    """The publication on a line that is a record by itself.

    Its id is the member of that name, a text or an integer, which is no attribute then. Errors as
    `decode_publication`.
    """
    record: dict[str, Any] | None = decode_flat(line)
    if record is None:
        record = decode_object(line, "record")
        check_members(line, record)
    id_ = record.pop(id_member, None)
    if id_ is None:
        raise InputError(f'the record has no "{id_member}", which is to be its id')
    if isinstance(id_, int) and not isinstance(id_, bool):
        id_ = str(id_)
    if not isinstance(id_, str) or not id_:
        what = "an empty text" if id_ == "" else kind_of(id_)
        raise InputError(f'"{id_member}" is {what}; an id is a text or an integer')
    return PublicationLine(Publication(id_, record), None)


def encode_subscription(subscription: Subscription) -> bytes:
    """The line, without its end, that `decode_subscription` reads back as an equal value."""
    written = as_given(subscription.filter)
    members: dict[str, Any] = {"id": subscription.id, written.language: written.text}
    if written.namespaces is not None:
        members["namespaces"] = written.namespaces
    if subscription.home is not None:
        members["home"] = subscription.home
    return msgspec.json.encode(members)


def encode_publication(publication: Publication, home: str | None = None) -> bytes:
    """The line, without its end, that `decode_publication` reads back as an equal value.

    A document that is not UTF-8 is turned into it, and its declaration names no encoding any more.
    Raises `InvalidValueError` for an infinite number, which a record may hold and JSON may not.
    """
    members: dict[str, Any] = {"id": publication.id}
    if publication.attributes is not None:
        members["attributes"] = publication.attributes
    if publication.document is not None:
        members["document"] = decode_text(publication.document)
    if publication.payload is not None:
        members["payload"] = publication.payload  # in base64
    if publication.is_blind:
        members["blind"] = True
    if publication.envelope is not None and publication.envelope.ttl_ms is not None:
        members["ttl"] = publication.envelope.ttl_ms / 1000
    if home is not None:
        members["home"] = home
    line = msgspec.json.encode(members, enc_hook=_plain)
    if b"null" in line:  # The encoder writes a number that JSON cannot represent as null.
        _check_finite(publication.attributes)
    return line


def _members(line: bytes, what: str, known: tuple[str, ...]) -> dict[str, Any]:
    """The members of the object on `line`, none misspelled and none given twice."""
    members = decode_object(line, what)
    if not members.keys() <= set(known):
        _refuse_unknown(members, what, known)
    check_members(line, members)
    return members


def _written(
    members: dict[str, Any],
    languages: tuple[Language, ...] = ("filter", "xpath"),
    *,
    dialect: str | None = None,
) -> Written:
    """The filter text in the members of a subscription or an advertisement, not parsed."""
    given = [language for language in languages if members.get(language) is not None]
    if not given:
        raise InputError(
            'a subscription needs a "filter" or an "xpath"; the filter "true" accepts every record'
        )
    if len(given) > 1:
        raise InputError('a subscription has a "filter" or an "xpath", not both; make it two')
    language = given[0]
    text, namespaces = members[language], members.get("namespaces")
    named = members.get("dialect")
    if named is not None and (language != "filter" or not isinstance(named, str)):
        raise InputError('a "dialect" is the name of the one that a "filter" is in, as text')
    dialect = named or dialect if language == "filter" else None
    if isinstance(text, dict) and dialect is not None and DIALECTS.named(dialect).is_json:
        text = msgspec.json.encode(text).decode()
    if not isinstance(text, str):
        like = _EXAMPLES[language]
        raise InputError(f'"{language}" is {kind_of(text)}; write it as text, like "{like}"')
    if namespaces is None:
        return Written(language, text, dialect=dialect)
    if language != "xpath":
        raise InputError('"namespaces" belong to an "xpath"; leave them out')
    if not isinstance(namespaces, dict) or not all(
        isinstance(namespace, str) for namespace in namespaces.values()
    ):
        raise InputError('"namespaces" must be an object of prefixes and their namespaces, as text')
    return Written(language, text, tuple(sorted(namespaces.items())))


def _id(members: dict[str, Any], what: str) -> str:
    id_ = members.get("id")
    if id_ is None:
        raise InputError(f'a {what} needs an "id": a text of its own')
    if not isinstance(id_, str):
        raise InputError(f'"id" is {kind_of(id_)}; write it as text, in quotes')
    if not id_:
        raise InputError(f'"id" is empty; give each {what} an id of its own')
    return id_


def _home(members: dict[str, Any]) -> str | None:
    home = members.get("home")
    if home is None:
        return None
    if not isinstance(home, str):
        raise InputError(f'"home" is {kind_of(home)}; write the name of a router, as text')
    if not home:
        raise InputError('"home" is empty; name a router, or leave "home" out')
    return home


def _refuse_unknown(members: dict[str, Any], what: str, known: tuple[str, ...]) -> None:
    """Raise for the first key that is a misspelled one, or one of another kind of line."""
    for key, value in members.items():
        if key in known or value is None:
            continue
        if key in SUBSCRIPTION_KEYS or key in PUBLICATION_KEYS:
            raise InputError(f"unknown key {key!r}; a {what} has {', '.join(known)}")
        near = get_close_matches(key, known, n=1, cutoff=_MISSPELLED)
        if near and near[0] not in members:
            raise InputError(f"unknown key {key!r}; did you mean {near[0]!r}?")


def _plain(value: object) -> object:
    """A mapping, or a value, of any kind as one of the kinds that the encoder knows."""
    if isinstance(value, Mapping):
        return dict(value)
    plain = plain_value(value)
    if plain is not value:
        return plain
    raise InvalidValueError("attributes", f"{kind_of(value)} cannot be written as JSON")


def _check_finite(value: object) -> None:
    value = plain_value(value)
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidValueError("attributes", f"{value} cannot be written as JSON; leave it out")
    if isinstance(value, Mapping):
        for member in value.values():
            _check_finite(member)
    elif isinstance(value, list | tuple):
        for element in value:
            _check_finite(element)
