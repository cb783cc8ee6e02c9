"""From values to cells, compiled: see `columnar.line`.

The plain twins are in `kernels.plain`.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import numpy.typing as npt

from sapwood.matching.columnar import columns as at_column
from sapwood.matching.columnar.batch import BOOLEAN, FLOAT, INTEGER, TEXT, TEXT_END
from sapwood.matching.columnar.columns import I64, U8, U32, U64
from sapwood.matching.columnar.line import FALSE_CELL, FIRST_TEXT_CELL, NUMBERS_CELL, TRUE_CELL
from sapwood.matching.kernels.views import compiled, f32, f64, i16, i64, signed, u8, u32, u64

_PREFIX_BYTES: Final = 8
_EXACT: Final = 1 << 53
_BEYOND: Final = 2.0**63
_LARGEST: Final = (1 << 63) - 1


@compiled
def number_cell(  # noqa: PLR0917 - compiled code takes arrays apart
    numbers: npt.NDArray[np.floating[Any]],
    remainders: npt.NDArray[np.int16],
    first: int,
    last: int,
    number: float,
    remainder: int,
) -> int:
    """Twice the rank of a number among sorted ones, and one more if it is one of them.

    These are `numbers[first:last]`. `remainders` are as many as numbers, or none if all are 0.
    """
    exact = len(remainders) > 0
    low, size = first, last - first
    while size > 0:
        half = size >> 1
        here = numbers[low + half]
        is_below = here < number
        if here == number:
            is_below = (remainders[low + half] if exact else 0) < remainder
        low = low + half + 1 if is_below else low
        size = size - half - 1 if is_below else half
    if low < last and numbers[low] == number:
        return 2 * (low - first) + ((remainders[low] if exact else 0) == remainder)
    return 2 * (low - first)


@compiled
def text_cell(image: U64, first: int, last: int, text: U8) -> int:
    """Twice the rank of a text among those of a line, and one more if it is one of them.

    The texts of the line are `first` up to `last` of the column `text_refs`.
    """
    prefixes, refs = u64(image, at_column.TEXT_PREFIXES), u32(image, at_column.TEXT_REFS)
    offsets, letters = i64(image, at_column.TEXT_OFFSETS), u8(image, at_column.TEXT_BYTES)
    prefix = np.uint64(0)
    for at in range(_PREFIX_BYTES):
        prefix <<= np.uint64(8)
        if at < len(text):
            prefix |= np.uint64(text[at])
    low, high = first, last
    while low < high:
        middle = (low + high) >> 1
        here = prefixes[middle]
        if here == prefix:
            order = _text_order(letters, offsets[refs[middle]], offsets[refs[middle] + 1], text)
            if order == 0:
                return 2 * (middle - first) + 1
            if order < 0:
                low = middle + 1
            else:
                high = middle
        elif here < prefix:
            low = middle + 1
        else:
            high = middle
    return 2 * (low - first)


@compiled
def _text_order(letters: U8, first: int, last: int, text: U8) -> int:
    """-1, 0 or 1 as `letters[first:last]` is before, equal to or after `text`."""
    size = last - first
    for at in range(min(size, len(text))):
        if letters[first + at] != text[at]:
            return -1 if letters[first + at] < text[at] else 1
    return (size > len(text)) - (size < len(text))


@compiled
def fill_cells(  # noqa: PLR0917 - compiled code takes arrays apart
    image: U64, words: I64, texts: U8, at_text: int, record: int, cells: U32
) -> int:
    """Write the cell of every value of a record; `cells` has one element for each attribute.

    The record's texts begin at byte `at_text`; returns where those of the next record begin.
    """
    number_start = u32(image, at_column.NUMBER_START)
    single_start = u32(image, at_column.SINGLE_START)
    text_start = u32(image, at_column.TEXT_START)
    numbers, singles = f64(image, at_column.NUMBERS), f32(image, at_column.SINGLES)
    remainders = i16(image, at_column.REMAINDERS)
    attributes = len(number_start) - 1
    values = words[1 + words[0]]
    floats = words.view(np.float64)
    first_attribute = 2 + words[0]
    for at in range(words[1 + record], words[2 + record]):
        place = first_attribute + at
        attribute, kind = words[place], words[place + values]
        value, number = words[place + 2 * values], floats[place + 2 * values]
        first_byte = at_text
        if kind == TEXT:
            while at_text < len(texts) and texts[at_text] != TEXT_END:
                at_text += 1
            at_text += 1
        if attribute < 0 or attribute >= attributes:
            continue
        first, last = signed(number_start[attribute]), signed(number_start[attribute + 1])
        first_single = signed(single_start[attribute])
        last_single = signed(single_start[attribute + 1])
        if kind == INTEGER or kind == FLOAT:  # noqa: PLR1714, SIM109 - numba compares faster than it searches
            remainder = 0
            if kind == INTEGER:
                number = float(value)
                if value > _EXACT or value < -_EXACT:
                    remainder = _remainder(value, number)
            if first_single < last_single:
                cell = number_cell(
                    singles, remainders[:0], first_single, last_single, number, remainder
                )
            else:
                cell = number_cell(numbers, remainders, first, last, number, remainder)
            cells[attribute] = NUMBERS_CELL + cell
        elif kind == BOOLEAN:
            cells[attribute] = TRUE_CELL if value else FALSE_CELL
        else:
            cell = text_cell(
                image,
                signed(text_start[attribute]),
                signed(text_start[attribute + 1]),
                texts[first_byte : at_text - 1],
            )
            count = last - first + last_single - first_single
            cells[attribute] = FIRST_TEXT_CELL + 2 * count + cell
    return at_text


@compiled
def _remainder(value: int, number: float) -> int:
    """What is left of a 64-bit integer when its nearest float is taken away."""
    # The largest integers round to a float that no 64-bit integer equals.
    if number >= _BEYOND:
        return value - np.int64(_LARGEST) - 1  # type: ignore[return-value]
    return value - np.int64(number)  # type: ignore[return-value]
