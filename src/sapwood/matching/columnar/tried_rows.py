"""Rows of the filters that were added last, as a kernel tries them: one array of words, and texts.

Filters are added and removed while other threads match, so a match reads a copy (`TriedRows`), of
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
"""The first words: the number of rows; the begin of each column of `Rows`, numbers as the bits of
their floats; the begin of the texts and the end of the last. Then the columns follow."""

SCRATCH_PLACES: Final = 4
"""The elements of scratch memory for each attribute's value."""

PAIRS: Final = 1
"""The place of the first pair of record and row in a kernel's result.

Before it is the end of the pairs, or 0 for records that cannot be read.
"""

_GONE: Final = -1
_GONE_MAX: Final = 64
"""Rows of removed filters that are tried nevertheless, at least; more where more are left."""


class TriedRows(NamedTuple):
    """`n` rows in the form for a kernel, and the slot of each, `-1` where it was removed."""

    words: I64
    texts: bytes
    slots: I32  # [n]
    #: true if a filter may have several rows
    repeats: bool

    def matches(self, told: I32) -> tuple[npt.NDArray[np.int64], I32]:
        """Pairs of record and slot, from the kernel's result."""
        pairs = told[PAIRS:].reshape(-1, 2)
        slots = self.slots[pairs[:, 1]]
        is_there = slots != _GONE
        return pairs[:, 0][is_there].astype(np.int64), slots[is_there]


class TriedFilters:
    """A collection of the filters that a kernel tries.

    These are filters with packed bytes, so without checks of patterns, on attributes that have
    numbers already: new names become known to kernels when the next segment is made.
    """

    def __init__(self, attributes: dict[Attribute, int], predicates: PredicateNumbers) -> None:
        self._attributes, self._predicates = attributes, predicates
        #: slot -> its filter, and its first row and the one behind the last
        self._filters: dict[int, tuple[Filter, int, int]] = {}
        self._writer = RowWriter(attributes, predicates)
        #: the number of rows of these filters
        self._left = 0
        self._made: TriedRows | None = None

    def __len__(self) -> int:
        """The number of filters."""
        return len(self._filters)

    def __contains__(self, slot: object) -> bool:
        """True if the filter of a slot is here."""
        return slot in self._filters

    def add(self, slot: int, filter: Filter, names: Iterable[str]) -> bool:
        """Add a filter with these attributes; false if no kernel can try it."""
        if filter.packed is None or not all(name in self._attributes for name in names):
            return False
        self._write(slot, filter)
        return True

    def remove(self, slot: int) -> None:
        """Remove the filter of a slot that is here."""
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
        """Remove all filters."""
        self._filters, self._left, self._made = {}, 0, None
        self._writer = RowWriter(self._attributes, self._predicates)

    def rows(self) -> TriedRows:
        """The rows that a match reads."""
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
