"""A segment: an immutable set of conjunctions as plain arrays, in cluster order.

Conjunctions are numbered in the order in which their clusters are scanned, so that whatever
belongs to the candidates of one lookup lies together in memory. A segment never changes, but for
the marks that say which of its conjunctions have been removed.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from sapwood.errors import InvariantError
from sapwood.matching.columnar.ranking import Lines, Ranked, unrank
from sapwood.matching.columnar.rows import Checks, Ints, Rows, kept
from sapwood.matching.storage import Folder
from sapwood.matching.texts import unpacked

U8: TypeAlias = npt.NDArray[np.uint8]
U32: TypeAlias = npt.NDArray[np.uint32]

DEAD: Final = 1
"""Mark: the conjunction was removed."""

CHECKED: Final = 2
"""Mark: the conjunction has pattern checks, so that a candidate is a match only after those."""

SHARED: Final = 4
"""Mark: its slot has further conjunctions, so that it may be found more than once."""


class Columns(NamedTuple):
    """What kernels read of a segment with `a` attributes, `n` conjunctions and `e` entries.

    A run of cells is kept as its first cell and its *span*, the number of steps to its last one:
    `cell - low <= span`, in unsigned arithmetic, is the whole test.
    """

    # Lines: from a value to its cell (`ranking.Lines`; `text_prefixes` are the first eight bytes).
    number_start: Ints  # [a + 1]
    numbers: npt.NDArray[np.float64]
    remainders: npt.NDArray[np.int16]
    text_start: Ints  # [a + 1]
    text_prefixes: npt.NDArray[np.uint64]
    text_refs: U32
    text_offsets: Ints
    text_bytes: U8
    # Directory: from a cell to clusters (`access.Tables`).
    points: Ints  # [a]
    level_start: Ints  # [a + 1]
    level_shift: Ints
    level_base: Ints
    ordered_start: Ints  # [a + 1]
    ordered_is_up_to: U8
    ordered_zone_low: U32
    ordered_zone_high: U32
    cluster_start: U32  # [clusters + 1] entries of each cluster
    # Entries: the first constraint to evaluate of each candidate, and which conjunction it is.
    entry_key: U32  # [entries in ordered clusters], which come first
    entry_attribute: U32  # [e]
    entry_low: U32  # [e] of its first run
    entry_span: U32  # [e] to the end of its last run
    entry_conjunction: U32  # [e]
    # Conjunctions: constraints still to be evaluated after the entry's.
    rest_start: U32  # [n]
    rest_stop: U32  # [n]
    constraint_start: U32  # [n + 1]
    constraint_attribute: U32  # [c]
    run_start: U32  # [c + 1]
    run_low: U32  # [r]
    run_span: U32  # [r]
    slot: npt.NDArray[np.int32]  # [n]


class Annex(NamedTuple):
    """What only Python reads of a segment."""

    by_slot: U32  # [n] conjunctions, sorted by slot
    check_start: U32  # [n + 1]
    check_probe: U32
    check_forbidden: npt.NDArray[np.bool_]


@dataclass(slots=True)
class Segment:
    """Arrays and marks; `marks` alone changes."""

    columns: Columns
    annex: Annex
    #: one byte a conjunction: DEAD, CHECKED, SHARED
    marks: U8
    #: the number of marks with DEAD
    dead: int = 0

    @property
    def conjunctions(self) -> int:
        """All conjunctions, removed ones too."""
        return len(self.columns.slot)

    @property
    def live(self) -> int:
        """Conjunctions that were not removed."""
        return self.conjunctions - self.dead

    def slots(self) -> npt.NDArray[np.int32]:
        """The slots with a conjunction that was not removed; with repetitions."""
        slots: npt.NDArray[np.int32] = self.columns.slot[(self.marks & DEAD) == 0]
        return slots

    def remove(self, slot: int) -> int:
        """Mark all conjunctions of a slot as removed; returns how many there were."""
        by_slot, slots = self.annex.by_slot, self.columns.slot
        # Not numpy's search, which would copy all of `by_slot` to convert it.
        first = bisect_left(by_slot, slot, key=slots.__getitem__)
        last = bisect_right(by_slot, slot, lo=first, key=slots.__getitem__)
        found = by_slot[first:last]
        found = found[(self.marks[found] & DEAD) == 0]
        self.marks[found] |= DEAD
        self.dead += len(found)
        return len(found)

    def rows(self) -> Rows:
        """The conjunctions that were not removed, as values again."""
        columns, annex = self.columns, self.annex
        lines = Lines(
            columns.number_start,
            columns.numbers,
            columns.remainders,
            columns.text_start,
            columns.text_refs,
            unpacked(columns.text_offsets, columns.text_bytes),
        )
        run_start = columns.run_start.astype(np.int64)
        attribute = columns.constraint_attribute.astype(np.int64)
        ranked = Ranked(lines, columns.run_low, columns.run_low + columns.run_span)
        owner = np.repeat(np.arange(self.conjunctions), np.diff(annex.check_start))
        whole = Rows(
            columns.slot,
            columns.constraint_start.astype(np.int64),
            attribute,
            run_start,
            *unrank(ranked, np.repeat(attribute, np.diff(run_start))),
            columns.numbers,
            columns.remainders,
            lines.texts,
            Checks(owner, annex.check_probe.astype(np.int64), annex.check_forbidden),
        )
        return kept(whole, (self.marks & DEAD) == 0)

    def validate(self) -> None:
        """Raise `InvariantError` unless the arrays fit together."""
        columns, annex = self.columns, self.annex
        if self.dead != np.count_nonzero(self.marks & DEAD):
            raise InvariantError("a segment's count of removed conjunctions is wrong")
        if not np.array_equal(np.unique(columns.entry_conjunction), np.arange(self.conjunctions)):
            raise InvariantError("a conjunction of a segment lies in no cluster")
        if np.any(np.diff(columns.slot[annex.by_slot]) < 0):
            raise InvariantError("a segment's conjunctions are not sorted by slot")
        for starts, size in (
            (columns.cluster_start, len(columns.entry_conjunction)),
            (columns.run_start, len(columns.run_low)),
            (columns.constraint_start, len(columns.constraint_attribute)),
            (annex.check_start, len(annex.check_probe)),
        ):
            if starts[0] != 0 or starts[-1] != size or np.any(starts[1:] < starts[:-1]):
                raise InvariantError("a segment's groups do not partition what they group")

    def save(self, folder: Folder) -> None:
        """Write all arrays; marks as they are."""
        arrays = {**self.columns._asdict(), **self.annex._asdict(), "marks": self.marks}
        folder.write_arrays(arrays)

    @classmethod
    def load(cls, folder: Folder) -> Segment:
        """Map the arrays that `save` wrote; raises `FileFormatError` for anything else."""
        columns = Columns(**folder.read_arrays(Columns._fields))
        annex = Annex(**folder.read_arrays(Annex._fields))
        marks = folder.read_arrays(("marks",))["marks"].copy()
        return cls(columns, annex, marks, int(np.count_nonzero(marks & DEAD)))
