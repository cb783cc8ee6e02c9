"""Frames of outgoing publications, composed by compiled code from slices of the bytes that came.

The frames are byte for byte those that `wire.codec` encodes one by one.
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
    new_i64,
    new_u8,
    new_u64,
    signed,
    word_at,
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
    CLIENT_IDS,
    CLIENTS,
    COMPOSED_HEAD,
    PLACES,
)

_OWNED_MASK: Final = (1 << OWNER_BITS) - 1

_SIZE_BITS: Final = 16
_SIZE_MASK: Final = (1 << _SIZE_BITS) - 1
"""An id is one number: its offset in the texts, and its size in the last 16 bits
(limits.ID_CHARS_MAX is far below). An id of 9 bytes at byte 8 is 8 << 16 | 9, 524297."""

_PLACE_BITS: Final = 32
"""The owner of an id is one number: the client's, and the publication's place in the last 32 bits.
"""

_ID_HEADER_BYTES: Final = 5
"""The bytes that `wire.codec` assumes before an id, where it cuts ids into portions."""

_ARRAY_OF_FOUR: Final = 0x94
_DELIVERY: Final = 25
_LAST: Final = 0xC2
_MORE: Final = 0xC3
"""A delivery is an array of four: its tag, ids, a publication, and whether more ids follow."""

_RUN: Final = 24
"""The most ids that are sorted by insertion rather than by merging."""

_MANY: Final = 128
"""The fewest ids that are sorted by the digits of their beginnings rather than by comparing."""

_DIGIT_BITS: Final = 11
"""The most bits of such a digit: 2,048 counts stay near the processor."""


@compiled
def compose_forwards(  # noqa: PLR0917 - compiled code takes arrays apart
    data: bytes, starts: I64, ends: I64, before: bytes, digests: bytes, begins: I64, finishes: I64
) -> U8:
    """The frames that carry publications: each body is `before`, one of them, its digest.

    Publication `i` is `data[starts[i]:ends[i]]`, its digest `digests[begins[i]:finishes[i]]`.
    """
    letters, head, said = all_bytes(data), all_bytes(before), all_bytes(digests)
    total = 0
    for number in range(len(starts)):
        size, said_bytes = ends[number] - starts[number], finishes[number] - begins[number]
        total += HEADER_BYTES + len(before) + _binary_bytes(size) + _binary_bytes(said_bytes)
    frames = new_u8(total)
    out, at = as_pointer(frames), 0
    for number in range(len(starts)):
        first, last, begin, end = starts[number], ends[number], begins[number], finishes[number]
        body = len(before) + _binary_bytes(last - first) + _binary_bytes(end - begin)
        at = _write_size(out, at, body)
        at = _copied(out, at, head, 0, len(before))
        at = _write_binary(out, at, letters, first, last)
        at = _write_binary(out, at, said, begin, end)
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
    gone: U8,
    scratch: I64,
    body_max: int,
    bytes_max: int,
) -> tuple[U8, I64]:
    """The deliveries of a batch, grouped by client; the contract is `Composer`'s."""
    places, found, owners, ids, keys = _by_client(
        *_found(
            starts, ends, first_place, offsets, slots, heads, nexts, rows, gone, scratch, bytes_max
        ),
        scratch,
    )
    clients, touched, total = len(scratch) // 2, found[0], 0
    # Memory for the ids of one delivery: sorting stays near the processor.
    spare, spare_keys = new_i64(_MANY), new_u64(_MANY)
    head = zeros_i64(COMPOSED_HEAD + CLIENT_COLUMNS * touched)
    head[PLACES], head[CLIENTS] = places - first_place, touched
    # Sort the ids of each delivery, and add up its bytes.
    begin = 0
    for each in range(touched):
        client = found[1 + each]
        end = begin + scratch[client]
        at, deliveries = begin, 0
        while at < end:
            last = at
            while last < end and owners[last] == owners[at]:
                last += 1
            if last - at > len(spare):
                spare, spare_keys = new_i64(2 * (last - at)), new_u64(2 * (last - at))
            _sort(ids, keys, at, last, spare, spare_keys, texts)
            size = ends[owners[at]] - starts[owners[at]]
            total += _delivery_bytes(ids, at, last, size, body_max)
            deliveries += 1
            at = last
        row = COMPOSED_HEAD + CLIENT_COLUMNS * each
        head[row + CLIENT], head[row + CLIENT_END] = client, total
        head[row + CLIENT_DELIVERIES], head[row + CLIENT_IDS] = deliveries, end
        scratch[client] = scratch[clients + client] = 0
        begin = end
    head[BYTES] = total
    if total > 2 * bytes_max:
        return new_u8(0), _with_ids(head, ids, owners)
    frames = new_u8(total)
    out, at, begin = as_pointer(frames), 0, 0
    for each in range(touched):
        end = head[COMPOSED_HEAD + CLIENT_COLUMNS * each + CLIENT_IDS]
        at = _write_client(out, at, data, starts, ends, ids, owners, begin, end, texts, body_max)
        begin = end
    return frames, head


