"""From values to cells, compiled: see `columnar.line`."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from sapwood.matching.columnar import columns as at_column
from sapwood.matching.columnar.columns import U8, U32, U64
from sapwood.matching.columnar.domains import FALSE_CELL, FIRST_TEXT_CELL, NUMBERS_CELL, TRUE_CELL
from sapwood.matching.columnar.kernels.reading import (
    BOOLEAN,
    INTEGER,
    MAP,
    MAP_OF_MANY,
    TEXT,
    UNKNOWN,
    find_name,
    read_size,
    read_value,
    text_order,
)
from sapwood.matching.columnar.kernels.views import (
    behind,
    compiled,
    f32,
    f64,
    i16,
    i64,
    length,
    signed,
    u8,
    u32,
    u64,
)
from sapwood.matching.keys import EXACT_MAX, EXACT_MIN

_PREFIX_BYTES: Final = 8
NUMBERS_BEYOND: Final = 8
"""Constants that are compared at once, and that may be read behind the last one: there is always so
much more of an image."""
_BEYOND: Final = 2.0**63
_LARGEST: Final = (1 << 63) - 1


class Guide(NamedTuple):
    """The guide of a line (`columnar.guides`); without buckets there is none."""

    places: U32
    buckets: int
    scale: float


@compiled
def guide_of(image: U64, attribute: int) -> Guide:
    """The guide of an attribute's line."""
    start = u32(image, at_column.GUIDE_START)
    first, end = signed(start[attribute]), signed(start[attribute + 1])
    places = behind(u32(image, at_column.GUIDE), first)
    return Guide(places, max(0, end - first - 1), f64(image, at_column.GUIDE_SCALE)[attribute])


@compiled
def number_cell(  # noqa: PLR0917 - compiled code takes arrays apart
    numbers: npt.NDArray[np.floating[Any]],
    remainders: npt.NDArray[np.int16],
    first: int,
    last: int,
    guide: Guide,
    number: float,
    remainder: int,
    given: int,
) -> int:
    """Twice the rank of a number among sorted ones, and one more if it is one of them.

    These are `numbers[first:last]`; behind them there is room for `NUMBERS_BEYOND` more. If no
    remainders are `given`, all are 0.
    """
    low = _first_not_below(numbers, first, last, guide, number)
    while low < last and numbers[low] == number:
        here = remainders[low] if given else 0
        if here >= remainder:
            return 2 * (low - first) + (here == remainder)
        low += 1
    return 2 * (low - first)


@compiled
def _first_not_below(
    numbers: npt.NDArray[np.floating[Any]], first: int, last: int, guide: Guide, number: float
) -> int:
    """The first place of the sorted `numbers[first:last]` that is not below `number`, or `last`."""
    if first == last or numbers[first] >= number:
        return first
    if numbers[last - 1] < number:
        return last
    low, high = first, last
    if guide.buckets:
        bucket = min(int((number - float(numbers[first])) * guide.scale), guide.buckets - 1)
        low, high = first + guide.places[bucket], first + guide.places[bucket + 1]
    while high - low > NUMBERS_BEYOND:
        middle = (low + high) >> 1
        is_below = numbers[middle] < number
        low, high = middle + 1 if is_below else low, high if is_below else middle
    # So few are compared all at once, and some that do not count.
    below = 0
    for at in range(NUMBERS_BEYOND):
        below += (low + at < high) & (numbers[low + at] < number)
    return low + below


@compiled
def text_cell(  # noqa: PLR0917 - compiled code takes arrays apart
    image: U64, first: int, last: int, letters: U8, begin: int, end: int
) -> int:
    """Twice the rank of a text among those of a line, and one more if it is one of them.

    The texts of the line are `first` up to `last` of the column `text_refs`, and the text is
    `letters[begin:end]`.
    """
    prefixes, refs = u64(image, at_column.TEXT_PREFIXES), u32(image, at_column.TEXT_REFS)
    offsets, known = i64(image, at_column.TEXT_OFFSETS), u8(image, at_column.TEXT_BYTES)
    prefix = np.uint64(0)
    for at in range(begin, begin + _PREFIX_BYTES):
        prefix = (prefix << np.uint64(8)) | np.uint64(letters[at] if at < end else 0)
    low, high = first, last
    while low < high:
        middle = (low + high) >> 1
        here = prefixes[middle]
        if here == prefix:
            ref = refs[middle]
            order = text_order(known, offsets[ref], offsets[ref + 1], letters, begin, end)
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
def fill_cells(  # noqa: PLR0917 - compiled code takes arrays apart
    image: U64, names: U64, letters: U8, at: int, cells: U32, present: U32
) -> tuple[int, int]:
    """Write the cell of every value of the record that begins at byte `at`.

    `cells` and `present` have an element for each attribute. Which attributes the record has is
    written to `present`; what is there before is taken for a guess. Returns where the record ends,
    or -1 if it cannot be read, and how many attributes were found.
    """
    attributes = length(image, at_column.NUMBER_START) - 1
    known = signed(names[0])
    count, at = read_size(letters, at, MAP, MAP_OF_MANY)
    found = 0
    for _ in range(count):
        kind, first, _, last = read_value(letters, at)
        if kind != TEXT:
            return -1, found
        guess = signed(present[found]) if found < known else 0
        attribute = find_name(names, letters, first, last, guess)
        kind, whole, number, at = read_value(letters, last)
        if kind == UNKNOWN:
            return -1, found
        if attribute < 0:
            continue
        present[found] = attribute
        found += 1
        if attribute < attributes:
            cells[attribute] = _cell(image, attribute, letters, kind, whole, number, at)
    return at, found


@compiled
def _cell(  # noqa: PLR0917 - compiled code takes arrays apart
    image: U64, attribute: int, letters: U8, kind: int, whole: int, number: float, last: int
) -> int:
    """The cell of a value that `read_value` gave, with its end."""
    if kind == BOOLEAN:
        return TRUE_CELL if whole else FALSE_CELL
    number_start = u32(image, at_column.NUMBER_START)
    single_start = u32(image, at_column.SINGLE_START)
    first_number, last_number = signed(number_start[attribute]), signed(number_start[attribute + 1])
    first_single, last_single = signed(single_start[attribute]), signed(single_start[attribute + 1])
    if kind == TEXT:
        text_start = u32(image, at_column.TEXT_START)
        count = last_number - first_number + last_single - first_single
        cell = text_cell(
            image, signed(text_start[attribute]), signed(text_start[attribute + 1]),
            letters, whole, last,
        )  # fmt: skip
        return FIRST_TEXT_CELL + 2 * count + cell
    remainder = remainder_of(whole, number) if kind == INTEGER else 0
    remainders = i16(image, at_column.REMAINDERS)
    if first_single < last_single:
        return NUMBERS_CELL + number_cell(
            f32(image, at_column.SINGLES), remainders, first_single, last_single,
            guide_of(image, attribute), number, remainder, 0,
        )  # fmt: skip
    return NUMBERS_CELL + number_cell(
        f64(image, at_column.NUMBERS), remainders, first_number, last_number,
        guide_of(image, attribute), number, remainder, length(image, at_column.REMAINDERS),
    )  # fmt: skip


@compiled
def remainder_of(value: int, number: float) -> int:
    """What is left of a 64-bit integer when its nearest float is taken away."""
    if EXACT_MIN <= value <= EXACT_MAX:
        return 0
    # The largest integers round to a float that no 64-bit integer equals.
    if number >= _BEYOND:
        return value - np.int64(_LARGEST) - 1  # type: ignore[return-value]
    return value - np.int64(number)  # type: ignore[return-value]
