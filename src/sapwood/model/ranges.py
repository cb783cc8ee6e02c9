"""Sets of half-open ranges over any total order: the algebra under numbers and texts.

A range set is a tuple of `(low, high)` pairs, each standing for `low <= x < high`, sorted, with no
two of them overlapping or touching. That form is canonical: equal sets have equal tuples.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, TypeVar


class Ordered(Protocol):
    """An endpoint: it has a total order and equality."""

    def __lt__(self, other: Any, /) -> bool: ...


E = TypeVar("E", bound=Ordered)


def normalize(ranges: Iterable[tuple[E, E]]) -> tuple[tuple[E, E], ...]:
    """The canonical form of the union of any ranges; empty ranges (`low >= high`) vanish."""
    result: list[tuple[E, E]] = []
    for low, high in sorted((r for r in ranges if r[0] < r[1]), key=lambda r: r[0]):
        if result and not result[-1][1] < low:
            last_low, last_high = result[-1]
            result[-1] = (last_low, high if last_high < high else last_high)
        else:
            result.append((low, high))
    return tuple(result)


def intersect(a: Sequence[tuple[E, E]], b: Sequence[tuple[E, E]]) -> tuple[tuple[E, E], ...]:
    """All that lies in both sets; one pass over the two."""
    result: list[tuple[E, E]] = []
    i = j = 0
    while i < len(a) and j < len(b):
        low = b[j][0] if a[i][0] < b[j][0] else a[i][0]
        high = a[i][1] if a[i][1] < b[j][1] else b[j][1]
        if low < high:
            result.append((low, high))
        if a[i][1] < b[j][1]:
            i += 1
        else:
            j += 1
    return tuple(result)


def complement(ranges: Sequence[tuple[E, E]], bottom: E, top: E) -> tuple[tuple[E, E], ...]:
    """All of `bottom <= x < top` that the set leaves out."""
    result: list[tuple[E, E]] = []
    low = bottom
    for start, end in ranges:
        if low < start:
            result.append((low, start))
        low = end
    if low < top:
        result.append((low, top))
    return tuple(result)
