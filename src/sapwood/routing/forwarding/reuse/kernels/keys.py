"""Lookup reuse, compiled: see `reuse.kernels.layout`, and `plain` for the same in plain Python."""

from __future__ import annotations

from typing import Final

import numpy as np

from sapwood.matching.columnar.kernels.views import (
    all_bytes,
    as_pointer,
    compiled,
    copy_bytes,
    signed,
    word_at,
)
from sapwood.routing.forwarding.reuse.digest import HEAD_BYTES, KEY_BYTES, MARK
from sapwood.routing.forwarding.reuse.kernels.layout import (
    GONE,
    I64,
    NUMBER_BITS,
    SHARED,
    U8,
    U64,
    UNKNOWN,
)

_BYTE: Final = np.uint64(0xFF)


@compiled
def _row_of(hashes: U64, places: I64, key: np.uint64) -> int:
    """The row of a key, or the first one without a key behind where it would stand."""
    last = len(hashes) - 1
    row = signed(key & np.uint64(last))
    while places[row] != UNKNOWN and (hashes[row] != key or places[row] == GONE):
        row = (row + 1) & last
    return row


@compiled
def put_in(hashes: U64, places: I64, keys: U64, fresh: I64, before: I64) -> int:
    """Put keys with their places in a table, except for present ones, which stay as they are.

    `before` gets the place that each had, `UNKNOWN` for those that are put in. Returns the number
    of rows taken that were `UNKNOWN`.
    """
    taken, last = 0, len(hashes) - 1
    for each in range(len(keys)):
        row = _row_of(hashes, places, keys[each])
        before[each] = places[row]
        if places[row] == UNKNOWN:
            first = signed(keys[each] & np.uint64(last))
            while places[first] != UNKNOWN and places[first] != GONE:
                first = (first + 1) & last
            taken += places[first] == UNKNOWN
            hashes[first], places[first] = keys[each], fresh[each]
    return taken


@compiled
def find(hashes: U64, places: I64, keys: U64, found: I64) -> None:
    """The place of each key."""
    for each in range(len(keys)):
        found[each] = places[_row_of(hashes, places, keys[each])]


@compiled
def change(hashes: U64, places: I64, key: np.uint64, place: int) -> int:
    """Give a present key another place; `GONE` removes it. Returns the place it had."""
    row = _row_of(hashes, places, key)
    before: int = places[row]
    if before != UNKNOWN:
        places[row] = place
    return before


@compiled
def read_keys(  # noqa: PLR0917 - compiled code takes arrays apart
    data: bytes, starts: I64, ends: I64, hashes: U64, places: I64, owners: I64, found: I64,
    where: I64, is_told: U8, is_whole: U8,
) -> tuple[int, int]:  # fmt: skip
    """Read the digests `data[starts[i]:ends[i]]`; `is_told` is set for those that can be used.

    The place of the n-th known key goes to `found[n]`, the number of its digest to `owners[n]` and
    its own place in `data` to `where[n]`. Returns the number of known keys, and that of all keys.
    """
    letters, count, looked = all_bytes(data), 0, 0
    for each in range(len(starts)):
        begin, end = starts[each], ends[each]
        is_told[each] = is_whole[each] = 0
        if end - begin < HEAD_BYTES or (end - begin - HEAD_BYTES) % KEY_BYTES:
            continue
        if letters[begin] != MARK or letters[begin + 1] > 1:
            continue
        looked += (end - begin) // KEY_BYTES
        first, is_shared = count, False
        for at in range(begin + HEAD_BYTES, end, KEY_BYTES):
            place = places[_row_of(hashes, places, word_at(letters, at))]
            if place >= 0:
                owners[count], found[count], where[count] = each, place, at
                count += 1
            is_shared |= place == SHARED
        if is_shared:
            count = first
        else:
            is_told[each], is_whole[each] = 1, letters[begin + 1]
    return count, looked


@compiled
def pass_on(  # noqa: PLR0917 - compiled code takes arrays apart
    data: bytes, starts: I64, owners: I64, found: I64, where: I64, serial: int, out: U8,
    begins: I64, finishes: I64,
) -> int:  # fmt: skip
    """Write digests anew with the keys of one side alone; returns the bytes that they take.

    Digest `i` is `out[begins[i]:finishes[i]]` then, and has no bytes if it has no key of the side.
    """
    letters, into, at = all_bytes(data), as_pointer(out), 0
    for each in range(len(starts)):
        begins[each] = finishes[each] = 0
    for each in range(len(owners)):
        if found[each] >> NUMBER_BITS != serial:
            continue
        owner = owners[each]
        if finishes[owner] == 0:
            begins[owner] = at
            at = _copied(into, at, letters, starts[owner], HEAD_BYTES)
        at = _copied(into, at, letters, where[each], KEY_BYTES)
        finishes[owner] = at
    return at


@compiled
def write_keys(  # noqa: PLR0917 - compiled code takes arrays apart
    keys: U64, offsets: I64, most: int, tells_all: int, has_shared: int, hashes: U64, places: I64,
    out: U8, begins: I64, finishes: I64,
) -> int:  # fmt: skip
    """Write digests, `keys[offsets[i]:offsets[i + 1]]` in digest `i`; returns their bytes.

    A digest has up to `most` keys, and none that is `SHARED`; without a key, no bytes. If routers
    receive all subscriptions (`tells_all`), digests with all their keys are marked complete.
    """
    at = 0
    for each in range(len(begins)):
        first, last = offsets[each], offsets[each + 1]
        is_whole = tells_all > 0 and last - first <= most
        begin = at
        at += HEAD_BYTES
        for one in range(first, min(last, first + most)):
            key = keys[one]
            if has_shared > 0 and places[_row_of(hashes, places, key)] == SHARED:
                is_whole = False
                continue
            for step in range(KEY_BYTES):
                out[at + step] = np.uint8(key >> np.uint64(8 * step) & _BYTE)
            at += KEY_BYTES
        if at == begin + HEAD_BYTES:
            at = begin
        else:
            out[begin] = MARK
            out[begin + 1] = 1 if is_whole else 0
        begins[each], finishes[each] = begin, at
    return at


@compiled
def _copied(out: U8, at: int, letters: U8, first: int, size: int) -> int:
    """Copy some bytes; returns the place behind them."""
    place: int = copy_bytes(out, at, letters, first, size)
    return place
