"""From columns of values to ranks, compiled: see `matching.tables` and `columnar.domains`."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from sapwood.matching.columnar import columns as at_column
from sapwood.matching.columnar.columns import I64, KEY_MAX, U8, U32, U64
from sapwood.matching.columnar.domains import (
    FALSE_RANK,
    FIRST_NUMBER_RANK,
    FIRST_TEXT_RANK,
    TRUE_RANK,
)
from sapwood.matching.columnar.kernels.automata import TEXT_COUNT, TEXT_WORDS
from sapwood.matching.columnar.kernels.lanes import LANES, lowest, within
from sapwood.matching.columnar.kernels.rank_records import (
    BucketHint,
    derivations_of,
    derived_rank,
    hint_of,
    number_rank,
    remainder_of,
    text_rank,
)
from sapwood.matching.columnar.kernels.reading import PLACE_MASK
from sapwood.matching.columnar.kernels.views import (
    bytes_at,
    compiled,
    f32,
    f64,
    floats_at,
    i16,
    integers_at,
    length,
    offset,
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


_FIRST_RANK: Final = np.uint32(1)
_RANKS: Final = np.uint32(KEY_MAX - 1)
"""The width of the range of all ranks of present values."""

_RANKS_FOR_A_COLUMN: Final = 16
"""Ranks that are compared many at a time as fast as one rank by itself."""


class _Piece(NamedTuple):
    """A piece of a column's rows, and the place of their ranks."""

    data: np.uint64  # an address
    validity: U8
    has_absent: bool  # otherwise there is no validity
    begin: int  # the place of the first row in both
    rows: int
    ranks: U32  # a row of `attributes` for each
    attributes: int
    attribute: int


@compiled
def rank_columns(  # noqa: PLR0917 - compiled code takes arrays apart
    buffer: U64,
    names: U64,
    places: I64,
    numbers: I64,
    first: int,
    rows: int,
    ranks: U32,
    folded: U8,
) -> None:
    """Write the ranks of `rows` rows of a table, from row `first` of its columns on.

    `places` is the table's (`RecordTable.places`), `numbers` the attribute of each column; columns
    whose attribute the segment buffer does not have are left out. In `ranks` each row has an
    element for each attribute of the segment buffer. An absent value gets the rank 0. Values that
    `names` derives from a text are ranked, too; `folded` has room for one (`FOLDED_BYTES`).
    """
    attributes = length(buffer, at_column.NUMBER_START) - 1
    for which in range(len(numbers)):
        attribute = numbers[which]
        if 0 <= attribute < attributes:
            _fill_column(buffer, places, which, attribute, first, rows, ranks)
            if names[1] and places[which * PLACE_SIZE] >= _TEXT:
                begin, end = derivations_of(names, attribute)
                for at in range(begin, end):
                    _fill_derived(buffer, names, at, places, which, first, rows, ranks, folded)


@compiled
def _fill_derived(  # noqa: PLR0917 - compiled code takes arrays apart
    buffer: U64,
    names: U64,
    at: int,
    places: I64,
    which: int,
    first: int,
    rows: int,
    ranks: U32,
    folded: U8,
) -> None:
    """Write the ranks of the values that `names[at]` derives from a column of texts."""
    derived = signed(names[at]) & PLACE_MASK
    attributes = length(buffer, at_column.NUMBER_START) - 1
    if derived >= attributes:
        return
    letters = bytes_at(places[which * PLACE_SIZE + PLACE_DATA])
    for row in range(rows):
        begin, end = _text_at(places, which, first + row)
        rank = 0
        if begin >= 0:
            rank = derived_rank(buffer, names, at, letters, begin, end, folded)
        ranks[row * attributes + derived] = rank


@compiled
def _text_at(places: I64, which: int, row: int) -> tuple[int, int]:
    """The begin and end of a row's text in the data of a column of texts; -1 if it is absent."""
    place = which * PLACE_SIZE
    validity, at = places[place + PLACE_VALIDITY], places[place + PLACE_FIRST] + row
    if validity and not _bit(bytes_at(validity), at):
        return -1, -1
    offsets = places[place + PLACE_OFFSETS]
    if places[place] == _TEXT:
        return signed(integers_at(offsets)[at]), signed(integers_at(offsets)[at + 1])
    return places_at(offsets)[at], places_at(offsets)[at + 1]


@compiled
def note_texts(places: I64, numbers: I64, row: int, texts: I64) -> None:
    """Note the texts of a row of a table, if automata need them (`kernels.automata`)."""
    if texts[0] < 0:
        return
    noted = 0
    for which in range(len(numbers)):
        if numbers[which] >= 0 and places[which * PLACE_SIZE] >= _TEXT:
            begin, end = _text_at(places, which, row)
            if begin >= 0:
                at = TEXT_COUNT + TEXT_WORDS * noted
                texts[at] = numbers[which]
                texts[at + 1] = places[which * PLACE_SIZE + PLACE_DATA] + begin
                texts[at + 2] = end - begin
                noted += 1
    texts[0] = noted


@compiled
def find_present(  # noqa: PLR0917 - compiled code takes arrays apart
    names: U64, ranks: U32, attributes: int, numbers: I64, columns: int, present: U32
) -> int:
    """Write the attributes of a row's columns that are present; returns the number of these.

    The row has `attributes` ranks, behind which there are `LANES` more of any value; `numbers` are
    the attributes of `columns` columns, from which `names` derives others.
    """
    if attributes <= _RANKS_FOR_A_COLUMN * columns:
        return _find_all_present(ranks, attributes, present)
    count = 0
    for which in range(columns):
        attribute = numbers[which]
        if 0 <= attribute < attributes:
            present[count] = attribute
            count += ranks[attribute] != 0
            if names[1]:
                first, last = derivations_of(names, attribute)
                for at in range(first, last):
                    derived = signed(names[at]) & PLACE_MASK
                    if derived < attributes:
                        present[count] = derived
                        count += ranks[derived] != 0
    return count


