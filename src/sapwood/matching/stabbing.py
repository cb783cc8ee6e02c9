"""The intervals that hold a value: an interval tree that grows and shrinks without rebuilding.

An interval tree (Edelsbrunner 1980) over the fixed universe of 64-bit keys, kept in a dictionary:
an interval belongs to the smallest dyadic range of keys that holds both its ends. A value meets at
most one such range per size; there it lies beside the middle, so that one end of every interval is
known to be passed and the other is found in a sorted list.

Cost for n intervals: `stab` takes as many list searches as there are sizes in use (at most 65) and
then one step for each interval reported; `add` and `remove` are a search and a list insertion.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final, Generic, NamedTuple, TypeAlias, TypeVar

from sapwood.errors import InvariantError
from sapwood.model.ranges import Ordered

V = TypeVar("V", bound=Ordered)

_End: TypeAlias = tuple[V, int]
"""A comparable end: `(value, 0)` where the value is inside, one step inwards where it is not."""

_ABOVE_ITEMS: Final = float("inf")


class Span(NamedTuple, Generic[V]):
    """An interval: its ends, and flags that exclude an end itself."""

    low: V
    high: V
    low_open: bool
    high_open: bool


class _Node(NamedTuple, Generic[V]):
    """The intervals of one dyadic range, in both orders."""

    by_low: list[tuple[_End[V], int, _End[V]]]
    by_high: list[tuple[_End[V], int]]


class StabbingIndex(Generic[V]):
    """Intervals over any total order, each with a number that is reported.

    `order` maps a value to a key from 0 to 2**64 - 1 and never decreases as the value grows; values
    that share a key are compared themselves.
    """

    def __init__(self, order: Callable[[V], int]) -> None:
        self._order = order
        #: (size in bits, key >> size) -> node; no node is empty
        self._nodes: dict[tuple[int, int], _Node[V]] = {}
        #: size -> number of nodes of that size
        self._sizes: Counter[int] = Counter()
        self._length = 0

    def __len__(self) -> int:
        """The number of intervals."""
        return self._length

    def add(self, span: Span[V], item: int) -> None:
        """Add an interval; the pair of interval and item must be new."""
        place = self._place(span)
        node = self._nodes.get(place)
        if node is None:
            node = self._nodes[place] = _Node([], [])
            self._sizes[place[0]] += 1
        low, high = _ends(span)
        insort(node.by_low, (low, item, high))
        insort(node.by_high, (high, item))
        self._length += 1

    def remove(self, span: Span[V], item: int) -> None:
        """Remove an interval that was added."""
        place = self._place(span)
        node = self._nodes[place]
        low, high = _ends(span)
        del node.by_low[_found(node.by_low, (low, item, high))]
        del node.by_high[_found(node.by_high, (high, item))]
        self._length -= 1
        if not node.by_low:
            del self._nodes[place]
            self._sizes[place[0]] -= 1
            self._sizes += Counter()  # drops sizes without nodes

    def stab(self, value: V) -> Iterator[int]:
        """The items of all intervals that hold `value`, each once for each interval."""
        key = self._order(value)
        end = (value, 0)
        for size in self._sizes:
            node = self._nodes.get((size, key >> size))
            if node is None:
                continue
            if size and key >> (size - 1) & 1:
                first = bisect_left(node.by_high, (end, -1))
                yield from (item for _, item in node.by_high[first:])
                continue
            last = bisect_right(node.by_low, (end, _ABOVE_ITEMS))
            below = node.by_low[:last]
            # With equal keys neither end is known to be passed.
            yield from (item for _, item, high in below if size or end <= high)

    def validate(self) -> None:
        """Raise `InvariantError` unless all nodes are sorted, filled and where they belong."""
        sizes = Counter(size for size, _ in self._nodes)
        if sizes != self._sizes:
            raise InvariantError(f"node sizes {dict(self._sizes)}, counted {dict(sizes)}")
        if self._length != sum(len(node.by_low) for node in self._nodes.values()):
            raise InvariantError(f"{self._length} intervals are counted, others are held")
        for place, node in self._nodes.items():
            ends = sorted((high, item) for _, item, high in node.by_low)
            if not ends or ends != node.by_high or sorted(node.by_low) != node.by_low:
                raise InvariantError(f"the intervals at {place} are out of order")

    def _place(self, span: Span[V]) -> tuple[int, int]:
        low, high = self._order(span.low), self._order(span.high)
        size = (low ^ high).bit_length()
        return size, low >> size


def _ends(span: Span[V]) -> tuple[_End[V], _End[V]]:
    return (span.low, int(span.low_open)), (span.high, -int(span.high_open))


def _found(entries: list[V], entry: V) -> int:
    at = bisect_left(entries, entry)
    if at == len(entries) or entries[at] != entry:
        raise InvariantError(f"{entry} was never added")
    return at
