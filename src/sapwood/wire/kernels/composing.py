"""Frames of publications that leave, composed by compiled code of slices of what came.

What is composed here is byte for byte what `wire.codec` encodes one by one.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from sapwood.matching.columnar.columns import I32, I64, U8, U64
from sapwood.matching.columnar.kernels.views import (
    all_bytes,
    as_pointer,
    compiled,
    copy_bytes,
    new_i32,
    new_i64,
    new_u8,
    new_u64,
    signed,
    zeros_i64,
)
from sapwood.routing.client_rows import OWNER, OWNER_BITS, PREFIX, ROW, START, WORD_BYTES
from sapwood.wire.frames import HEADER_BYTES
from sapwood.wire.kernels.layout import (
    BYTES,
    CLIENT,
    CLIENT_COLUMNS,
    CLIENT_DELIVERIES,
    CLIENT_END,
    CLIENTS,
    COMPOSED_HEAD,
    PLACES,
    TOO_LONG,
)

_SIZE_MASK: Final = (1 << OWNER_BITS) - 1
_ARRAY_OF_FOUR: Final = 0x94
_DELIVERY: Final = 25
_LAST: Final = 0xC2
"""A delivery is an array of four: its tag, ids, a publication, and that no more ids follow."""

_RUN: Final = 24
"""Ids that are sorted by insertion sooner than by merging."""

_MANY: Final = 128
"""Ids that are sorted by the bytes of their beginnings sooner than by comparing."""

_BYTES: Final = 256
"""Values of a byte."""


@compiled
def compose_forwards(data: bytes, starts: I64, ends: I64, before: bytes, behind: bytes) -> U8:
    """The frames that carry some publications: each body is `before`, one of them, `behind`.

    Publication `i` is `data[starts[i]:ends[i]]`.
    """
    letters, head, tail = all_bytes(data), all_bytes(before), all_bytes(behind)
    total = 0
    for number in range(len(starts)):
        size = ends[number] - starts[number]
        total += HEADER_BYTES + len(before) + _binary_bytes(size) + len(behind)
    frames = new_u8(total)
    out, at = as_pointer(frames), 0
    for number in range(len(starts)):
        first, last = starts[number], ends[number]
        body = len(before) + _binary_bytes(last - first) + len(behind)
        at = _write_size(out, at, body)
        at = _copied(out, at, head, 0, len(before))
        at = _write_binary(out, at, letters, first, last)
        at = _copied(out, at, tail, 0, len(behind))
    return frames


@compiled
def compose_deliveries(  # noqa: PLR0917 - compiled code takes arrays apart
    data: bytes,
    starts: I64,
    ends: I64,
    first_place: int,
    offsets: I64,
    slots: I32,
    heads: I32,
    nexts: I32,
    rows: U64,
    texts: U8,
    scratch: I64,
    body_max: int,
    bytes_max: int,
) -> tuple[U8, I64]:
    """The deliveries of some publications, grouped by client; the contract is `Composer`'s."""
    clients = len(scratch) // 2
    places, found = _counted(
        starts, ends, first_place, offsets, slots, heads, nexts, rows, scratch, bytes_max
    )
    touched, total = found[0], 0
    numbers, owners = _gathered(
        first_place, places, offsets, slots, heads, nexts, rows, scratch, found
    )
    # Memory for the ids of one delivery: what is sorted stays near the processor.
    some, keys = new_i64(2 * _MANY), new_u64(2 * _MANY)
    head = zeros_i64(COMPOSED_HEAD + CLIENT_COLUMNS * touched)
    head[PLACES], head[CLIENTS] = places - first_place, touched
    # Sort the ids of each delivery, and add up what it takes.
    begin = 0
    for each in range(touched):
        client = found[1 + each]
        end = begin + scratch[client]
        at, deliveries = begin, 0
        while at < end:
            last = at
            while last < end and owners[last] == owners[at]:
                last += 1
            if 2 * (last - at) > len(some):
                some, keys = new_i64(4 * (last - at)), new_u64(4 * (last - at))
            _sort(numbers, at, last, some, keys, rows, texts)
            body = _body_bytes(numbers, at, last, rows, ends[owners[at]] - starts[owners[at]])
            if body > body_max:
                head[TOO_LONG] = 1
            total += HEADER_BYTES + body
            deliveries += 1
            at = last
        row = COMPOSED_HEAD + CLIENT_COLUMNS * each
        head[row + CLIENT], head[row + CLIENT_END] = client, total
        head[row + CLIENT_DELIVERIES] = deliveries
        scratch[client] = scratch[clients + client] = 0
        begin = end
    head[BYTES] = total
    frames = new_u8(0 if head[TOO_LONG] else total)
    if len(frames):
        _write_deliveries(
            as_pointer(frames), data, starts, ends, numbers, owners, rows, texts, head
        )
    return frames, head


