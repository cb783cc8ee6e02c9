"""The arrays of a table of points, and the arguments of its kernels.

Every attribute that was ever constrained has a *field* of kinds (`points.py`) and, from the first
number or text on, two *columns* of ends each. A row is a point. Where a row does not constrain an
attribute its field is `FREE` and its ends are infinite.

A column has `LEVELS` cuts among its values. For each cut a bitmap marks the rows that reach it, and
for each field one marks the rows that leave it free. A search intersects one bitmap for each end it
has and one for each field it does not constrain, 64 rows an instruction, and compares only the few
rows that are left. Cuts are quantiles; bad ones cost time and change no result.

Eight filters, with `price` in field 0 and `halted` in field 1 (`kinds` are those that rows offer):

    row  filter                                 -lowest  highest  kinds of price, halted
    0    price >= 5                                  -5      inf  NUMBER  FREE
    1    price between 10 and 20                    -10       20  NUMBER  FREE
    2    price <= 15                                inf       15  NUMBER  FREE
    3    halted and price between 10 and 12         -10       12  NUMBER  TRUE
    4    halted                                     inf      inf  FREE    TRUE
    5    price between 8 and 30                      -8       30  NUMBER  FREE
    6    price between 10 and 12                    -10       12  NUMBER  FREE
    7    price between 40 and 50                    -40       50  NUMBER  FREE

The columns have few values, so all finite ones are cuts. As bitmaps, with row 0 at the right:

    -lowest  >= -40  11111111      highest  >= 12   11111111      leave halted free  11100111
             >= -10  01111111               >= 15   10110111      leave price free   00010000
             >= -8   00110101               >= 20   10110011
             >= -5   00010101               >= 30   10110001
                                            >= 50   10010001

The covers of `price between 10 and 13`: the query has the ends -10 and 13, and does not constrain
`halted`, so a cover must leave that free. Of each column the last cut that the query reaches
counts, -10 and 12:

    01111111 & 11111111 & 11100111  =  01100111      rows 0, 1, 2, 5 and 6

These five rows are compared with the ends of the query: row 6 ends at 12, before 13, and is
dropped. Rows 0, 1, 2 and 5 are closed boxes without a rounded end, so they cover the query for
certain.

The filters that `price between 10 and 13` covers: they must constrain `price`, and must not reach
the next cuts, -8 and 15: rows 3 and 6 are left, and the comparison confirms both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import inf
from typing import Any, Final, NamedTuple, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Words: TypeAlias = npt.NDArray[np.uint64]
Places: TypeAlias = npt.NDArray[np.int64]

BLOCK: Final = 64
"""Rows of a word of a bitmap."""

LEVELS: Final = 16
"""Cuts of a column: an end separates a row from all but a sixteenth of the rows that it does not
dominate. Twice as many double the writes for a new row and rarely spare a comparison."""

FOUND_MAX: Final = 64
"""Rows that a search finds at most, before it is called again to go on."""

CHUNK: Final = 512
"""Blocks whose bitmaps are intersected at a time: an early hit costs little, and the intersection
stays in the cache."""

ALL_FREE: Final = (1 << 64) - 1
"""A word of fields that are all `FREE`, or not used."""


class Columns(NamedTuple):
    """The arrays of a table with room for `r` rows in `b = r / BLOCK` blocks.

    `ends[c, i]` are ends, `offers[w, i]` and `needs[w, i]` words of fields. The others are bitmaps,
    bit `i % BLOCK` of word `i // BLOCK` for row `i`: `live` of the rows that are taken, `free[f]`
    of those that do not constrain a field, `reach[c * LEVELS + l]` of those with
    `ends[c, i] >= cuts[c, l]`. Bits of rows that are not taken mean nothing. Cuts ascend; unused
    ones are infinite. `query` begins with the ends of the loaded point, to search with it or to
    write it: as many as its layout has columns.
    """

    ends: Floats  # [c, r]
    offers: Words  # [w, r]
    needs: Words  # [w, r]
    live: Words  # [b]
    free: Words  # [f, b]
    reach: Words  # [c * LEVELS, b]
    cuts: Floats  # [c, LEVELS]
    query: Floats  # [c]


class View(NamedTuple):
    """The arrays that a search in one direction reads: upwards offers, downwards needs.

    It writes the rows that it has found to `found`, and keeps in `left` the rest of the bitmaps
    while it intersects them: both mean nothing to the next search.
    """

    ends: Floats
    kinds: Words
    live: Words
    free: Words
    reach: Words
    cuts: Floats
    query: Floats
    found: Places  # [FOUND_MAX]
    left: Words  # [CHUNK]


class Sides(NamedTuple):
    """The data to compare rows with in a search, but for the ends: words of fields, columns.

    `fields` are those that a row must leave free (upwards) or constrain (downwards).
    """

    words: Words  # [w]
    fields: Places  # [g]
    columns: Places  # [q]


class RowSides(NamedTuple):
    """The content of a row, but for the ends of its point.

    These are its words, the fields that it constrains, the ends in all columns where the point has
    none, and the columns of the ends that it has.
    """

    offers: Words  # [w]
    needs: Words  # [w]
    bound: Places
    rest: Floats  # [c]
    columns: Places  # [q]


class Kernels(Protocol):
    """The loops over a table: see the twin modules `kernels.compiled` and `kernels.plain`."""

    @property
    def handle(self) -> Callable[..., tuple[Any, Any]]:
        """`Columns`, a `View`, `Sides` or `RowSides` in the form in which these kernels take it.

        Also the data that has to be kept, with the arrays, as long as that form is in use.
        """

    @property
    def find_above(self) -> Callable[..., tuple[int, int]]:
        """Rows that hold the query; takes a view, `Sides`, and the bounds of the search."""

    @property
    def find_below(self) -> Callable[..., tuple[int, int]]:
        """Rows that the query holds."""

    @property
    def write_row(self) -> Callable[..., None]:
        """Put the query into a row; takes columns, `RowSides`, and the row."""

    @property
    def level_rows(self) -> Callable[..., None]:
        """Write the bitmaps of a range of columns anew."""

    @property
    def clear_row(self) -> Callable[..., None]:
        """Remove a row; takes the columns and the row."""

    @property
    def find_rows(self) -> Callable[..., tuple[int, int, int]]:
        """Rows of crowds that hold a point or that it holds (`groups.py`)."""

    @property
    def place_rows(self) -> Callable[..., int]:
        """Find the rows that hold each point, and add the point to its crowd after that."""

    @property
    def drop_row(self) -> Callable[..., int]:
        """Remove a row of a crowd; takes arena, groups, the group and the key."""


def unpacked(words: Words) -> npt.NDArray[np.bool_]:
    """The bits of bitmaps [..., b] as truth values [..., b * BLOCK]."""
    octets = np.ascontiguousarray(words, "<u8").view(np.uint8)
    return np.unpackbits(octets, axis=-1, bitorder="little").view(np.bool_)


def packed(bits: npt.NDArray[np.bool_]) -> Words:
    """Truth values [..., b * BLOCK] as bitmaps [..., b]."""
    octets = np.packbits(bits, axis=-1, bitorder="little")
    return octets.view("<u8").astype(np.uint64, copy=False)


def no_rows(rows: int, columns: int, words: int, fields: int) -> Columns:
    """Arrays in which no row is taken."""
    blocks = rows // BLOCK
    return Columns(
        np.full((columns, rows), inf),
        np.full((words, rows), ALL_FREE, np.uint64),
        np.full((words, rows), ALL_FREE, np.uint64),
        np.zeros(blocks, np.uint64),
        np.zeros((fields, blocks), np.uint64),
        np.zeros((columns * LEVELS, blocks), np.uint64),
        np.full((columns, LEVELS), inf),
        np.zeros(columns),
    )


def handles(kernels: Kernels, views: Iterable[object]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The form of each collection of arrays for kernels, and the data to be kept for it."""
    forms, kept = zip(*map(kernels.handle, views), strict=True)
    return forms, kept
