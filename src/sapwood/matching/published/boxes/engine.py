"""The matching engines over boxes in arrays: counting and k-d trees, compiled.

A filter's conjunctions that are boxes (`rows.py`) are rows; others are beside them in a
`CountingEngine`. Most rows are in a structure that does not change, made from all living rows by
the match that finds too many behind it; those rows behind it are scanned. A removed row is marked,
and goes when the rows are made anew, once half of them are marked.

Until compiled kernels are at hand, all rows are scanned by numpy.

Cost: making the structure takes about a microsecond for each interval, and a row is made part of
one a few times, since rows grow by a quarter in between. Searching costs, for `counting-compiled`,
a step for each interval that holds a value of the record, whatever it finds; for `kdtree-compiled`
what it finds and a share of the tree, less the more attributes decide.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from types import ModuleType
from typing import Final, Protocol

import numpy as np

from sapwood.errors import InvariantError
from sapwood.matching.counting import CountingEngine
from sapwood.matching.protocol import ALL, SlotBatch, Slots, batch_of
from sapwood.matching.published.boxes.intervals import IntervalTrees
from sapwood.matching.published.boxes.kernels import plain
from sapwood.matching.published.boxes.kernels.choice import BOXES
from sapwood.matching.published.boxes.kernels.layout import F64, I32
from sapwood.matching.published.boxes.rows import BoxRows, exact_box_of
from sapwood.matching.published.boxes.trees import PointTrees
from sapwood.matching.readiness import Awaiting
from sapwood.matching.unbatched import UnbatchedEngine
from sapwood.model.conjunction import Conjunction
from sapwood.model.filter import Filter
from sapwood.model.publication import Record

SCANNED: Final = 64
"""Rows that are scanned rather than made a structure of."""

GROWTH: Final = 4
"""The part of the rows in a structure that may be behind it is one in so many."""

_ROW_NS: Final = 20
"""Nanoseconds in which numpy scans a row, about."""


class Structure(Protocol):
    """Rows that were living when it was made, arranged for searches; it never changes."""

    #: the rows there were: those from here on are behind it
    count: int

    def search(self, boxes: BoxRows, floors: F64, ceilings: F64, limit: int, found: I32, /) -> int:
        """Write living rows that hold a point to `found` until there are `limit`; their number."""


class _Boxes(UnbatchedEngine[Filter, Record]):
    """Boxes in rows and a structure, other conjunctions in a counting engine (see the module)."""

    def __init__(self, awaiting: Awaiting | None = None, scanned: int = SCANNED) -> None:
        self._awaiting: Final = awaiting or Awaiting(BOXES)
        self._scanned: Final = scanned
        #: slot -> its filter, and the first and last row of its boxes; exactly the taken slots
        self._taken: dict[int, tuple[Filter, range]] = {}
        self._boxes = BoxRows()
        #: made of the first rows
        self._structure: Structure | None = None
        #: the slots with a conjunction that is no box, with these conjunctions
        self._beside = CountingEngine()
        self._with_beside: set[int] = set()
        #: slots with more than one box
        self._with_several = 0

    @abstractmethod
    def _made(self, kernels: ModuleType) -> Structure:
        """The structure of all living rows."""

    def __len__(self) -> int:
        """The number of taken slots."""
        return len(self._taken)

    def add(self, slot: int, filter: Filter) -> None:
        """Put `filter` into `slot`."""
        assert slot not in self._taken, f"slot {slot} is taken"
        self._awaiting.expect()
        rows, others = self._put(slot, filter)
        self._with_several += len(rows) > 1
        if others:
            self._beside.add(slot, Filter(tuple(others)))
            self._with_beside.add(slot)

    def remove(self, slot: int) -> None:
        """Free `slot`."""
        _, rows = self._taken.pop(slot)
        for row in rows:
            self._boxes.remove(row)
        self._with_several -= len(rows) > 1
        if slot in self._with_beside:
            self._with_beside.remove(slot)
            self._beside.remove(slot)
        if rows and 2 * self._boxes.living < self._boxes.count:
            self._renew()

    def match(self, record: Record) -> list[int]:
        """The slots whose filters accept `record`, ascending, each once."""
        return sorted(self.found(record).tolist())

    def match_any(self, record: Record) -> bool:
        """True if any filter accepts `record`; stops at the first."""
        return len(self.found(record, 1)) > 0

    def match_count(self, record: Record) -> int:
        """The number of slots that accept `record`."""
        return len(self.found(record))

    def found(self, record: Record, limit: int = ALL) -> Slots:
        """The slots that accept `record`, in any order, as `protocol.Unsorted` says."""
        slots = self._in_boxes(record, limit)
        if len(slots) >= limit:
            return slots
        if self._with_several:
            slots = np.unique(slots)
        if not self._with_beside:
            return slots
        return np.union1d(slots, np.array(self._beside.match(record), np.int32))

    def found_many(
        self, records: Sequence[Record], max_matches: int = ALL, limit: int = ALL
    ) -> SlotBatch:
        """The matches of many records, as `protocol.Unsorted` says."""
        found: list[list[int]] = []
        total = 0
        for record in records:
            found.append(self.found(record, limit).tolist())
            total += len(found[-1])
            if total >= max_matches:
                break
        return batch_of(found)

    def reads(self, attribute: str) -> bool:
        """True if a filter may read an attribute."""
        return attribute in self._boxes.numbers or self._beside.reads(attribute)

    def validate(self) -> None:
        """Check that the rows and the counting engine hold exactly the filters' conjunctions."""
        boxes = self._boxes
        boxes.validate()
        expected = type(self)()
        for slot, (stored, _) in self._taken.items():
            expected.add(slot, stored)
        if boxes.living != expected._boxes.living or self._with_several != expected._with_several:
            raise InvariantError("the rows are not the boxes of the filters")
        for slot, (_, rows) in self._taken.items():
            if not all(boxes.arrays.needs[row] and boxes.slots[row] == slot for row in rows):
                raise InvariantError(f"the rows of slot {slot} are not its own")
        if self._with_beside != expected._with_beside or len(self._beside) != len(
            self._with_beside
        ):
            raise InvariantError("the conjunctions beside the boxes are not the filters'")
        if self._structure is not None and self._structure.count > boxes.count:
            raise InvariantError("the structure is of more rows than there are")
        self._beside.validate()

    def _put(self, slot: int, filter: Filter) -> tuple[range, list[Conjunction]]:
        """Add the boxes of a slot as rows; returns these, and the other conjunctions."""
        others: list[Conjunction] = []
        first = self._boxes.count
        for conjunction in filter.conjunctions:
            box = exact_box_of(conjunction)
            if box is None:
                others.append(conjunction)
            else:
                self._boxes.add(slot, box)
        rows = range(first, self._boxes.count)
        self._taken[slot] = filter, rows
        return rows, others

    def _in_boxes(self, record: Record, limit: int) -> Slots:
        """The slots of living rows that hold a record, until there are `limit`."""
        boxes = self._boxes
        work = 1 + boxes.count * _ROW_NS // 1000
        kernels = self._awaiting.at_hand() or self._awaiting.compiled(work)
        structure = self._structure
        if kernels is not None:
            structure = self._structure = self._grown(structure, kernels)
        floors, ceilings = boxes.point_of(record)
        found, matched, first = np.empty(boxes.count, np.int32), 0, 0
        if structure is not None:
            matched = structure.search(boxes, floors, ceilings, limit, found)
            first = structure.count
        if matched < limit and first < boxes.count:
            matched += (kernels or plain).scan(
                *(boxes.arrays, first, boxes.count, floors, ceilings, limit - matched),
                found[matched:],
            )
        return boxes.slots[found[:matched]]

    def _grown(self, structure: Structure | None, kernels: ModuleType) -> Structure | None:
        """The structure, made anew if too many rows are behind it."""
        known = 0 if structure is None else structure.count
        if self._boxes.count - known <= max(self._scanned, known // GROWTH):
            return structure
        return self._made(kernels)

    def _renew(self) -> None:
        """Number the living rows anew."""
        self._boxes, self._structure = BoxRows(), None
        for slot, (stored, _) in self._taken.items():
            self._put(slot, stored)


class CountingBoxes(_Boxes):
    """`counting-compiled`: an interval tree for each attribute, and a tally for each box."""

    def _made(self, kernels: ModuleType) -> Structure:
        return IntervalTrees(self._boxes, kernels)


class KdTreeBoxes(_Boxes):
    """`kdtree-compiled`: a k-d tree for each set of attributes."""

    def _made(self, kernels: ModuleType) -> Structure:
        return PointTrees(self._boxes, kernels)