@compiled
def compose_client(  # noqa: PLR0917 - compiled code takes arrays apart
    data: bytes, starts: I64, ends: I64, ids: I64, owners: I64, begin: int, end: int, texts: U8,
    body_max: int, size: int,
) -> U8:  # fmt: skip
    """The deliveries of one client, `size` bytes in all, by the ids of `compose_deliveries`."""
    frames = new_u8(size)
    out = as_pointer(frames)
    _write_client(out, 0, data, starts, ends, ids, owners, begin, end, texts, body_max)
    return frames


@compiled
def _with_ids(head: I64, ids: I64, owners: I64) -> I64:
    """The head, and behind it all ids and the place that each belongs to."""
    whole, count = new_i64(len(head) + 2 * len(ids)), len(head)
    for at in range(count):  # a slice would be compiled with all that it may raise
        whole[at] = head[at]
    for at in range(len(ids)):
        whole[count + at], whole[count + len(ids) + at] = ids[at], owners[at]
    return whole


@compiled
def _found(  # noqa: PLR0917 - compiled code takes arrays apart
    starts: I64, ends: I64, place: int, offsets: I64, slots: I32, heads: I32, nexts: I32,
    rows: U64, gone: U8, scratch: I64, bytes_max: int,
) -> tuple[int, I64, int, I64, I64, I64]:  # fmt: skip
    """The ids of each publication, up to the place where they reach `bytes_max`.

    Returns the first place that is left; the clients, behind their number; the number of ids; of
    each id its owner and place, its offset with its size (`_SIZE_BITS`), and its beginning.
    `scratch` holds for each client the number of its ids, and one more than the last place that it
    gets.
    """
    clients, touched, size, count = len(scratch) // 2, 0, 0, 0
    found = new_i64(1 + 16)
    room = 4 * (offsets[len(starts)] - offsets[place]) + 16
    numbers, owners, ids, keys = new_i64(room), new_i64(room), new_i64(room), new_i64(room)
    first_of, next_of, has_heads = as_pointer(heads), as_pointer(nexts), len(heads) > 0
    words, has_gone, counts = as_pointer(rows), as_pointer(gone), as_pointer(scratch)
    while place < len(starts) and size < bytes_max:
        # First the first owner of each filter, then the next owner of each so far: no step waits
        # for the one before it, so the processor waits for memory many steps at a time.
        last, read = count, count
        for at in range(offsets[place], offsets[place + 1]):
            if last == len(numbers):
                numbers = _doubled(numbers)
            numbers[last] = signed(first_of[slots[at]]) if has_heads else signed(slots[at])
            last += numbers[last] >= 0
        while read < last and has_heads:
            if last == len(numbers):
                numbers = _doubled(numbers)
            number = signed(next_of[numbers[read]])
            numbers[last] = number
            last += number >= 0
            read += 1
        while last > len(ids):
            owners, ids, keys = _doubled(owners), _doubled(ids), _doubled(keys)
        publication = ends[place] - starts[place]
        all_numbers, all_owners = as_pointer(numbers), as_pointer(owners)
        all_ids, all_keys = as_pointer(ids), as_pointer(keys)
        for at in range(count, last):
            row = ROW * all_numbers[at]
            owner, start, key = words[row + OWNER], words[row + START], words[row + PREFIX]
            client, bytes_ = signed(owner >> np.uint64(OWNER_BITS)), owner & np.uint64(_OWNED_MASK)
            if has_gone[client]:
                continue
            all_owners[count] = client << _PLACE_BITS | place
            all_ids[count] = signed(start << np.uint64(_SIZE_BITS) | bytes_)
            all_keys[count] = signed(key)
            count += 1
            size += signed(bytes_) + 1
            if counts[clients + client] != place + 1:
                counts[clients + client] = place + 1
                size += publication
                if counts[client] == 0:
                    if 1 + touched == len(found):
                        found = _doubled(found)
                    found[1 + touched] = client
                    touched += 1
            counts[client] += 1
        place += 1
    found[0] = touched
    return place, found, count, owners, ids, keys


