"""Filters as parts of messages.

Clients write them as canonical text, with the language where that is not the first. Brokers send
each other a record filter as the bytes of its normal form (`sapwood.model.packing`), so that no
broker prints, parses and normalizes it again; a filter that has no bytes, or more than a text may
have, travels as its text between brokers, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeAlias

from msgspec import Struct

from sapwood.errors import LimitError
from sapwood.language.interests import Interests
from sapwood.language.written import Language, Written, canonical, read_advertised, read_interest
from sapwood.limits import (
    ADVERTISEMENT_TEXT_CHARS_MAX,
    FILTER_TEXT_CHARS_MAX,
    NORMAL_FORM_STEPS_MAX,
    XPATH_TEXT_CHARS_MAX,
)
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.filter import Filter
from sapwood.model.interest import Interest
from sapwood.model.packing import checked


class XPathText(Struct, array_like=True, frozen=True, tag="xpath"):
    """A tree pattern as an XPath; `bindings` are its prefixes and their namespaces."""

    text: str
    bindings: tuple[tuple[str, str], ...] | None = None


class PathsText(Struct, array_like=True, frozen=True, tag="paths"):
    """The paths that a publisher's documents have."""

    text: str


InterestText: TypeAlias = str | XPathText
"""The wire form of an interest: the text of a record filter, and a struct for other languages."""

AdvertisedText: TypeAlias = str | XPathText | PathsText
"""The wire form of advertised content."""

InterestForm: TypeAlias = bytes | str | XPathText
"""The form of an interest between brokers: the bytes of a record filter, or a text without bytes.
"""

AdvertisedForm: TypeAlias = bytes | str | XPathText | PathsText
"""The form of advertised content between brokers."""

_BOUNDS: Final[Mapping[Language, tuple[str, int]]] = MappingProxyType(
    {
        "filter": ("FILTER_TEXT_CHARS_MAX", FILTER_TEXT_CHARS_MAX),
        "xpath": ("XPATH_TEXT_CHARS_MAX", XPATH_TEXT_CHARS_MAX),
        "paths": ("ADVERTISEMENT_TEXT_CHARS_MAX", ADVERTISEMENT_TEXT_CHARS_MAX),
    }
)


def to_text(interest: Interest) -> InterestText:
    """The canonical text of an interest.

    Raises `LimitError` for a text that is longer than the other end accepts.
    """
    text = advertised_to_text(interest)
    assert not isinstance(text, PathsText), "an interest is no set of paths"
    return text


def advertised_to_text(advertised: AdvertisedContent) -> AdvertisedText:
    """The wire form of advertised content: its canonical text; errors as `to_text`."""
    language, text, bindings, _ = canonical(advertised)
    name, bound = _BOUNDS[language]
    if len(text) > bound:
        raise LimitError(name, bound, len(text), "the length of the filter's normal form")
    match language:
        case "filter":
            return text
        case "xpath":
            return XPathText(text, bindings)
        case "paths":
            return PathsText(text)


def to_form(interest: Interest) -> InterestForm:
    """The form of an interest between brokers; errors as `to_text`."""
    packed = interest.packed if isinstance(interest, Filter) else None
    if packed is not None and len(packed) <= FILTER_TEXT_CHARS_MAX:
        return packed
    return to_text(interest)


def advertised_to_form(advertised: AdvertisedContent) -> AdvertisedForm:
    """The form of advertised content between brokers; errors as `to_text`."""
    if isinstance(advertised, Filter):
        return to_form(advertised)
    return advertised_to_text(advertised)


def from_form(form: InterestForm) -> Interest:
    """The interest of a form between brokers; errors as `from_text`."""
    return _of_bytes(form) if isinstance(form, bytes) else from_text(form)


def advertised_from_form(form: AdvertisedForm) -> AdvertisedContent:
    """The advertised content of a form between brokers; errors as `from_text`."""
    return _of_bytes(form) if isinstance(form, bytes) else advertised_from_text(form)


def _of_bytes(form: bytes) -> Filter:
    if len(form) > FILTER_TEXT_CHARS_MAX:
        subject = "the length of a filter's normal form"
        raise LimitError("FILTER_TEXT_CHARS_MAX", FILTER_TEXT_CHARS_MAX, len(form), subject)
    return Filter.of_packed(checked(form))


def from_text(text: InterestText, *, steps_max: int = NORMAL_FORM_STEPS_MAX) -> Interest:
    """The interest of a wire form.

    Raises `FilterSyntaxError` with the position, `LimitError` for a text that is too large.
    """
    return read_interest(_written(text), steps_max=steps_max)


def unread(forms: Sequence[InterestForm]) -> Interests:
    """The interests of these forms, to be parsed when their turn comes."""
    return Interests.unread(forms, from_form)


def advertised_from_text(
    text: AdvertisedText, *, steps_max: int = NORMAL_FORM_STEPS_MAX
) -> AdvertisedContent:
    """The advertised content of a wire form; errors as `from_text`."""
    return read_advertised(_written(text), steps_max=steps_max)


def _written(text: AdvertisedText) -> Written:
    match text:
        case str():
            return Written("filter", text)
        case XPathText(inner, bindings):
            return Written("xpath", inner, bindings)
        case PathsText(inner):
            return Written("paths", inner)
