"""Hulls as columns of rows, in blocks, and their arrangement.

Every attribute that was ever constrained has a field of kinds (`hulls.py`) and, from the first
number or text on, two columns of ends each. Where a row says nothing about an attribute its field
is `FREE` and its ends are infinite. Rows come in blocks of `BLOCK`; for each block the extremes of
its rows are known, so that a search passes by most blocks.

New rows are appended to a tail. A full tail is *packed* together with the packed stretches before
it that are not larger (the logarithmic method of Bentley and Saxe): dead rows are dropped and the
rest is arranged along a k-d tree, whose leaves are the blocks, so that extremes are narrow. Each
row is packed again as often as the table doubles.
"""

from __future__ import annotations

from math import inf
from typing import Final, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from sapwood.covering.indexes.columnar.hulls import FREE, NUMBER, TEXT, Hull, Side
from sapwood.errors import InvariantError
from sapwood.limits import COVERING_ATTRIBUTES_MAX

Floats: TypeAlias = npt.NDArray[np.float64]
Words: TypeAlias = npt.NDArray[np.uint64]
Keys: TypeAlias = npt.NDArray[np.int64]

BLOCK: Final = 64
"""Rows of a block: one compare instruction over it costs about as much as passing it by."""

TAIL_ROWS: Final = 512
"""Rows that are searched in the order of arrival."""

DEAD: Final = -1
"""The key of a row that nobody has (any more)."""

_LAYOUTS_MAX: Final = 4096
"""Layouts that are remembered; sets of subscriptions have some dozens."""

_FIELD_BITS: Final = 6
_FIELDS_A_WORD: Final = 64 // _FIELD_BITS
_ALL_FREE: Final = (1 << 64) - 1


class Columns(NamedTuple):
    """The arrays of a table with room for `r` rows in `b = r / BLOCK` blocks.

    `keys[i]` is the key of row `i`, or DEAD. `ends[c, i]` are ends, `offers[w, i]` and
    `needs[w, i]` words of fields. For each block `largest` and `smallest` are the extremes of its
    ends, `any_offers` is the union of its offers and `all_needs` the intersection of its needs;
    dead rows may still count.
    """

    keys: Keys  # [r]
    ends: Floats  # [c, r]
    offers: Words  # [w, r]
    needs: Words  # [w, r]
    largest: Floats  # [c, b]
    smallest: Floats  # [c, b]
    any_offers: Words  # [w, b]
    all_needs: Words  # [w, b]


class Question(NamedTuple):
    """What a search compares rows with: words of fields, and ends in some columns."""

    words: Words  # [w]
    columns: Keys  # [q]
    ends: Floats  # [q]


class Row(NamedTuple):
    """A new row: its words, and its ends but for those that a question names."""

    offers: Words  # [w]
    needs: Words  # [w]
    ends: Floats  # [c]


class Kernels(Protocol):
    """The loops over a table: the module `kernels.compiled` or its plain twin, which says more."""

    def find_above(
        self, columns: Columns, blocks: int, question: Question, first: int, found: Keys, /
    ) -> tuple[int, int]:
        """Rows that hold what is asked."""

    def find_below(
        self, columns: Columns, blocks: int, question: Question, first: int, found: Keys, /
    ) -> tuple[int, int]:
        """Rows that what is asked holds."""

    def write_row(
        self, columns: Columns, row: int, key: int, fresh: Row, question: Question, /
    ) -> None:
        """Put a hull into a row."""

    def arrange(self, points: Floats, block: int, /) -> Keys:
        """An order in which blocks hold points that lie near each other."""


class _Layout(NamedTuple):
    """Where the sides of hulls that differ in their ends only are in the table.

    `above` and `below` are the words of questions, `columns` the places of the hull's ends and
    `kept` which of its ends have a place, if not all have. `lacks_place` tells that something of
    the hull has none.
    """

    above: Words
    below: Words
    columns: Keys
    kept: list[int] | None
    row: Row
    lacks_place: bool

    def asked(self, hull: Hull, words: Words) -> Question:
        """The question for a hull of this layout."""
        ends = hull.ends if self.kept is None else [hull.ends[place] for place in self.kept]
        return Question(words, self.columns, np.array(ends, np.float64))