@compiled
def _counted(  # noqa: PLR0917 - compiled code takes arrays apart
    starts: I64, ends: I64, place: int, offsets: I64, slots: I32, heads: I32, nexts: I32,
    rows: U64, scratch: I64, bytes_max: int,
) -> tuple[int, I64]:  # fmt: skip
    """Count the ids of each client, up to the place where there are bytes enough.

    Of each client `scratch` holds how many ids it gets, and one more than the last place that it
    gets. Returns the first place that is left, and the clients, behind their number.
    """
    clients, touched, size = len(scratch) // 2, 0, 0
    found = new_i64(1 + 16)
    is_plain = len(heads) == 0
    while place < len(starts) and size < bytes_max:
        publication = ends[place] - starts[place]
        for at in range(offsets[place], offsets[place + 1]):
            number = signed(slots[at])
            if not is_plain:
                number = signed(heads[number])
            while number >= 0:
                owner = rows[ROW * number + OWNER]
                client = signed(owner >> np.uint64(OWNER_BITS))
                if scratch[client] == 0:
                    if 1 + touched == len(found):
                        found = _doubled(found)
                    found[1 + touched] = client
                    touched += 1
                scratch[client] += 1
                size += signed(owner & np.uint64(_SIZE_MASK)) + 1
                if scratch[clients + client] != place + 1:
                    scratch[clients + client] = place + 1
                    size += publication
                number = -1 if is_plain else signed(nexts[number])
        place += 1
    found[0] = touched
    return place, found


@compiled
def _gathered(  # noqa: PLR0917 - compiled code takes arrays apart
    place: int, places: int, offsets: I64, slots: I32, heads: I32, nexts: I32, rows: U64,
    scratch: I64, found: I64,
) -> tuple[I64, I32]:  # fmt: skip
    """All ids by number, and the place that each belongs to: client by client, in order."""
    clients, total = len(scratch) // 2, 0
    is_plain = len(heads) == 0
    for each in range(found[0]):
        scratch[clients + found[1 + each]] = total
        total += scratch[found[1 + each]]
    numbers, owners = new_i64(total), new_i32(total)
    while place < places:
        for at in range(offsets[place], offsets[place + 1]):
            number = signed(slots[at])
            if not is_plain:
                number = signed(heads[number])
            while number >= 0:
                client = signed(rows[ROW * number + OWNER] >> np.uint64(OWNER_BITS))
                where = scratch[clients + client]
                numbers[where], owners[where] = number, place
                scratch[clients + client] = where + 1
                number = -1 if is_plain else signed(nexts[number])
        place += 1
    return numbers, owners


