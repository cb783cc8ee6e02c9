"""Sets of texts: the texts that several comparisons accept together.

A comparison with a number looks at `number()` of the text (XPath 1.0, section 3.4), which is a
double or NaN; every double, the infinities too, is the number of infinitely many texts. A set of
texts is therefore one text, or infinite and described by the doubles it allows. Inclusion and
emptiness are exact.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Final

from sapwood.model.patterns.comparison import Comparison, Relation, number


@dataclass(frozen=True, slots=True)
class Texts:
    """The texts that all of some comparisons accept, in canonical form; make them with `texts`.

    `only`: this text and no other. Otherwise all texts whose number lies in `low` to `high`, both
    included, without `not_numbers` and without the texts `not_texts`; `numeric` is true if a text
    must be a number at all, and without it there are no bounds. Nothing is accepted iff
    `low > high`.
    """

    only: str | None = None
    numeric: bool = False
    low: float = -math.inf
    high: float = math.inf
    not_numbers: frozenset[float] = frozenset()
    not_texts: frozenset[str] = frozenset()

    @property
    def is_empty(self) -> bool:
        """True if no text is accepted."""
        return self.low > self.high

    def accepts(self, text: str) -> bool:
        """True if a text is in the set."""
        if self.only is not None:
            return text == self.only
        return self._allows(number(text)) and text not in self.not_texts

    def includes(self, other: Texts) -> bool:
        """True if every text of `other` is in this set."""
        if other.is_empty or self == ALL_TEXTS:
            return True
        if other.only is not None:
            return self.accepts(other.only)
        if self.only is not None or (self.numeric and not other.numeric):
            return False
        return (
            self.low <= other.low
            and other.high <= self.high
            and not any(other._allows(one) for one in self.not_numbers)
            and not any(other.accepts(one) for one in self.not_texts)
        )

    def meets(self, other: Texts) -> bool:
        """True if some text is in both sets."""
        if self.only is not None:
            return other.accepts(self.only)
        if other.only is not None:
            return self.accepts(other.only)
        low, high = max(self.low, other.low), min(self.high, other.high)
        if not (self.numeric or other.numeric):
            return True
        low, high = _trimmed(low, high, self.not_numbers | other.not_numbers)
        return low <= high

    def _allows(self, value: float) -> bool:
        """True if infinitely many texts of this number are in the set, which has no `only`."""
        if self.numeric and not self.low <= value <= self.high:
            return False
        return value not in self.not_numbers


ALL_TEXTS: Final = Texts()
NO_TEXTS: Final = Texts(numeric=True, low=math.inf, high=-math.inf)


def texts(comparisons: Iterable[Comparison]) -> Texts:
    """The set of texts that every comparison accepts."""
    every = tuple(comparisons)
    for one in every:
        if one.relation is Relation.EQUAL and isinstance(one.literal, str):
            wanted = one.literal
            return Texts(only=wanted) if all(c.accepts(wanted) for c in every) else NO_TEXTS
    found = _between(every)
    if found.is_empty:
        return NO_TEXTS
    excluded = frozenset(
        one.literal for one in every if isinstance(one.literal, str) and found.accepts(one.literal)
    )
    return replace(found, not_texts=excluded)


def _between(comparisons: Iterable[Comparison]) -> Texts:
    """The texts that the comparisons with numbers accept; both bounds are allowed numbers."""
    numeric, low, high = False, -math.inf, math.inf
    excluded: set[float] = set()
    for one in comparisons:
        if isinstance(one.literal, str):
            continue
        if one.relation is Relation.DIFFERENT:
            excluded.add(one.literal)
            continue
        least, most = _bounds(one.relation, one.literal)
        numeric, low, high = True, max(low, least), min(high, most)
    if not numeric:
        return Texts(not_numbers=frozenset(excluded))
    low, high = _trimmed(low, high, excluded)
    inside = frozenset(one for one in excluded if low <= one <= high)
    return Texts(numeric=True, low=low, high=high, not_numbers=inside)


def _trimmed(low: float, high: float, excluded: Collection[float]) -> tuple[float, float]:
    """The bounds, moved inwards to numbers that are allowed; crossed if there is none."""
    while low <= high and low in excluded:
        least, most = _bounds(Relation.GREATER, low)
        low, high = least, min(high, most)
    while low <= high and high in excluded:
        high = math.nextafter(high, -math.inf)
    return low, high


def _bounds(relation: Relation, value: float) -> tuple[float, float]:
    """The first and the last double in a relation (neither `!=`) to a number."""
    match relation:
        case Relation.LESS if value > -math.inf:
            return -math.inf, math.nextafter(value, -math.inf)
        case Relation.AT_MOST:
            return -math.inf, value
        case Relation.GREATER if value < math.inf:
            return math.nextafter(value, math.inf), math.inf
        case Relation.AT_LEAST:
            return value, math.inf
        case Relation.EQUAL:
            return value, value
        case _:
            return math.inf, -math.inf
