"""Records as they arrived, checked and flattened by compiled code: see `columnar.flat_records`.

The input comes from strangers: nothing is read before its end has been compared with the end of the
record, and neither time nor room depends on anything but the length of the record.

Flattening copies. As long as members of a record are unchanged in its flat view, they wait, and are
copied together; before a member that is left out, or has another name there, the waiting ones are
copied. The record {"a": 1, "b": None, "c": {"d": 2.5, "e": "x"}} has 25 bytes, and a map in
front:

    member      a      b      c       c.d            c.e
    bytes      1..4   4..7   7..10   10..21         21..25

At `b` the three bytes of `a` are copied, and nothing of `b`. At `c.d` the name is written, and its
value waits; at `c.e` that value is copied, and the other name written; at the end the value "x" is.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from sapwood.limits import ATTRIBUTES_MAX, RECORD_DEPTH_MAX
from sapwood.matching.columnar.columns import I64, U8, U64
from sapwood.matching.columnar.flat_records import (
    DOUBTFUL,
    GROWTH,
    NONE,
    READ,
    ROOM_BYTES,
    SCRATCH_FIRST,
    SCRATCH_LAST,
    SCRATCH_LEFT,
    SCRATCH_USED,
    WITH_ARRAYS,
)
from sapwood.matching.columnar.kernels.reading import read_whole
from sapwood.matching.columnar.kernels.views import (
    all_bytes,
    as_pointer,
    compiled,
    copy_bytes,
    inlined,
    signed,
    widened,
    word_at,
)
from sapwood.matching.encoded_records import HEADER_BYTES

BAD: Final = 0
NULL: Final = 1
PLAIN: Final = 2
TEXT: Final = 3
SINGLE: Final = 4
NAN: Final = 5
ARRAY: Final = 6
MAP: Final = 7
"""The kinds of values. PLAIN is a boolean or a number that is copied as it is, SINGLE a float of 32
bits; BAD is a value that no record may hold, or that extends beyond the end."""

_DEEPEST: Final = RECORD_DEPTH_MAX - 2
"""Objects and arrays that deep have members and elements as deep as any may be. The values of the
record itself have the depth 0."""

_PROBES_MAX: Final = 32
"""Places that are tried for a name: with names that were made to share theirs a record is doubtful,
and takes no longer."""

_MAP_BYTES: Final = 3
_NAME_BYTES: Final = 5
_FLOAT_BYTES: Final = 9
"""Bytes before all members; before the letters of a name, at most; and of a float."""

_WORD_BYTES: Final = 8
_HIGH_BITS: Final = np.uint64(0x8080_8080_8080_8080)
_FACTOR: Final = np.uint64(0x9E37_79B9_7F4A_7C15)
"""An odd number without a pattern: 2**64 divided by the golden ratio."""

_INFINITY: Final = 0x7FF0_0000_0000_0000
_SINGLE_INFINITY: Final = 0x7F80_0000
"""A number whose bits are greater, but for the sign, is NaN."""


@compiled
def flatten_records(  # noqa: PLR0917 - compiled code takes arrays apart
    data: bytes, starts: I64, ends: I64, scratch: U64, out: U8, offsets: I64, verdicts: U8
) -> None:
    """Check and flatten records; the contract is `columnar.flat_records.Kernel`."""
    letters, flat, free = all_bytes(data), as_pointer(out), as_pointer(scratch)
    size, room, count = len(data), len(out), len(starts)
    flat[0] = 0xDD
    for step in range(1, HEADER_BYTES):
        flat[step] = count >> 8 * (HEADER_BYTES - 1 - step) & 0xFF
    place = signed(np.int64(HEADER_BYTES))
    for number in range(count):
        begin, first, last = place, starts[number], ends[number]
        limit = begin + ROOM_BYTES + GROWTH * (last - first)
        verdict = DOUBTFUL
        if 0 <= first < last <= size and limit <= room:
            verdict, place = _flatten(letters, first, last, flat, begin, limit, free)
        if verdict != READ:
            flat[begin] = 0x80
            place = begin + 1
        offsets[number], verdicts[number] = begin, verdict
    offsets[count] = place


@compiled
def _flatten(  # noqa: PLR0917 - compiled code takes arrays apart
    letters: U8, at: int, end: int, flat: U8, begin: int, limit: int, free: U64
) -> tuple[int, int]:
    """Write the flat view of `letters[at:end]` to `flat[begin:limit]`; verdict and end."""
    # No literals, since functions would be compiled anew for literal arguments.
    zero = signed(np.int64(0))
    mask = _mask_for(end - at, zero)
    kind, at, left = _read_kind(letters, at, end)
    if kind == NULL and at == end:
        return NONE, begin
    is_good, place, kept = kind == MAP, begin + _MAP_BYTES, at
    depth = prefix = members = attributes = elements = zero
    while is_good and (left or depth):
        if not left:
            prefix -= signed(free[SCRATCH_LAST + depth] - free[SCRATCH_FIRST + depth]) + 1
            depth -= 1
            left = signed(free[SCRATCH_LEFT + depth])
            continue
        left, start = left - 1, at
        name, last, first = _read_kind(letters, at, end)
        kind, at, count = _read_kind(letters, last, end)
        is_visible = PLAIN <= kind <= SINGLE
        needed = last - kept + prefix + last - first + _NAME_BYTES + _FLOAT_BYTES
        is_good = name == TEXT and (is_visible or kind == NULL or kind >= ARRAY)
        is_good = is_good and place + needed <= limit and members < ATTRIBUTES_MAX
        if not is_good or (kind >= ARRAY and depth > _DEEPEST):
            is_good = False
            break
        if depth or not PLAIN <= kind <= TEXT:
            # Copy the waiting bytes before a name that is written, and before a member left out.
            until = last if kind == SINGLE and not depth else start
            place = copy_bytes(flat, place, letters, kept, until - kept)
            kept = last if is_visible else at
        spelled, begun, ended = letters, first, last
        if depth:
            spelled, (begun, ended) = (
                flat,
                _spell(flat, place, letters, first, last, free, depth, prefix),
            )
            place = ended if is_visible else place
        is_good = _is_new(spelled, begun, ended, free, mask, members)
        members += is_good
        attributes += is_visible
        if kind == SINGLE:
            _write_wide(flat, place, read_whole(letters, last + 1, at - last - 1))
            place, kept = place + _FLOAT_BYTES, at
        elif kind == ARRAY and is_good:
            elements += count
            at = kept = _array_end(letters, at, end, count, depth + 1, free)
            is_good = at >= 0
        elif kind == MAP:
            free[SCRATCH_LEFT + depth] = left
            depth, left, prefix = depth + 1, count, prefix + last - first + 1
            free[SCRATCH_FIRST + depth], free[SCRATCH_LAST + depth] = first, last
    for number in range(members):
        free[free[SCRATCH_USED + number]] = 0
    if not is_good or at != end or place + end - kept > limit:
        return DOUBTFUL, begin
    if elements:
        return WITH_ARRAYS, begin
    place = copy_bytes(flat, place, letters, kept, end - kept)
    flat[begin], flat[begin + 1], flat[begin + 2] = 0xDE, attributes >> 8, attributes & 0xFF
    return READ, place


@compiled
def _read_kind(letters: U8, at: int, end: int) -> tuple[int, int, int]:
    """The kind of the value at a byte, its end, and the begin of the letters of a text.

    For an array and an object: the begin of the first element, and the number of elements.
    """
    if at >= end:
        return BAD, end, end
    head, size, kind = signed(letters[at]), 0, TEXT
    at += 1
    if head < 0x80 or head >= 0xE0 or 0xC2 <= head <= 0xC3:
        return PLAIN, at, at
    if 0xA0 <= head < 0xC0:
        count = head & 0x1F
    elif head < 0xA0:
        count, kind = head & 0xF, MAP if head < 0x90 else ARRAY
    elif 0xCA <= head <= 0xD3:
        # Floats of 4 and 8 bytes, then integers of 1, 2, 4 and 8 bytes: without and with a sign.
        size, kind = 4 << (head & 1) if head <= 0xCB else 1 << (head & 3), PLAIN
    elif 0xD9 <= head <= 0xDB:
        size = 1 << (head - 0xD9)
    elif head >= 0xDC:
        size, kind = 2 << (head & 1), ARRAY if head < 0xDE else MAP
    else:
        return NULL if head == 0xC0 else BAD, at, at
    if at + size > end:
        return BAD, end, end
    if size:
        count = signed(read_whole(letters, at, size))
        at += size
    if kind == PLAIN:
        return _kind_of_number(head, count), at, at
    if kind != TEXT:
        return kind, at, count
    if at + count > end or not _is_utf8(letters, at, at + count):
        return BAD, end, end
    return TEXT, at + count, at


@inlined
def _kind_of_number(head: int, bits: int) -> int:
    """The kind of a number that begins with the byte `head`.

    `bits` are the rest of it, those of an unsigned integer as if it were signed.
    """
    if head == 0xCA:
        kind = NAN if bits & 0x7FFF_FFFF > _SINGLE_INFINITY else SINGLE
    elif head == 0xCB:
        kind = NAN if bits & 0x7FFF_FFFF_FFFF_FFFF > _INFINITY else PLAIN
    else:
        kind = BAD if head == 0xCF and bits < 0 else PLAIN
    return kind


@inlined
def _write_wide(flat: U8, place: int, single: np.uint64) -> None:
    """Write the 64-bit float that is equal to the 32-bit float `single`."""
    bits = widened(single)
    flat[place] = 0xCB
    for step in range(1, _FLOAT_BYTES):
        flat[place + step] = bits >> np.uint64(8 * (_FLOAT_BYTES - 1 - step))


@inlined
def _mask_for(size: int, zero: int) -> int:
    """The last place of a hash table that the names of a record of `size` bytes fill by half."""
    places = zero + 1
    while places < size and places < SCRATCH_USED:
        places *= 2
    return places - 1


@compiled
def _is_utf8(letters: U8, at: int, end: int) -> bool:
    """True if bytes are UTF-8: the shortest form of each character, and no surrogates."""
    while at < end:
        if end - at >= _WORD_BYTES and not word_at(letters, at) & _HIGH_BITS:
            at += _WORD_BYTES
            continue
        lead = signed(letters[at])
        at += 1
        if lead < 0x80:
            continue
        more = (lead >= 0xC2) + (lead >= 0xE0) + (lead >= 0xF0)
        if not more or lead > 0xF4 or at + more > end:
            return False
        # Some leading bytes allow only a part of the range of the second byte.
        low = 0xA0 if lead == 0xE0 else 0x90 if lead == 0xF0 else 0x80
        high = 0x9F if lead == 0xED else 0x8F if lead == 0xF4 else 0xBF
        if not low <= signed(letters[at]) <= high:
            return False
        for step in range(at + 1, at + more):
            if letters[step] & 0xC0 != 0x80:
                return False
        at += more
    return True


@compiled
def _array_end(  # noqa: PLR0917 - compiled code takes arrays apart
    letters: U8, at: int, end: int, count: int, depth: int, free: U64
) -> int:
    """The end of an array of `count` elements whose first one is at a byte, or -1.

    The elements must be values that JSON has, and not too deep; Python makes values of them. For
    each open array or object, by depth, `free` has the number of elements left, doubled, plus one
    in an object.
    """
    bottom = depth
    free[SCRATCH_LEFT + depth] = 2 * count
    while True:
        left = signed(free[SCRATCH_LEFT + depth])
        if left < 2:
            if depth == bottom:
                return at
            depth -= 1
            continue
        free[SCRATCH_LEFT + depth] = left - 2
        name = TEXT
        if left & 1:
            name, at, _ = _read_kind(letters, at, end)
        kind, at, count = _read_kind(letters, at, end)
        if name != TEXT or kind == BAD or (kind >= ARRAY and depth > _DEEPEST):
            return -1
        if kind >= ARRAY:
            depth += 1
            free[SCRATCH_LEFT + depth] = 2 * count + (kind == MAP)


@compiled
def _is_new(  # noqa: PLR0917 - compiled code takes arrays apart
    letters: U8, first: int, last: int, free: U64, mask: int, members: int
) -> bool:
    """Enter the name `letters[first:last]`; false if it was there before.

    Names are compared by a hash alone: two names with the same hash count as one.
    """
    hashed, word = np.uint64(last - first + 1) * _FACTOR, np.uint64(0)
    if last - first >= _WORD_BYTES:
        for at in range(first, last - _WORD_BYTES, _WORD_BYTES):
            hashed = (hashed ^ word_at(letters, at)) * _FACTOR
            hashed ^= hashed >> np.uint64(32)
        word = word_at(letters, last - _WORD_BYTES)
    else:
        for at in range(first, last):
            word = word << np.uint64(8) | np.uint64(letters[at])
    # Names may differ in the highest bits alone, and products carry upwards only.
    hashed = (hashed ^ word) * _FACTOR
    hashed = (hashed ^ hashed >> np.uint64(32)) * _FACTOR | np.uint64(1)
    place = signed(hashed >> np.uint64(32)) & mask
    for _ in range(_PROBES_MAX):
        if not free[place]:
            free[place] = hashed
            free[SCRATCH_USED + members] = place
            return True
        if free[place] == hashed:
            return False
        place = (place + 1) & mask
    return False


@compiled
def _spell(  # noqa: PLR0917 - compiled code takes arrays apart
    flat: U8, place: int, letters: U8, first: int, last: int, free: U64, depth: int, prefix: int
) -> tuple[int, int]:
    """Write a dotted name, whose last part is `letters[first:last]`; its begin and end."""
    size = prefix + last - first
    if size < 0x20:
        flat[place] = 0xA0 | size
        place += 1
    else:
        flat[place] = 0xDB
        for step in range(1, _NAME_BYTES):
            flat[place + step] = size >> 8 * (_NAME_BYTES - 1 - step) & 0xFF
        place += _NAME_BYTES
    name = place
    for level in range(1, depth + 1):
        at, behind = signed(free[SCRATCH_FIRST + level]), signed(free[SCRATCH_LAST + level])
        place = copy_bytes(flat, place, letters, at, behind - at)
        flat[place] = 0x2E
        place += 1
    return name, copy_bytes(flat, place, letters, first, last - first)
