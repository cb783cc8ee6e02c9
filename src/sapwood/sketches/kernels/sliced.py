"""Sliced Bloom filters, compiled: written for many sets, and searched for the rows in them.

A sliced filter has one probe in each of `probes` slices of `size // probes` places, so probes of
one element never meet those of another function. `layout_of_rows` has its format on the wire, and
the layout of rows in memory.
"""

from __future__ import annotations

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
)
from sapwood.sketches.kernels.places import _compiled, place

_ONE: Final = np.uint64(1)
_63: Final = np.uint64(63)
_BYTE: Final = np.uint64(0xFF)
_NOTHING: Final = np.uint64(0)
_FORM: Final = np.uint64(0xFF << FORM_SHIFT)
_DENSELY: Final = np.uint64(DENSE << FORM_SHIFT)


@_compiled
def link_in(heads: I32, nexts: I32, elements: U64, rows: I64, salt: np.uint64) -> None:
    """Put rows in front of the chains of their first probes."""
    for each in range(len(rows)):
        row = rows[each]
        at = place(elements[row], salt, 0, len(heads))
        nexts[row] = heads[at]
        heads[at] = row


@_compiled
def link_out(heads: I32, nexts: I32, elements: U64, row: int, salt: np.uint64) -> None:
    """Remove a row from its chain."""
    at = place(elements[row], salt, 0, len(heads))
    one = np.int64(heads[at])
    if one == row:
        heads[at] = nexts[row]
        return
    while nexts[one] != row:
        one = np.int64(nexts[one])
    nexts[one] = nexts[row]


@_compiled
def write_filters(  # noqa: PLR0917 - as kernels are called
    offsets: I64, elements: U64, salt: np.uint64, probes: int, size: int, head: np.uint64,
    words: U64, taken: U64, out: U8, ends: I64,
) -> None:  # fmt: skip
    """Write the filter of each set: set `i` is `elements[offsets[i]:offsets[i + 1]]`.

    An empty set takes no bytes. `words` are zeros, and are so again, and so is `taken`, which has a
    bit for each of the words; `out` has room.
    """
    part, at = size // probes, 0
    narrow = size <= NARROW_MAX
    width = 2 if narrow else 4
    for number in range(len(ends)):
        first, last = offsets[number], offsets[number + 1]
        ones = 0
        for each in range(first, last):
            for probe in range(probes):
                where = probe * part + place(elements[each], salt, probe, part)
                bit = _ONE << (np.uint64(where) & _63)
                if not words[where >> 6] & bit:
                    words[where >> 6] |= bit
                    taken[where >> 12] |= _ONE << (np.uint64(where >> 6) & _63)
                    ones += 1
        if ones:
            is_dense = ones * width >= size // 8
            word = head | _DENSELY if is_dense else head
            for step in range(HEAD_BYTES):
                out[at + step] = np.uint8((word >> np.uint64(8 * step)) & _BYTE)
            at += HEAD_BYTES
            if is_dense:
                for index in range(len(words)):
                    for step in range(8):
                        out[at + step] = np.uint8((words[index] >> np.uint64(8 * step)) & _BYTE)
                    at += 8
                    words[index] = _NOTHING
            for group in range(len(taken)):
                some = taken[group]
                taken[group] = _NOTHING
                while some:
                    index = group << 6 | _lowest(some)
                    some &= some - _ONE
                    word = words[index]
                    words[index] = _NOTHING
                    while word:
                        where = index << 6 | _lowest(word)
                        word &= word - _ONE
                        for step in range(width):
                            out[at + step] = np.uint8(where >> 8 * step & 0xFF)
                        at += width
        ends[number] = at


@_compiled
def _lowest(word: np.uint64) -> int:
    """The place of the lowest bit of a word, which has one."""
    at, left = 0, word
    for step in (32, 16, 8, 4, 2, 1):
        if not left & ((_ONE << np.uint64(step)) - _ONE):
            left >>= np.uint64(step)
            at += step
    return at


