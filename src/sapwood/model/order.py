"""The covering relation as ordered structures use it, and what they may rely on.

`Filter.covers` is sound: its covers hold for the records. It is not always complete (general `like`
patterns, large disjunctions), hence its covers are not always transitive, and two unequal filters
may accept the same records. Structures therefore never conclude a cover that they have not checked
or reached over checked edges, and never close a circle: among filters that accept the same records
everyone would rely on another, and none would stand for them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.filter import Filter


def has_one_form(filter: AdvertisedContent) -> bool:
    """True if every filter of this kind that accepts the same records is equal to this one.

    A conjunction without general patterns is a product of sets in canonical form. Two such filters
    can therefore cover each other only if they are equal; between any others, tree patterns among
    them, a circle is possible.
    """
    if not isinstance(filter, Filter):
        return False
    return not filter.conjunctions or (
        len(filter.conjunctions) == 1
        and all(c.strings.is_plain for _, c in filter.conjunctions[0].constraints)
    )


def reaches(start: Iterable[int], goal: int, neighbors: Callable[[int], Iterable[int]]) -> bool:
    """True if `goal` is one of `start` or found by following `neighbors` from there."""
    waiting = list(start)
    seen = set(waiting)
    while waiting:
        node = waiting.pop()
        if node == goal:
            return True
        fresh = [other for other in neighbors(node) if other not in seen]
        seen.update(fresh)
        waiting += fresh
    return False
