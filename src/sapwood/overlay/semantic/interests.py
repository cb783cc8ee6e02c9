"""Interests by number, and the four relations between two of them.

Peers with the same filter share one number. A relation is needed over and over while a peer joins
(its filter against those of all the peers that its JOIN reaches), so rows of relations are kept,
one byte for each pair, within a bound. A covering index answers for a whole row at once: of 4,000
patterns in the time of 40 comparisons.

Worked example: interests 0 (`price > 1`), 1 (`price > 5`) and 2 (`price < 3`). After interest 1 was
compared with 0 and 2, the row of 1 is the bytes `[3, 0, 1]`: contained in 0, not compared with
itself (equal numbers are equivalent anyway), parallel to 2. A row has as many entries as there were
interests when it was made, and grows when a later one is needed.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from enum import IntEnum
from types import MappingProxyType
from typing import Any, Final, Generic, Protocol, TypeVar

from sapwood.covering.protocol import CoveringIndex
from sapwood.limits.semantic import RELATIONS_BYTES_MAX


class Coverable(Hashable, Protocol):
    """A value with containment: a filter of either language, or anything that behaves like one."""

    def covers(self, other: Any, /) -> bool:
        """True if everything that `other` accepts is accepted here, as far as is known."""


class Relation(IntEnum):
    """The relation of an interest to another one; equivalence is checked first."""

    PARALLEL = 1
    """Neither is known to contain the other."""
    CONTAINS = 2
    """The interest strictly contains the other."""
    CONTAINED = 3
    """The interest is strictly contained in the other."""
    EQUIVALENT = 4
    """Both contain each other."""


_REVERSED: Final = bytes((0, 1, 3, 2, 4))
"""The relation the other way round, by number."""

F = TypeVar("F", bound=Coverable)


class Interests(Generic[F]):
    """All different interests of an overlay, numbered from 0 in the order in which they came.

    Numbers stay: peers come and go, and the filters that they had are few. With an exact covering
    index, empty and for these interests alone, nothing is compared pair by pair.
    """

    __slots__ = ("_bytes", "_filters", "_index", "_numbers", "_rows", "asked")

    def __init__(self, index: CoveringIndex[Any] | None = None) -> None:
        self._filters: list[F] = []
        #: holds exactly the filters, each under its number, if there is one
        self._index = index
        #: exactly the inverse of the list of filters
        self._numbers: dict[F, int] = {}
        #: for some interests, their relations to all up to the row's length; 0 where not computed
        self._rows: dict[int, bytearray] = {}
        #: the bytes of all rows together
        self._bytes = 0
        #: comparisons of two filters that were made, not counting those that were remembered
        self.asked = 0

    def __len__(self) -> int:
        """The number of different interests."""
        return len(self._filters)

    def __iter__(self) -> Iterator[F]:
        """All filters in the order of their numbers."""
        return iter(self._filters)

    def __getitem__(self, number: int) -> F:
        """The filter of a number."""
        return self._filters[number]

    def number(self, filter: F) -> int:
        """The number of a filter; a new one where an equal filter was not seen before."""
        number = self._numbers.get(filter)
        if number is None:
            number = self._numbers[filter] = len(self._filters)
            self._filters.append(filter)
            if self._index is not None:
                self._index.add(number, filter)
        return number

    def relation(self, one: int, other: int) -> Relation:
        """The relation of interest `one` to `other`."""
        if one == other:
            return Relation.EQUIVALENT
        return Relation(self.row(other)[one] or self.compare(one, other))

    def row(self, of: int) -> bytearray:
        """The relation of each interest to this one, as far as that is known; 0 elsewhere.

        The row has an entry for each interest. An index fills it, or `compare`, pair by pair.
        """
        row = self._rows.get(of)
        if row is None:
            if self._bytes > RELATIONS_BYTES_MAX:
                self._rows.clear()
                self._bytes = 0
            row = self._rows[of] = bytearray()
        more = len(self._filters) - len(row)
        if more:
            self._bytes += more
            if self._index is None:
                row.extend(bytes(more))
            else:
                row[:] = self._row_of(self._filters[of], self._index)
            row[of] = Relation.EQUIVALENT
        return row

    def _row_of(self, filter: F, index: CoveringIndex[Any]) -> bytearray:
        """The relation of each interest to a filter, by an index, without the filter's own."""
        row = bytearray([Relation.PARALLEL]) * len(self._filters)
        for one in index.covered(filter):
            row[one] = Relation.CONTAINED
        for one in index.cov(filter, len(self._filters)):
            row[one] = Relation.CONTAINS if row[one] == Relation.PARALLEL else Relation.EQUIVALENT
        return row

    def compare(self, one: int, other: int) -> int:
        """Fill in how `one` relates to `other` in the row of the latter; returns it."""
        behind = self._rows.get(one, b"")
        if other < len(behind) and behind[other]:
            relation = _REVERSED[behind[other]]
        else:
            self.asked += 1
            this, that = self._filters[one], self._filters[other]
            contains, contained = this.covers(that), that.covers(this)
            relation = _OF[contains, contained]
        self.row(other)[one] = relation
        return relation


_OF: Final = MappingProxyType(
    {
        (False, False): Relation.PARALLEL,
        (True, False): Relation.CONTAINS,
        (False, True): Relation.CONTAINED,
        (True, True): Relation.EQUIVALENT,
    }
)
"""The relation, by whether this contains that, and that contains this."""


def chain_lengths(interests: Interests[F], registered: list[int]) -> dict[int, int]:
    """For each registered interest, how long the longest chain of containers is that it ends.

    The interest itself counts, so that one without containers has 1: its depth in the ideal
    hierarchy. Every pair is compared: for tests and small sets (quadratic, section 7.2).
    """
    lengths: dict[int, int] = {}

    def length(of: int) -> int:
        if of not in lengths:
            above = (
                length(one)
                for one in registered
                if interests.relation(one, of) is Relation.CONTAINS
            )
            lengths[of] = 1 + max(above, default=0)
        return lengths[of]

    for one in registered:
        length(one)
    return lengths


def proximity(interests: Interests[F], registered: list[int], parent: int, placed: int) -> float:
    """The containment proximity f_c of a candidate parent for an interest (section 7.2.2).

    Minus infinity unless the candidate contains it, infinity if both are equivalent, otherwise
    the length of the candidate's longest chain; the larger, the better. The print has "not
    equivalent" for the first case, which would leave nothing (L2668).
    """
    match interests.relation(parent, placed):
        case Relation.EQUIVALENT:
            return float("inf")
        case Relation.CONTAINS:
            return float(chain_lengths(interests, registered)[parent])
        case _:
            return float("-inf")
