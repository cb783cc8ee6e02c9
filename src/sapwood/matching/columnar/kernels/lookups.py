"""From the cells of a record to the stretches of entries that may hold, compiled."""

from __future__ import annotations

from typing import Final

from sapwood.matching.columnar import columns as at_column
from sapwood.matching.columnar.columns import I64, KEY_MAX, U32, U64
from sapwood.matching.columnar.kernels.evaluation import grown
from sapwood.matching.columnar.kernels.views import (
    compiled,
    i64,
    length,
    signed,
    u8,
    u32,
    words_behind,
    woven,
)

STRETCHES: Final = 64
"""How many there is room for at first."""


@woven
def find_all_stretches(  # noqa: PLR0917 - compiled code takes arrays apart
    image: U64, cells: U32, present: U32, size: int, stretches: I64, begin: int
) -> tuple[int, I64]:
    """`find_stretches` behind those that are there, with as much room as it takes.

    Returns how many there are then, and the array.
    """
    if 2 * (begin + STRETCHES) > len(stretches):
        stretches = grown(stretches, 2 * (begin + STRETCHES))
    found = -1
    while found < 0:
        room = len(stretches) // 2 - begin
        found = find_stretches(
            image, cells, present, size, words_behind(stretches, 2 * begin), room
        )
        if found < 0:
            stretches = grown(stretches, 2 * (begin - 2 * found))
    return begin + found, stretches


@compiled
def find_stretches(  # noqa: PLR0917 - compiled code takes arrays apart
    image: U64, cells: U32, present: U32, size: int, stretches: I64, room: int
) -> int:
    """Write first entry and end of every stretch that the cells of a record lead to.

    The attributes that it has are the first `size` of `present`. Returns how many there are, or, if
    there is not `room` for all, a negative number: less that much is room enough for some more.
    """
    points, ordered_start = i64(image, at_column.POINTS), u32(image, at_column.ORDERED_START)
    is_up_to = u8(image, at_column.ORDERED_IS_UP_TO)
    zone_low = u32(image, at_column.ORDERED_ZONE_LOW)
    zone_high = u32(image, at_column.ORDERED_ZONE_HIGH)
    reach, keys = u32(image, at_column.ORDERED_REACH), u32(image, at_column.ENTRY_KEY)
    start = u32(image, at_column.CLUSTER_START)
    grid_start = u32(image, at_column.GRID_START)
    attributes = length(image, at_column.POINTS)
    # After all attributes the scan, the last cluster.
    last_cluster = length(image, at_column.CLUSTER_START) - 2
    begin, end = signed(start[last_cluster]), signed(start[last_cluster + 1])
    stretches[0], stretches[1] = begin, end
    count = 1 if begin < end else 0
    for at in range(size):
        attribute = signed(present[at])
        if attribute >= attributes:
            continue
        cell = signed(cells[attribute])
        needed = count + 1 + signed(ordered_start[attribute + 1] - ordered_start[attribute])
        if needed > room:
            return -needed
        if cell & 1 and points[attribute] >= 0:
            cluster = points[attribute] + (cell >> 1)
            begin, end = signed(start[cluster]), signed(start[cluster + 1])
            stretches[2 * count], stretches[2 * count + 1] = begin, end
            count += begin < end
        for which in range(ordered_start[attribute], ordered_start[attribute + 1]):
            if zone_low[which] <= cell <= zone_high[which]:
                key = KEY_MAX - cell if is_up_to[which] else cell
                first, last = signed(start[which]), signed(start[which + 1])
                end = first_beyond(keys, first, last, key)
                begin = first_beyond(keys, first, end, key - signed(reach[which]) - 1)
                stretches[2 * count], stretches[2 * count + 1] = begin, end
                count += begin < end
        first_grid, last_grid = signed(grid_start[attribute]), signed(grid_start[attribute + 1])
        if first_grid < last_grid:
            count = _look_into_grids(
                image, cells, cell, first_grid, last_grid, stretches, count, room
            )
            if count < 0:
                return count
    return count


@compiled
def _look_into_grids(  # noqa: PLR0917 - compiled code takes arrays apart
    image: U64,
    cells: U32,
    cell: int,
    first_grid: int,
    last_grid: int,
    stretches: I64,
    count: int,
    room: int,
) -> int:
    """Write the stretches of the grids of one first attribute, whose value has the cell.

    Returns how many there are with the `count` that were there before, or as `find_stretches`.
    """
    start = u32(image, at_column.CLUSTER_START)
    second = u32(image, at_column.GRID_SECOND)
    first_scale = i64(image, at_column.GRID_FIRST_SCALE)
    second_scale = i64(image, at_column.GRID_SECOND_SCALE)
    first_reach = u32(image, at_column.GRID_FIRST_REACH)
    second_reach = u32(image, at_column.GRID_SECOND_REACH)
    columns = u32(image, at_column.GRID_COLUMNS)
    cluster = u32(image, at_column.GRID_CLUSTER)
    for grid in range(first_grid, last_grid):
        other = signed(cells[second[grid]])
        reach, other_reach = signed(first_reach[grid]), signed(second_reach[grid])
        # Nobody asked for exactly what an even cell holds.
        if other == 0 or (reach == 0 and not cell & 1) or (other_reach == 0 and not other & 1):
            continue
        first_row = (max(cell - reach, 0) * first_scale[grid]) >> 32
        last_row = (cell * first_scale[grid]) >> 32
        first_column = (max(other - other_reach, 0) * second_scale[grid]) >> 32
        last_column = (other * second_scale[grid]) >> 32
        if count + last_row - first_row >= room:
            return -(count + signed(last_row - first_row) + 1)
        for row in range(first_row, last_row + 1):
            bucket = signed(cluster[grid]) + row * signed(columns[grid])
            begin = signed(start[bucket + first_column])
            end = signed(start[bucket + last_column + 1])
            stretches[2 * count], stretches[2 * count + 1] = begin, end
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
