"""From columns of values to cells, compiled: see `matching.tables` and `columnar.line`."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from sapwood.matching.columnar import columns as at_column
from sapwood.matching.columnar.columns import I64, KEY_MAX, U8, U32, U64
from sapwood.matching.columnar.domains import FALSE_CELL, FIRST_TEXT_CELL, NUMBERS_CELL, TRUE_CELL
from sapwood.matching.columnar.kernels.lanes import LANES, lowest, within
from sapwood.matching.columnar.kernels.rank_records import (
    Guide,
    guide_of,
    number_cell,
    remainder_of,
    text_cell,
)
from sapwood.matching.columnar.kernels.views import (
    behind,
    bytes_at,
    compiled,
    f32,
    f64,
    floats_at,
    i16,
    integers_at,
    length,
    places_at,
    signed,
    u32,
)
from sapwood.matching.tables import (
    PLACE_DATA,
    PLACE_FIRST,
    PLACE_OFFSETS,
    PLACE_SIZE,
    PLACE_VALIDITY,
    Kind,
)

_BOOLEAN: Final = int(Kind.BOOLEAN)
_INTEGER: Final = int(Kind.INTEGER)
_FLOAT: Final = int(Kind.FLOAT)
_TEXT: Final = int(Kind.TEXT)


_FIRST_CELL: Final = np.uint32(1)
_CELLS: Final = np.uint32(KEY_MAX - 1)
"""The run of all cells of what is there."""

_CELLS_FOR_A_COLUMN: Final = 16
"""Cells that are looked at many at a time as fast as one cell by itself."""


class _Piece(NamedTuple):
    """Some rows of a column, and where their cells go."""

    data: np.uint64  # an address
    validity: U8
    has_absent: bool  # otherwise there is no validity
    begin: int  # the place of the first row in both
    rows: int
    cells: U32  # a row of `width` for each
    width: int
    attribute: int


@compiled
def fill_columns(  # noqa: PLR0917 - compiled code takes arrays apart
    image: U64, places: I64, numbers: I64, first: int, rows: int, cells: U32
) -> None:
    """Write the cells of `rows` rows of a table, from row `first` of its columns on.

    `places` is the table's (`RecordTable.places`), `numbers` the attribute of each column; those
    that are no attribute of the image are left out. In `cells` each row has an element for each
    attribute of the image. What is absent gets the cell 0.
    """
    width = length(image, at_column.NUMBER_START) - 1
    for which in range(len(numbers)):
        attribute = numbers[which]
        if 0 <= attribute < width:
            _fill_column(image, places, which, attribute, first, rows, cells)


@compiled
def find_present(cells: U32, width: int, numbers: I64, columns: int, present: U32) -> int:
    """Write the attributes of a row's columns that are there; returns how many there are.

    The row has `width` cells, behind which there are `LANES` more of any value; `numbers` are the
    attributes of so many columns.
    """
    if width <= _CELLS_FOR_A_COLUMN * columns:
        return _find_all_present(cells, width, present)
    count = 0
    for which in range(columns):
        attribute = numbers[which]
        if 0 <= attribute < width:
            present[count] = attribute
            count += cells[attribute] != 0
    return count


@compiled
def _find_all_present(cells: U32, width: int, present: U32) -> int:
    """`find_present` by looking at all cells of the row, many at a time."""
    count = 0
    for first in range(0, width, LANES):
        there = within(behind(cells, first), _FIRST_CELL, _CELLS)
        if width - first < LANES:
            there &= (np.uint64(1) << np.uint64(width - first)) - np.uint64(1)
        while there:
            present[count] = first + lowest(there)
            count += 1
            there &= there - np.uint64(1)
    return count


@compiled
def _fill_column(  # noqa: PLR0917 - compiled code takes arrays apart
    image: U64, places: I64, which: int, attribute: int, first: int, rows: int, cells: U32
) -> None:
    at = which * PLACE_SIZE
    kind, data, offsets = places[at], places[at + PLACE_DATA], places[at + PLACE_OFFSETS]
    piece = _Piece(
        data,
        bytes_at(places[at + PLACE_VALIDITY]),
        places[at + PLACE_VALIDITY] != 0,
        places[at + PLACE_FIRST] + first,
        rows,
        cells,
        length(image, at_column.NUMBER_START) - 1,
        attribute,
    )
    if kind == _BOOLEAN:
        _fill_booleans(piece)
    elif kind in (_INTEGER, _FLOAT):
        _fill_numbers(image, piece, kind == _INTEGER)
    elif kind == _TEXT:
        _fill_texts(image, piece, integers_at(offsets))
    else:
        _fill_texts(image, piece, places_at(offsets))


@compiled
def _fill_booleans(piece: _Piece) -> None:
    bits = bytes_at(piece.data)
    for row in range(piece.rows):
        at, cell = piece.begin + row, 0
        if _is_there(piece, at):
            cell = TRUE_CELL if _bit(bits, at) else FALSE_CELL
        piece.cells[row * piece.width + piece.attribute] = cell


@compiled
def _fill_numbers(
    image: U64,
    piece: _Piece,
    is_whole: bool,  # noqa: FBT001 - as compiled code takes it
) -> None:
    attribute, given = piece.attribute, length(image, at_column.REMAINDERS)
    remainders = i16(image, at_column.REMAINDERS)
    start, guide = u32(image, at_column.SINGLE_START), guide_of(image, attribute)
    low, high = signed(start[attribute]), signed(start[attribute + 1])
    if low < high:
        _rank(piece, is_whole, f32(image, at_column.SINGLES), remainders, 0, low, high, guide)
        return
    start = u32(image, at_column.NUMBER_START)
    low, high = signed(start[attribute]), signed(start[attribute + 1])
    _rank(piece, is_whole, f64(image, at_column.NUMBERS), remainders, given, low, high, guide)


@compiled
def _rank(  # noqa: PLR0917 - compiled code takes arrays apart
    piece: _Piece,
    is_whole: bool,  # noqa: FBT001 - as compiled code takes it
    constants: npt.NDArray[np.floating[Any]],
    remainders: npt.NDArray[np.int16],
    given: int,
    low: int,
    high: int,
    guide: Guide,
) -> None:
    """Write the cells of numbers among the constants `low` up to `high`; see `number_cell`."""
    wholes, floats = places_at(piece.data), floats_at(piece.data)
    for row in range(piece.rows):
        at, cell = piece.begin + row, 0
        if _is_there(piece, at):
            number, remainder = floats[at], 0
            if is_whole:
                whole = wholes[at]
                number = float(whole)
                remainder = remainder_of(whole, number)
            cell = NUMBERS_CELL
            cell += number_cell(constants, remainders, low, high, guide, number, remainder, given)
        piece.cells[row * piece.width + piece.attribute] = cell


@compiled
def _fill_texts(image: U64, piece: _Piece, offsets: npt.NDArray[np.signedinteger[Any]]) -> None:
    number_start = u32(image, at_column.NUMBER_START)
    single_start = u32(image, at_column.SINGLE_START)
    text_start, attribute = u32(image, at_column.TEXT_START), piece.attribute
    numbers = signed(number_start[attribute + 1]) - signed(number_start[attribute])
    numbers += signed(single_start[attribute + 1]) - signed(single_start[attribute])
    low, high = signed(text_start[attribute]), signed(text_start[attribute + 1])
    letters = bytes_at(piece.data)
    for row in range(piece.rows):
        at, cell = piece.begin + row, 0
        if _is_there(piece, at):
            first, last = signed(offsets[at]), signed(offsets[at + 1])
            cell = FIRST_TEXT_CELL + 2 * numbers
            cell += text_cell(image, low, high, letters, first, last)
        piece.cells[row * piece.width + piece.attribute] = cell


@compiled
def _is_there(piece: _Piece, at: int) -> bool:
    return not piece.has_absent or _bit(piece.validity, at)


@compiled
def _bit(bits: U8, at: int) -> bool:
    return bool(signed(bits[at >> 3]) >> (at & 7) & 1)
