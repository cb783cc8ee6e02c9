"""From records in MessagePack to ranks, compiled: see `columnar.domains`."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from sapwood.matching.columnar import columns as at_column
from sapwood.matching.columnar.batch import DERIVED_HEAD, PLACE_BITS
from sapwood.matching.columnar.columns import I64, U8, U32, U64
from sapwood.matching.columnar.domains import (
    FALSE_RANK,
    FIRST_NUMBER_RANK,
    FIRST_TEXT_RANK,
    TRUE_RANK,
)
from sapwood.matching.columnar.kernels.automata import TEXT_COUNT, TEXT_WORDS
from sapwood.matching.columnar.kernels.derivations import read_derived
from sapwood.matching.columnar.kernels.reading import (
    BOOLEAN,
    INTEGER,
    MAP,
    MAP_OF_MANY,
    PLACE_MASK,
    TEXT,
    UNKNOWN,
    find_name,
    read_size,
    read_value,
    text_order,
)
from sapwood.matching.columnar.kernels.views import (
    address_of,
    compiled,
    f32,
    f64,
    i16,
    i64,
    length,
    offset,
    signed,
    u8,
    u32,
    u64,
)
from sapwood.matching.keys import EXACT_MAX, EXACT_MIN

_PREFIX_BYTES: Final = 8
NUMBERS_BEYOND: Final = 8
"""Constants that are compared at once, and that may be read behind the last one: there is always so
much more of a segment buffer."""
_BEYOND: Final = 2.0**63
_LARGEST: Final = (1 << 63) - 1


class BucketHint(NamedTuple):
    """The bucket hint of a domain (`columnar.bucket_hints`); one without buckets is none."""

    places: U32
    buckets: int
    scale: float


@compiled
def hint_of(buffer: U64, attribute: int) -> BucketHint:
    """The bucket hint of an attribute's domain."""
    start = u32(buffer, at_column.HINT_START)
    first, end = signed(start[attribute]), signed(start[attribute + 1])
    places = offset(u32(buffer, at_column.HINT), first)
    return BucketHint(places, max(0, end - first - 1), f64(buffer, at_column.HINT_SCALE)[attribute])


@compiled
def number_rank(  # noqa: PLR0917 - compiled code takes arrays apart
    numbers: npt.NDArray[np.floating[Any]],
    remainders: npt.NDArray[np.int16],
    first: int,
    last: int,
    hint: BucketHint,
    number: float,
    remainder: int,
    given: int,
) -> int:
    """Twice the place of a number among sorted constants, and one more if it is one of them.

    The constants are `numbers[first:last]`; behind them there is room for `NUMBERS_BEYOND` more. If
    no remainders are `given`, all are 0. Among [10.0, 20.0, 30.0]: 5 gives 0, 10 gives 1, 15 gives
    2, 30 gives 5, 99 gives 6.
    """
    low = _first_not_below(numbers, first, last, hint, number)
    while low < last and numbers[low] == number:
        here = remainders[low] if given else 0
        if here >= remainder:
            return 2 * (low - first) + (here == remainder)
        low += 1
    return 2 * (low - first)


@compiled
def _first_not_below(
    numbers: npt.NDArray[np.floating[Any]], first: int, last: int, hint: BucketHint, number: float
) -> int:
    """The first place of the sorted `numbers[first:last]` that is not below `number`, or `last`."""
    if first == last or numbers[first] >= number:
        return first
    if numbers[last - 1] < number:
        return last
    low, high = first, last
    if hint.buckets:
        bucket = min(int((number - float(numbers[first])) * hint.scale), hint.buckets - 1)
        low, high = first + hint.places[bucket], first + hint.places[bucket + 1]
    while high - low > NUMBERS_BEYOND:
        middle = (low + high) >> 1
        is_below = numbers[middle] < number
        low, high = middle + 1 if is_below else low, high if is_below else middle
    # A few numbers are all compared, and the ones beyond `last` are not counted.
    below = 0
    for at in range(NUMBERS_BEYOND):
        below += (low + at < high) & (numbers[low + at] < number)
    return low + below