@compiled
def _by_client(  # noqa: PLR0917 - compiled code takes arrays apart
    places: int, found: I64, count: int, owners: I64, ids: I64, keys: I64, scratch: I64
) -> tuple[int, I64, I64, I64, U64]:
    """The results of `_found`, ordered by client; of each owner the place alone."""
    clients, total = len(scratch) // 2, 0
    for each in range(found[0]):
        scratch[clients + found[1 + each]] = total
        total += scratch[found[1 + each]]
    whose, own, beginnings = new_i64(count), new_i64(count), new_u64(count)
    for each in range(count):
        client = clients + (owners[each] >> _PLACE_BITS)
        where = scratch[client]
        whose[where] = owners[each] & (1 << _PLACE_BITS) - 1
        own[where], beginnings[where] = ids[each], np.uint64(keys[each])
        scratch[client] = where + 1
    return places, found, whose, own, beginnings


@compiled
def _write_client(  # noqa: PLR0917 - compiled code takes arrays apart
    out: U8, at: int, data: bytes, starts: I64, ends: I64, ids: I64, owners: I64, begin: int,
    end: int, texts: U8, body_max: int,
) -> int:  # fmt: skip
    """Write the deliveries of one client; return the end."""
    letters, beginnings = all_bytes(data), as_pointer(texts)
    while begin < end:
        place, last = owners[begin], begin
        while last < end and owners[last] == place:
            last += 1
        first, stop = starts[place], ends[place]
        if _body_bytes(ids, begin, last, stop - first) > body_max:
            while begin < last:
                some = _portion(ids, begin, last, body_max // 2)
                at = _write_frame(out, at, ids, begin, some, beginnings, letters, 0, 0)
                out[at - 1] = _MORE
                begin = some
        at = _write_frame(out, at, ids, begin, last, beginnings, letters, first, stop)
        begin = last
    return at


@compiled
def _write_frame(  # noqa: PLR0917 - compiled code takes arrays apart
    out: U8, at: int, ids: I64, begin: int, last: int, texts: U8, letters: U8, first: int, stop: int
) -> int:
    """Write a frame with a range of ids and a publication; return the end."""
    body = at + HEADER_BYTES
    out[body], out[body + 1] = _ARRAY_OF_FOUR, _DELIVERY
    end = _write_array(out, body + 2, last - begin)
    for each in range(begin, last):
        size, start = ids[each] & _SIZE_MASK, ids[each] >> _SIZE_BITS
        end = _write_text(out, end, size)
        # Ids fill whole words, and at least seven bytes are written behind them: the publication,
        # or the frame that goes on.
        for step in range(0, size, WORD_BYTES):
            copy_bytes(out, end + step, texts, start + step, WORD_BYTES)
        end += size
    end = _write_binary(out, end, letters, first, stop)
    out[end] = _LAST
    _write_size(out, at, end + 1 - body)
    return end + 1


@compiled
def _delivery_bytes(ids: I64, first: int, last: int, publication: int, body_max: int) -> int:
    """The bytes of a delivery's frames: one, or one for each portion of the ids, and the last."""
    body = _body_bytes(ids, first, last, publication)
    if body <= body_max:
        return HEADER_BYTES + body
    total = HEADER_BYTES + _body_bytes(ids, last, last, publication)
    while first < last:
        some = _portion(ids, first, last, body_max // 2)
        total += HEADER_BYTES + _body_bytes(ids, first, some, 0)
        first = some
    return total


@compiled
def _portion(ids: I64, first: int, last: int, bytes_max: int) -> int:
    """The end of the ids that fit into `bytes_max`, one at least: `wire.codec` cuts likewise."""
    total, at = 0, first
    while at < last:
        total += (ids[at] & _SIZE_MASK) + _ID_HEADER_BYTES
        if at > first and total > bytes_max:
            break
        at += 1
    return at


@compiled
def _body_bytes(ids: I64, first: int, last: int, publication: int) -> int:
    """The number of bytes of a frame's body with a range of ids."""
    total = 2 + (1 if last - first < 16 else 3 if last - first < 1 << 16 else 5)
    for each in range(first, last):
        size = ids[each] & _SIZE_MASK
        total += size + (1 if size < 32 else 2 if size < 256 else 3)
    return total + _binary_bytes(publication) + 1


@compiled
def _sort(  # noqa: PLR0917 - compiled code takes arrays apart
    ids: I64, keys: U64, first: int, last: int, spare: I64, spare_keys: U64, texts: U8
) -> None:
    """Sort a range of ids as texts, whose beginnings are `keys`; there is memory for as many.

    Many ids are sorted by their first words, then those with equal ones by the next, and so on:
    each word of each id is read at once, however long the ids are and whatever they begin with.
    """
    varying, is_sorted = np.uint64(0), True
    for each in range(first + 1, last):
        varying |= keys[each] ^ keys[first]
        is_sorted &= keys[each - 1] < keys[each]
    if is_sorted:
        return
    if last - first < _MANY:
        _merge_sort(ids, keys, first, last, 0, spare, spare_keys, texts)
        return
    counts = new_i64((1 << _DIGIT_BITS) + 1)
    # Ranges of ids that are equal up to a word: their start and end, and the word. No two overlap.
    groups, waiting = new_i64(3 * (last - first)), 3
    groups[0], groups[1], groups[2] = first, last, 0
    while waiting:
        waiting -= 3
        begin, end, word = groups[waiting], groups[waiting + 1], groups[waiting + 2]
        if end - begin < _MANY:
            _merge_sort(ids, keys, begin, end, word, spare, spare_keys, texts)
            continue
        is_last = False
        if word:
            is_last = _load_words(ids, keys, begin, end, word, texts)
        varying = np.uint64(0)
        for each in range(begin + 1, end):
            varying |= keys[each] ^ keys[begin]
        if varying:
            _sort_by_digits(ids, keys, begin, end, varying, spare, spare_keys, counts)
        while begin < end and not is_last:
            some = begin + 1
            while some < end and keys[some] == keys[begin]:
                some += 1
            if some - begin > 1:
                groups[waiting], groups[waiting + 1], groups[waiting + 2] = begin, some, word + 1
                waiting += 3
            begin = some


@compiled
def _load_words(  # noqa: PLR0917 - compiled code takes arrays apart
    ids: I64, keys: U64, begin: int, end: int, word: int, texts: U8
) -> bool:
    """Load a word of each id as its key, or its size where all have ended; true if all have."""
    longest, letters = 0, as_pointer(texts)
    for each in range(begin, end):
        size, start = ids[each] & _SIZE_MASK, ids[each] >> _SIZE_BITS
        longest = max(longest, size)
        keys[each] = np.uint64(0)
        if WORD_BYTES * word < size:
            keys[each] = _turned(word_at(letters, start + WORD_BYTES * word))
    if WORD_BYTES * word < longest:
        return False
    for each in range(begin, end):
        keys[each] = np.uint64(ids[each] & _SIZE_MASK)
    return True


@compiled
def _sort_by_digits(  # noqa: PLR0917 - compiled code takes arrays apart
    ids: I64, keys: U64, begin: int, end: int, varying: np.uint64, spare: I64, spare_keys: U64,
    counts: I64,
) -> None:  # fmt: skip
    """Sort ids by the bits of their keys that vary; the keys become these bits.

    Of each byte the bits from the lowest to the highest one that vary are taken: of texts of five
    decimal digits, 20 bits, which are two digits of ten bits.
    """
    count, width = end - begin, np.uint64(0)
    for each in range(count):
        spare_keys[each] = np.uint64(0)
    for byte in range(0, 64, 8):
        field = varying >> np.uint64(byte) & np.uint64(0xFF)
        if field == np.uint64(0):
            continue
        low, high = np.uint64(0), np.uint64(8)
        while not field >> low & np.uint64(1):
            low += np.uint64(1)
        while not field >> (high - np.uint64(1)):
            high -= np.uint64(1)
        shift, mask = np.uint64(byte) + low, (np.uint64(1) << (high - low)) - np.uint64(1)
        for each in range(count):
            spare_keys[each] |= (keys[begin + each] >> shift & mask) << width
        width += high - low
    for each in range(count):
        keys[begin + each] = spare_keys[each]
    digits = (signed(width) + _DIGIT_BITS - 1) // _DIGIT_BITS
    bits = np.uint64((signed(width) + digits - 1) // digits)
    here, there = as_pointer(ids), as_pointer(spare)
    here_keys, there_keys = as_pointer(keys), as_pointer(spare_keys)
    first, other = begin, signed(np.int64(0))
    for digit in range(digits):
        shift = bits * np.uint64(digit)
        mask = (np.uint64(1) << bits) - np.uint64(1)
        for each in range(signed(mask) + 2):
            counts[each] = 0
        for each in range(first, first + count):
            counts[1 + signed(here_keys[each] >> shift & mask)] += 1
        for each in range(signed(mask) + 1):
            counts[each + 1] += counts[each]
        for each in range(first, first + count):
            value = signed(here_keys[each] >> shift & mask)
            at = other + counts[value]
            counts[value] += 1
            there[at], there_keys[at] = here[each], here_keys[each]
        here, there, here_keys, there_keys = there, here, there_keys, here_keys
        first, other = other, first
    if digits % 2:
        for each in range(count):
            ids[begin + each], keys[begin + each] = spare[each], spare_keys[each]


@compiled
def _merge_sort(  # noqa: PLR0917 - compiled code takes arrays apart
    ids: I64, keys: U64, first: int, last: int, word: int, spare: I64, spare_keys: U64, texts: U8
) -> None:
    """Sort ids that are equal before a word: runs by insertion, then merged."""
    for begin in range(first, last, _RUN):
        for each in range(begin + 1, min(begin + _RUN, last)):
            one, key, at = ids[each], keys[each], each
            while at > begin:
                before, last_key = ids[at - 1], keys[at - 1]
                if not _is_before(key, one, last_key, before, word, texts):
                    break
                ids[at], keys[at] = before, last_key
                at -= 1
            ids[at], keys[at] = one, key
    width = _RUN
    while width < last - first:
        for begin in range(first, last, 2 * width):
            middle, end = min(begin + width, last), min(begin + 2 * width, last)
            left, right = begin, middle
            for at in range(begin - first, end - first):
                if right < end and (
                    left == middle
                    or _is_before(keys[right], ids[right], keys[left], ids[left], word, texts)
                ):
                    spare[at], spare_keys[at] = ids[right], keys[right]
                    right += 1
                else:
                    spare[at], spare_keys[at] = ids[left], keys[left]
                    left += 1
        for at in range(first, last):
            ids[at], keys[at] = spare[at - first], spare_keys[at - first]
        width *= 2


@compiled
def _is_before(  # noqa: PLR0917 - compiled code takes arrays apart
    key: np.uint64, one: int, other_key: np.uint64, other: int, word: int, texts: U8
) -> bool:
    """True if an id sorts before another one; as a rule their keys decide."""
    if key != other_key:
        return bool(key < other_key)
    size, other_size = one & _SIZE_MASK, other & _SIZE_MASK
    letters, at, there = as_pointer(texts), one >> _SIZE_BITS, other >> _SIZE_BITS
    for step in range(WORD_BYTES * word, min(size, other_size), WORD_BYTES):
        mine, others = word_at(letters, at + step), word_at(letters, there + step)
        if mine != others:
            return bool(_turned(mine) < _turned(others))
    return bool(size < other_size)


@compiled
def _turned(word: np.uint64) -> np.uint64:
    """A word with its bytes reversed: of two, that of the earlier text is the smaller."""
    pairs = np.uint64(0x00FF00FF00FF00FF)
    word = (word & pairs) << np.uint64(8) | word >> np.uint64(8) & pairs
    halves = np.uint64(0x0000FFFF0000FFFF)
    word = (word & halves) << np.uint64(16) | word >> np.uint64(16) & halves
    return word << np.uint64(32) | word >> np.uint64(32)


@compiled
def _doubled(found: I64) -> I64:
    larger = new_i64(2 * len(found))
    for at in range(len(found)):  # a slice would be compiled with all that it may raise
        larger[at] = found[at]
    return larger


@compiled
def _binary_bytes(size: int) -> int:
    """The size in MessagePack of `size` bytes of binary data."""
    return size + (2 if size < 1 << 8 else 3 if size < 1 << 16 else 5)


@compiled
def _write_whole(out: U8, at: int, value: int, size: int) -> int:
    """Write a number in `size` bytes, the most significant one first; return the end."""
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
    """Write the header of a text of `size` bytes; return the end."""
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
    """Copy `letters[first:last]`; return the place behind it."""
    place: int = copy_bytes(out, at, letters, first, last - first)
    return place
