"""Points by key, in columns of arrays (`columns.py` has a worked example).

A table assigns fields and columns to attributes, chooses cuts again whenever it has doubled, and
caches for each shape of points the places of its sides (a *layout*), so that loading a point is
writing its ends behind each other.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from struct import Struct
from typing import Any, Final, NamedTuple

import numpy as np

from sapwood.covering.columnar.columns import (
    ALL_FREE,
    BLOCK,
    CHUNK,
    FOUND_MAX,
    LEVELS,
    Columns,
    Kernels,
    RowSides,
    Sides,
    View,
    handles,
    no_rows,
    packed,
    unpacked,
)
from sapwood.covering.columnar.points import FREE, TOTAL, Point, Shape, sides
from sapwood.covering.hull import NUMBER, TEXT
from sapwood.errors import InvariantError
from sapwood.limits import COVERING_ATTRIBUTES_MAX

FIT_FROM: Final = 128
"""Rows from which on columns have cuts; comparing fewer one by one is as fast."""

_SAMPLE_ROWS: Final = 2048
"""Rows from which cuts are chosen: the error of a quantile is then about two percent."""

_ROOM: Final = 1024
"""Rows that a new table has room for, at least: see `_room`."""

_LAYOUTS_MAX: Final = 4096
"""Layouts that are cached; sets of subscriptions have some dozens."""

_FIELD_BITS: Final = 6
_FIELDS_A_WORD: Final = 64 // _FIELD_BITS


class Layout(NamedTuple):
    """The places of the sides of points of one shape in the table.

    `above`, `below` and `row` are the sides of queries and of a row, in the form for the kernels of
    the table, valid as long as the layout is: `arrays` are the arrays they refer to, and the data
    to be kept with these. `pack` writes the ends of a point that have a place; `placed` are these,
    if not all have one. `lacks_place` is true if a part of the point has none.
    """

    above: Any
    below: Any
    row: Any
    arrays: tuple[object, ...]
    pack: Callable[..., None]
    placed: list[int] | None
    lacks_place: bool


class PointTable:
    """Points by key.

    #: `_count` rows are live
    #: rows from `_top` on were never taken
    #: `_fit_at` is the number of points at which cuts are chosen again
    """

    __slots__ = (
        "_columns_of",
        "_count",
        "_fields",
        "_fit_at",
        "_kept",
        "_layouts",
        "_left",
        "_loaded",
        "_loaded_layout",
        "_top",
        "_whole",
        "blocks",
        "columns",
        "downward",
        "found",
        "kernels",
        "upward",
    )

    def __init__(self, kernels: Kernels) -> None:
        #: compiled or plain; see `use`
        self.kernels = kernels
        #: attribute -> the place of its field
        self._fields: dict[str, int] = {}
        #: attribute and kind (NUMBER or TEXT) -> the first of its two columns
        self._columns_of: dict[tuple[str, int], int] = {}
        #: the shape of a point (`None` for the empty one) -> its layout; a cache that depends on
        #: the two tables above, emptied whenever these change
        self._layouts: dict[Shape | None, Layout] = {}
        #: the point loaded last, whose ends `columns.query` has, and its layout, which is
        #: valid as `_layouts` are
        self._loaded: Point | None = None
        self._loaded_layout: Layout
        #: the memory to which kernels write the rows that they find, and their scratch memory
        self.found, self._left = np.empty(FOUND_MAX, np.int64), np.empty(CHUNK, np.uint64)
        self._count = self._top = 0
        #: the number of blocks that a search has to read
        self.blocks = 0
        self._fit_at = FIT_FROM
        self._hold(no_rows(_room(_ROOM), columns=0, words=1, fields=0))

    def __len__(self) -> int:
        """The number of points."""
        return self._count

    def add(self, key: int, point: Point) -> bool:
        """Add a point; returns true if all of its attributes have a place in the table."""
        layout = self.load(point)
        if layout.lacks_place and self._provide(point):
            layout = self.load(point)
        rows = BLOCK * len(self.columns.live)
        if key >= rows:
            self._reserve(rows=_room(max(key + 1, 2 * rows)))
        self.kernels.write_row(self._whole, layout.row, key)
        self._count += 1
        if key >= self._top:
            self._top = key + 1
            self.blocks = -(-self._top // BLOCK)
        if self._count >= self._fit_at:
            self._fit_at = 2 * self._count
            self._fit()
        return not layout.lacks_place

    def remove(self, key: int) -> None:
        """Remove a point."""
        self._count -= 1
        self.kernels.clear_row(self._whole, key)

    def load(self, point: Point) -> Layout:
        """Put a point where kernels read it, to search with it or to write it; returns its layout.

        A row whose point holds it must offer all of its kinds and reach all of its ends (`above`);
        a row whose point it holds may need or reach no more (`below`). That is sufficient unless
        the layout lacks a place: attributes without one cannot be compared.
        """
        if self._loaded is point:
            return self._loaded_layout
        layout = self._layout(point)
        placed = layout.placed
        ends = point.ends if placed is None else [point.ends[place] for place in placed]
        layout.pack(self.columns.query, 0, *ends)
        self._loaded, self._loaded_layout = point, layout
        return layout

    def use(self, kernels: Kernels) -> None:
        """Exchange the kernels; layouts that were returned before are invalid then."""
        self.kernels = kernels
        self._forget_layouts()
        self._hold(self.columns)

    def validate(self) -> None:
        """Raise `InvariantError` unless the bitmaps are those of the rows."""
        columns = self.columns
        rows = np.flatnonzero(unpacked(columns.live))
        if len(rows) != self._count:
            raise InvariantError(f"{len(rows)} rows are live, not {self._count}")
        if len(rows) and rows[-1] >= self._top:
            raise InvariantError("a row beyond the used ones is live")
        if (columns.cuts[:, :-1] > columns.cuts[:, 1:]).any():
            raise InvariantError("the cuts of a column do not ascend")
        reached = columns.ends[:, None, rows] >= columns.cuts[:, :, None]
        if (
            unpacked(columns.reach)[:, rows] != reached.reshape(len(columns.reach), len(rows))
        ).any():
            raise InvariantError("a row is not on its level")
        free = unpacked(columns.free)
        for field in self._fields.values():
            word, shift = divmod(field, _FIELDS_A_WORD)
            total = columns.offers[word, rows] & np.uint64(TOTAL << shift * _FIELD_BITS)
            if (free[field, rows] != (total != 0)).any():
                raise InvariantError("a row is said to leave free what it constrains, or not to")

    def _hold(self, columns: Columns) -> None:
        self.columns = columns
        ends, offers, needs, live, free, reach, cuts, query = columns
        rest = live, free, reach, cuts, query, self.found, self._left
        views = columns, View(ends, offers, *rest), View(ends, needs, *rest)
        #: the columns, and the views of them for searches, in the form for the kernels
        (self._whole, self.upward, self.downward), self._kept = handles(self.kernels, views)

    def _forget_layouts(self) -> None:
        self._layouts.clear()
        self._loaded = None

    def _layout(self, point: Point) -> Layout:
        """The layout for a point; kept until a new attribute gets a place."""
        kind = None if point.is_empty else point.shape
        layout = self._layouts.get(kind)
        if layout is None:
            if len(self._layouts) == _LAYOUTS_MAX:
                self._layouts.clear()
            layout = self._layouts[kind] = self._laid_out(point)
        return layout

    def _laid_out(self, point: Point) -> Layout:
        words, columns = len(self.columns.needs), len(self.columns.ends)
        free = 0 if point.is_empty else ALL_FREE
        offers, needs = [free] * words, [free] * words
        ends = [-inf if point.is_empty else inf] * columns
        unconstrained = [] if point.is_empty else list(self._fields.values())
        bound = list(self._fields.values()) if point.is_empty else []
        places: list[int] = []
        placed: list[int] = []
        lacks_place, end = False, 0
        for attribute, offered, needed in sides(point.shape):
            field = self._fields.get(attribute)
            lacks_place = lacks_place or field is None
            if field is not None:
                word, shift = divmod(field, _FIELDS_A_WORD)
                offers[word] ^= (FREE ^ offered) << shift * _FIELD_BITS
                needs[word] ^= (FREE ^ needed) << shift * _FIELD_BITS
                unconstrained.remove(field)
                if not offered & TOTAL:
                    bound.append(field)
            for kind in (NUMBER, TEXT):
                place = self._columns_of.get((attribute, kind))
                if place is not None:
                    ends[place] = ends[place + 1] = -inf
                if needed & kind:
                    lacks_place = lacks_place or place is None
                    if place is not None:
                        places += (place, place + 1)
                        placed += (end, end + 1)
                    end += 2
        row_offers = np.array(offers, np.uint64)
        row_needs, constrained = np.array(needs, np.uint64), np.array(bound, np.int64)
        at = np.array(places, np.int64)
        arrays = (
            Sides(row_needs, np.array(unconstrained, np.int64), at),
            Sides(~row_offers, constrained, at),
            RowSides(row_offers, row_needs, constrained, np.array(ends, np.float64), at),
        )
        (above, below, row), kept = handles(self.kernels, arrays)
        return Layout(
            above,
            below,
            row,
            (arrays, kept),
            Struct(f"{len(placed)}d").pack_into,
            None if len(placed) == end else placed,
            lacks_place,
        )

    def _provide(self, point: Point) -> bool:
        """Assign places to the point's attributes, as far as there is room; true if any is new."""
        before, column, filled = len(self._fields), len(self.columns.ends), []
        for attribute, _, needed in sides(point.shape):
            if attribute not in self._fields:
                if len(self._fields) == COVERING_ATTRIBUTES_MAX:
                    continue
                self._fields[attribute] = len(self._fields)
            for kind in (NUMBER, TEXT):
                if needed & kind and (attribute, kind) not in self._columns_of:
                    self._columns_of[attribute, kind] = column
                    filled.append((attribute, kind))
                    column += 2
        fields = len(self._fields)
        if fields == before and not filled:
            return False
        self._reserve(columns=column, words=-(-fields // _FIELDS_A_WORD), fields=fields)
        for attribute, kind in filled:
            self._fill(attribute, kind)
        self._forget_layouts()
        return True

    def _fill(self, attribute: str, kind: int) -> None:
        """Fill two new columns with the ends of the rows so far: free, or without such values."""
        word, shift = divmod(self._fields[attribute], _FIELDS_A_WORD)
        bit = np.uint64(kind << shift * _FIELD_BITS)
        column, columns = self._columns_of[attribute, kind], self.columns
        columns.ends[column : column + 2] = np.where(columns.needs[word] & bit, inf, -inf)
        self.kernels.level_rows(
            columns.ends, columns.reach, columns.cuts, column, column + 2, self.blocks
        )

    def _reserve(self, *, rows: int = 0, columns: int = 0, words: int = 0, fields: int = 0) -> None:
        """Move into larger arrays, if these are not large enough; new fields are free."""
        old = self.columns
        size = BLOCK * len(old.live)
        self._hold(
            no_rows(
                max(rows, size),
                max(columns, len(old.ends)),
                max(words, len(old.needs)),
                max(fields, len(old.free)),
            )
        )
        for wide, narrow in zip(self.columns, old, strict=True):
            wide[tuple(map(slice, narrow.shape))] = narrow
        # A filter that accepts nothing needs nothing: it alone has a first word of 0.
        needs = np.where(old.needs[0] == 0, 0, np.uint64(ALL_FREE))
        fresh = slice(len(old.needs), None)
        self.columns.offers[fresh, :size] = self.columns.needs[fresh, :size] = needs
        empty = packed(needs == 0)
        self.columns.free[len(old.free) :, : len(empty)] = ~empty

    def _fit(self) -> None:
        """Choose the cuts of all columns among the values they have, and sort the rows anew."""
        columns = self.columns
        rows = np.flatnonzero(unpacked(columns.live))
        sample = rows[:: -(-len(rows) // _SAMPLE_ROWS)]
        for column, values in enumerate(columns.ends[:, sample]):
            known = np.sort(values[np.isfinite(values)])
            distinct = known[np.diff(known, prepend=-inf) > 0]
            if len(distinct) > LEVELS:
                quantiles = known[(np.arange(LEVELS) * len(known)) // LEVELS]
                distinct = quantiles[np.diff(quantiles, prepend=-inf) > 0]
            columns.cuts[column] = inf
            columns.cuts[column, : len(distinct)] = distinct
        self.kernels.level_rows(
            columns.ends, columns.reach, columns.cuts, 0, len(columns.ends), self.blocks
        )


def _room(rows: int) -> int:
    """Room for at least `rows` rows: an odd number of blocks.

    Writing a row touches every bitmap at one place. If bitmaps began at multiples of a power of two
    these places would fall on the same few lines of the processor's cache.
    """
    return (-(-rows // BLOCK) | 1) * BLOCK
