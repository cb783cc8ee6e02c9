"""Runs of publications in a read, compiled: see `wire.kernels.layout`.

The bytes come from strangers: no byte is read before the frame that it is in is known to have
arrived. A publication is accepted only in the form in which publishers write it; any other form is
left to Python, and may be a publication all the same.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from sapwood.limits import DIGEST_BYTES_MAX, ID_CHARS_MAX
from sapwood.limits.timing import TTL_MS_MAX
from sapwood.matching.columnar.columns import I64, U8
from sapwood.matching.columnar.kernels.reading import read_whole
from sapwood.matching.columnar.kernels.views import all_bytes, compiled, new_i64, signed
from sapwood.wire.frames import HEADER_BYTES
from sapwood.wire.kernels.layout import (
    BEGIN,
    BODY,
    CLIENT_SENDS,
    COUNT,
    DIGESTS,
    DOCUMENTS,
    END,
    FINISH,
    LIMITED,
    RECORD,
    RECORD_END,
    RUN_COLUMNS,
    RUN_HEAD,
    SEQUENCE,
    STRIDE,
    TTL,
)

_REQUEST: Final = 12
_PUBLISH: Final = 34
_ON_TREE: Final = 44
"""The tags of messages that carry a publication: of a client, of a neighbor, of one on a tree."""

_ARRAY: Final = 0x90
_NIL: Final = 0xC0
_FALSE: Final = 0xC2
_FEWEST_BYTES: Final = 8
"""A frame of fewer bytes carries no publication."""


@compiled
def find_run(data: bytes, start: int, sender: int, body_max: int, publication_max: int) -> I64:
    """The run of publications that begins with the frame at byte `start`; it may be empty.

    If the `sender` is a client the publications have numbers without gaps, and else the same bytes
    before each publication. Bodies are at most `body_max` bytes long, publications
    `publication_max`.
    """
    letters, size = all_bytes(data), len(data)
    most = _frames(letters, start, size, body_max)
    run = new_i64(RUN_HEAD + RUN_COLUMNS * most)
    at, count, digests, documents, limited, sequence, common = start, 0, 0, 0, 0, 0, 0
    for number in range(most):
        body = at + HEADER_BYTES
        end = body + signed(read_whole(letters, at, HEADER_BYTES))
        begin = -1
        if end - body < _FEWEST_BYTES:
            break
        if sender == CLIENT_SENDS:
            begin, this = _request(letters, body, end)
            if number == 0:
                sequence = this
            if this != sequence + number:
                break
        elif number == 0:
            begin = _envelope(letters, body, end)
            common = begin - body
        elif common < end - body and _is_same(letters, start + HEADER_BYTES, body, common):
            begin = body + common
        if begin < 0:
            break
        first, last = _binary(letters, begin, end)
        if first < 0 or last - first > publication_max:
            break
        if sender != CLIENT_SENDS:
            is_digested = _tail(letters, body, last, end)
            if is_digested < 0:
                break
            digests += is_digested
        elif last != end:
            break
        record, record_end, ttl = _record(letters, first, last)
        if record < 0:
            break
        documents += record_end == last
        limited += ttl > 0
        column = RUN_HEAD + number
        run[column + BODY * most], run[column + BEGIN * most] = body, first
        run[column + FINISH * most] = last
        run[column + RECORD * most], run[column + RECORD_END * most] = record, record_end
        run[column + TTL * most] = ttl
        at, count = end, count + 1
    run[COUNT], run[END], run[SEQUENCE], run[DIGESTS] = count, at, sequence, digests
    run[STRIDE], run[DOCUMENTS], run[LIMITED] = most, documents, limited
    return run


@compiled
def _frames(letters: U8, at: int, size: int, body_max: int) -> int:
    """The number of whole frames from a byte on, none with a body above the bound."""
    count = 0
    while at + HEADER_BYTES <= size:
        body = signed(read_whole(letters, at, HEADER_BYTES))
        at += HEADER_BYTES + body
        if at > size or body > body_max:
            break
        count += 1
    return count


@compiled
def _request(letters: U8, at: int, end: int) -> tuple[int, int]:
    """The start of the publication in a client's request, and its number; -1 if there is none."""
    if letters[at] != _ARRAY + 3 or letters[at + 1] != _REQUEST:
        return -1, 0
    at, number = _count(letters, at + 2, end)
    return (at, number) if number > 0 else (-1, 0)


@compiled
def _envelope(letters: U8, at: int, end: int) -> int:
    """The start of a neighbor's publication, on a tree or not; -1 if there is none."""
    if letters[at] == _ARRAY + 4 and letters[at + 1] == _ON_TREE:
        _, at = _text(letters, at + 2, end)
        if at >= 0:
            at, _ = _count(letters, at, end)
        if at < 0 or at + 2 > end:
            return -1
    head = letters[at]
    if (head != _ARRAY + 4 and head != _ARRAY + 5) or letters[at + 1] != _PUBLISH:
        return -1
    _, at = _text(letters, at + 2, end)
    if at >= 0:
        at, _ = _count(letters, at, end)
    return at


