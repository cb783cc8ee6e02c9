"""Searches for the boxes that hold a point, compiled: see `layout`."""

from __future__ import annotations

from sapwood.matching.columnar.kernels.views import compiled
from sapwood.matching.published.boxes.kernels.layout import (
    F64,
    I32,
    I64,
    NONE,
    U8,
    IntervalTreeArrays,
    PointTreeArrays,
    RowArrays,
)


@compiled
def scan(  # noqa: PLR0917 - compiled code takes arrays apart
    boxes: RowArrays, first: int, last: int, floors: F64, ceilings: F64, limit: int, found: I32
) -> int:
    """Write the first `limit` rows from `first` to `last` that hold a point to `found`.

    Returns the number of these rows.
    """
    count = 0
    for row in range(first, last):
        if count == limit:
            break
        holds = boxes.needs[row] > 0
        for each in range(boxes.begins[row], boxes.begins[row + 1]):
            attribute = boxes.attributes[each]
            holds &= boxes.lows[each] <= floors[attribute]
            holds &= ceilings[attribute] <= boxes.highs[each]
        if holds:
            found[count] = row
            count += 1
    return count


@compiled
def grow(  # noqa: PLR0917 - compiled code takes arrays apart
    lows: F64, highs: F64, order: I32, first: int, nodes: I32, centers: F64, lefts: I32,
    rights: I32, stack: I64,
) -> int:  # fmt: skip
    """Divide the intervals of one attribute, ascending by low end, among the nodes of a tree.

    `order` is 0, 1, 2, ... and is reordered. The node of each interval goes to `nodes`, counted
    from `first`; the columns of nodes are filled from there. Returns the number after the last.
    `stack` has 3 elements for each level and side.
    """
    top, node = 3, first
    stack[0], stack[1], stack[2] = 0, len(lows), NONE
    while top:
        top -= 3
        begin, end, above = stack[top], stack[top + 1], stack[top + 2]
        if begin == end:
            continue
        if above != NONE:  # twice the number of the node above, and one more on its right
            if above & 1:
                rights[above >> 1] = node
            else:
                lefts[above >> 1] = node
        center = lows[order[(begin + end) // 2]]
        lefts[node], rights[node], centers[node] = NONE, NONE, center
        below, at = begin, begin
        while at < end and lows[order[at]] <= center:
            each = order[at]
            if highs[each] < center:
                order[below] = each
                below += 1
            else:
                nodes[each] = node
            at += 1
        stack[top], stack[top + 1], stack[top + 2] = begin, below, 2 * node
        stack[top + 3], stack[top + 4], stack[top + 5] = at, end, 2 * node + 1
        top += 6
        node += 1
    return node


@compiled
def count(  # noqa: PLR0917 - compiled code takes arrays apart
    trees: IntervalTreeArrays, needs: U8, floors: F64, ceilings: F64, limit: int, tallies: U8,
    found: I32,
) -> int:  # fmt: skip
    """Write rows that hold a point to `found` until there are `limit`; `tallies` are 0.

    Returns the number of these rows.
    """
    matched = 0
    for attribute in range(len(trees.roots)):
        floor, ceiling = floors[attribute], ceilings[attribute]
        node = trees.roots[attribute] if floor <= ceiling else NONE
        while node != NONE:
            at, end = trees.begins[node], trees.begins[node + 1]
            # High ends are compared with the sign turned, so that both orders ascend.
            if floor < trees.centers[node]:
                ends, rows, sign, most = trees.low_ends, trees.low_rows, 1.0, floor
                node = trees.lefts[node]
            else:
                ends, rows, sign, most = trees.high_ends, trees.high_rows, -1.0, -ceiling
                # The intervals of a center that is the value itself all hold it, and no others do.
                node = trees.rights[node] if ceiling > trees.centers[node] else NONE
            while at < end and sign * ends[at] <= most:
                row = rows[at]
                tallies[row] += 1
                if tallies[row] == needs[row]:
                    found[matched] = row
                    matched += 1
                    if matched == limit:
                        return matched
                at += 1
    return matched


@compiled
def dominate(  # noqa: PLR0917 - compiled code takes arrays apart
    tree: PointTreeArrays, levels: int, needs: U8, floors: F64, ceilings: F64, limit: int,
    query: F64, stack: I64, found: I32, matched: int,
) -> int:  # fmt: skip
    """Write the rows of a k-d tree that hold a point behind `matched` others, up to `limit`.

    `query` has two elements for each attribute, and `stack` 3 for each level and side. Returns the
    number of all rows in `found`.
    """
    width = 2 * len(tree.attributes)
    for at in range(len(tree.attributes)):
        floor, ceiling = floors[tree.attributes[at]], ceilings[tree.attributes[at]]
        if not floor <= ceiling:
            return matched
        query[2 * at], query[2 * at + 1] = -floor, ceiling
    first_leaf = (1 << levels) - 1
    top = 3
    stack[0], stack[1], stack[2] = 0, 0, len(tree.rows)
    while top:
        top -= 3
        node, begin, end = stack[top], stack[top + 1], stack[top + 2]
        may, must = True, True
        for at in range(width):
            may &= tree.maxima[node * width + at] >= query[at]
            must &= tree.minima[node * width + at] >= query[at]
        if not may:
            continue
        if must or node >= first_leaf:
            for place in range(begin, end):
                holds = needs[tree.rows[place]] > 0
                if not must:
                    for at in range(width):
                        holds &= tree.coordinates[place * width + at] >= query[at]
                if holds:
                    found[matched] = tree.rows[place]
                    matched += 1
                    if matched == limit:
                        return matched
            continue
        middle = (begin + end) // 2
        # The upper half, whose points are larger on one axis, is searched first.
        stack[top], stack[top + 1], stack[top + 2] = 2 * node + 1, begin, middle
        stack[top + 3], stack[top + 4], stack[top + 5] = 2 * node + 2, middle, end
        top += 6
    return matched
