"""Rows tried on records, one by one: filters that were added last and are in no segment; compiled.

A segment takes a millisecond and more to make, however small it is; a row is tried in some
nanoseconds, on values and not on ranks, and most rows are not tried at all: those with an equality
are found by a hash of the record's value. The layout of rows is that of `columnar.tried_rows`.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from sapwood.matching.arrays import ReadOnly
from sapwood.matching.columnar.columns import F64, I32, I64, U8, U64
from sapwood.matching.columnar.domains import High, Low
from sapwood.matching.columnar.kernels.evaluation import grown
from sapwood.matching.columnar.kernels.rank_records import remainder_of
from sapwood.matching.columnar.kernels.reading import (
    ARRAY,
    ARRAY_OF_MANY,
    BOOLEAN,
    INTEGER,
    MAP,
    MAP_OF_MANY,
    TEXT,
    UNKNOWN,
    find_name,
    read_size,
    read_value,
    read_whole,
    text_order,
)
from sapwood.matching.columnar.kernels.views import (
    all_bytes,
    as_bits,
    as_float,
    as_pointer,
    bytes_from,
    compiled,
    new_i32,
    offset,
    signed,
)
from sapwood.matching.columnar.tried_rows import (
    ACCESSED,
    ATTRIBUTE,
    CONSTRAINT_START,
    HASH_SHIFT,
    HIGH,
    HIGH_AT,
    LOW,
    LOW_AT,
    MIX,
    NEXT,
    NEXT_BITS,
    NEXT_MASK,
    NO_HASH,
    NUMBERS,
    PAIRS,
    RANGE_START,
    REMAINDERS,
    SCRATCH_PLACES,
    SPREAD,
    TEXT_OFFSETS,
    TEXTS,
    UNPLACED,
    WORD_BYTES,
)

_FIRST_NUMBER: Final = int(Low.FIRST_NUMBER)
_FIRST_TEXT: Final = int(Low.FIRST_TEXT)
"""Codes of both ends: the lower ones stand for a value each, then come numbers, then texts."""
_LOW_AT_NUMBER: Final = int(Low.AT_NUMBER)
_LOW_AFTER_NUMBER: Final = int(Low.AFTER_NUMBER)
_LOW_AT_TEXT: Final = int(Low.AT_TEXT)
_HIGH_AT_NUMBER: Final = int(High.AT_NUMBER)
_HIGH_BEFORE_NUMBER: Final = int(High.BEFORE_NUMBER)
_HIGH_AT_TEXT: Final = int(High.AT_TEXT)
_HIGH_BEFORE_TEXT: Final = int(High.BEFORE_TEXT)

_KIND, _WHOLE, _END, _REMAINDER = range(4)
"""The places of a value's data: its kind and one more, 0 where it is absent; an integer, a boolean,
or the begin of a text; the end of that; the difference between an integer and its float."""

_ROOM: Final = 256
"""Numbers of pairs that there is room for at first."""


@compiled
def try_rows(  # noqa: PLR0917 - compiled code takes arrays apart
    rows: ReadOnly[I64],
    heads: ReadOnly[I32],
    names: ReadOnly[U64],
    records: bytes,
    values: I64,
    numbers: F64,
) -> I32:
    """The rows that accept each record; the contract is `columnar.searching.Kernels.try_rows`."""
    words, firsts, table = as_pointer(rows), as_pointer(heads), as_pointer(names)
    following, buckets = offset(words, words[NEXT]), len(heads) - 1
    letters, known = all_bytes(records), bytes_from(words, words[TEXTS])
    held, floats, attributes = as_pointer(values), as_pointer(numbers), len(numbers)
    batch, at = read_size(letters, 0, ARRAY, ARRAY_OF_MANY)
    pairs, count = new_i32(_ROOM), PAIRS
    for record in range(batch):
        at, found = _read_record(table, letters, at, held, floats, attributes)
        if at < 0:
            count = 0
            break
        for place in range(-1, found):
            given, bucket = NO_HASH, UNPLACED
            if place >= 0:
                attribute = held[SCRATCH_PLACES * attributes + place]
                given = _hash_of(words, attribute, held, floats, letters)
                bucket = 1 + (given & (buckets - 1))
            row = signed(firsts[bucket]) if given >= 0 else -1
            while row >= 0:
                entry = following[row]
                if entry >> NEXT_BITS == given and _accepts(
                    words, row, held, floats, letters, known
                ):
                    if count + 2 > len(pairs):
                        pairs = grown(pairs, count + 2)
                    pairs[count], pairs[count + 1] = record, row
                    count += 2
                row = (entry & NEXT_MASK) - 1
        for place in range(found):
            held[SCRATCH_PLACES * held[SCRATCH_PLACES * attributes + place]] = 0
    pairs[0] = count
    return pairs[: max(count, PAIRS)]


@compiled
def _hash_of(words: I64, attribute: int, held: I64, floats: F64, letters: U8) -> int:
    """The hash of a record's value of an attribute; -1 if no access predicate can accept it."""
    if attribute >= words[NEXT] - words[ACCESSED]:
        return -1
    value = offset(held, SCRATCH_PLACES * attribute)
    kind = value[_KIND] - 1
    if words[words[ACCESSED] + attribute] == 0 or kind <= BOOLEAN:
        return -1
    word = np.uint64(attribute + 1) * np.uint64(SPREAD)
    if kind == TEXT:
        first, last = value[_WHOLE], value[_END]
        size = last - first
        word += np.uint64(size)
        if size < WORD_BYTES:
            word = _mixed(word, read_whole(letters, first, size))
        else:
            middle = first + (size - WORD_BYTES) // 2
            word = _mixed(word, read_whole(letters, first, WORD_BYTES))
            word = _mixed(word, read_whole(letters, middle, WORD_BYTES))
            word = _mixed(word, read_whole(letters, last - WORD_BYTES, WORD_BYTES))
    else:
        word = _mixed(word, as_bits(floats[attribute] + 0.0))
    return signed((word * np.uint64(MIX)) >> np.uint64(HASH_SHIFT))