@compiled
def _tail(letters: U8, body: int, at: int, end: int) -> int:
    """The rest of a neighbor's message after its publication: 1 a digest, 0 none, -1 other."""
    if letters[body + 1] == _ON_TREE:
        # The inner array begins behind a text and a number, which `_envelope` has passed.
        _, inner = _text(letters, body + 2, end)
        body, _ = _count(letters, inner, end)
    if letters[body] == _ARRAY + 4:
        return 0 if at == end else -1
    first, last = _binary(letters, at, end)
    if first < 0 or last != end or last - first > DIGEST_BYTES_MAX:
        return -1
    return np.int64(last > first)  # type: ignore[return-value]


@compiled
def _record(letters: U8, at: int, end: int) -> tuple[int, int, int]:
    """The start and end of a publication's record; -1 if the bytes are not plainly a publication.

    The third number is its time to live in milliseconds, or 0. Whether a record ends there is
    checked by its parser. Where a document, a payload or more of an envelope may follow, the end is
    that of the publication.
    """
    if at >= end:
        return -1, 0, 0
    parts = signed(letters[at]) - _ARRAY
    if parts != 6 and not 2 <= parts <= 4:
        return -1, 0, 0
    first, last = _text(letters, at + 1, end)
    if first < 0 or not 0 < last - first <= ID_CHARS_MAX:
        return -1, 0, 0
    every = np.uint8(0)
    for step in range(first, last):
        every |= letters[step]
    if every >= 0x80 or last >= end:
        return -1, 0, 0
    if parts == 6:
        record_end, ttl = _limited(letters, last, end)
        return last, record_end, ttl
    return last, end - 1 if parts == 3 and letters[end - 1] == _NIL else end, 0


@compiled
def _limited(letters: U8, at: int, end: int) -> tuple[int, int]:
    """The end of a record followed by a time to live only, and that; else the end, 0.

    The search is from the end on: no document, no payload, not blind, and an envelope of a number
    and twice nothing. If the record ends before these bytes, as its parser finds out, they cannot
    be anything else.
    """
    if end - at < 8 or letters[end - 1] != _NIL or letters[end - 2] != _NIL:
        return end, 0
    for width in range(1, 10):
        begin = end - 2 - width
        before = begin - 4
        if before <= at:
            break
        if (
            letters[begin - 1] == _ARRAY + 3
            and letters[begin - 2] == _FALSE
            and letters[begin - 3] == _NIL
            and letters[before] == _NIL
        ):
            stop, ttl = _count(letters, begin, end)
            if stop == end - 2 and 0 < ttl <= TTL_MS_MAX:
                return before, ttl
    return end, 0


@compiled
def _text(letters: U8, at: int, end: int) -> tuple[int, int]:
    """The start and end of the bytes of a text; -1 if there is none."""
    if at >= end:
        return -1, -1
    head, size = signed(letters[at]), 0
    at += 1
    if 0xA0 <= head < 0xC0:
        count = head - 0xA0
    elif head == 0xD9 or head == 0xDA:  # noqa: PLR1714 - numba compares faster than it searches
        size = head - 0xD8
        if at + size > end:
            return -1, -1
        count = signed(read_whole(letters, at, size))
    else:
        return -1, -1
    at += size
    return (at, at + count) if at + count <= end else (-1, -1)


@compiled
def _count(letters: U8, at: int, end: int) -> tuple[int, int]:
    """The end of a number from 0 on, and the number; -1 if there is none."""
    if at >= end:
        return -1, 0
    head = signed(letters[at])
    at += 1
    if head < 0x80:
        return at, head
    size = 1 << (head & 3)
    if not 0xCC <= head <= 0xCF or at + size > end:
        return -1, 0
    number = signed(read_whole(letters, at, size))
    return (at + size, number) if number >= 0 else (-1, 0)


@compiled
def _binary(letters: U8, at: int, end: int) -> tuple[int, int]:
    """The start and end of the bytes of binary data; -1 if there are none."""
    if at >= end:
        return -1, -1
    head = signed(letters[at])
    if not 0xC4 <= head <= 0xC6:
        return -1, -1
    size = 1 << (head - 0xC4)
    at += 1
    if at + size > end:
        return -1, -1
    count = signed(read_whole(letters, at, size))
    at += size
    return (at, at + count) if at + count <= end else (-1, -1)


@compiled
def _is_same(letters: U8, at: int, other: int, size: int) -> bool:
    for step in range(size):  # noqa: SIM110 - compiled code has no generators
        if letters[at + step] != letters[other + step]:
            return False
    return True
