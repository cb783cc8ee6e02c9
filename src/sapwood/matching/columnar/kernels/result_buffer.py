"""The matches of a batch, put together as `columnar.batch.SegmentMatches.of` reads them.

The functions here return arrays that may have grown, so they are inlined into callers.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from sapwood.matching.columnar.batch import FLAGS, HEAD, RECORDS
from sapwood.matching.columnar.columns import I32, I64, U8, U32, U64
from sapwood.matching.columnar.kernels.batch_join import UNJOINED, join, may_pay
from sapwood.matching.columnar.kernels.evaluation import evaluate, grown
from sapwood.matching.columnar.kernels.gathering import CANDIDATES, begin_gathering, gather
from sapwood.matching.columnar.kernels.views import (
    as_pointer,
    compiled,
    keep_alive,
    new_i32,
    offset,
)
from sapwood.matching.protocol import ALL

_ROOM: Final = CANDIDATES
"""Matches that there is room for at first."""


class ResultBuffer(NamedTuple):
    """The matches found so far, and their end in each array.

    `matches` begins with flags, the number of records so far, and two counts for each of `n`
    records (matches, unverified). Two records, of which the first one matched the slots 7 and 4,
    and the second one may match conjunction 9:

        matches     0 2  2 0  0 1  7 4    matches_end 8
        unverified  9                     unverified_end 1
    """

    matches: I32
    matches_end: int
    unverified: I32
    unverified_end: int


@compiled
def new_result_buffer(records: int) -> ResultBuffer:
    """A buffer without matches, for `records` records."""
    matches = new_i32(HEAD + 2 * records + _ROOM)
    matches[:HEAD] = 0
    return ResultBuffer(matches, HEAD + 2 * records, new_i32(_ROOM), 0)


@compiled
def finish(result: ResultBuffer) -> I32:
    """All matches, with the unverified ones behind them."""
    end = result.matches_end + result.unverified_end
    matches = grown(result.matches, end)
    for at in range(result.unverified_end):
        matches[result.matches_end + at] = result.unverified[at]
    return matches[:end]


@compiled
def match_chunk(  # noqa: PLR0917 - compiled code takes arrays apart
    buffer: U64,
    marks: U8,
    ranks: U32,
    attributes: int,
    candidate_ranges: I64,
    starts: I64,
    rows: int,
    join_threshold: int,
    limit: int,
    max_matches: int,
    work: U32,
    result: ResultBuffer,
    records: int,
) -> tuple[ResultBuffer, bool]:
    """Append the matches of the next `rows` of all `records`.

    First come those that the batch join finds, then the rest one record at a time. A row has
    `attributes` ranks, and candidate ranges as for `join`, which needs `join_threshold` rows and no
    `limit`. Ends after the record with `max_matches` or more; returns true if there is one.
    """
    matches, count, unverified, unverified_count = result
    left = max_matches - (count - HEAD - 2 * records) - unverified_count
    flags, begins, joined = UNJOINED, starts, matches
    if rows >= join_threshold and limit == ALL and may_pay(candidate_ranges, starts, rows):
        flags, begins, joined = join(
            buffer, marks, ranks, candidate_ranges, starts, rows, join_threshold, left
        )
    if flags != UNJOINED:
        matches[FLAGS] |= flags
    row = 0
    while row < rows and left > 0:
        before, unverified_before = count, unverified_count
        own, found = offset(ranks, row * attributes), starts[row + 1] - starts[row]
        if flags != UNJOINED:
            size = begins[row + 1] - begins[row]
            if count + size > len(matches):
                matches = grown(matches, count + len(joined))
            if unverified_count + size > len(unverified):
                unverified = grown(unverified, unverified_count + size)
            count, unverified_count = _append_joined(
                as_pointer(joined), begins[row], begins[row + 1],
                as_pointer(matches), count, as_pointer(unverified), unverified_count,
            )  # fmt: skip
            found = _drop_empty(as_pointer(candidate_ranges), starts[row], starts[row + 1])
        begin_gathering(as_pointer(work))
        while found > 0 and count < before + limit:
            ranges = offset(candidate_ranges, 2 * starts[row])
            size = gather(buffer, own, ranges, found, as_pointer(work))
            if size == 0:
                break
            if count + size > len(matches):
                matches = grown(matches, count + size)
            if unverified_count + size > len(unverified):
                unverified = grown(unverified, unverified_count + size)
            count, unverified_count = evaluate(
                buffer, as_pointer(marks), own, as_pointer(work), size, before + limit,
                as_pointer(matches), count, as_pointer(unverified), unverified_count,
            )  # fmt: skip
        place = HEAD + matches[RECORDS]
        matches[place] = count - before
        matches[records + place] = unverified_count - unverified_before
        matches[RECORDS] += 1
        left -= count - before + unverified_count - unverified_before
        row += 1
    keep_alive(candidate_ranges)
    keep_alive(joined)
    keep_alive(work)
    return ResultBuffer(matches, count, unverified, unverified_count), left <= 0


@compiled
def _append_joined(  # noqa: PLR0917 - compiled code takes arrays apart
    joined: I32,
    first: int,
    end: int,
    result: I32,
    count: int,
    unverified: I32,
    unverified_count: int,
) -> tuple[int, int]:
    """Append the joined matches from `first` on, each to its array."""
    for at in range(first, end):
        match = joined[at]
        if match >= 0:
            result[count] = match
            count += 1
        else:
            unverified[unverified_count] = ~match
            unverified_count += 1
    return count, unverified_count


@compiled
def _drop_empty(candidate_ranges: I64, first: int, end: int) -> int:
    """Move the candidate ranges that are not empty to the front; returns their number."""
    kept = first
    for at in range(first, end):
        low, high = candidate_ranges[2 * at], candidate_ranges[2 * at + 1]
        candidate_ranges[2 * kept], candidate_ranges[2 * kept + 1] = low, high
        kept += low < high
    return kept - first
