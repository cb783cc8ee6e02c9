"""From the ranks of a record to candidate ranges: the entries that may hold; compiled."""

from __future__ import annotations

from typing import Final

from sapwood.matching.columnar import columns as at_column
from sapwood.matching.columnar.columns import I64, KEY_MAX, U32, U64
from sapwood.matching.columnar.kernels.evaluation import grown
from sapwood.matching.columnar.kernels.views import (
    compiled,
    i64,
    inlined,
    length,
    offset,
    prefetch_column,
    signed,
    u8,
    u32,
)

CANDIDATE_RANGES: Final = 64
"""Candidate ranges that there is room for at first."""


_FAR_CLUSTERS: Final = 1 << 18
"""Clusters whose begins take a megabyte. The begins of more clusters are far from the processor,
and fetched all at once."""


@inlined
def find_all_candidate_ranges(  # noqa: PLR0917 - compiled code takes arrays apart
    buffer: U64, ranks: U32, present: U32, size: int, candidate_ranges: I64, begin: int
) -> tuple[int, I64]:
    """`find_candidate_ranges` appended to the ranges before `begin`, with as much room as it takes.

    Returns the number of candidate ranges then, and the array.
    """
    if 2 * (begin + CANDIDATE_RANGES) > len(candidate_ranges):
        candidate_ranges = grown(candidate_ranges, 2 * (begin + CANDIDATE_RANGES))
    found = -1
    while found < 0:
        room = len(candidate_ranges) // 2 - begin
        found = find_candidate_ranges(
            buffer, ranks, present, size, offset(candidate_ranges, 2 * begin), room
        )
        if found < 0:
            candidate_ranges = grown(candidate_ranges, 2 * (begin - 2 * found))
    return begin + found, candidate_ranges


@compiled
def find_candidate_ranges(  # noqa: PLR0917 - compiled code takes arrays apart
    buffer: U64, ranks: U32, present: U32, size: int, candidate_ranges: I64, room: int
) -> int:
    """Write first entry and end of every candidate range that the ranks of a record lead to.

    The attributes that the record has are the first `size` of `present`. Returns the number of
    candidate ranges; without `room` for all a negative number `-r`, where `r` is room for some
    more.

    With the entries 20 .. 22 in the scan cluster, entry 3 in the cluster of the value that `a` has,
    and the entries 9 .. 13 being `b > 10`, `b > 20` and so on to `b > 50`, a record with `b = 25`:

        candidate_ranges  20 23  3 4  9 11    returned 3
    """
    points, ordered_start = i64(buffer, at_column.POINTS), u32(buffer, at_column.ORDERED_START)
    is_up_to = u8(buffer, at_column.ORDERED_IS_UP_TO)
    zone_low = u32(buffer, at_column.ORDERED_ZONE_LOW)
    zone_high = u32(buffer, at_column.ORDERED_ZONE_HIGH)
    reach, keys = u32(buffer, at_column.ORDERED_REACH), u32(buffer, at_column.ENTRY_KEY)
    start = u32(buffer, at_column.CLUSTER_START)
    grid_start = u32(buffer, at_column.GRID_START)
    attributes = length(buffer, at_column.POINTS)
    # After all attributes the scan, the last cluster.
    last_cluster = length(buffer, at_column.CLUSTER_START) - 2
    if last_cluster > _FAR_CLUSTERS:
        _prefetch_buckets(buffer, ranks, present, size, attributes)
    begin, end = signed(start[last_cluster]), signed(start[last_cluster + 1])
    candidate_ranges[0], candidate_ranges[1] = begin, end
    count = 1 if begin < end else 0
    for at in range(size):
        attribute = signed(present[at])
        if attribute >= attributes:
            continue
        rank = signed(ranks[attribute])
        needed = count + 1 + signed(ordered_start[attribute + 1] - ordered_start[attribute])
        if needed > room:
            return -needed
        if rank & 1 and points[attribute] >= 0:
            cluster = points[attribute] + (rank >> 1)
            begin, end = signed(start[cluster]), signed(start[cluster + 1])
            candidate_ranges[2 * count], candidate_ranges[2 * count + 1] = begin, end
            count += begin < end
        for which in range(ordered_start[attribute], ordered_start[attribute + 1]):
            if zone_low[which] <= rank <= zone_high[which]:
                key = KEY_MAX - rank if is_up_to[which] else rank
                first, last = signed(start[which]), signed(start[which + 1])
                end = first_beyond(keys, first, last, key)
                begin = first_beyond(keys, first, end, key - signed(reach[which]) - 1)
                candidate_ranges[2 * count], candidate_ranges[2 * count + 1] = begin, end
                count += begin < end
        first_grid, last_grid = signed(grid_start[attribute]), signed(grid_start[attribute + 1])
        if first_grid < last_grid:
            count = _look_into_grids(
                buffer, ranks, rank, first_grid, last_grid, candidate_ranges, count, room
            )
            if count < 0:
                return count
    return count


