"""What kernels tell of records, put together: see `columnar.batch.Found.of`.

The functions here hand arrays on that grow, so they are woven into their callers.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from sapwood.matching.columnar.batch import FLAGS, HEAD, RECORDS
from sapwood.matching.columnar.columns import I32, I64, U8, U32, U64
from sapwood.matching.columnar.kernels.batch_join import OVERFULL, join
from sapwood.matching.columnar.kernels.evaluation import evaluate, grown
from sapwood.matching.columnar.kernels.gathering import CANDIDATES, begin_gathering, gather
from sapwood.matching.columnar.kernels.views import (
    behind,
    compiled,
    keep,
    lent,
    words_behind,
    woven,
)
from sapwood.matching.protocol import ALL

_ROOM: Final = CANDIDATES
"""Matches that there is room for at first."""


class Told(NamedTuple):
    """What was told so far, and where that ends in each array.

    `sure` begins with what `Found.of` reads before the slots, for as many records as will be told
    of.
    """

    sure: I32
    sure_end: int
    doubts: I32
    doubts_end: int


@compiled
def begun(records: int) -> Told:
    """Nothing told of so many records."""
    sure = np.empty(HEAD + 2 * records + _ROOM, np.int32)
    sure[:HEAD] = 0
    return Told(sure, HEAD + 2 * records, np.empty(_ROOM, np.int32), 0)


@compiled
def ended(told: Told) -> I32:
    """What is sure, and the doubts behind it."""
    end = told.sure_end + told.doubts_end
    sure = grown(told.sure, end)
    sure[told.sure_end : end] = told.doubts[: told.doubts_end]
    return sure[:end]


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
    limit: int,
    most: int,
    work: U32,
    told: Told,
    records: int,
) -> tuple[Told, bool]:
    """Tell of the next `rows` of all `records`: what they share at once, and then of the rest.

    They have `width` cells each, and their stretches as for `join`. Of a record `limit` sure
    matches are enough; with a limit, or fewer than `sharing` rows, each is looked at by itself.
    Ends after the record with which there are `most` matches or more, and returns whether there
    are.
    """
    sure, count, doubts, doubt_count = told
    left = most - (count - HEAD - 2 * records) - doubt_count
    flags, begins, matches = OVERFULL, starts, sure
    if rows >= sharing and limit == ALL:
        flags, begins, matches = join(image, marks, cells, stretches, starts, rows, sharing, left)
    if flags != OVERFULL:
        sure[FLAGS] |= flags
    row = 0
    while row < rows and left > 0:
        before, doubts_before = count, doubt_count
        found = starts[row + 1] - starts[row]
        if flags != OVERFULL:
            size = begins[row + 1] - begins[row]
            if count + size > len(sure):
                sure = grown(sure, count + len(matches))
            if doubt_count + size > len(doubts):
                doubts = grown(doubts, doubt_count + size)
            count, doubt_count = _tell_of_joined(
                lent(matches), begins[row], begins[row + 1],
                lent(sure), count, lent(doubts), doubt_count,
            )  # fmt: skip
            found = _keep_rest(lent(stretches), starts[row], starts[row + 1])
        begin_gathering(lent(work))
        while found > 0 and count < before + limit:
            size = gather(
                image, behind(cells, row * width),
                words_behind(stretches, 2 * starts[row]), found, lent(work),
            )  # fmt: skip
            if size == 0:
                break
            if count + size > len(sure):
                sure = grown(sure, count + size)
            if doubt_count + size > len(doubts):
                doubts = grown(doubts, doubt_count + size)
            count, doubt_count = evaluate(
                image, lent(marks), behind(cells, row * width), lent(work), size,
                before + limit, lent(sure), count, lent(doubts), doubt_count,
            )  # fmt: skip
        place = HEAD + sure[RECORDS]
        sure[place], sure[records + place] = count - before, doubt_count - doubts_before
        sure[RECORDS] += 1
        left -= count - before + doubt_count - doubts_before
        row += 1
    keep(stretches)
    keep(matches)
    keep(work)
    return Told(sure, count, doubts, doubt_count), left <= 0


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
