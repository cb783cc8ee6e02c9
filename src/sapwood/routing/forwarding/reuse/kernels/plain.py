"""The kernels of `keys` without numba."""

from __future__ import annotations

from sapwood.routing.forwarding.reuse.digest import ALL, HEAD_BYTES, KEY_BYTES, SOME, is_whole
from sapwood.routing.forwarding.reuse.kernels.layout import (
    GONE,
    I64,
    NUMBER_BITS,
    SHARED,
    U8,
    U64,
    UNKNOWN,
)


def _row_of(hashes: U64, places: I64, key: int) -> int:
    """The row of a key, or the first one without a key behind where it would stand."""
    last = len(hashes) - 1
    row = key & last
    while places[row] != UNKNOWN and (int(hashes[row]) != key or places[row] == GONE):
        row = (row + 1) & last
    return row


def put_in(hashes: U64, places: I64, keys: U64, fresh: I64, before: I64) -> int:
    """Put keys with their places in a table, except for present ones."""
    taken, last = 0, len(hashes) - 1
    for each, (key, place) in enumerate(zip(keys.tolist(), fresh.tolist(), strict=True)):
        before[each] = places[_row_of(hashes, places, key)]
        if before[each] == UNKNOWN:
            row = key & last
            while places[row] not in {UNKNOWN, GONE}:
                row = (row + 1) & last
            taken += int(places[row] == UNKNOWN)
            hashes[row], places[row] = key, place
    return taken


def find(hashes: U64, places: I64, keys: U64, found: I64) -> None:
    """The place of each key."""
    found[:] = [places[_row_of(hashes, places, key)] for key in keys.tolist()]


def change(hashes: U64, places: I64, key: int, place: int) -> int:
    """Give a present key another place; `GONE` removes it. Returns the place it had."""
    row = _row_of(hashes, places, int(key))
    before = int(places[row])
    if before != UNKNOWN:
        places[row] = place
    return before


def read_keys(  # noqa: PLR0917 - as the compiled one
    data: bytes, starts: I64, ends: I64, hashes: U64, places: I64, owners: I64, found: I64,
    where: I64, is_told: U8, is_whole_: U8,
) -> tuple[int, int]:  # fmt: skip
    """Read digests: those that can be used, and the known keys in them."""
    count = looked = 0
    for each, (begin, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        is_told[each] = is_whole_[each] = 0
        if not is_whole(data[begin:end]):
            continue
        looked += (end - begin) // KEY_BYTES
        keys = [
            (at, int.from_bytes(data[at : at + KEY_BYTES], "little"))
            for at in range(begin + HEAD_BYTES, end, KEY_BYTES)
        ]
        there = [(at, int(places[_row_of(hashes, places, key)])) for at, key in keys]
        if any(place == SHARED for _, place in there):
            continue
        is_told[each], is_whole_[each] = 1, data[begin + 1]
        for at, place in there:
            if place >= 0:
                owners[count], found[count], where[count] = each, place, at
                count += 1
    return count, looked


def pass_on(  # noqa: PLR0917 - as the compiled one
    data: bytes, starts: I64, owners: I64, found: I64, where: I64, serial: int, out: U8,
    begins: I64, finishes: I64,
) -> int:  # fmt: skip
    """Write digests anew with the keys of one side alone; returns the bytes that they take."""
    begins[:] = finishes[:] = 0
    written, before = bytearray(), -1
    for owner, place, at in zip(owners.tolist(), found.tolist(), where.tolist(), strict=True):
        if place >> NUMBER_BITS == serial:
            if owner != before:
                begins[owner], before = len(written), owner
                written += data[starts[owner] : starts[owner] + HEAD_BYTES]
            written += data[at : at + KEY_BYTES]
            finishes[owner] = len(written)
    return _put(out, written)


def write_keys(  # noqa: PLR0917 - as the compiled one
    keys: U64, offsets: I64, most: int, tells_all: int, has_shared: int, hashes: U64, places: I64,
    out: U8, begins: I64, finishes: I64,
) -> int:  # fmt: skip
    """Write digests, `keys[offsets[i]:offsets[i + 1]]` in digest `i`; returns their bytes."""
    written = bytearray()
    for each in range(len(begins)):
        every = keys[offsets[each] : offsets[each + 1]].tolist()
        named = every[:most]
        if has_shared:
            named = [key for key in named if places[_row_of(hashes, places, key)] != SHARED]
        begins[each] = len(written)
        if named:
            written += ALL if tells_all and len(named) == len(every) else SOME
            written += b"".join(key.to_bytes(KEY_BYTES, "little") for key in named)
        finishes[each] = len(written)
    return _put(out, written)


def _put(out: U8, written: bytearray) -> int:
    out[: len(written)] = memoryview(written)
    return len(written)