@compiled
def _prefetch_buckets(buffer: U64, ranks: U32, present: U32, size: int, attributes: int) -> None:
    """Prefetch the starts of the buckets that a record's values lead to, in all grids at once."""
    second = u32(buffer, at_column.GRID_SECOND)
    grid_start = u32(buffer, at_column.GRID_START)
    first_scale = i64(buffer, at_column.GRID_FIRST_SCALE)
    second_scale = i64(buffer, at_column.GRID_SECOND_SCALE)
    columns = u32(buffer, at_column.GRID_COLUMNS)
    cluster = u32(buffer, at_column.GRID_CLUSTER)
    for at in range(size):
        attribute = signed(present[at])
        if attribute >= attributes:
            continue
        rank = signed(ranks[attribute])
        for grid in range(signed(grid_start[attribute]), signed(grid_start[attribute + 1])):
            other = signed(ranks[second[grid]])
            row, column = rank * first_scale[grid] >> 32, other * second_scale[grid] >> 32
            bucket = signed(cluster[grid]) + row * signed(columns[grid]) + column
            prefetch_column(buffer, at_column.CLUSTER_START, 4 * bucket)


@compiled
def _look_into_grids(  # noqa: PLR0917 - compiled code takes arrays apart
    buffer: U64,
    ranks: U32,
    rank: int,
    first_grid: int,
    last_grid: int,
    candidate_ranges: I64,
    count: int,
    room: int,
) -> int:
    """Write the candidate ranges of the grids of one first attribute, whose value has `rank`.

    Returns the number with the `count` that were there before, or a negative number as
    `find_candidate_ranges` does.
    """
    start = u32(buffer, at_column.CLUSTER_START)
    second = u32(buffer, at_column.GRID_SECOND)
    first_scale = i64(buffer, at_column.GRID_FIRST_SCALE)
    second_scale = i64(buffer, at_column.GRID_SECOND_SCALE)
    first_reach = u32(buffer, at_column.GRID_FIRST_REACH)
    second_reach = u32(buffer, at_column.GRID_SECOND_REACH)
    columns = u32(buffer, at_column.GRID_COLUMNS)
    cluster = u32(buffer, at_column.GRID_CLUSTER)
    for grid in range(first_grid, last_grid):
        other = signed(ranks[second[grid]])
        reach, other_reach = signed(first_reach[grid]), signed(second_reach[grid])
        # Even ranks are gaps between constants; no equality can select them.
        if other == 0 or (reach == 0 and not rank & 1) or (other_reach == 0 and not other & 1):
            continue
        first_row = (max(rank - reach, 0) * first_scale[grid]) >> 32
        last_row = (rank * first_scale[grid]) >> 32
        first_column = (max(other - other_reach, 0) * second_scale[grid]) >> 32
        last_column = (other * second_scale[grid]) >> 32
        if count + last_row - first_row >= room:
            return -(count + signed(last_row - first_row) + 1)
        for row in range(first_row, last_row + 1):
            bucket = signed(cluster[grid]) + row * signed(columns[grid])
            begin = signed(start[bucket + first_column])
            end = signed(start[bucket + last_column + 1])
            candidate_ranges[2 * count], candidate_ranges[2 * count + 1] = begin, end
            count += begin < end
    return count


@compiled
def first_beyond(keys: U32, first: int, last: int, key: int) -> int:
    """The first place of the sorted `keys[first:last]` that exceeds `key`, or `last`."""
    low, size = first, last - first
    while size > 0:
        half = size >> 1
        is_within = signed(keys[low + half]) <= key
        low = low + half + 1 if is_within else low
        size = size - half - 1 if is_within else half
    return low
