"""From stretches to candidates: the entries that are worth evaluating, compiled.

Candidates are gathered from many stretches before they are evaluated, so that much is fetched at a
time, but no more than there is room for: a long gathering is interrupted, and goes on where it was.
"""

from __future__ import annotations

from typing import Final

from sapwood.matching.columnar import columns as at_column
from sapwood.matching.columnar.columns import (
    ATTRIBUTES_MAX,
    BLOCK_WORDS,
    I64,
    ROWS_MIN,
    U32,
    U64,
)
from sapwood.matching.columnar.kernels.bitmaps import aim, fetch_rows, find_candidates, plan_of
from sapwood.matching.columnar.kernels.views import behind, compiled, signed, u32

CANDIDATES: Final = 1024
"""How many there is room for."""

_AIMS: Final = CANDIDATES
_AT, _ENTRY, _BEYOND, _PLAN, WORK = range(_AIMS + ATTRIBUTES_MAX, _AIMS + ATTRIBUTES_MAX + 5)
"""What is worked on: candidates, behind them the aims of a plan, and where the gathering is: in
which stretch, at which of its entries, the first stretch that was not prepared together with it,
and their plan, counted from 1. The last number is how many elements all that takes."""

_ENOUGH: Final = CANDIDATES - 64 * BLOCK_WORDS
"""With more there is no room for all that one look may find."""

_FEW: Final = 8


@compiled
def begin_gathering(work: U32) -> None:
    """Begin with the first stretch."""
    for at in range(_AT, WORK):
        work[at] = 0


@compiled
def aims_of(work: U32) -> U32:
    """The aims of the plan (`kernels.bitrows.aim`)."""
    return behind(work, _AIMS)


@compiled
def gather(image: U64, cells: U32, stretches: I64, found: int, work: U32) -> int:
    """Write candidates of the `found` stretches to the beginning of `work`; returns how many.

    If there are none, the gathering has come to its end.
    """
    aims, size = aims_of(work), 0
    at, entry, prepared = signed(work[_AT]), signed(work[_ENTRY]), signed(work[_BEYOND])
    plan = signed(work[_PLAN]) - 1
    while at < found and size <= _ENOUGH:
        last = stretches[2 * at + 1]
        if at == prepared:
            prepared, plan = _prepare(image, cells, stretches, at, found, aims)
        entry = max(entry, stretches[2 * at])
        if plan >= 0:
            while entry < last and size <= _ENOUGH:
                entry, size = find_candidates(image, entry, last, plan, work, size, aims)
        else:
            end = min(last, entry + CANDIDATES - _ENOUGH)
            # Most stretches are short: some too many are written at once, and not counted.
            for number in range(_FEW):
                work[size + number] = entry + number
            for number in range(_FEW, end - entry):
                work[size + number] = entry + number
            entry, size = end, size + end - entry
        if entry == last:
            at, entry = at + 1, 0
    work[_AT], work[_ENTRY], work[_BEYOND], work[_PLAN] = at, entry, prepared, plan + 1
    return size


@compiled
def _prepare(  # noqa: PLR0917 - compiled code takes arrays apart
    image: U64, cells: U32, stretches: I64, at: int, found: int, aims: U32
) -> tuple[int, int]:
    """Find the plan of a stretch, and ask for the bit rows of all that follow and share it.

    Returns the first stretch that does not, and the plan, or -1.
    """
    entry, beyond = stretches[2 * at], at + 1
    plan = plan_of(image, entry, stretches[2 * at + 1])
    if plan < 0:
        return beyond, plan
    end = signed(u32(image, at_column.REGION_LAST)[plan])
    while (
        beyond < found
        and entry < stretches[2 * beyond] < end
        and stretches[2 * beyond + 1] - stretches[2 * beyond] >= ROWS_MIN
    ):
        beyond += 1
    aim(image, cells, plan, aims)
    for number in range(at, beyond):
        fetch_rows(image, stretches[2 * number], stretches[2 * number + 1], plan, aims)
    return beyond, plan
