"""The plain twins of the kernels in `sliced`, without numba."""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import numpy as np

from sapwood.sketches.kernels.layout import U8, U64
from sapwood.sketches.kernels.layout_of_rows import (
    DENSE,
    FORM_SHIFT,
    HEAD_BYTES,
    I32,
    I64,
    NARROW_MAX,
    NONE,
    SPARSE,
)
from sapwood.sketches.kernels.plain import places

_WORD: Final = np.dtype("<u8")


def link_in(heads: I32, nexts: I32, elements: U64, rows: I64, salt: np.uint64) -> None:
    """Put rows in front of the chains of their first probes."""
    firsts = places(elements[rows], int(salt), 0, len(heads)).tolist()
    for row, at in zip(rows.tolist(), firsts, strict=True):
        nexts[row] = heads[at]
        heads[at] = row


def link_out(heads: I32, nexts: I32, elements: U64, row: int, salt: np.uint64) -> None:
    """Remove a row from its chain."""
    [at] = places(elements[row : row + 1], int(salt), 0, len(heads)).tolist()
    if heads[at] == row:
        heads[at] = nexts[row]
        return
    one = int(heads[at])
    while nexts[one] != row:
        one = int(nexts[one])
    nexts[one] = nexts[row]


def sliced_places(elements: U64, salt: int, probes: int, size: int) -> U64:
    """The places of each element, in a row each."""
    part = size // probes
    columns = [
        places(elements, salt, probe, part) + np.uint64(probe * part) for probe in range(probes)
    ]
    return np.stack(columns, axis=1)


def write_filters(  # noqa: PLR0917 - as the compiled one
    offsets: I64, elements: U64, salt: np.uint64, probes: int, size: int, head: np.uint64,
    words: U64, taken: U64, out: U8, ends: I64,
) -> None:  # fmt: skip
    """Write the filter of each set: set `i` is `elements[offsets[i]:offsets[i + 1]]`."""
    del words, taken
    at, kind = 0, np.dtype("<u2" if size <= NARROW_MAX else "<u4")
    for number in range(len(ends)):
        some = elements[offsets[number] : offsets[number + 1]]
        if len(some):
            ones = np.unique(sliced_places(some, int(salt), probes, size))
            word = int(head)
            if len(ones) * kind.itemsize >= size // 8:
                word |= DENSE << FORM_SHIFT
                bits = np.zeros(size, np.uint8)
                bits[ones.astype(np.int64)] = 1
                body = np.packbits(bits, bitorder="little").tobytes()
            else:
                body = ones.astype(kind).tobytes()
            whole = word.to_bytes(HEAD_BYTES, "little") + body
            out[at : at + len(whole)] = np.frombuffer(whole, np.uint8)
            at += len(whole)
        ends[number] = at


def search_rows(  # noqa: PLR0917 - as the compiled one
    data: bytes, starts: I64, ends: I64, head: np.uint64, salt: np.uint64, probes: int, size: int,
    words: U64, heads: I32, nexts: I32, elements: U64, masks: U64, wanted: np.uint64, found: U64,
    is_read: U8,
) -> None:  # fmt: skip
    """Write for each filter the bits of `wanted` that any of the rows in it has."""
    del words
    for number, (begin, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        ones = filter_places(data[begin:end], int(head), size)
        found[number], is_read[number] = 0, ones is not None
        if ones is None:
            continue
        here, left = frozenset(ones), int(wanted)
        for where in ones:
            row = int(heads[where]) if where < len(heads) else NONE
            while row != NONE:
                needed = int(masks[row]) & left
                if needed:
                    [probed] = sliced_places(elements[row : row + 1], int(salt), probes, size)
                    if here.issuperset(probed.tolist()):
                        left &= ~needed
                row = int(nexts[row])
        found[number] = int(wanted) & ~left


def filter_places(filter: bytes, head: int, size: int) -> list[int] | None:
    """The places of a filter, ascending; `None` if it is not of this head and size."""
    if len(filter) < HEAD_BYTES:
        return None
    word, body = int.from_bytes(filter[:HEAD_BYTES], "little"), filter[HEAD_BYTES:]
    form = word >> FORM_SHIFT & 0xFF
    if word & ~(0xFF << FORM_SHIFT) != head or form not in {SPARSE, DENSE}:
        return None
    if form == DENSE:
        if len(body) * 8 != size:
            return None
        bits = np.unpackbits(np.frombuffer(body, np.uint8), bitorder="little")
        return [int(at) for at in np.flatnonzero(bits)]
    kind = np.dtype("<u2" if size <= NARROW_MAX else "<u4")
    if len(body) % kind.itemsize:
        return None
    ones = [int(at) for at in np.frombuffer(body, kind)]
    is_right = all(a < b for a, b in pairwise(ones))
    return ones if is_right and (not ones or ones[-1] < size) else None
