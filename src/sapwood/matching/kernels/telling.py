"""What kernels tell of records, put together: see `columnar.batch.Found.of`.

The functions here hand arrays on that grow, so they are woven into their callers.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from sapwood.matching.columnar.batch import FLAGS, HEAD, RECORDS
from sapwood.matching.columnar.columns import I64, U8, U32, U64
from sapwood.matching.kernels.evaluation import evaluate, grown
from sapwood.matching.kernels.gathering import CANDIDATES, begin_gathering, gather
from sapwood.matching.kernels.joining import OVERFULL, join
from sapwood.matching.kernels.views import behind, compiled, keep, lent, words_behind, woven
from sapwood.matching.protocol import ALL

I32: TypeAlias = npt.NDArray[np.int32]

_ROOM: Final = CANDIDATES
"""Matches that there is room for at first."""


@woven
def tell_of_stretches(  # noqa: PLR0917 - compiled code takes arrays apart
    image: U64,
    marks: U8,
    cells: U32,
    stretches: I64,
    found: int,
    limit: int,
    work: U32,
    told: I32,
    count: int,
    doubts: I32,
    doubt_count: int,
) -> tuple[I32, int, I32, int]:
    """Tell of what holds for the cells of a record; `limit` sure matches are enough.

    It is in the `found` stretches, or nowhere. Returns `told` and `doubts`, with how much of each
    is filled; both may have been exchanged for larger ones.
    """
    enough = count + limit
    begin_gathering(lent(work))
    while count < enough:
        size = gather(image, cells, stretches, found, lent(work))
        if size == 0:
            break
        if count + size > len(told):
            told = grown(told, count + size)
        if doubt_count + size > len(doubts):
            doubts = grown(doubts, doubt_count + size)
        count, doubt_count = evaluate(
            image, lent(marks), cells, lent(work), size,
            enough, lent(told), count, lent(doubts), doubt_count,
        )  # fmt: skip
    keep(work)
    return told, count, doubts, doubt_count


@woven
def tell_of_piece(  # noqa: PLR0917 - compiled code takes arrays apart
    image: U64,
    marks: U8,
    cells: U32,
    width: int,
    stretches: I64,
    starts: I64,
    rows: int,
    sharing: int,
    most: int,
    work: U32,
    told: I32,
    count: int,
    doubts: I32,
    doubt_count: int,
    records: int,
) -> tuple[I32, int, I32, int]:
    """Tell of the next `rows` of all `records`: what they share at once, and then of the rest.

    They have `width` cells each, and their stretches as for `join`. Ends after the record with
    which there are `most` matches or more.
    """
    before = told[RECORDS]
    left = most - (count - HEAD - 2 * records) - doubt_count
    flags, begins, matches = OVERFULL, starts, told
    if rows >= sharing:
        flags, begins, matches = join(image, marks, cells, stretches, starts, rows, sharing, left)
    if flags != OVERFULL:
        told[FLAGS] |= flags
    for row in range(rows):
        if left <= 0:
            break
        count_before, doubts_before = count, doubt_count
        if flags != OVERFULL:
            size = begins[row + 1] - begins[row]
            if count + size > len(told):
                told = grown(told, count + len(matches))
            if doubt_count + size > len(doubts):
                doubts = grown(doubts, doubt_count + size)
            count, doubt_count = _tell_of_joined(
                lent(matches), begins[row], begins[row + 1],
                lent(told), count, lent(doubts), doubt_count,
            )  # fmt: skip
        found = _keep_rest(lent(stretches), starts[row], starts[row + 1])
        if found:
            told, count, doubts, doubt_count = tell_of_stretches(
                image, marks, behind(cells, row * width), words_behind(stretches, 2 * starts[row]),
                found, ALL, work, told, count, doubts, doubt_count,
            )  # fmt: skip
        sure, unsure = count - count_before, doubt_count - doubts_before
        told[HEAD + before + row], told[HEAD + records + before + row] = sure, unsure
        told[RECORDS] += 1
        left -= sure + unsure
    keep(stretches)
    keep(matches)
    return told, count, doubts, doubt_count


@compiled
def _tell_of_joined(  # noqa: PLR0917 - compiled code takes arrays apart
    matches: I32, first: int, end: int, told: I32, count: int, doubts: I32, doubt_count: int
) -> tuple[int, int]:
    """Tell of the matches from `first` on that `join` has found."""
    for at in range(first, end):
        match = matches[at]
        if match >= 0:
            told[count] = match
            count += 1
        else:
            doubts[doubt_count] = ~match
            doubt_count += 1
    return count, doubt_count


@compiled
def _keep_rest(stretches: I64, first: int, end: int) -> int:
    """Bring the stretches that are not empty to the beginning of these; returns how many."""
    kept = first
    for at in range(first, end):
        low, high = stretches[2 * at], stretches[2 * at + 1]
        stretches[2 * kept], stretches[2 * kept + 1] = low, high
        kept += low < high
    return kept - first


@compiled
def begun(records: int) -> tuple[I32, int, I32, int]:
    """Nothing told of so many records: see `tell_of_stretches` for what this is."""
    told = np.empty(HEAD + 2 * records + _ROOM, np.int32)
    told[:HEAD] = 0
    return told, HEAD + 2 * records, np.empty(_ROOM, np.int32), 0


@compiled
def ended(told: I32, count: int, doubts: I32, doubt_count: int) -> I32:
    """What is sure, and the doubts behind it."""
    told = grown(told, count + doubt_count)
    told[count : count + doubt_count] = doubts[:doubt_count]
    return told[: count + doubt_count]