@compiled
def _write_deliveries(  # noqa: PLR0917 - compiled code takes arrays apart
    out: U8, data: bytes, starts: I64, ends: I64, numbers: I64, owners: I32, rows: U64, texts: U8,
    head: I64,
) -> None:  # fmt: skip
    letters, ids = all_bytes(data), as_pointer(texts)
    at, begin, row = 0, 0, COMPOSED_HEAD
    while begin < len(numbers):
        # A delivery ends with its place, or with its client: where another one's bytes begin.
        if at == head[row + CLIENT_END]:
            row += CLIENT_COLUMNS
        place, last = owners[begin], begin
        client = np.uint64(head[row + CLIENT])
        while (
            last < len(numbers)
            and owners[last] == place
            and rows[ROW * numbers[last] + OWNER] >> np.uint64(OWNER_BITS) == client
        ):
            last += 1
        body = at + HEADER_BYTES
        out[body], out[body + 1] = _ARRAY_OF_FOUR, _DELIVERY
        end = _write_array(out, body + 2, last - begin)
        for each in range(begin, last):
            size = _id_bytes(numbers[each], rows)
            first, end = signed(rows[ROW * numbers[each] + START]), _write_text(out, end, size)
            # Ids lie in whole words, and what is written behind them has seven bytes at least.
            for step in range(0, size, WORD_BYTES):
                copy_bytes(out, end + step, ids, first + step, WORD_BYTES)
            end += size
        end = _write_binary(out, end, letters, starts[place], ends[place])
        out[end] = _LAST
        _write_size(out, at, end + 1 - body)
        at, begin = end + 1, last


@compiled
def _body_bytes(numbers: I64, first: int, last: int, rows: U64, publication: int) -> int:
    """What a delivery of so many ids takes."""
    total = 2 + (1 if last - first < 16 else 3 if last - first < 1 << 16 else 5)
    for each in range(first, last):
        size = _id_bytes(numbers[each], rows)
        total += size + (1 if size < 32 else 2 if size < 256 else 3)
    return total + _binary_bytes(publication) + 1


@compiled
def _id_bytes(number: int, rows: U64) -> int:
    return signed(rows[ROW * number + OWNER] & np.uint64(_SIZE_MASK))


@compiled
def _sort(  # noqa: PLR0917 - compiled code takes arrays apart
    numbers: I64, first: int, last: int, some: I64, keys: U64, rows: U64, texts: U8
) -> None:
    """Sort some ids, which are told by number, as texts, in memory for twice as many.

    Many are sorted by the bytes of their beginnings, and then those whose beginnings are the same.
    """
    count, varying, is_sorted = last - first, np.uint64(0), True
    for each in range(count):
        some[each] = numbers[first + each]
        keys[each] = rows[ROW * some[each] + PREFIX]
        varying |= keys[each] ^ keys[0]
        is_sorted &= each == 0 or keys[each - 1] < keys[each]
    if is_sorted:
        return
    here, there = signed(np.int64(0)), len(some) // 2
    if count < _MANY:
        _merge_sort(some, keys, here, count, there, rows, texts)
    else:
        places = new_i64(_BYTES + 1)
        for shift in range(0, 64, 8):
            if varying >> np.uint64(shift) & np.uint64(_BYTES - 1):
                _sort_by_byte(some, keys, here, there, count, shift, places)
                here, there = there, here
        begin = here
        while begin < here + count:
            end = begin + 1
            while end < here + count and keys[end] == keys[begin]:
                end += 1
            if end - begin > 1:
                _merge_sort(some, keys, begin, end, there - here, rows, texts)
            begin = end
    for each in range(count):
        numbers[first + each] = some[here + each]


@compiled
def _sort_by_byte(  # noqa: PLR0917 - compiled code takes arrays apart
    some: I64, keys: U64, here: int, there: int, count: int, shift: int, places: I64
) -> None:
    """Write what is here to there, sorted by one byte of the keys, and else as it was."""
    for byte in range(_BYTES + 1):
        places[byte] = 0
    for each in range(here, here + count):
        places[1 + signed(keys[each] >> np.uint64(shift) & np.uint64(_BYTES - 1))] += 1
    places[0] = there
    for byte in range(_BYTES):
        places[byte + 1] += places[byte]
    for each in range(here, here + count):
        byte = signed(keys[each] >> np.uint64(shift) & np.uint64(_BYTES - 1))
        at = places[byte]
        places[byte] = at + 1
        some[at], keys[at] = some[each], keys[each]


