"""Interests as text: how filters of either language stand in files, on the wire and in an index.

The two languages cannot be told apart by their text (`a` is a filter of either), so the text never
goes without the name of its language.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from sapwood.language import parse_filter
from sapwood.language.xpath import parse_xpath
from sapwood.model.filter import Filter
from sapwood.model.interest import Interest

Language: TypeAlias = Literal["filter", "xpath"]
"""The languages, by the name that a subscription's member has in files."""


class Written(NamedTuple):
    """An interest as text. Only an XPath can have `bindings`: its prefixes and their namespaces."""

    language: Language
    text: str
    bindings: tuple[tuple[str, str], ...] | None = None

    @property
    def namespaces(self) -> dict[str, str] | None:
        """Prefix to namespace."""
        return None if self.bindings is None else dict(self.bindings)


def read_interest(written: Written) -> Interest:
    """The interest that was written.

    Raises `FilterSyntaxError` with the position, `LimitError` for a text that is too large.
    """
    if written.language == "filter":
        return parse_filter(written.text)
    return parse_xpath(written.text, written.namespaces)


def as_given(interest: Interest) -> Written:
    """The text that the interest was read from; its canonical text if it was not."""
    if interest.source is None:
        return canonical(interest)
    if isinstance(interest, Filter):
        return Written("filter", interest.source)
    return Written("xpath", interest.source, interest.bindings)


def canonical(interest: Interest) -> Written:
    """The canonical text: equal interests are written alike."""
    if isinstance(interest, Filter):
        return Written("filter", str(interest))
    bound = interest.namespaces
    return Written("xpath", str(interest), None if bound is None else tuple(sorted(bound.items())))
