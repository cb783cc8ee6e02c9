"""A segment: an immutable set of conjunctions as plain arrays, in cluster order.

Conjunctions are numbered in the order in which their clusters are scanned, so that the data of the
candidates of one lookup lies together in memory. A segment never changes, but for the marks of
removed conjunctions.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from sapwood.errors import FileFormatError, InvariantError
from sapwood.matching.columnar.columns import (
    BLOCK_END,
    DEAD,
    I32,
    ROOT_LABELS,
    SEVERAL,
    SLOT_MASK,
    U8,
    U32,
    U64,
    Columns,
    block_count,
    block_start_of,
    block_starts,
    columns_of,
    entry_conjunctions,
    is_whole,
)
from sapwood.matching.columnar.joining import kept
from sapwood.matching.columnar.ranking import Domains, Ranked, RankedRows
from sapwood.matching.columnar.rows import Checks, Ints, Outline
from sapwood.matching.storage import Array, Folder
from sapwood.matching.texts import unpacked


class Annex(NamedTuple):
    """The arrays of a segment that only Python reads."""

    by_slot: U32  # [n] conjunctions, sorted by slot
    check_owner: U32  # conjunctions with pattern checks, ascending, once for each check
    check_probe: U32
    check_flags: U8  # see `rows.Checks`


_ANNEX_TYPES: Final[tuple[type[np.generic], ...]] = (np.uint32, np.uint32, np.uint32, np.uint8)


class RemovalKernels(Protocol):
    """The module of the kernel that marks removed conjunctions."""

    def mark_removed(self, buffer: U64, marks: U8, by_slot: U32, slot: int) -> int:
        """Mark the conjunctions of a slot as removed; returns the number of those newly marked.

        `by_slot` are all conjunctions, sorted by slot.
        """


@dataclass(slots=True, eq=False)
class Segment:
    """A segment buffer, its annex and its marks; `marks` alone changes. Equality is identity."""

    buffer: U64
    annex: Annex
    #: one byte a conjunction: DEAD, CHECKED, SHARED
    marks: U8
    #: the number of marks with DEAD
    dead: int = 0
    #: views of the segment buffer
    columns: Columns = field(init=False)

    def __post_init__(self) -> None:
        self.columns = columns_of(self.buffer)

    @property
    def conjunctions(self) -> int:
        """The number of conjunctions, removed ones included."""
        return block_count(self.columns)

    @property
    def live(self) -> int:
        """The number of conjunctions that were not removed."""
        return self.conjunctions - self.dead

    def slots(self) -> I32:
        """The slots with a conjunction that was not removed; with repetitions."""
        return self.slots_of(np.flatnonzero((self.marks & DEAD) == 0))

    def slots_of(self, conjunctions: npt.NDArray[np.integer[Any]]) -> I32:
        """The slots of the given conjunctions."""
        heads: U32 = self.columns.blocks[block_start_of(self.columns, conjunctions)]
        return (heads & SLOT_MASK).astype(np.int32)

    def found(self, slot: int) -> U32:
        """The conjunctions of a slot that were not removed."""
        by_slot = self.annex.by_slot

        def slot_at(place: int) -> int:
            return int(self.slots_of(by_slot[place : place + 1])[0])

        places = range(len(by_slot))
        first = bisect_left(places, slot, key=slot_at)
        last = bisect_right(places, slot, first, key=slot_at)
        found: U32 = by_slot[first:last]
        live: U32 = found[(self.marks[found] & DEAD) == 0]
        return live

    def remove(self, slot: int, kernels: RemovalKernels) -> int:
        """Mark all conjunctions of a slot as removed; returns the number of them."""
        removed = kernels.mark_removed(self.buffer, self.marks, self.annex.by_slot, slot)
        self.dead += removed
        return removed

    def ranked_rows(self) -> RankedRows:
        """The conjunctions that were not removed, as ranked rows."""
        columns, annex = self.columns, self.annex
        constraint_start, attribute, own = constraints(columns)
        range_start, range_low, range_width = _ranges(columns, own)
        outline = Outline(
            self.slots_of(np.arange(self.conjunctions)),
            constraint_start,
            attribute,
            range_start,
            Checks(
                annex.check_owner.astype(np.int64),
                annex.check_probe.astype(np.int64),
                annex.check_flags,
            ),
        )
        ranked = Ranked(_domains(columns), range_low, range_low + range_width)
        return kept(RankedRows(outline, ranked), (self.marks & DEAD) == 0)

    def memory_parts(self) -> Iterator[tuple[str, int]]:
        """Bytes of each column, of the annex and of the marks, by name."""
        for name, array in (*self.columns._asdict().items(), *self.annex._asdict().items()):
            yield name, array.nbytes
        yield "marks", self.marks.nbytes

    def validate(self) -> None:
        """Raise `InvariantError` unless the arrays fit together."""
        columns, annex = self.columns, self.annex
        if not is_whole(self.buffer):
            raise InvariantError("the columns of a segment do not fill its buffer")
        if self.dead != np.count_nonzero(self.marks & DEAD):
            raise InvariantError("a segment's count of removed conjunctions is wrong")
        entries = entry_conjunctions(columns)
        if not np.array_equal(np.unique(entries), np.arange(self.conjunctions)):
            raise InvariantError("a conjunction of a segment lies in no cluster")
        if np.any(np.diff(self.slots_of(annex.by_slot)) < 0):
            raise InvariantError("a segment's conjunctions are not sorted by slot")
        if np.any(np.diff(annex.check_owner.astype(np.int64)) < 0):
            raise InvariantError("a segment's pattern checks are not sorted by conjunction")
        if not _have_lengths(columns, len(entries)):
            raise InvariantError("columns of a segment that belong together differ in length")
        for starts, size in _groupings(columns, len(entries)):
            if starts[0] != 0 or starts[-1] != size or np.any(starts[1:] < starts[:-1]):
                raise InvariantError("a segment's groups do not partition what they group")

    def save(self, folder: Folder) -> None:
        """Write the segment buffer, the annex, and the marks as they are."""
        folder.write_arrays({"image": self.buffer, **self.annex._asdict(), "marks": self.marks})

    @classmethod
    def load(cls, folder: Folder) -> Segment:
        """Map the arrays that `save` wrote; raises `FileFormatError` for anything else.

        The checks do not depend on the size: types, lengths, and that the groups of each column end
        where the grouped column ends.
        """
        buffer = folder.read_arrays(("image",))["image"]
        if not is_whole(buffer):
            raise FileFormatError(folder.place("image.npy"), "is no segment; build the index again")
        columns = columns_of(buffer)
        entries = _last(columns.cluster_start)
        if not _have_lengths(columns, entries) or any(
            _last(starts) != size for starts, size in _groupings(columns, entries)
        ):
            raise FileFormatError(
                folder.place("image.npy"),
                "has columns that do not fit together; build the index again",
            )
        size = block_count(columns)
        arrays = folder.read_arrays(Annex._fields)
        annex = Annex(**arrays)
        for name, kind in zip(Annex._fields, _ANNEX_TYPES, strict=True):
            wanted = size if name == "by_slot" else len(annex.check_owner)
            _expect(folder, name, arrays[name], kind, wanted)
        marks = folder.read_arrays(("marks",))["marks"]
        _expect(folder, "marks", marks, np.uint8, size)
        return cls(buffer, annex, marks.copy(), int(np.count_nonzero(marks & DEAD)))


def _expect(folder: Folder, name: str, array: Array, kind: type[np.generic], size: int) -> None:
    if array.dtype != kind or array.shape != (size,):
        raise FileFormatError(
            folder.place(f"{name}.npy"),
            f"has {array.dtype} {array.shape} where {np.dtype(kind)} ({size},) belongs; "
            "build the index again",
        )


def _last(starts: Array) -> int:
    return int(starts[-1]) if len(starts) else -1


def _groupings(columns: Columns, entries: int) -> tuple[tuple[Array, int], ...]:
    """Columns of group starts, each with the length of the column that it groups."""
    return (
        (columns.cluster_start, entries),
        (block_starts(columns), len(columns.blocks) - BLOCK_END),
        (columns.several_start, len(columns.several) // 2),
        (columns.number_start, len(columns.numbers)),
        (columns.single_start, len(columns.singles)),
        (columns.hint_start, len(columns.hint)),
        (columns.text_start, len(columns.text_refs)),
        (columns.text_offsets, len(columns.text_bytes)),
        (columns.ordered_start, len(columns.ordered_reach)),
        (columns.bitmap_start, len(columns.bitmap_attribute)),
        (columns.grid_start, len(columns.grid_second)),
        (columns.literal_start, len(columns.literal_fail)),
    )


def _have_lengths(columns: Columns, entries: int) -> bool:
    """True if columns that belong together are equally long."""
    attributes, ordered = len(columns.points), len(columns.ordered_reach)
    texts, conjunctions = len(columns.text_refs), block_count(columns)
    return (
        len(columns.number_start)
        == len(columns.single_start)
        == len(columns.hint_start)
        == len(columns.hint_scale) + 1
        == len(columns.text_start)
        == len(columns.ordered_start)
        == len(columns.grid_start)
        == len(columns.bin_scale) + 1
        == attributes + 1
        and len(columns.ordered_is_up_to)
        == len(columns.ordered_zone_low)
        == len(columns.ordered_zone_high)
        == ordered
        and len(columns.text_prefixes) == texts
        and len(columns.remainders) in (0, len(columns.numbers))
        and len(columns.grid_second)
        == len(columns.grid_first_scale)
        == len(columns.grid_second_scale)
        == len(columns.grid_first_reach)
        == len(columns.grid_second_reach)
        == len(columns.grid_columns)
        == len(columns.grid_cluster)
        and len(columns.literal_is_lower)
        == len(columns.literal_attribute)
        == len(columns.literal_start) - 1
        == len(columns.literal_child) - len(columns.literal_fail)
        and len(columns.literal_root) == ROOT_LABELS * len(columns.literal_attribute)
        and len(columns.literal_label) == len(columns.literal_fail) == len(columns.literal_output)
        and len(columns.literal_cluster) == 1
        and len(columns.bitmap_start)
        == len(columns.partition_first) + 1
        == len(columns.partition_last) + 1
        == len(columns.bitmap_word) + 1
        and len(columns.bins) == 1
        and len(columns.entry_key) <= entries
        and len(columns.entry_conjunction) == (0 if entries == conjunctions else entries)
        and len(columns.attribute_bits) == 1
        and columns.attribute_bits[0] in (8, 16, 32)
    )


def domain_starts(columns: Columns) -> Ints:
    """The begin of each attribute's numbers in one column of all numbers."""
    start: Ints = columns.number_start.astype(np.int64) + columns.single_start
    return start


