"""The bytes of filters, read by compiled code: the contract is `columnar.packed_forms.Kernel`.

The code that makes these bytes never truncates a value, so no end is checked here.
"""

from __future__ import annotations

from math import inf
from typing import Final

import numpy as np
import numpy.typing as npt

from sapwood.matching.columnar.columns import I64, U8
from sapwood.matching.columnar.domains import High, Low
from sapwood.matching.columnar.kernels.reading import (
    ARRAY,
    ARRAY_OF_MANY,
    FLOAT,
    INTEGER,
    read_size,
    read_value,
    text_order,
)
from sapwood.matching.columnar.kernels.views import all_bytes, compiled, signed
from sapwood.matching.keys import EXACT_MAX, EXACT_MIN
from sapwood.model.packing import HIGH_OPEN, LOW_OPEN

Floats = npt.NDArray[np.float64]

_LOW_FIRST_NUMBER: Final = int(Low.FIRST_NUMBER)
_LOW_AT_NUMBER: Final = int(Low.AT_NUMBER)
_LOW_AFTER_NUMBER: Final = int(Low.AFTER_NUMBER)
_LOW_FIRST_TEXT: Final = int(Low.FIRST_TEXT)
_LOW_AT_TEXT: Final = int(Low.AT_TEXT)
_HIGH_LAST_NUMBER: Final = int(High.LAST_NUMBER)
_HIGH_AT_NUMBER: Final = int(High.AT_NUMBER)
_HIGH_BEFORE_NUMBER: Final = int(High.BEFORE_NUMBER)
_HIGH_LAST_TEXT: Final = int(High.LAST_TEXT)
_HIGH_AT_TEXT: Final = int(High.AT_TEXT)
_HIGH_BEFORE_TEXT: Final = int(High.BEFORE_TEXT)

_NIL: Final = 0xC0
_PROBES_MAX: Final = 32
"""Places that are tried for a name: with names that were made to share theirs a filter is odd."""

_FACTOR: Final = np.uint64(0x9E37_79B9_7F4A_7C15)
"""An odd number without a pattern: 2**64 divided by the golden ratio."""


@compiled
def read_forms(  # noqa: PLR0917 - compiled code takes arrays apart
    data: bytes,
    ends: I64,
    table: I64,
    owner: I64,
    starts: I64,
    name: I64,
    codes: U8,
    places: I64,
    numbers: Floats,
    texts: I64,
    names: I64,
    is_odd: U8,
    counts: I64,
) -> None:
    """Read forms into columns; the contract is `columnar.packed_forms.Kernel`."""
    letters = all_bytes(data)
    conjunctions, constraints, held_numbers, held_texts, held_names = 0, 0, 0, 0, 0
    at = signed(np.int64(0))
    for number in range(len(ends)):
        before = conjunctions, constraints, held_numbers, held_texts
        parts, at = read_size(letters, at, ARRAY, ARRAY_OF_MANY)
        is_good = True
        while parts > 0 and is_good:
            parts -= 1
            left, at = read_size(letters, at, ARRAY, ARRAY_OF_MANY)
            while left > 0 and is_good:
                left -= 1
                _, first, _, last = read_value(letters, at + 1)
                flags = signed(letters[last])
                intervals, at = read_size(letters, last + 1, ARRAY, ARRAY_OF_MANY)
                own, held_names = _number_of(letters, first, last, table, names, held_names)
                is_good = flags == 0 and own >= 0 and intervals <= 1
                if not is_good:
                    continue
                if intervals == 1:
                    is_good, at, held_numbers = _read_interval(
                        letters, at + 1, codes, places, constraints, numbers, held_numbers
                    )
                    if not is_good:
                        continue
                ranges, at = read_size(letters, at, ARRAY, ARRAY_OF_MANY)
                is_good = intervals + ranges == 1
                if ranges == 1:
                    at, held_texts = _read_range(
                        letters, at + 1, codes, places, constraints, texts, held_texts
                    )
                name[constraints] = own
                constraints += is_good
            owner[conjunctions] = number
            conjunctions += 1
            starts[conjunctions] = constraints
        if not is_good:
            conjunctions, constraints, held_numbers, held_texts = before
            is_odd[number] = 1
        at = ends[number]
    counts[0], counts[1], counts[2] = conjunctions, constraints, held_numbers
    counts[3], counts[4] = held_texts, held_names


