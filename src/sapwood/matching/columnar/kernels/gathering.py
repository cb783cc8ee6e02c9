"""From candidate ranges to candidates: the entries that are worth evaluating; compiled.

Candidates of many candidate ranges are gathered before they are evaluated, so that much is fetched
at a time, but no more than fits: a long gathering is interrupted, and goes on later.
"""

from __future__ import annotations

from typing import Final

from sapwood.matching.columnar import columns as at_column
from sapwood.matching.columnar.columns import (
    ATTRIBUTES_MAX,
    BITMAPS_FROM,
    BLOCK_WORDS,
    I64,
    U32,
    U64,
)
from sapwood.matching.columnar.kernels.bitmaps import (
    find_candidates,
    partition_of,
    prefetch_bitmaps,
    select_bitmaps,
)
from sapwood.matching.columnar.kernels.views import compiled, offset, signed, u32

CANDIDATES: Final = 1024
"""The number of candidates that there is room for."""

_SELECTED: Final = CANDIDATES
_AT, _ENTRY, _BEYOND, _PARTITION, WORK = range(
    _SELECTED + ATTRIBUTES_MAX, _SELECTED + ATTRIBUTES_MAX + 5
)
"""The layout of the work memory: candidates, behind them the selected bitmaps, and the state of the
gathering: the candidate range, its entry, the first candidate range that was not prepared together
with it, and their partition, counted from 1. The last number is the length of the whole."""

_ENOUGH: Final = CANDIDATES - 64 * BLOCK_WORDS
"""With more candidates there is no room for all that the next step may find."""

_FEW: Final = 8


@compiled
def begin_gathering(work: U32) -> None:
    """Set the gathering to the first candidate range."""
    for at in range(_AT, WORK):
        work[at] = 0


@compiled
def selected_of(work: U32) -> U32:
    """The selected bitmaps of the partition (`kernels.bitmaps.select_bitmaps`)."""
    pointer: U32 = offset(work, _SELECTED)
    return pointer


@compiled
def gather(buffer: U64, ranks: U32, candidate_ranges: I64, found: int, work: U32) -> int:
    """Write candidates of the candidate ranges to the beginning of `work`; returns their number.

    There are `found` candidate ranges. A result of 0 is the end of the gathering.
    """
    selected, size = selected_of(work), 0
    at, entry, prepared = signed(work[_AT]), signed(work[_ENTRY]), signed(work[_BEYOND])
    partition = signed(work[_PARTITION]) - 1
    while at < found and size <= _ENOUGH:
        last = candidate_ranges[2 * at + 1]
        if at == prepared:
            prepared, partition = _prepare(buffer, ranks, candidate_ranges, at, found, selected)
        entry = max(entry, candidate_ranges[2 * at])
        if partition >= 0:
            while entry < last and size <= _ENOUGH:
                entry, size = find_candidates(buffer, entry, last, partition, work, size, selected)
        else:
            end = min(last, entry + CANDIDATES - _ENOUGH)
            # Most candidate ranges are short: a few entries too many are written, and not counted.
            for number in range(_FEW):
                work[size + number] = entry + number
            for number in range(_FEW, end - entry):
                work[size + number] = entry + number
            entry, size = end, size + end - entry
        if entry == last:
            at, entry = at + 1, 0
    work[_AT], work[_ENTRY], work[_BEYOND], work[_PARTITION] = at, entry, prepared, partition + 1
    return size


@compiled
def _prepare(  # noqa: PLR0917 - compiled code takes arrays apart
    buffer: U64, ranks: U32, candidate_ranges: I64, at: int, found: int, selected: U32
) -> tuple[int, int]:
    """Find the partition of a candidate range; prefetch for the following ranges that share it.

    Returns the first candidate range of another partition, and the partition, or -1.
    """
    entry, beyond = candidate_ranges[2 * at], at + 1
    partition = partition_of(buffer, entry, candidate_ranges[2 * at + 1])
    if partition < 0:
        return beyond, partition
    end = signed(u32(buffer, at_column.PARTITION_LAST)[partition])
    while (
        beyond < found
        and entry < candidate_ranges[2 * beyond] < end
        and candidate_ranges[2 * beyond + 1] - candidate_ranges[2 * beyond] >= BITMAPS_FROM
    ):
        beyond += 1
    select_bitmaps(buffer, ranks, partition, selected)
    for number in range(at, beyond):
        prefetch_bitmaps(
            buffer,
            candidate_ranges[2 * number],
            candidate_ranges[2 * number + 1],
            partition,
            selected,
        )
    return beyond, partition