def _domains(columns: Columns) -> Domains:
    """The domains with the numbers of all attributes in one column again."""
    start = domain_starts(columns)
    numbers, remainders = np.empty(start[-1]), np.zeros(start[-1], np.int16)
    # A domain has numbers of one width only, so the attribute decides the column.
    is_wide = np.repeat(np.diff(columns.number_start) > 0, np.diff(start))
    numbers[is_wide], numbers[~is_wide] = columns.numbers, columns.singles
    if len(columns.remainders):
        remainders[is_wide] = columns.remainders
    return Domains(
        start,
        numbers,
        remainders,
        columns.text_start.astype(np.int64),
        columns.text_refs,
        unpacked(columns.text_offsets, columns.text_bytes),
    )


def constraints(columns: Columns) -> tuple[Ints, Ints, U32]:
    """All constraints: the start of each conjunction's, their attributes, their ranks [c, 2]."""
    bits = int(columns.attribute_bits[0])
    start = block_starts(columns)
    count = (np.diff(start) - 1) * 32 // (64 + bits)
    constraint_start = np.zeros(len(start), np.int64)
    np.cumsum(count, out=constraint_start[1:])
    place = np.arange(constraint_start[-1]) - np.repeat(constraint_start[:-1], count)
    block = np.repeat(start[:-1], count) + 1
    packed = columns.blocks[block + 2 * np.repeat(count, count) + place * bits // 32]
    attribute = packed.astype(np.int64) >> place * bits % 32 & (1 << bits) - 1
    ranks = np.stack(
        [columns.blocks[block + 2 * place], columns.blocks[block + 2 * place + 1]], axis=1
    )
    return constraint_start, attribute, ranks


def block(columns: Columns, conjunction: int) -> tuple[list[int], list[tuple[int, int]]]:
    """The attributes and ranks of one conjunction's constraints."""
    first, last = block_start_of(columns, np.array((conjunction, conjunction + 1))).tolist()
    bits = int(columns.attribute_bits[0])
    count = (last - first - 1) * 32 // (64 + bits)
    words = columns.blocks[first + 1 : last].tolist()
    packed = sum(word << 32 * at for at, word in enumerate(words[2 * count :]))
    attributes = [packed >> at * bits & (1 << bits) - 1 for at in range(count)]
    return attributes, list(zip(words[0 : 2 * count : 2], words[1 : 2 * count : 2], strict=True))


def _ranges(columns: Columns, own: U32) -> tuple[Ints, U32, U32]:
    """The ranges of all constraints: the start of each one's ranges, first ranks, widths."""
    has_several = own[:, 1] == SEVERAL
    count = np.ones(len(own), np.int64)
    count[has_several] = np.diff(columns.several_start)
    start = np.zeros(len(own) + 1, np.int64)
    np.cumsum(count, out=start[1:])
    ranges = np.empty((start[-1], 2), np.uint32)
    of_several = np.repeat(has_several, count)
    ranges[~of_several] = own[~has_several]
    ranges[of_several] = columns.several.reshape(-1, 2)
    return start, ranges[:, 0], ranges[:, 1]