@_compiled
def search_rows(  # noqa: PLR0917 - as kernels are called
    data: bytes, starts: I64, ends: I64, head: np.uint64, salt: np.uint64, probes: int, size: int,
    words: U64, heads: I32, nexts: I32, elements: U64, masks: U64, wanted: np.uint64, found: U64,
    is_read: U8,
) -> None:  # fmt: skip
    """Write to `found` for each filter the bits of `wanted` that any of the rows in it has.

    Filter `i` is `data[starts[i]:ends[i]]`; `is_read` is 1 if it is of this head and shape, and
    whole. `words` are zeros, and are so again.
    """
    width = 2 if size <= NARROW_MAX else 4
    for number in range(len(ends)):
        begin, end = starts[number], ends[number]
        form = _form(data, begin, end, head, size, width)
        found[number], is_read[number] = _NOTHING, form >= 0
        if form == DENSE:
            _spread(data, begin + HEAD_BYTES, words)
            found[number] = _found_dense(
                words, salt, probes, size, heads, nexts, elements, masks, wanted
            )
            for index in range(len(words)):
                words[index] = _NOTHING
        elif form >= 0:
            if _marked(data, begin + HEAD_BYTES, end, width, size, words):
                found[number] = _found_sparse(
                    data, begin + HEAD_BYTES, end, width, words, salt, probes, size, heads, nexts,
                    elements, masks, wanted,
                )  # fmt: skip
            else:
                is_read[number] = 0
            for at in range(begin + HEAD_BYTES, end, width):
                where = _number(data, at, width)
                if where < size:
                    words[where >> 6] = _NOTHING


@_compiled
def _number(data: bytes, at: int, width: int) -> int:
    """A place in a sparse filter."""
    where: int = np.int64(data[at]) | np.int64(data[at + 1]) << 8  # type: ignore[assignment]
    if width == 4:
        where |= np.int64(data[at + 2]) << 16 | np.int64(data[at + 3]) << 24  # type: ignore[assignment]
    return where


@_compiled
def _form(  # noqa: PLR0917 - as kernels are called
    data: bytes, begin: int, end: int, head: np.uint64, size: int, width: int
) -> int:
    """The form of a filter; -1 if it is not of this head and size."""
    if end - begin < HEAD_BYTES:
        return -1
    word = _NOTHING
    for step in range(HEAD_BYTES):
        word |= np.uint64(data[begin + step]) << np.uint64(8 * step)
    form: int = np.int64((word & _FORM) >> np.uint64(FORM_SHIFT))  # type: ignore[assignment]
    if word & ~_FORM != head:
        return -1
    rest = end - begin - HEAD_BYTES
    is_whole = rest * 8 == size if form == DENSE else form == 0 and rest % width == 0
    return form if is_whole else -1


@_compiled
def _spread(data: bytes, at: int, words: U64) -> None:
    """Copy the words of a dense filter to `words`."""
    for index in range(len(words)):
        word = _NOTHING
        for step in range(8):
            word |= np.uint64(data[at + 8 * index + step]) << np.uint64(8 * step)
        words[index] = word


@_compiled
def _marked(  # noqa: PLR0917 - as kernels are called
    data: bytes, begin: int, end: int, width: int, size: int, words: U64
) -> bool:
    """Set the bits of a sparse filter; false unless its places ascend and are within the size."""
    before = -1
    for at in range(begin, end, width):
        where = _number(data, at, width)
        if where <= before or where >= size:
            return False
        words[where >> 6] |= _ONE << (np.uint64(where) & _63)
        before = where
    return True


@_compiled
def _found_sparse(  # noqa: PLR0917 - as kernels are called
    data: bytes, begin: int, end: int, width: int, words: U64, salt: np.uint64, probes: int,
    size: int, heads: I32, nexts: I32, elements: U64, masks: U64, wanted: np.uint64,
) -> np.uint64:  # fmt: skip
    found = _NOTHING
    for at in range(begin, end, width):
        where = _number(data, at, width)
        if where >= len(heads) or found == wanted:
            break
        found |= _chain(
            where, words, salt, probes, size, heads, nexts, elements, masks, wanted & ~found
        )
    return found


@_compiled
def _found_dense(  # noqa: PLR0917 - as kernels are called
    words: U64, salt: np.uint64, probes: int, size: int, heads: I32, nexts: I32, elements: U64,
    masks: U64, wanted: np.uint64,
) -> np.uint64:  # fmt: skip
    found = _NOTHING
    for where in range(len(heads)):
        if (words[where >> 6] >> (np.uint64(where) & _63)) & _ONE:
            found |= _chain(
                where, words, salt, probes, size, heads, nexts, elements, masks, wanted & ~found
            )
            if found == wanted:
                break
    return found


@_compiled
def _chain(  # noqa: PLR0917 - as kernels are called
    where: int, words: U64, salt: np.uint64, probes: int, size: int, heads: I32, nexts: I32,
    elements: U64, masks: U64, wanted: np.uint64,
) -> np.uint64:  # fmt: skip
    """The bits of `wanted` of rows with their first probe at `where` and all others set."""
    found, part = _NOTHING, size // probes
    row = np.int64(heads[where])
    while row != NONE:
        needed = masks[row] & wanted & ~found
        if needed:
            for probe in range(1, probes):
                at = probe * part + place(elements[row], salt, probe, part)
                if not (words[at >> 6] >> (np.uint64(at) & _63)) & _ONE:
                    needed = _NOTHING
                    break
            found |= needed
        row = np.int64(nexts[row])
    return found