@compiled
def text_rank(  # noqa: PLR0917 - compiled code takes arrays apart
    buffer: U64, first: int, last: int, letters: U8, begin: int, end: int
) -> int:
    """Twice the rank of a text among the texts of a domain, and one more if it is one of them.

    The texts of the domain are `first` up to `last` of the column `text_refs`, and the text is
    `letters[begin:end]`.
    """
    prefixes, refs = u64(buffer, at_column.TEXT_PREFIXES), u32(buffer, at_column.TEXT_REFS)
    offsets, known = i64(buffer, at_column.TEXT_OFFSETS), u8(buffer, at_column.TEXT_BYTES)
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
def rank_record(  # noqa: PLR0917 - compiled code takes arrays apart
    buffer: U64,
    names: U64,
    letters: U8,
    at: int,
    ranks: U32,
    present: U32,
    texts: I64,
    folded: U8,
) -> tuple[int, int]:
    """Write the rank of every value of the record that begins at byte `at`.

    `ranks` and `present` have an element for each attribute. The attributes that the record has are
    written to `present`; its previous content serves as a guess. Attributes derived from a text
    follow it; `folded` has room for one value (`FOLDED_BYTES`). Texts are noted in `texts`
    (`kernels.automata`). Returns the end of the record, or -1 if it cannot be read, and the number
    of attributes found.

    With the attributes a = 0, b = 1, and the only constant of both being 10, the record {"b": 10,
    "x": 1} makes `ranks` [0, 5] and `present` [1, ...]: 4 is the gap below 10.
    """
    attributes = length(buffer, at_column.NUMBER_START) - 1
    known = signed(names[0])
    count, at = read_size(letters, at, MAP, MAP_OF_MANY)
    found = 0
    is_noted, noted = texts[0] >= 0, 0
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
            ranks[attribute] = _rank_of(buffer, attribute, letters, kind, whole, number, at)
        if kind != TEXT:
            continue
        if is_noted:
            place = TEXT_COUNT + TEXT_WORDS * noted
            texts[place], texts[place + 1] = attribute, address_of(letters, whole)
            texts[place + 2] = at - whole
            noted += 1
        if names[1]:
            first, last = derivations_of(names, attribute)
            for which in range(first, last):
                derived = signed(names[which]) & PLACE_MASK
                if derived < attributes:
                    ranks[derived] = derived_rank(buffer, names, which, letters, whole, at, folded)
                    present[found] = derived
                    found += 1
    if is_noted:
        texts[0] = noted
    return at, found


@compiled
def derivations_of(names: U64, attribute: int) -> tuple[int, int]:
    """The first place and the end of an attribute's derivations in `names`."""
    start = signed(names[1]) + DERIVED_HEAD
    entries = start + signed(names[0]) + 1
    first, last = signed(names[start + attribute]), signed(names[start + attribute + 1])
    return entries + first, entries + last


@compiled
def derived_rank(  # noqa: PLR0917 - compiled code takes arrays apart
    buffer: U64, names: U64, which: int, letters: U8, first: int, last: int, folded: U8
) -> int:
    """The rank of the value that `names[which]` derives from `letters[first:last]`."""
    entry = signed(names[which])
    attribute, function = entry & PLACE_MASK, entry >> PLACE_BITS
    kind, whole, end = read_derived(names, function, letters, first, last, folded)
    return _rank_of(buffer, attribute, folded, kind, whole, float(whole), end)


@compiled
def _rank_of(  # noqa: PLR0917 - compiled code takes arrays apart
    buffer: U64, attribute: int, letters: U8, kind: int, whole: int, number: float, last: int
) -> int:
    """The rank of a value as `read_value` returns it, with its end."""
    if kind == BOOLEAN:
        return TRUE_RANK if whole else FALSE_RANK
    number_start = u32(buffer, at_column.NUMBER_START)
    single_start = u32(buffer, at_column.SINGLE_START)
    first_number, last_number = signed(number_start[attribute]), signed(number_start[attribute + 1])
    first_single, last_single = signed(single_start[attribute]), signed(single_start[attribute + 1])
    if kind == TEXT:
        text_start = u32(buffer, at_column.TEXT_START)
        count = last_number - first_number + last_single - first_single
        rank = text_rank(
            buffer, signed(text_start[attribute]), signed(text_start[attribute + 1]),
            letters, whole, last,
        )  # fmt: skip
        return FIRST_TEXT_RANK + 2 * count + rank
    remainder = remainder_of(whole, number) if kind == INTEGER else 0
    remainders = i16(buffer, at_column.REMAINDERS)
    if first_single < last_single:
        return FIRST_NUMBER_RANK + number_rank(
            f32(buffer, at_column.SINGLES), remainders, first_single, last_single,
            hint_of(buffer, attribute), number, remainder, 0,
        )  # fmt: skip
    return FIRST_NUMBER_RANK + number_rank(
        f64(buffer, at_column.NUMBERS), remainders, first_number, last_number,
        hint_of(buffer, attribute), number, remainder, length(buffer, at_column.REMAINDERS),
    )  # fmt: skip


@compiled
def remainder_of(value: int, number: float) -> int:
    """The difference between a 64-bit integer and its nearest float."""
    if EXACT_MIN <= value <= EXACT_MAX:
        return 0
    # The largest integers round to a float that no 64-bit integer equals.
    if number >= _BEYOND:
        return value - np.int64(_LARGEST) - 1  # type: ignore[return-value]
    return value - np.int64(number)  # type: ignore[return-value]