@compiled
def _read_interval(  # noqa: PLR0917 - likewise
    letters: U8,
    at: int,
    codes: U8,
    places: I64,
    constraint: int,
    numbers: Floats,
    held: int,
) -> tuple[bool, int, int]:
    """Read low, high and flags: true if floats hold the ends, the next byte, the numbers."""
    kind, whole, low, at = read_value(letters, at)
    is_exact = kind == FLOAT or (kind == INTEGER and EXACT_MIN <= whole <= EXACT_MAX)
    kind, whole, high, at = read_value(letters, at)
    is_exact = is_exact and (kind == FLOAT or (kind == INTEGER and EXACT_MIN <= whole <= EXACT_MAX))
    flags = signed(letters[at])
    at += 1
    side = 2 * constraint
    if low == high:
        codes[side], codes[side + 1] = _LOW_AT_NUMBER, _HIGH_AT_NUMBER
        places[side] = places[side + 1] = held
        numbers[held] = low
        return is_exact, at, held + 1
    places[side] = places[side + 1] = 0
    if low == -inf and not flags & LOW_OPEN:
        codes[side] = _LOW_FIRST_NUMBER
    else:
        codes[side] = _LOW_AFTER_NUMBER if flags & LOW_OPEN else _LOW_AT_NUMBER
        places[side] = held
        numbers[held] = low
        held += 1
    if high == inf and not flags & HIGH_OPEN:
        codes[side + 1] = _HIGH_LAST_NUMBER
    else:
        codes[side + 1] = _HIGH_BEFORE_NUMBER if flags & HIGH_OPEN else _HIGH_AT_NUMBER
        places[side + 1] = held
        numbers[held] = high
        held += 1
    return is_exact, at, held


@compiled
def _read_range(  # noqa: PLR0917 - likewise
    letters: U8, at: int, codes: U8, places: I64, constraint: int, texts: I64, held: int
) -> tuple[int, int]:
    """Read both ends of a range of texts: the next byte, and the number of texts so far."""
    side = 2 * constraint
    places[side] = places[side + 1] = 0
    _, first, _, at = read_value(letters, at)
    if at > first:
        codes[side] = _LOW_AT_TEXT
        places[side] = held
        texts[2 * held], texts[2 * held + 1] = first, at
        held += 1
    else:
        codes[side] = _LOW_FIRST_TEXT
    if letters[at] == _NIL:
        codes[side + 1] = _HIGH_LAST_TEXT
        return at + 1, held
    last = at
    _, high_first, _, at = read_value(letters, last)
    is_point = (
        at - high_first == last - first + 1
        and letters[at - 1] == 0
        and text_order(letters, first, last, letters, high_first, at - 1) == 0
    )
    if is_point and last > first:
        codes[side + 1] = _HIGH_AT_TEXT
        places[side + 1] = held - 1
        return at, held
    if is_point:  # the empty text
        codes[side], codes[side + 1] = _LOW_AT_TEXT, _HIGH_AT_TEXT
        places[side] = places[side + 1] = held
        texts[2 * held], texts[2 * held + 1] = first, first
        return at, held + 1
    codes[side + 1] = _HIGH_BEFORE_TEXT
    places[side + 1] = held
    texts[2 * held], texts[2 * held + 1] = high_first, at
    return at, held + 1


@compiled
def _number_of(  # noqa: PLR0917 - likewise
    letters: U8, first: int, last: int, table: I64, names: I64, held: int
) -> tuple[int, int]:
    """The number of a name, a new one if need be, and the count of names; -1 if none is free."""
    mixed = np.uint64(last - first)
    for at in range(first, last):
        mixed = (mixed ^ np.uint64(letters[at])) * _FACTOR
        mixed ^= mixed >> np.uint64(29)
    room = len(table)
    place = signed(mixed & np.uint64(room - 1))
    for _ in range(_PROBES_MAX):
        number = table[place] - 1
        if number < 0:
            table[place] = held + 1
            names[2 * held], names[2 * held + 1] = first, last
            return held, held + 1
        if text_order(letters, names[2 * number], names[2 * number + 1], letters, first, last) == 0:
            return number, held
        place = place + 1 & room - 1
    return -1, held
