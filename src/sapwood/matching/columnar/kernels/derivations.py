"""Values derived from a text, compiled, with the results of `columnar.derived.Derived.value`.

Texts are written as far as needed to distinguish the derived text from every constant of its
domain: a few bytes more than the longest constant may have.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from sapwood.matching.columnar.casing import (
    CASED,
    CLASS_BIT,
    FINAL_SIGMA,
    IGNORABLE,
    PAGE_BITS,
    SECOND_BIT,
    SIGMA,
    SMALL_SIGMA,
)
from sapwood.matching.columnar.columns import U8, U64
from sapwood.matching.columnar.derived import CONSTANT_BYTES_MAX, Function
from sapwood.matching.columnar.kernels.reading import BOOLEAN, INTEGER, TEXT
from sapwood.matching.columnar.kernels.views import compiled, offset, signed

LOWERED_BYTES: Final = 8
"""Bytes that a character takes in lower case, at the most: two of four bytes."""

_ENOUGH: Final = CONSTANT_BYTES_MAX + 1
FOLDED_BYTES: Final = _ENOUGH + LOWERED_BYTES
"""Bytes that there is room for."""

_REVERSED: Final = int(Function.REVERSED)
_LOWER: Final = int(Function.LOWER)
_INTEGER: Final = int(Function.INTEGER)

_DIGITS_MAX: Final = 19
_LARGEST: Final = (1 << 63) - 1
_CODE_MASK: Final = (1 << SECOND_BIT) - 1
_PAGE_MASK: Final = (1 << PAGE_BITS) - 1
_DATE_BYTES: Final = 19
_FRACTION_DIGITS: Final = 9
_TIMESTAMP_BYTES: Final = 30
_DAY_S: Final = 86400


@compiled
def read_derived(  # noqa: PLR0917 - compiled code takes arrays apart
    names: U64, function: int, letters: U8, first: int, last: int, folded: U8
) -> tuple[int, int, int]:
    """Kind, integer and the end of a text that a function makes of `letters[first:last]`.

    A text is written to `folded`. A text without a reading gives the boolean `false`.
    """
    if function == _REVERSED:
        return TEXT, 0, _write_reversed(letters, first, last, folded)
    if function == _LOWER:
        return TEXT, 0, _write_lower(casing_of(names), letters, first, last, folded)
    if function == _INTEGER:
        is_read, whole = read_integer(letters, first, last)
        return INTEGER if is_read else BOOLEAN, whole, 0
    size = write_timestamp(letters, first, last, folded)
    return BOOLEAN if size < 0 else TEXT, 0, max(size, 0)


@compiled
def casing_of(names: U64) -> U64:
    """The table of casing; only where an attribute is derived by lower case."""
    pointer: U64 = offset(names, signed(names[signed(names[1])]))
    return pointer


@compiled
def _write_reversed(letters: U8, first: int, last: int, folded: U8) -> int:
    """Write characters from the last one on; returns the number of bytes."""
    at, size = last, 0
    while at > first and size < _ENOUGH:
        begin = at - 1
        while begin > first and at - begin < 4 and letters[begin] & 0xC0 == 0x80:
            begin -= 1
        code, behind = _read_character(letters, begin, at)
        if code < 0 or behind != at:
            begin = at - 1  # no UTF-8, as tables may have: a byte by itself
        for place in range(begin, at):
            folded[size] = letters[place]
            size += 1
        at = begin
    return size


@compiled
def _size_of(lead: int) -> int:
    """The size of a character by its first byte; 1 if no character begins with it."""
    return 1 + (0xC2 <= lead < 0xF5) + (0xE0 <= lead < 0xF5) + (0xF0 <= lead < 0xF5)


@compiled
def _write_lower(casing: U64, letters: U8, first: int, last: int, folded: U8) -> int:
    at, size = first, 0
    while at < last and size < _ENOUGH:
        here = signed(letters[at])
        if here < 0x80:
            folded[size] = here + 32 if 0x41 <= here <= 0x5A else here
            at, size = at + 1, size + 1
        else:
            written, at = lower_character(casing, letters, first, at, last, offset(folded, size))
            size += written
    return size


@compiled
def lower_character(  # noqa: PLR0917 - compiled code takes arrays apart
    casing: U64, letters: U8, first: int, at: int, last: int, lowered: U8
) -> tuple[int, int]:
    """Write the character at a byte of the text `letters[first:last]` in lower case.

    There is room for `LOWERED_BYTES`. Returns the number of bytes written, and the place of the
    next character.
    """
    code, behind = _read_character(letters, at, last)
    entry = _entry_of(casing, code)
    if entry == 0:
        for place in range(at, behind):
            lowered[place - at] = letters[place]
        return behind - at, behind
    lower, second = entry & _CODE_MASK, entry >> SECOND_BIT & _CODE_MASK
    if code == SIGMA:
        is_final = _is_final(casing, letters, first, at, behind, last)
        lower = FINAL_SIGMA if is_final else SMALL_SIGMA
    size = _write_character(lowered, 0, lower)
    if second:
        size = _write_character(lowered, size, second)
    return size, behind


@compiled
def _entry_of(casing: U64, code: int) -> int:
    """The entry of a character in the table of casing; 0 if it has none."""
    if code < 0:
        return 0
    page = signed(casing[code >> PAGE_BITS])
    return signed(casing[page + (code & _PAGE_MASK)]) if page else 0


@compiled
def _read_character(letters: U8, at: int, last: int) -> tuple[int, int]:
    """The character at a byte, and the place of the next; -1 for a byte that begins none."""
    lead = signed(letters[at])
    if lead < 0x80:
        return lead, at + 1
    size = _size_of(lead)
    if size == 1 or at + size > last:
        return -1, at + 1
    code = lead & (0x7F >> size)
    for place in range(at + 1, at + size):
        if letters[place] & 0xC0 != 0x80:
            return -1, at + 1
        code = code << 6 | signed(letters[place]) & 0x3F
    if (size == 3 and code < 0x800) or (size == 4 and not 0x10000 <= code < 0x110000):
        return -1, at + 1
    return code, at + size


@compiled
def _write_character(lowered: U8, size: int, code: int) -> int:
    """Write a character in UTF-8 from place `size` on; returns its end."""
    if code < 0x80:
        lowered[size] = code
        return size + 1
    if code < 0x800:
        lowered[size] = 0xC0 | code >> 6
    elif code < 0x10000:
        lowered[size] = 0xE0 | code >> 12
        lowered[size + 1] = 0x80 | code >> 6 & 0x3F
        size += 1
    else:
        lowered[size] = 0xF0 | code >> 18
        lowered[size + 1] = 0x80 | code >> 12 & 0x3F
        lowered[size + 2] = 0x80 | code >> 6 & 0x3F
        size += 2
    lowered[size + 1] = 0x80 | code & 0x3F
    return size + 2


@compiled
def _is_final(  # noqa: PLR0917 - compiled code takes arrays apart
    casing: U64, letters: U8, first: int, at: int, behind: int, last: int
) -> bool:
    """True if a sigma from `at` to `behind` ends a word (Unicode, `Final_Sigma`)."""
    kind = IGNORABLE
    while at > first and kind == IGNORABLE:
        begin = at - 1
        while begin > first and at - begin < 4 and letters[begin] & 0xC0 == 0x80:
            begin -= 1
        code, end = _read_character(letters, begin, at)
        if end != at:
            code, begin = -1, at - 1
        kind, at = _entry_of(casing, code) >> CLASS_BIT, begin
    if kind != CASED:
        return False
    kind = IGNORABLE
    while behind < last and kind == IGNORABLE:
        code, behind = _read_character(letters, behind, last)
        kind = _entry_of(casing, code) >> CLASS_BIT
    return kind != CASED


@compiled
def read_integer(letters: U8, first: int, last: int) -> tuple[bool, int]:
    """True and the integer if a text spells one of 64 bits: `model.readings.integer_of`."""
    at = first
    is_negative = at < last and letters[at] == 0x2D
    if at < last and (letters[at] == 0x2D or letters[at] == 0x2B):
        at += 1
    if at == last:
        return False, 0
    while at < last and letters[at] == 0x30:
        at += 1
    if last - at > _DIGITS_MAX:
        return False, 0
    value = np.uint64(0)
    for place in range(at, last):
        digit = signed(letters[place]) - 0x30
        if not 0 <= digit <= 9:
            return False, 0
        value = value * np.uint64(10) + np.uint64(digit)
    if value > np.uint64(_LARGEST) + np.uint64(is_negative):
        return False, 0
    return True, -signed(value) if is_negative else signed(value)


@compiled
def write_timestamp(letters: U8, first: int, last: int, folded: U8) -> int:
    """Write a timestamp in its normal form (`model.readings.timestamp_of`); its size, or -1."""
    if last - first <= _DATE_BYTES or not _is_dated(letters, first):
        return -1
    year, month = _number(letters, first, 4), _number(letters, first + 5, 2)
    day, hour = _number(letters, first + 8, 2), _number(letters, first + 11, 2)
    minute, second = _number(letters, first + 14, 2), _number(letters, first + 17, 2)
    if min(year, month, day, hour, minute, second) < 0 or not 1 <= month <= 12:
        return -1
    if not 1 <= day <= _days_of(year, month) or hour > 23 or minute > 59 or second > 60:
        return -1
    at, digits = first + _DATE_BYTES, 0
    for place in range(_FRACTION_DIGITS):
        folded[20 + place] = 0x30
    if letters[at] == 0x2E:
        at += 1
        while at < last and 0x30 <= signed(letters[at]) <= 0x39 and digits < _FRACTION_DIGITS:
            folded[20 + digits] = letters[at]
            at, digits = at + 1, digits + 1
        if digits == 0:
            return -1
    is_read, offset_s = _read_offset(letters, at, last)
    if not is_read:
        return -1
    seconds = (hour * 60 + minute) * 60 + second - offset_s
    if seconds < 0:
        seconds += _DAY_S
        year, month, day = _day_before(year, month, day)
    elif seconds >= _DAY_S:
        seconds -= _DAY_S
        year, month, day = _day_after(year, month, day)
    if not 0 <= year <= 9999:
        return -1
    _write_number(folded, 0, 4, year, 0x2D)
    _write_number(folded, 5, 2, month, 0x2D)
    _write_number(folded, 8, 2, day, 0x54)
    _write_number(folded, 11, 2, seconds // 3600, 0x3A)
    _write_number(folded, 14, 2, seconds // 60 % 60, 0x3A)
    _write_number(folded, 17, 2, seconds % 60, 0x2E)
    folded[_TIMESTAMP_BYTES - 1] = 0x5A
    return _TIMESTAMP_BYTES


@compiled
def _is_dated(letters: U8, first: int) -> bool:
    """True if the signs between the numbers of a date and a time are in their places."""
    return bool(
        letters[first + 4] == 0x2D
        and letters[first + 7] == 0x2D
        and letters[first + 10] | 0x20 == 0x74
        and letters[first + 13] == 0x3A
        and letters[first + 16] == 0x3A
    )


@compiled
def _read_offset(letters: U8, at: int, last: int) -> tuple[bool, int]:
    """True and the seconds ahead of UTC if the rest of a text is `Z` or an offset."""
    if at >= last:
        return False, 0
    if last - at == 1:
        return letters[at] | 0x20 == 0x7A, 0
    if last - at != 6 or letters[at + 3] != 0x3A:
        return False, 0
    hours, minutes = _number(letters, at + 1, 2), _number(letters, at + 4, 2)
    is_behind = letters[at] == 0x2D
    if not (is_behind or letters[at] == 0x2B) or not 0 <= hours <= 23 or not 0 <= minutes <= 59:
        return False, 0
    ahead = (hours * 60 + minutes) * 60
    return True, -ahead if is_behind else ahead


@compiled
def _number(letters: U8, at: int, digits: int) -> int:
    """A number of `digits` digits; -1 where there is anything else."""
    value = 0
    for place in range(at, at + digits):
        digit = signed(letters[place]) - 0x30
        if not 0 <= digit <= 9:
            return -1
        value = 10 * value + digit
    return value


@compiled
def _write_number(folded: U8, at: int, digits: int, value: int, behind: int) -> None:
    """Write a number of `digits` digits, and the sign `behind` it."""
    folded[at + digits] = behind
    for place in range(digits):
        folded[at + digits - 1 - place] = 0x30 + value % 10
        value //= 10


@compiled
def _days_of(year: int, month: int) -> int:
    if month == 2:
        is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
        return 28 + is_leap
    return 30 + ((month + (month >> 3)) & 1)


@compiled
def _day_after(year: int, month: int, day: int) -> tuple[int, int, int]:
    if day < _days_of(year, month):
        return year, month, day + 1
    return (year, month + 1, 1) if month < 12 else (year + 1, 1, 1)


@compiled
def _day_before(year: int, month: int, day: int) -> tuple[int, int, int]:
    if day > 1:
        return year, month, day - 1
    return (year, month - 1, _days_of(year, month - 1)) if month > 1 else (year - 1, 12, 31)