@compiled
def _find_all_present(ranks: U32, attributes: int, present: U32) -> int:
    """`find_present` by comparing all ranks of the row, many at a time."""
    count = 0
    for first in range(0, attributes, LANES):
        there = within(offset(ranks, first), _FIRST_RANK, _RANKS)
        if attributes - first < LANES:
            there &= (np.uint64(1) << np.uint64(attributes - first)) - np.uint64(1)
        while there:
            present[count] = first + lowest(there)
            count += 1
            there &= there - np.uint64(1)
    return count


@compiled
def _fill_column(  # noqa: PLR0917 - compiled code takes arrays apart
    buffer: U64, places: I64, which: int, attribute: int, first: int, rows: int, ranks: U32
) -> None:
    at = which * PLACE_SIZE
    kind, data, offsets = places[at], places[at + PLACE_DATA], places[at + PLACE_OFFSETS]
    piece = _Piece(
        data,
        bytes_at(places[at + PLACE_VALIDITY]),
        places[at + PLACE_VALIDITY] != 0,
        places[at + PLACE_FIRST] + first,
        rows,
        ranks,
        length(buffer, at_column.NUMBER_START) - 1,
        attribute,
    )
    if kind == _BOOLEAN:
        _fill_booleans(piece)
    elif kind in (_INTEGER, _FLOAT):
        _fill_numbers(buffer, piece, kind == _INTEGER)
    elif kind == _TEXT:
        _fill_texts(buffer, piece, integers_at(offsets))
    else:
        _fill_texts(buffer, piece, places_at(offsets))


@compiled
def _fill_booleans(piece: _Piece) -> None:
    bits = bytes_at(piece.data)
    for row in range(piece.rows):
        at, rank = piece.begin + row, 0
        if _is_there(piece, at):
            rank = TRUE_RANK if _bit(bits, at) else FALSE_RANK
        piece.ranks[row * piece.attributes + piece.attribute] = rank


@compiled
def _fill_numbers(
    buffer: U64,
    piece: _Piece,
    is_whole: bool,  # noqa: FBT001 - as compiled code takes it
) -> None:
    attribute, given = piece.attribute, length(buffer, at_column.REMAINDERS)
    remainders = i16(buffer, at_column.REMAINDERS)
    start, hint = u32(buffer, at_column.SINGLE_START), hint_of(buffer, attribute)
    low, high = signed(start[attribute]), signed(start[attribute + 1])
    if low < high:
        _rank_numbers(
            piece, is_whole, f32(buffer, at_column.SINGLES), remainders, 0, low, high, hint
        )
        return
    start = u32(buffer, at_column.NUMBER_START)
    low, high = signed(start[attribute]), signed(start[attribute + 1])
    _rank_numbers(
        piece, is_whole, f64(buffer, at_column.NUMBERS), remainders, given, low, high, hint
    )


@compiled
def _rank_numbers(  # noqa: PLR0917 - compiled code takes arrays apart
    piece: _Piece,
    is_whole: bool,  # noqa: FBT001 - as compiled code takes it
    constants: npt.NDArray[np.floating[Any]],
    remainders: npt.NDArray[np.int16],
    given: int,
    low: int,
    high: int,
    hint: BucketHint,
) -> None:
    """Write the ranks of numbers among the constants `low` up to `high`; see `number_rank`."""
    wholes, floats = places_at(piece.data), floats_at(piece.data)
    for row in range(piece.rows):
        at, rank = piece.begin + row, 0
        if _is_there(piece, at):
            number, remainder = floats[at], 0
            if is_whole:
                whole = wholes[at]
                number = float(whole)
                remainder = remainder_of(whole, number)
            rank = FIRST_NUMBER_RANK
            rank += number_rank(constants, remainders, low, high, hint, number, remainder, given)
        piece.ranks[row * piece.attributes + piece.attribute] = rank


@compiled
def _fill_texts(buffer: U64, piece: _Piece, offsets: npt.NDArray[np.signedinteger[Any]]) -> None:
    number_start = u32(buffer, at_column.NUMBER_START)
    single_start = u32(buffer, at_column.SINGLE_START)
    text_start, attribute = u32(buffer, at_column.TEXT_START), piece.attribute
    numbers = signed(number_start[attribute + 1]) - signed(number_start[attribute])
    numbers += signed(single_start[attribute + 1]) - signed(single_start[attribute])
    low, high = signed(text_start[attribute]), signed(text_start[attribute + 1])
    letters = bytes_at(piece.data)
    for row in range(piece.rows):
        at, rank = piece.begin + row, 0
        if _is_there(piece, at):
            first, last = signed(offsets[at]), signed(offsets[at + 1])
            rank = FIRST_TEXT_RANK + 2 * numbers
            rank += text_rank(buffer, low, high, letters, first, last)
        piece.ranks[row * piece.attributes + piece.attribute] = rank


@compiled
def _is_there(piece: _Piece, at: int) -> bool:
    return not piece.has_absent or _bit(piece.validity, at)


@compiled
def _bit(bits: U8, at: int) -> bool:
    return bool(signed(bits[at >> 3]) >> (at & 7) & 1)