@compiled
def _merge_sort(  # noqa: PLR0917 - compiled code takes arrays apart
    some: I64, keys: U64, first: int, last: int, away: int, rows: U64, texts: U8
) -> None:
    """Sort some ids whose keys are there: runs by insertion, then merged.

    So far away is memory for as many.
    """
    for begin in range(first, last, _RUN):
        for each in range(begin + 1, min(begin + _RUN, last)):
            number, key, at = some[each], keys[each], each
            while at > begin:
                before, last_key = some[at - 1], keys[at - 1]
                if not _is_before(key, number, last_key, before, rows, texts):
                    break
                some[at], keys[at] = before, last_key
                at -= 1
            some[at], keys[at] = number, key
    width = _RUN
    while width < last - first:
        for begin in range(first, last, 2 * width):
            middle, end = min(begin + width, last), min(begin + 2 * width, last)
            left, right = begin, middle
            for at in range(begin, end):
                if right < end and (
                    left == middle
                    or _is_before(keys[right], some[right], keys[left], some[left], rows, texts)
                ):
                    some[at + away], keys[at + away] = some[right], keys[right]
                    right += 1
                else:
                    some[at + away], keys[at + away] = some[left], keys[left]
                    left += 1
        for at in range(first, last):
            some[at], keys[at] = some[at + away], keys[at + away]
        width *= 2


@compiled
def _is_before(  # noqa: PLR0917 - compiled code takes arrays apart
    key: np.uint64, number: int, other_key: np.uint64, other: int, rows: U64, texts: U8
) -> bool:
    """Whether an id sorts before another one; their first eight bytes tell as a rule."""
    if key != other_key:
        return bool(key < other_key)
    size, other_size = _id_bytes(number, rows), _id_bytes(other, rows)
    at, there = signed(rows[ROW * number + START]), signed(rows[ROW * other + START])
    for step in range(min(size, other_size)):
        if texts[at + step] != texts[there + step]:
            return bool(texts[at + step] < texts[there + step])
    return size < other_size


@compiled
def _doubled(found: I64) -> I64:
    larger = new_i64(2 * len(found))
    for at in range(len(found)):  # a slice would be compiled with all that it may raise
        larger[at] = found[at]
    return larger


@compiled
def _binary_bytes(size: int) -> int:
    """What so many bytes of binary data take in MessagePack."""
    return size + (2 if size < 1 << 8 else 3 if size < 1 << 16 else 5)


@compiled
def _write_whole(out: U8, at: int, value: int, size: int) -> int:
    """Write a number in so many bytes, the most significant one first; returns the end."""
    for step in range(size):
        out[at + step] = value >> 8 * (size - 1 - step) & 0xFF
    return at + size


@compiled
def _write_size(out: U8, at: int, body: int) -> int:
    return _write_whole(out, at, body, HEADER_BYTES)


@compiled
def _write_array(out: U8, at: int, count: int) -> int:
    if count < 16:
        out[at] = 0x90 | count
        return at + 1
    out[at] = 0xDC if count < 1 << 16 else 0xDD
    return _write_whole(out, at + 1, count, 2 if count < 1 << 16 else 4)


@compiled
def _write_text(out: U8, at: int, size: int) -> int:
    """Write what stands before so many bytes of a text."""
    if size < 32:
        out[at] = 0xA0 | size
        return at + 1
    out[at] = 0xD9 if size < 1 << 8 else 0xDA
    return _write_whole(out, at + 1, size, 1 if size < 1 << 8 else 2)


@compiled
def _write_binary(out: U8, at: int, letters: U8, first: int, last: int) -> int:
    size = last - first
    wide = 0 if size < 1 << 8 else 1 if size < 1 << 16 else 2
    out[at] = 0xC4 + wide
    return _copied(out, _write_whole(out, at + 1, size, 1 << wide), letters, first, last)


@compiled
def _copied(out: U8, at: int, letters: U8, first: int, last: int) -> int:
    """Copy `letters[first:last]`; returns the place behind it."""
    place: int = copy_bytes(out, at, letters, first, last - first)
    return place
