"""The plain twins of `kernels.compiled`: all rows are compared, bitmaps of levels are not read."""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from sapwood.covering.columnar.columns import (
    BLOCK,
    Columns,
    RowSides,
    Sides,
    View,
    packed,
    unpacked,
)

T = TypeVar("T")

Floats = npt.NDArray[np.float64]
Words = npt.NDArray[np.uint64]
Places = npt.NDArray[np.int64]


def handle(arrays: T) -> tuple[T, None]:
    """Arrays in the form in which kernels take them, and the data to be kept with them."""
    return arrays, None


def find_above(view: View, question: Sides, blocks: int, first: int, limit: int) -> tuple[int, int]:
    """The live rows from `first` on that offer all kinds of the query and reach every end of it.

    Writes at most `limit` rows, ascending; returns their number, and the row from which to go on
    (`blocks * BLOCK` if all rows were seen).
    """
    hit, ends, query = _compared(view, question, blocks)
    hit &= ~(question.words[:, None] & ~view.kinds[:, : len(hit)]).any(axis=0)
    hit &= (ends >= query).all(axis=0)
    return _written(hit, first, limit, view.found)


def find_below(view: View, question: Sides, blocks: int, first: int, limit: int) -> tuple[int, int]:
    """The live rows that need no further kind and exceed no end of the query; as `find_above`."""
    hit, ends, query = _compared(view, question, blocks)
    hit &= ~(question.words[:, None] & view.kinds[:, : len(hit)]).any(axis=0)
    hit &= (ends <= query).all(axis=0)
    return _written(hit, first, limit, view.found)


def write_row(table: Columns, sides: RowSides, row: int) -> None:
    """Put the point whose ends are the query into a row that is not live."""
    ends, offers, needs, live, free, reach, cuts, query = table
    block = row // BLOCK
    bit = np.uint64(1 << row % BLOCK)
    live[block] |= bit
    offers[:, row], needs[:, row] = sides.offers, sides.needs
    free[:, block] |= bit
    free[sides.bound, block] &= ~bit
    ends[:, row] = sides.rest
    ends[sides.columns, row] = query[: len(sides.columns)]
    reaches = (ends[:, row, None] >= cuts).reshape(-1)
    reach[:, block] = np.where(reaches, reach[:, block] | bit, reach[:, block] & ~bit)


def clear_row(table: Columns, row: int) -> None:
    """Remove a row."""
    table.live[row // BLOCK] &= ~np.uint64(1 << row % BLOCK)


def level_rows(  # noqa: PLR0917
    ends: Floats, reach: Words, cuts: Floats, first: int, last: int, blocks: int
) -> None:
    """Write the bitmaps of the columns from `first` to `last` (exclusive) anew."""
    levels = cuts.shape[1]
    reaches = ends[first:last, None, : blocks * BLOCK] >= cuts[first:last, :, None]
    reach[first * levels : last * levels, :blocks] = packed(
        reaches.reshape((last - first) * levels, blocks * BLOCK)
    )


def _compared(
    view: View, question: Sides, blocks: int
) -> tuple[npt.NDArray[np.bool_], Floats, Floats]:
    """True for each live row, the rows' ends in the columns of the query, and the query's ends."""
    live, columns = unpacked(view.live[:blocks]), question.columns
    return live, view.ends[columns, : len(live)], view.query[: len(columns), None]


def _written(hit: npt.NDArray[np.bool_], first: int, limit: int, found: Places) -> tuple[int, int]:
    rows = first + np.flatnonzero(hit[first:])
    count = min(len(rows), limit)
    found[:count] = rows[:count]
    more = count == limit and count > 0
    return count, int(found[count - 1]) + 1 if more else len(hit)


def find_rows(  # noqa: PLR0917
    arena: Floats,
    groups: Places,
    plan: Places,
    ends: Floats,
    is_above: bool,  # noqa: FBT001
    kind: int,
    at: int,
    row: int,
    found: Places,
) -> tuple[int, int, int]:
    """The keys of rows of crowds that hold a point, or that it holds, sure or unsure ones.

    Begins at a place of the plan, with a row of the crowd there; writes as many keys as there is
    room for, and returns their number, and where to go on: at the plan's end if all rows were seen.
    """
    count = 0
    while at < len(plan):
        compared, after = _comparisons(plan, at)
        crowd = _crowd(arena, groups, int(plan[at]))
        hit = _reached(crowd, compared, ends, is_above=is_above) & (crowd[:, 0] % 2 == kind)
        for hit_row in np.flatnonzero(hit).tolist():
            if hit_row >= row:
                found[count] = int(crowd[hit_row, 0]) // 2
                count += 1
                if count == len(found):
                    return count, at, hit_row + 1
        at, row = after, 0
    return count, at, 0


def place_rows(  # noqa: PLR0917
    arena: Floats,
    groups: Places,
    plans: Places,
    asked: Places,
    tags: Floats,
    ends: Floats,
    limit: int,
    first: int,
    found: Places,
    counts: Places,
) -> int:
    """Find up to `limit` sure rows that hold a point, and add it to its crowd, from one point on.

    Returns the first point that needs a query by itself: because it is marked so, or has too few
    sure rows and may have unsure ones. Crowds have room.
    """
    for point in range(first, len(tags)):
        start, stop, group, end, by_itself = asked[point * 5 : point * 5 + 5].tolist()
        if by_itself:
            return point
        count, is_unsure, at = 0, False, start
        given = ends[end : end + int(groups[4 * group + 3]) - 1]
        while at < stop and count < limit:
            compared, after = _comparisons(plans, at)
            crowd = _crowd(arena, groups, int(plans[at]))
            for tag in crowd[_reached(crowd, compared, given, is_above=True), 0].tolist():
                if tag % 2:
                    is_unsure = True
                elif count < limit:
                    found[point * limit + count] = int(tag) // 2
                    count += 1
            at = after
        if count < limit and is_unsure:
            return point
        counts[point] = count
        begin, rows, _, stride = groups[4 * group : 4 * group + 4].tolist()
        place = begin + rows * stride
        arena[place] = tags[point]
        arena[place + 1 : place + stride] = given
        groups[4 * group + 1] += 1
    return len(tags)


def drop_row(arena: Floats, groups: Places, group: int, key: int) -> int:
    """Remove the row of a key from a crowd; the last one takes its place. Returns its new size."""
    crowd = _crowd(arena, groups, group)
    row = np.flatnonzero(crowd[:, 0] // 2 == key)[0]
    crowd[row] = crowd[-1]
    groups[4 * group + 1] -= 1
    return len(crowd) - 1


def _comparisons(plan: Places, at: int) -> tuple[Places, int]:
    """The pairs of ends of a row and of the query to compare, and the place of the next group."""
    after = at + 2 + 2 * int(plan[at + 1])
    return plan[at + 2 : after].reshape(-1, 2), after


def _crowd(arena: Floats, groups: Places, group: int) -> Floats:
    """The rows of a crowd."""
    start, rows, _, stride = groups[4 * group : 4 * group + 4].tolist()
    crowd: Floats = arena[start : start + rows * stride].reshape(rows, stride)
    return crowd


def _reached(
    crowd: Floats, compared: Places, ends: Floats, *, is_above: bool
) -> npt.NDArray[np.bool_]:
    """True for each row that holds a point, or is held by it."""
    own, asked = crowd[:, 1 + compared[:, 0]], ends[compared[:, 1]]
    reached: npt.NDArray[np.bool_] = own >= asked if is_above else own <= asked
    return np.asarray(reached.all(axis=1))
