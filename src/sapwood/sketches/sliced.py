"""Sliced Bloom filters: bytes for many sets at once, and searches for the rows in a filter.

In the filters of Shen and XSiena (`bloom.py`; XSiena 5.1) all probes of an element fall anywhere.
Here each probe has a slice of its own, so that the share of elements that a filter of n elements
wrongly holds is exactly (1 - (1 - 1/part)^n)^probes on average (`accuracy.false_in_slices`), and a
search reads the first slice alone. A filter is written as in XSiena 5.1: the places that are set,
or all bits where that is shorter.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from sapwood.errors import InvariantError
from sapwood.matching.readiness import Awaiting
from sapwood.sketches.kernels.choice import SKETCHES, sliced_kernels
from sapwood.sketches.kernels.layout import U64
from sapwood.sketches.kernels.layout_of_rows import HEAD_BYTES, I64, NARROW_MAX, NONE
from sapwood.sketches.kernels.plain_sliced import filter_places, sliced_places
from sapwood.sketches.shape import Shape

HOLDERS_MAX: Final = 64
"""Holders of a row, one bit each."""

_FIRST_ROWS: Final = 64
_WORD_BITS: Final = 64

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class SlicedShape:
    """The shape of filters, and the head that they have on the wire.

    `head` is a word whose second byte is 0; filters that are read must have the same head.
    """

    shape: Shape
    head: int

    @property
    def part(self) -> int:
        """The places of a slice."""
        return self.shape.size // self.shape.probes

    @property
    def width(self) -> int:
        """The number of bytes for a place."""
        return 2 if self.shape.size <= NARROW_MAX else 4

    @property
    def bytes_max(self) -> int:
        """The bytes of a filter, at most, however large its set is."""
        return HEAD_BYTES + self.shape.size // 8

    def places(self, elements: Sequence[int]) -> list[list[int]]:
        """The places of each element, ascending."""
        some, shape = np.array(elements, np.uint64), self.shape
        found: list[list[int]] = sliced_places(some, shape.salt, shape.probes, shape.size).tolist()
        return found

    def places_in(self, filter: bytes) -> list[int] | None:
        """The places of a filter on the wire, ascending; `None` if it is of another shape."""
        return filter_places(filter, self.head, self.shape.size)


class FilterWriter:
    """Writes the filters of sets."""

    __slots__ = ("_awaiting", "_shape", "_taken", "_words")

    def __init__(self, shape: SlicedShape) -> None:
        self._shape = shape
        self._words: U64 = np.zeros(shape.shape.words, np.uint64)
        self._taken: U64 = np.zeros(-(-shape.shape.words // _WORD_BITS), np.uint64)
        self._awaiting = Awaiting(SKETCHES)

    def write(self, offsets: I64, elements: U64) -> tuple[bytes, I64]:
        """The filters of several sets, one behind the other, and the end of each.

        Set `i` is `elements[offsets[i]:offsets[i + 1]]`; an empty one takes no bytes.
        """
        shape, inner = self._shape, self._shape.shape
        sizes = np.diff(offsets) * (inner.probes * shape.width) + HEAD_BYTES
        out = np.zeros(int(np.minimum(sizes, shape.bytes_max).sum()), np.uint8)
        ends = np.zeros(len(sizes), np.int64)
        kernels = sliced_kernels(len(sizes) + len(elements) // 4, self._awaiting)
        kernels.write_filters(
            *(offsets, elements, np.uint64(inner.salt), inner.probes, inner.size),
            *(np.uint64(shape.head), self._words, self._taken, out, ends),
        )
        return out[: ends[-1] if len(ends) else 0].tobytes(), ends


class RowTable:
    """Elements with their holders: up to 64 holders, each a bit of a mask.

    #: a row that is taken has the element that leads to it, and a mask that is not 0
    #: _repeats[row, bit] is the number of times beyond one that a holder has the element; 1 at
    #: least
    """

    __slots__ = (
        *("_awaiting", "_counts", "_elements", "_free", "_heads", "_masks", "_nexts"),
        *("_repeats", "_rows", "_shape", "_words"),
    )

    def __init__(self, shape: SlicedShape) -> None:
        self._shape = shape
        self._awaiting = Awaiting(SKETCHES)
        self._words: U64 = np.zeros(shape.shape.words, np.uint64)
        self._heads = np.full(shape.part, NONE, np.int32)
        self._nexts = np.full(_FIRST_ROWS, NONE, np.int32)
        self._elements: U64 = np.zeros(_FIRST_ROWS, np.uint64)
        self._masks: U64 = np.zeros(_FIRST_ROWS, np.uint64)
        #: element -> row
        self._rows: dict[int, int] = {}
        self._free: list[int] = []
        #: bit -> the number of rows that a holder has
        self._counts: Counter[int] = Counter()
        self._repeats: dict[tuple[int, int], int] = {}

    def __len__(self) -> int:
        """The number of different elements."""
        return len(self._rows)

    def add_many(self, bit: int, elements: Sequence[int]) -> None:
        """Add elements of a holder, each once more."""
        rows, fresh, repeated = self._rows, [], 0
        missing = len(rows) + len(self._free) + len(elements) - len(self._masks)
        if missing > 0:
            self._grow(missing)
        for element in elements:
            row = rows.get(element)
            if row is None:
                row = rows[element] = self._free.pop() if self._free else len(rows)
                self._elements[row], self._masks[row] = element, bit
                fresh.append(row)
            elif int(self._masks[row]) & bit:
                self._repeats[row, bit] = self._repeats.get((row, bit), 0) + 1
                repeated += 1
            else:
                self._masks[row] |= np.uint64(bit)
        self._counts[bit] += len(elements) - repeated
        kernels = sliced_kernels(len(fresh), self._awaiting)
        salt = np.uint64(self._shape.shape.salt)
        taken = np.array(fresh, np.int64)
        kernels.link_in(self._heads, self._nexts, self._elements, taken, salt)

    def remove(self, bit: int, element: int) -> None:
        """Remove an element of a holder, once."""
        row = self._rows[element]
        repeats = self._repeats.pop((row, bit), 0)
        if repeats > 1:
            self._repeats[row, bit] = repeats - 1
        if repeats:
            return
        self._masks[row] &= ~np.uint64(bit)
        self._counts[bit] -= 1
        if not self._masks[row]:
            kernels = sliced_kernels(1, self._awaiting)
            salt = np.uint64(self._shape.shape.salt)
            kernels.link_out(self._heads, self._nexts, self._elements, row, salt)
            del self._rows[element]
            self._free.append(row)

    def search(self, data: bytes, starts: I64, ends: I64, wanted: int) -> tuple[U64, Flags]:
        """The holders of `wanted` with an element in each filter, as bits, and perhaps others.

        Filter `i` is `data[starts[i]:ends[i]]`. The flags are true for filters of this shape; no
        holder is found in other filters.
        """
        count, shape, inner = len(starts), self._shape, self._shape.shape
        found, is_read = np.zeros(count, np.uint64), np.zeros(count, np.uint8)
        # A holder without elements is never found, and would prolong each search to its end.
        wanted &= sum(bit for bit, rows in self._counts.items() if rows)
        kernels = sliced_kernels(count * 64, self._awaiting)
        kernels.search_rows(
            *(data, starts, ends, np.uint64(shape.head), np.uint64(inner.salt)),
            *(inner.probes, inner.size, self._words, self._heads, self._nexts),
            *(self._elements, self._masks, np.uint64(wanted), found, is_read),
        )
        return found, is_read.astype(np.bool_)

    def validate(self, holders: dict[int, dict[int, int]]) -> None:
        """Check the number of each holder's elements; raises `InvariantError`."""
        if self._rows.keys() != holders.keys():
            raise InvariantError("rows are kept of other elements than there are")
        repeats = {}
        for element, row in self._rows.items():
            if int(self._elements[row]) != element or int(self._masks[row]) != sum(
                holders[element]
            ):
                raise InvariantError(f"the row of element {element:#x} has other holders")
            for bit, count in holders[element].items():
                if count > 1:
                    repeats[row, bit] = count - 1
        counts = Counter(bit for held in holders.values() for bit in held)
        if repeats != self._repeats or +counts != +self._counts:
            raise InvariantError("rows are wrong about how often holders have them")
        firsts = {row: self._shape.places([element])[0][0] for element, row in self._rows.items()}
        chained: dict[int, int] = {}
        for at in np.flatnonzero(self._heads != NONE).tolist():
            row = int(self._heads[at])
            while row != NONE:
                chained[row] = at
                row = int(self._nexts[row])
        if chained != firsts:
            raise InvariantError("rows lie in other chains than their first probes say")

    def _grow(self, missing: int) -> None:
        """Make room for at least `missing` more rows, and for twice as many as now."""
        more = max(missing, len(self._masks))
        self._nexts = np.concatenate((self._nexts, np.full(more, NONE, np.int32)))
        self._elements = np.concatenate((self._elements, np.zeros(more, np.uint64)))
        self._masks = np.concatenate((self._masks, np.zeros(more, np.uint64)))