@compiled
def _mixed(word: np.uint64, other: np.uint64) -> np.uint64:
    """The hash with one more word in it; see `columnar.tried_rows.access_hash`."""
    mixed = (word ^ other) * np.uint64(MIX)
    return mixed ^ (mixed >> np.uint64(32))


@compiled
def _read_record(  # noqa: PLR0917 - compiled code takes arrays apart
    names: U64, letters: U8, at: int, held: I64, floats: F64, attributes: int
) -> tuple[int, int]:
    """Write the values of the record that begins at byte `at` into `held` and `floats`.

    Returns the end of the record, or -1 if it cannot be read, and the number of its attributes that
    are known; these are written behind the values, where the previous content serves as a guess.
    """
    present = offset(held, SCRATCH_PLACES * attributes)
    count, at = read_size(letters, at, MAP, MAP_OF_MANY)
    found = 0
    for _ in range(count):
        kind, first, _, last = read_value(letters, at)
        if kind != TEXT:
            return -1, found
        guess = present[found] if found < attributes else 0
        attribute = find_name(names, letters, first, last, guess)
        kind, whole, number, at = read_value(letters, last)
        if kind == UNKNOWN:
            return -1, found
        if attribute < 0:
            continue
        here = SCRATCH_PLACES * attribute
        if held[here + _KIND] == 0:
            present[found] = attribute
            found += 1
        held[here + _KIND], held[here + _WHOLE], held[here + _END] = kind + 1, whole, at
        held[here + _REMAINDER] = remainder_of(whole, number) if kind == INTEGER else 0
        floats[attribute] = number
    return at, found


@compiled
def _accepts(  # noqa: PLR0917 - compiled code takes arrays apart
    words: I64, row: int, held: I64, floats: F64, letters: U8, known: U8
) -> bool:
    """True if a row accepts the record whose values are in `held` and `floats`."""
    constraints = offset(words, words[CONSTRAINT_START] + row)
    for constraint in range(constraints[0], constraints[1]):
        attribute = words[words[ATTRIBUTE] + constraint]
        here = offset(held, SCRATCH_PLACES * attribute)
        kind = here[_KIND] - 1
        region = _FIRST_TEXT if kind == TEXT else _FIRST_NUMBER
        if kind <= BOOLEAN:
            region = here[_WHOLE] + 1 if kind == BOOLEAN else 0
        ranges = offset(words, words[RANGE_START] + constraint)
        is_within = False
        for each in range(ranges[0], ranges[1]):
            if _is_within(words, each, region, here, floats[attribute], letters, known):
                is_within = True
                break
        if not is_within:
            return False
    return True


@compiled
def _is_within(  # noqa: PLR0917 - compiled code takes arrays apart
    words: I64, each: int, region: int, value: I64, number: float, letters: U8, known: U8
) -> bool:
    """True if a value is in a range; `region` is the lowest code of an end at its kind."""
    low, high = words[words[LOW] + each], words[words[HIGH] + each]
    low_region, high_region = _region_of(low), _region_of(high)
    if region < low_region or region > high_region:
        return False
    if region == low_region and low != low_region:
        order = _order(words, low, words[words[LOW_AT] + each], value, number, letters, known)
        if order < 0 or (order == 0 and low == _LOW_AFTER_NUMBER):
            return False
    if region == high_region and high != high_region:
        order = _order(words, high, words[words[HIGH_AT] + each], value, number, letters, known)
        is_open = high == _HIGH_BEFORE_NUMBER or high == _HIGH_BEFORE_TEXT  # noqa: PLR1714 - faster
        if order > 0 or (order == 0 and is_open):
            return False
    return True


@compiled
def _region_of(code: int) -> int:
    """The lowest code of an end at the same kind of value."""
    if code < _FIRST_NUMBER:
        return code
    return _FIRST_NUMBER if code < _FIRST_TEXT else _FIRST_TEXT


@compiled
def _order(  # noqa: PLR0917 - compiled code takes arrays apart
    words: I64, code: int, at: int, value: I64, number: float, letters: U8, known: U8
) -> int:
    """-1, 0 or 1 as a value is below, at or above the constant of an end, which is of its kind."""
    if code > _FIRST_TEXT:
        bounds = offset(words, words[TEXT_OFFSETS] + at)
        return -text_order(known, bounds[0], bounds[1], letters, value[_WHOLE], value[_END])
    constant = as_float(np.uint64(words[words[NUMBERS] + at]))
    if number != constant:
        return -1 if number < constant else 1
    remainder, other = signed(value[_REMAINDER]), signed(words[words[REMAINDERS] + at])
    return (remainder > other) - (remainder < other)
