"""Rows of the filters that were added last, as a kernel tries them: one array of words, and texts.

Rows with an equality are in a hash table, by attribute and constant, so that a record leads to few
of them; the others are tried on every record. Filters are added and removed while others match:
rows are only ever written behind those that are there, so what a match needs of its own is where
each bucket begins (`TriedRows`). There are some thousands of rows at most.

Worked example: attributes `a` (0) and `b` (1), and the rows `a = 7` (row 0), `b < 3` (row 1), and
`a = 7 and b = 2` (row 2). Row 0 is in the bucket of `a = 7`; row 1 has no equality and is unplaced;
row 2 is in the bucket of `b = 2`, as another row has `a = 7`. With 8 buckets, and 21 and 3 the
hashes of `a = 7` and `b = 2`, 5 and 3 modulo 8, `heads` is 1 (unplaced), then -1 -1 -1 2 -1 0 -1
-1; `next` has the hashes 21, none and 3 with 0 0 0, and `accessed` is 1 1. The record
`{a: 7, b: 1}` leads to bucket 5 and row 0 by `a`, to a bucket with no row by `b`, and row 1 is
tried besides. A fourth row `a = 7` has 1 for the next, which is row 0, and bucket 5 begins with 3.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from operator import add, gt
from struct import Struct
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from sapwood.matching.columnar.columns import I32, I64
from sapwood.matching.columnar.derived import Attribute
from sapwood.matching.columnar.packed_forms import Kernel
from sapwood.matching.columnar.rows import PredicateNumbers, RowWriter
from sapwood.matching.storage import frozen
from sapwood.model.filter import Filter
from sapwood.model.packing import Form

(
    CONSTRAINT_START, ATTRIBUTE, RANGE_START, LOW, LOW_AT, HIGH, HIGH_AT, NUMBERS, REMAINDERS,
    TEXT_OFFSETS, TEXTS, ACCESSED, NEXT, _HEAD,
) = range(14)  # fmt: skip
"""The first words say where each column begins. Those from `CONSTRAINT_START` to `REMAINDERS` are
the ones of `Rows`, numbers as the bits of their floats; then come where each text begins and the
last one ends, the texts' bytes, 1 for each attribute that access predicates are on (`ACCESSED`),
and for each row the hash of its access predicate and one more than the next row of its bucket, 0
where there is none. Behind what is there a column has room."""

NEXT_BITS: Final = 32
NEXT_MASK: Final = (1 << NEXT_BITS) - 1
"""The low bits of an element of `NEXT` are for the row; the hash is above them."""

NO_HASH: Final = 1 << 24
"""The hash of rows without access predicate; other hashes are below it."""

_SHORT: Final = frozenset((LOW, HIGH, REMAINDERS))
"""The columns whose elements are shorter in `Rows`."""

UNPLACED: Final = 0
"""The place in `heads` of the rows without access predicate; the first bucket comes after it."""

SCRATCH_PLACES: Final = 4
"""The elements of scratch memory for each attribute's value."""

PAIRS: Final = 1
"""The place of the first pair of record and row in a kernel's result.

Before it is the end of the pairs, or 0 for records that cannot be read.
"""

SPREAD: Final = 0x9E37_79B9_7F4A_7C15
MIX: Final = 0xBF58_476D_1CE4_E5B9
HASH_SHIFT: Final = 40
WORD_BYTES: Final = 8
"""Of the hash of an attribute and a constant: two odd multipliers, the bits that are dropped in the
end, and the bytes of a text that are taken at a time (`access_hash`)."""

_NOBODY: Final = -1
_GONE: Final = -1
_GONE_MAX: Final = 64
"""Rows of removed filters that are kept nevertheless, at least; more where more are left."""

_ROOM: Final = 64
"""Elements that there is room for at first, in each column."""

_WORD: Final = (1 << 64) - 1
_FLOAT: Final = Struct(">d")