class HullTable:
    """Hulls by key.

    #: `_row_of[key]` is the row of each key that is held, and `columns.keys[row]` that key
    #: rows from `_used` on are dead, and their blocks as if nothing had ever been in them
    #: `_stretches` are the first rows of packed stretches, ascending, each the first of a block;
    #: rows from `_tail` on (the first of a block as well) are in the order of arrival
    """

    __slots__ = (
        "_columns_of",
        "_fields",
        "_kernels",
        "_layouts",
        "_row_of",
        "_stretches",
        "_tail",
        "_used",
        "columns",
    )

    def __init__(self, kernels: Kernels) -> None:
        self._kernels = kernels
        #: attribute -> the place of its field
        self._fields: dict[str, int] = {}
        #: attribute and kind (NUMBER or TEXT) -> the first of its two columns
        self._columns_of: dict[tuple[str, int], int] = {}
        #: the sides of a hull (nothing for the empty one) -> their layout; a cache of what the
        #: two tables above say, emptied whenever these change
        self._layouts: dict[tuple[Side, ...] | None, _Layout] = {}
        self._row_of: dict[int, int] = {}
        self._stretches: list[int] = []
        self._tail = self._used = 0
        self.columns = _no_rows(2 * TAIL_ROWS, columns=0, words=1)

    def __len__(self) -> int:
        """The number of hulls."""
        return len(self._row_of)

    @property
    def blocks(self) -> int:
        """The blocks that a search has to look at."""
        return -(-self._used // BLOCK)

    def add(self, key: int, hull: Hull) -> bool:
        """Hold a hull; returns whether all of its attributes have a place in the table."""
        layout = self._layout(hull)
        if layout.lacks_place and self._provide(hull):
            layout = self._layout(hull)
        row = self._used
        if row == len(self.columns.keys):
            self._reserve(rows=2 * row)
        self._kernels.write_row(
            self.columns, row, key, layout.row, layout.asked(hull, layout.above)
        )
        self._row_of[key] = row
        self._used = row + 1
        if self._used - self._tail >= TAIL_ROWS:
            self._pack_tail()
        return not layout.lacks_place

    def remove(self, key: int) -> None:
        """Give up a hull."""
        self.columns.keys[self._row_of.pop(key)] = DEAD
        if self._used > TAIL_ROWS and 2 * len(self._row_of) < self._used:
            self._stretches.clear()
            self._pack(0)

    def above(self, hull: Hull) -> Question:
        """What the rows are asked whose hulls shall hold this one: each must offer and reach it."""
        layout = self._layout(hull)
        return layout.asked(hull, layout.above)

    def below(self, hull: Hull) -> tuple[Question, bool]:
        """What the rows are asked whose hulls this one shall hold: none may need or reach more.

        Also whether that is all: attributes without a place cannot be asked about.
        """
        layout = self._layout(hull)
        return layout.asked(hull, layout.below), not layout.lacks_place

    def validate(self) -> None:
        """Raise `InvariantError` unless rows are where they are said to be, and extremes hold."""
        columns, used = self.columns, self._used
        live = np.flatnonzero(columns.keys != DEAD)
        if {int(columns.keys[row]): int(row) for row in live} != self._row_of:
            raise InvariantError("the rows do not have the keys that are said to have them")
        if len(live) and live[-1] >= used:
            raise InvariantError("a row beyond the used ones has a key")
        starts = [*self._stretches, self._tail]
        if starts != sorted(set(starts)) or any(start % BLOCK for start in starts):
            raise InvariantError("the packed stretches do not follow each other")
        if not self._tail <= used <= self._tail + TAIL_ROWS:
            raise InvariantError("the tail is longer than it may be")
        block = live // BLOCK
        if (
            (columns.ends[:, live] > columns.largest[:, block]).any()
            or (columns.ends[:, live] < columns.smallest[:, block]).any()
            or (columns.offers[:, live] & ~columns.any_offers[:, block]).any()
            or (columns.all_needs[:, block] & ~columns.needs[:, live]).any()
        ):
            raise InvariantError("a row passes the extremes of its block")

    def _layout(self, hull: Hull) -> _Layout:
        """Where the sides of such a hull are; remembered until a new attribute is given a place."""
        kind = None if hull.is_empty else hull.sides
        layout = self._layouts.get(kind)
        if layout is None:
            if len(self._layouts) == _LAYOUTS_MAX:
                self._layouts.clear()
            layout = self._layouts[kind] = self._laid_out(hull)
        return layout

    def _laid_out(self, hull: Hull) -> _Layout:
        words, columns = len(self.columns.needs), len(self.columns.ends)
        free = 0 if hull.is_empty else _ALL_FREE
        offers, needs = [free] * words, [free] * words
        ends = [-inf if hull.is_empty else inf] * columns
        places: list[int] = []
        kept: list[int] = []
        lacks_place, end = False, 0
        for attribute, offered, needed in hull.sides:
            field = self._fields.get(attribute)
            lacks_place = lacks_place or field is None
            if field is not None:
                word, shift = divmod(field, _FIELDS_A_WORD)
                offers[word] ^= (FREE ^ offered) << shift * _FIELD_BITS
                needs[word] ^= (FREE ^ needed) << shift * _FIELD_BITS
            for kind in (NUMBER, TEXT):
                place = self._columns_of.get((attribute, kind))
                if place is not None:
                    ends[place] = ends[place + 1] = -inf
                if needed & kind:
                    lacks_place = lacks_place or place is None
                    if place is not None:
                        places += (place, place + 1)
                        kept += (end, end + 1)
                    end += 2
        row = Row(np.array(offers, np.uint64), np.array(needs, np.uint64), np.array(ends))
        return _Layout(
            above=row.needs,
            below=~row.offers,
            columns=np.array(places, np.int64),
            kept=None if len(kept) == end else kept,
            row=row,
            lacks_place=lacks_place,
        )

    def _provide(self, hull: Hull) -> bool:
        """Give the hull's attributes places, as far as there is room; whether any is new."""
        before = len(self._fields) + len(self._columns_of)
        for attribute, _, needed in hull.sides:
            if attribute not in self._fields:
                if len(self._fields) == COVERING_ATTRIBUTES_MAX:
                    continue
                self._fields[attribute] = len(self._fields)
                if len(self._fields) > _FIELDS_A_WORD * len(self.columns.needs):
                    self._reserve(words=len(self.columns.needs) + 1)
            for kind in (NUMBER, TEXT):
                if needed & kind and (attribute, kind) not in self._columns_of:
                    self._columns_of[attribute, kind] = len(self.columns.ends)
                    self._reserve(columns=len(self.columns.ends) + 2)
                    self._fill(attribute, kind)
        if len(self._fields) + len(self._columns_of) == before:
            return False
        self._layouts.clear()
        return True

    def _fill(self, attribute: str, kind: int) -> None:
        """Ends of the rows so far in two new columns: free, or without values of that kind."""
        word, shift = divmod(self._fields[attribute], _FIELDS_A_WORD)
        bit = np.uint64(kind << shift * _FIELD_BITS)
        column, columns = self._columns_of[attribute, kind], self.columns
        columns.ends[column : column + 2] = np.where(columns.needs[word] & bit, inf, -inf)
        # Narrow extremes come with the next packing.
        columns.largest[column : column + 2, : self.blocks] = inf
        columns.smallest[column : column + 2, : self.blocks] = -inf

    def _reserve(self, *, rows: int = 0, columns: int = 0, words: int = 0) -> None:
        """Move into larger arrays; new fields are free."""
        old = self.columns
        self.columns = _no_rows(
            max(rows, len(old.keys)), max(columns, len(old.ends)), max(words, len(old.needs))
        )
        for wide, narrow in zip(self.columns, old, strict=True):
            wide[tuple(map(slice, narrow.shape))] = narrow
        fresh = slice(len(old.needs), None)
        blocks, used = slice(self.blocks), slice(self._used)
        self.columns.any_offers[fresh, blocks] = _ALL_FREE
        # What accepts nothing needs nothing: it alone has a first word without any bit.
        needs = np.where(old.needs[0, used] == 0, 0, np.uint64(_ALL_FREE))
        self.columns.offers[fresh, used] = self.columns.needs[fresh, used] = needs
        self.columns.all_needs[fresh, blocks] = 0

    def _pack_tail(self) -> None:
        start = self._tail
        while self._stretches and start - self._stretches[-1] <= self._used - start:
            start = self._stretches.pop()
        self._pack(start)

    def _pack(self, start: int) -> None:
        """Drop the dead rows from `start` (the first of a block) on, and arrange the others."""
        columns, end = self.columns, self._used
        rows = start + np.flatnonzero(columns.keys[start:end] != DEAD)
        rows = rows[self._kernels.arrange(np.ascontiguousarray(columns.ends[:, rows]), BLOCK)]
        stop = start + len(rows)
        for array in (columns.ends, columns.offers, columns.needs):
            array[:, start:stop] = array[:, rows]
        keys = columns.keys[rows]
        columns.keys[start:end] = DEAD
        columns.keys[start:stop] = keys
        self._row_of.update(zip(keys.tolist(), range(start, stop), strict=True))
        if len(rows):
            self._stretches.append(start)
        self._tail = self._used = -(-stop // BLOCK) * BLOCK
        _summarize(columns, start, stop, end)


def _summarize(columns: Columns, start: int, stop: int, end: int) -> None:
    """Find the extremes of the rows from `start` to `stop` again, and forget those up to `end`.

    The last block is filled up with copies of its first row, which change no extreme.
    """
    first, last = start // BLOCK, -(-end // BLOCK)
    columns.largest[:, first:last], columns.smallest[:, first:last] = -inf, inf
    columns.any_offers[:, first:last], columns.all_needs[:, first:last] = 0, _ALL_FREE
    filled = -(-stop // BLOCK)
    if filled == first:
        return
    for array in (columns.ends, columns.offers, columns.needs):
        array[:, stop : filled * BLOCK] = array[:, (filled - 1) * BLOCK, None]
    shape = (-1, filled - first, BLOCK)
    rows = slice(start, filled * BLOCK)
    blocks = slice(first, filled)
    columns.largest[:, blocks] = columns.ends[:, rows].reshape(shape).max(axis=2)
    columns.smallest[:, blocks] = columns.ends[:, rows].reshape(shape).min(axis=2)
    columns.any_offers[:, blocks] = np.bitwise_or.reduce(
        columns.offers[:, rows].reshape(shape), axis=2
    )
    columns.all_needs[:, blocks] = np.bitwise_and.reduce(
        columns.needs[:, rows].reshape(shape), axis=2
    )


def _no_rows(rows: int, columns: int, words: int) -> Columns:
    """Arrays in which every row is dead."""
    blocks = rows // BLOCK
    return Columns(
        np.full(rows, DEAD, np.int64),
        np.full((columns, rows), inf),
        np.full((words, rows), _ALL_FREE, np.uint64),
        np.full((words, rows), _ALL_FREE, np.uint64),
        np.full((columns, blocks), -inf),
        np.full((columns, blocks), inf),
        np.zeros((words, blocks), np.uint64),
        np.full((words, blocks), _ALL_FREE, np.uint64),
    )
