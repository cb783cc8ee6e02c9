"""Kernels of the columnar covering index, compiled by numba and cached on disk.

Free functions on arrays (`table.Columns`, `table.Question`); the plain twins in `kernels.plain` say
what they do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt
from numba import njit

from sapwood.covering.indexes.columnar.kernels.plain import SAMPLE
from sapwood.covering.indexes.columnar.table import BLOCK, Columns, Question, Row

F = TypeVar("F", bound=Callable[..., Any])
Rows = npt.NDArray[np.int64]


def compiled(function: F) -> F:
    """`numba.njit` with a type: the compiled function is called like the plain one."""
    return cast("F", njit(cache=True, nogil=True)(function))


@compiled
def _may_be_above(columns: Columns, block: int, question: Question) -> bool:
    for place in range(len(question.ends)):
        if columns.largest[question.columns[place], block] < question.ends[place]:
            return False
    for word in range(len(question.words)):
        if question.words[word] & ~columns.any_offers[word, block]:
            return False
    return True


@compiled
def _may_be_below(columns: Columns, block: int, question: Question) -> bool:
    for place in range(len(question.ends)):
        if columns.smallest[question.columns[place], block] > question.ends[place]:
            return False
    for word in range(len(question.words)):
        if question.words[word] & columns.all_needs[word, block]:
            return False
    return True


@compiled
def find_above(
    columns: Columns, blocks: int, question: Question, first: int, found: Rows
) -> tuple[int, int]:
    """See `plain.find_above`."""
    count = 0
    hit = np.empty(BLOCK, np.bool_)
    for block in range(first // BLOCK, blocks):
        if not _may_be_above(columns, block, question):
            continue
        base = block * BLOCK
        left = 0
        for row in range(BLOCK):
            hit[row] = columns.keys[base + row] >= 0
        for word in range(len(question.words)):
            asked = question.words[word]
            offers = columns.offers[word, base : base + BLOCK]
            for row in range(BLOCK):
                hit[row] &= (asked & ~offers[row]) == 0
        for row in range(BLOCK):
            left += hit[row]
        for place in range(len(question.ends)):
            if left == 0:
                break
            end = question.ends[place]
            ends = columns.ends[question.columns[place], base : base + BLOCK]
            left = 0
            for row in range(BLOCK):
                hit[row] &= ends[row] >= end
                left += hit[row]
        if left == 0:
            continue
        for row in range(max(0, first - base), BLOCK):
            if hit[row]:
                found[count] = base + row
                count += 1
                if count == len(found):
                    return count, base + row + 1
    return count, blocks * BLOCK


@compiled
def find_below(
    columns: Columns, blocks: int, question: Question, first: int, found: Rows
) -> tuple[int, int]:
    """See `plain.find_below`."""
    count = 0
    hit = np.empty(BLOCK, np.bool_)
    for block in range(first // BLOCK, blocks):
        if not _may_be_below(columns, block, question):
            continue
        base = block * BLOCK
        left = 0
        for row in range(BLOCK):
            hit[row] = columns.keys[base + row] >= 0
        for word in range(len(question.words)):
            asked = question.words[word]
            needs = columns.needs[word, base : base + BLOCK]
            for row in range(BLOCK):
                hit[row] &= (asked & needs[row]) == 0
        for row in range(BLOCK):
            left += hit[row]
        for place in range(len(question.ends)):
            if left == 0:
                break
            end = question.ends[place]
            ends = columns.ends[question.columns[place], base : base + BLOCK]
            left = 0
            for row in range(BLOCK):
                hit[row] &= ends[row] <= end
                left += hit[row]
        if left == 0:
            continue
        for row in range(max(0, first - base), BLOCK):
            if hit[row]:
                found[count] = base + row
                count += 1
                if count == len(found):
                    return count, base + row + 1
    return count, blocks * BLOCK


@compiled
def write_row(columns: Columns, row: int, key: int, fresh: Row, question: Question) -> None:
    """See `plain.write_row`."""
    block = row // BLOCK
    columns.keys[row] = key
    for word in range(len(fresh.needs)):
        columns.offers[word, row] = fresh.offers[word]
        columns.needs[word, row] = fresh.needs[word]
        columns.any_offers[word, block] |= fresh.offers[word]
        columns.all_needs[word, block] &= fresh.needs[word]
    for column in range(len(fresh.ends)):
        columns.ends[column, row] = fresh.ends[column]
    for place in range(len(question.ends)):
        columns.ends[question.columns[place], row] = question.ends[place]
    for column in range(len(fresh.ends)):
        end = columns.ends[column, row]
        columns.largest[column, block] = max(columns.largest[column, block], end)
        columns.smallest[column, block] = min(columns.smallest[column, block], end)


@compiled
def _axis(points: npt.NDArray[np.float64], order: Rows, low: int, high: int, depth: int) -> int:
    dimensions = len(points)
    step = max(1, (high - low) // SAMPLE)
    best, best_distinct = depth % dimensions, 0
    for turn in range(dimensions):
        axis = (depth + turn) % dimensions
        distinct = 0
        for at in range(SAMPLE):
            place = low + at * step
            if place >= high:
                break
            value = points[axis, order[place]]
            is_new = True
            for earlier in range(at):
                if points[axis, order[low + earlier * step]] == value:
                    is_new = False
                    break
            distinct += is_new
        if distinct > best_distinct:
            best, best_distinct = axis, distinct
            if distinct == SAMPLE:
                break
    return best


@compiled
def _select(values: npt.NDArray[np.float64], order: Rows, low: int, high: int, middle: int) -> None:
    """Reorder `order[low:high]` so that no value before `middle` exceeds one from there on."""
    first, last = low, high - 1
    while first < last:
        pivot = values[order[(first + last) >> 1]]
        left, right = first, last
        while left <= right:
            while values[order[left]] < pivot:
                left += 1
            while values[order[right]] > pivot:
                right -= 1
            if left <= right:
                order[left], order[right] = order[right], order[left]
                left += 1
                right -= 1
        if middle <= right:
            last = right
        elif middle >= left:
            first = left
        else:
            return


@compiled
def arrange(points: npt.NDArray[np.float64], block: int) -> Rows:
    """See `plain.arrange`; the order inside the halves is not defined."""
    count = points.shape[1]
    order = np.arange(count)
    if points.shape[0] == 0:
        return order
    work = [(0, count, 0)]
    while len(work) > 0:
        low, high, depth = work.pop()
        if high - low <= block:
            continue
        axis = _axis(points, order, low, high, depth)
        middle = low + max(1, (high - low) // (2 * block)) * block
        _select(points[axis], order, low, high, middle)
        work.append((low, middle, depth + 1))
        work.append((middle, high, depth + 1))
    return order