def access_hash(attribute: int, constant: float | bytes) -> int:
    """The hash of an attribute's number and a constant, of 24 bits.

    Of a number the bits of its nearest float are hashed, where 0 has one sign. Of a text its length
    and its first, middle and last eight bytes, or all of a shorter one; what kernels hash is the
    same (`kernels.trying`).
    """
    word = (attribute + 1) * SPREAD
    if isinstance(constant, bytes):
        size = len(constant)
        word += size
        starts = (0, (size - WORD_BYTES) // 2, size - WORD_BYTES) if size >= WORD_BYTES else (0,)
        parts = [constant[start : start + WORD_BYTES] for start in starts]
    else:
        parts = [_FLOAT.pack(constant + 0.0)]
    for part in parts:
        word = ((word & _WORD) ^ int.from_bytes(part, "big")) * MIX & _WORD
        word ^= word >> 32
    return ((word * MIX) & _WORD) >> HASH_SHIFT


class TriedRows(NamedTuple):
    """Rows, as a kernel takes them, and the slot of each, -1 where it was removed.

    Rows are only ever added to `words`; `heads`, the first row of each bucket, lead to those that
    were there when this was made. Slots of rows that are removed change even then.
    """

    words: I64
    heads: I32
    slots: I32
    #: rows without access predicate
    unplaced: int
    #: a filter may have several rows
    repeats: bool

    def matches(self, result: I32) -> tuple[npt.NDArray[np.int64], I32]:
        """Pairs of record and slot, from the pairs of record and row of the kernel."""
        pairs = result[PAIRS:].reshape(-1, 2)
        slots = self.slots[pairs[:, 1]]
        is_there = slots != _GONE
        return pairs[:, 0][is_there].astype(np.int64), slots[is_there]


class TriedFilters:
    """A collection of the filters that a kernel tries.

    That is those with packed bytes, so without checks of patterns, on attributes that have numbers
    already: new names are worked into the names of all when the next segment is made.

    A conjunction with an equality is found by a hash table: of its equalities the one that the
    fewest others use is its access predicate. With `a = 1 and b = 2` and then `a = 1 and c < 3`,
    the first row is in the bucket of `a = 1`, and so is the second, which has no other equality;
    `a = 1 and b = 3`, coming third, is in the bucket of `b = 3`.

    `read_forms` gives the kernel that reads filters' bytes; it is called when many are rewritten.

    #: rows of filters that are there and of those that were removed are as many as the writer's
    #: len(_hashes) == len(_writer); _sharing counts the hashes of filters that are there
    """

    def __init__(
        self,
        attributes: dict[Attribute, int],
        predicates: PredicateNumbers,
        read_forms: Callable[[], Kernel],
    ) -> None:
        self._attributes, self._predicates = attributes, predicates
        self._read_forms = read_forms
        #: slot -> its filter, and its first row and the one behind the last
        self._filters: dict[int, tuple[Filter, int, int]] = {}
        self._begin()

    def _begin(self) -> None:
        """Begin without rows."""
        self._writer = RowWriter(self._attributes, self._predicates)
        #: rows of filters that were not removed
        self._left = 0
        #: row -> the hash of its access predicate, or `NO_HASH`
        self._hashes = array("q")
        #: hash -> the rows of filters that have it
        self._sharing: Counter[int] = Counter()
        #: the attributes of access predicates
        self._accessed: set[int] = set()
        #: `None` until a match needs it, and where the newest rows do not fit
        self._buffer: _Buffer | None = None
        self._made: TriedRows | None = None

    def __len__(self) -> int:
        """The number of filters."""
        return len(self._filters)

    def __contains__(self, slot: object) -> bool:
        """True if the filter of a slot is among them."""
        return slot in self._filters

    def add(self, slot: int, filter: Filter, form: Form | None) -> bool:
        """Add a filter with what its bytes say, and return True, unless no kernel can try it."""
        if form is None or not all(one[0] in self._attributes for part in form for one in part):
            return False
        self._write(slot, filter, form)
        return True

    def remove(self, slot: int) -> None:
        """Remove the filter of a slot that is among them."""
        _, first, last = self._filters.pop(slot)
        self._writer.free(first, last)
        if self._buffer is not None:
            self._buffer.slots[first:last] = _GONE
        self._sharing.subtract(self._hashes[first:last])
        self._left -= last - first
        self._made = None
        if len(self._writer) - self._left > max(self._left, _GONE_MAX):
            self._drop_removed()

    def clear(self) -> None:
        """Remove all filters."""
        self._filters = {}
        self._begin()

    def rows(self) -> TriedRows:
        """The rows as they are now, for a match."""
        if self._made is None:
            buffer = self._buffer or _Buffer(self._writer, self._hashes, self._accessed)
            heads, unplaced = frozen(buffer.heads.copy()), self._sharing[NO_HASH]
            is_repeating = self._left > len(self._filters)
            self._buffer = buffer
            self._made = TriedRows(buffer.read, heads, buffer.slots, unplaced, is_repeating)
        return self._made

    def _write(self, slot: int, filter: Filter, form: Form) -> None:
        writer, first = self._writer, len(self._writer)
        writer.add_form(slot, form)
        for row in range(first, len(writer)):
            self._place(row)
        buffer = self._buffer
        if buffer is not None and not buffer.extend(writer, self._hashes, self._accessed):
            self._buffer = None
        self._filters[slot] = filter, first, len(writer)
        self._left += len(writer) - first
        self._made = None

    def _drop_removed(self) -> None:
        """Write the filters that are there again, by a kernel; each keeps its access predicates."""
        filters, hashes = self._filters, self._hashes
        self._writer, self._buffer = RowWriter(self._attributes, self._predicates), None
        given = [(slot, one) for slot, (one, _, _) in filters.items()]
        self._writer.add_many(given, self._read_forms())
        self._hashes, last = array("q"), 0
        for slot in dict.fromkeys(self._writer.slots_from(0).tolist()):
            one, *rows = filters[slot]
            self._hashes += hashes[slice(*rows)]
            first, last = last, len(self._hashes)
            filters[slot] = one, first, last
        self._sharing = Counter(self._hashes)

    def _place(self, row: int) -> None:
        """Choose the access predicate of a row."""
        best, accessed, fewest = NO_HASH, 0, 0
        for attribute, constant in self._writer.equalities(row):
            found = access_hash(attribute, constant)
            sharing = self._sharing[found]
            if best == NO_HASH or sharing < fewest:
                best, accessed, fewest = found, attribute, sharing
        self._hashes.append(best)
        self._sharing[best] += 1
        if best != NO_HASH:
            self._accessed.add(accessed)


class _Buffer:
    """The words of rows, with room for more; only what is behind the rows is ever written."""

    def __init__(self, writer: RowWriter, hashes: Sequence[int], accessed: Collection[int]) -> None:
        texts = writer.texts_from(0)
        columns = writer.columns()
        sizes = [*map(len, columns), len(texts) + 1, sum(map(len, texts)) // WORD_BYTES + 1]
        rows = _ROOM + 2 * len(writer)
        room = [_ROOM + 2 * size for size in sizes]
        room += [max(accessed, default=0) + _ROOM, rows]
        ends = np.cumsum([_HEAD, *room])
        self._words = np.zeros(int(ends[-1]), np.int64)
        self._words[:_HEAD] = ends[:-1]
        self._starts, self._ends = ends[:-1].tolist(), ends[1:].tolist()
        # Elements are written through these in a fifth of the time that arrays take.
        self._letters = self._words.data.cast("B")
        self._longs, self._floats = self._letters.cast("q"), self._letters.cast("d")
        #: elements that were written, of each column from `CONSTRAINT_START` to `REMAINDERS`
        self._written = [0] * len(columns)
        self._texts, self._text_bytes, self._rows = 0, 0, 0
        self.read = frozen(self._words.view())
        # Twice as many buckets as rows, so that most rows have one to themselves.
        self.heads = np.full(1 + (1 << (2 * rows - 1).bit_length()), _NOBODY, np.int32)
        self.slots = np.full(rows, _GONE, np.int32)
        has_room = self.extend(writer, hashes, accessed)
        assert has_room, "there is room for twice as much"

    def extend(self, writer: RowWriter, hashes: Sequence[int], accessed: Collection[int]) -> bool:
        """Write what the writer has more; False, and nothing is written, where there is no room.

        `hashes` are those of all rows, `accessed` the attributes of access predicates.
        """
        columns, texts = writer.columns(), writer.texts_from(self._texts)
        letters = b"".join(texts)
        sizes = [*map(len, columns), self._texts + len(texts) + 1]
        sizes += [(self._text_bytes + len(letters)) // WORD_BYTES + 1]
        sizes += [max(accessed, default=-1) + 1, len(writer)]
        starts = self._starts
        if any(map(gt, map(add, starts, sizes), self._ends)):
            return False
        for number, column in enumerate(columns):
            first, last, at = self._written[number], len(column), starts[number]
            self._written[number] = last
            if number in _SHORT:
                for place in range(first, last):
                    self._longs[at + place] = int(column[place])
            elif number == NUMBERS:
                self._floats[at + first : at + last] = array("d", column[first:last])
            else:
                self._longs[at + first : at + last] = array("q", column[first:last])
        if texts:
            at = starts[TEXTS] * WORD_BYTES + self._text_bytes
            self._letters[at : at + len(letters)] = letters
            for text in texts:
                self._texts += 1
                self._text_bytes += len(text)
                self._longs[starts[TEXT_OFFSETS] + self._texts] = self._text_bytes
        for attribute in accessed:
            self._longs[starts[ACCESSED] + attribute] = 1
        buckets, heads = len(self.heads) - 1, self.heads.data
        for row in range(self._rows, len(writer)):
            given = hashes[row]
            bucket = UNPLACED if given == NO_HASH else 1 + given % buckets
            self._longs[starts[NEXT] + row] = given << NEXT_BITS | heads[bucket] + 1
            heads[bucket] = row
        self.slots[self._rows : len(writer)] = writer.slots_from(self._rows)
        self._rows = len(writer)
        return True
