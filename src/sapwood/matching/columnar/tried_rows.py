"""Rows of the filters that came last, as a kernel tries them: one array of words, and texts.

Filters are added and removed while others match, so what a match reads is a copy (`TriedRows`), of
as many rows as are tried at all: some hundreds.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from sapwood.matching.columnar.columns import I32, I64
from sapwood.matching.columnar.derived import Attribute
from sapwood.matching.columnar.rows import PredicateNumbers, RowWriter
from sapwood.matching.storage import frozen
from sapwood.model.filter import Filter

(
    ROWS, CONSTRAINT_START, ATTRIBUTE, RANGE_START, LOW, LOW_AT, HIGH, HIGH_AT,
    NUMBERS, REMAINDERS, TEXT_OFFSETS, _HEAD,
) = range(12)  # fmt: skip
"""The first words: how many rows there are; where each column of `Rows` begins, numbers as the bits
of their floats, and where the texts begin and the last one ends. Then the columns follow."""

SCRATCH_PLACES: Final = 4
"""What a kernel keeps of each attribute's value."""

PAIRS: Final = 1
"""Where pairs of record and row begin in what the kernel tells; before them is where they end, or 0
for records that cannot be read."""

_GONE: Final = -1
_GONE_MAX: Final = 64
"""Rows of removed filters that are tried nevertheless, at least; more where more are left."""


class TriedRows(NamedTuple):
    """`n` rows, as a kernel takes them, and the slot of each, `-1` where it was removed."""

    words: I64
    texts: bytes
    slots: I32  # [n]
    #: a filter may have several rows
    repeats: bool

    def matches(self, told: I32) -> tuple[npt.NDArray[np.int64], I32]:
        """Pairs of record and slot, from what the kernel told."""
        pairs = told[PAIRS:].reshape(-1, 2)
        slots = self.slots[pairs[:, 1]]
        is_there = slots != _GONE
        return pairs[:, 0][is_there].astype(np.int64), slots[is_there]


class TriedFilters:
    """Collects filters that a kernel tries.

    That is those with packed bytes, so without checks of patterns, on attributes that have numbers
    already: new names are worked into the names of all when the next segment is made.
    """

    def __init__(self, attributes: dict[Attribute, int], predicates: PredicateNumbers) -> None:
        self._attributes, self._predicates = attributes, predicates
        #: slot -> its filter, and its first row and the one behind the last
        self._filters: dict[int, tuple[Filter, int, int]] = {}
        self._writer = RowWriter(attributes, predicates)
        #: rows of these
        self._left = 0
        self._made: TriedRows | None = None

    def __len__(self) -> int:
        """How many filters."""
        return len(self._filters)

    def __contains__(self, slot: object) -> bool:
        """Whether the filter of a slot is among them."""
        return slot in self._filters

    def add(self, slot: int, filter: Filter, names: Iterable[str]) -> bool:
        """Take a filter with these attributes, unless others have to try it; says whether."""
        if filter.packed is None or not all(name in self._attributes for name in names):
            return False
        self._write(slot, filter)
        return True

    def remove(self, slot: int) -> None:
        """Forget the filter of a slot that is among them."""
        _, first, last = self._filters.pop(slot)
        self._made = None
        self._writer.free(first, last)
        self._left -= last - first
        if len(self._writer) - self._left > max(self._left, _GONE_MAX):
            kept = self._filters
            self.clear()
            for each, (given, _, _) in kept.items():
                self._write(each, given)

    def clear(self) -> None:
        """Forget all."""
        self._filters, self._left, self._made = {}, 0, None
        self._writer = RowWriter(self._attributes, self._predicates)

    def rows(self) -> TriedRows:
        """What a match reads."""
        if self._made is None:
            self._made = _tried_rows(self._writer, repeats=self._left > len(self._filters))
        return self._made

    def _write(self, slot: int, filter: Filter) -> None:
        first = len(self._writer)
        self._writer.add(slot, filter)
        self._filters[slot] = filter, first, len(self._writer)
        self._left += len(self._writer) - first
        self._made = None


def _tried_rows(writer: RowWriter, *, repeats: bool) -> TriedRows:
    rows = writer.rows()
    sizes = np.cumsum([0, *map(len, rows.texts)])
    columns = (
        rows.constraint_start, rows.attribute, rows.range_start, rows.low, rows.low_at, rows.high,
        rows.high_at, rows.numbers.view(np.int64), rows.remainders, sizes,
    )  # fmt: skip
    ends = np.cumsum([_HEAD, *(len(column) for column in columns)])
    head = np.concatenate(((len(rows.slot),), ends[:-1]))
    words = np.concatenate((head, *columns)).astype(np.int64)
    return TriedRows(frozen(words), b"".join(rows.texts), rows.slot, repeats)
