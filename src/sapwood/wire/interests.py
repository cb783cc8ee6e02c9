"""Filters as parts of messages: canonical text, and its language where that is not the first."""

from __future__ import annotations

from typing import TypeAlias

from msgspec import Struct

from sapwood.errors import LimitError
from sapwood.language.written import Written, canonical, read_interest
from sapwood.limits import FILTER_TEXT_CHARS_MAX, XPATH_TEXT_CHARS_MAX
from sapwood.model.interest import Interest


class XPathText(Struct, array_like=True, frozen=True, tag="xpath"):
    """A tree pattern as an XPath; `bindings` are its prefixes and their namespaces."""

    text: str
    bindings: tuple[tuple[str, str], ...] | None = None


InterestText: TypeAlias = str | XPathText
"""What travels: the text of a record filter as it is, everything else as what it is."""


def to_text(interest: Interest) -> InterestText:
    """The canonical text of an interest.

    Raises `LimitError` for one that is longer than the other end reads.
    """
    language, text, bindings = canonical(interest)
    bound, name = (
        (FILTER_TEXT_CHARS_MAX, "FILTER_TEXT_CHARS_MAX")
        if language == "filter"
        else (XPATH_TEXT_CHARS_MAX, "XPATH_TEXT_CHARS_MAX")
    )
    if len(text) > bound:
        raise LimitError(name, bound, len(text), "the length of the filter's normal form")
    return text if language == "filter" else XPathText(text, bindings)


def from_text(text: InterestText) -> Interest:
    """The interest that travelled as this.

    Raises `FilterSyntaxError` with the position, `LimitError` for a text that is too large.
    """
    if isinstance(text, str):
        return read_interest(Written("filter", text))
    return read_interest(Written("xpath", text.text, text.bindings))
