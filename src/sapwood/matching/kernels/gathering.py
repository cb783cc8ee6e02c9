"""From stretches to candidates: the entries that are worth evaluating, compiled.

Candidates are gathered from many stretches before they are evaluated, so that much is fetched at a
time, but no more than there is room for: a long gathering is interrupted, and goes on where it was.
"""

from __future__ import annotations

from typing import Final

from sapwood.matching.columnar import columns as at_column
from sapwood.matching.columnar.columns import BLOCK_WORDS, I64, ROWS_MIN, U32, U64
from sapwood.matching.kernels.bitrows import aim, fetch_rows, find_candidates, plan_of
from sapwood.matching.kernels.views import compiled, signed, u32

AT, ENTRY, BEYOND, PLAN, STATE = range(5)
"""Where a gathering is: in which stretch, at which of its entries; the first stretch that was not
prepared together with it, and their plan. The last number is how many these are; all begin as 0."""

CANDIDATES: Final = 1024
"""How many there is room for."""

_ENOUGH: Final = CANDIDATES - 64 * BLOCK_WORDS
"""With more there is no room for all that one look may find."""

_FEW: Final = 8


@compiled
def gather(  # noqa: PLR0917 - compiled code takes arrays apart
    image: U64, cells: U32, stretches: I64, found: int, candidates: U32, aims: U32, state: I64
) -> int:
    """Write candidates of the `found` stretches, from where `state` says on; returns how many.

    If there are none, the gathering has come to its end.
    """
    at, entry, beyond, plan = state[AT], state[ENTRY], state[BEYOND], state[PLAN]
    size = 0
    while at < found and size <= _ENOUGH:
        last = stretches[2 * at + 1]
        if at == beyond:
            beyond, plan = _prepare(image, cells, stretches, at, found, aims)
        entry = max(entry, stretches[2 * at])
        if plan >= 0:
            while entry < last and size <= _ENOUGH:
                entry, size = find_candidates(image, entry, last, plan, candidates, size, aims)
        else:
            end = min(last, entry + CANDIDATES - _ENOUGH)
            # Most stretches are short: some too many are written at once, and not counted.
            for number in range(_FEW):
                candidates[size + number] = entry + number
            for number in range(_FEW, end - entry):
                candidates[size + number] = entry + number
            entry, size = end, size + end - entry
        if entry == last:
            at, entry = at + 1, 0
    state[AT], state[ENTRY], state[BEYOND], state[PLAN] = at, entry, beyond, plan
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
