"""The plain twins of `kernels.compiled`: all rows are compared, sorting stands for selecting."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sapwood.covering.indexes.columnar.table import BLOCK, Columns, Question, Row

Rows = npt.NDArray[np.int64]

SAMPLE = 16
"""Rows by which a column is judged when rows are divided."""


def find_above(
    columns: Columns, blocks: int, question: Question, first: int, found: Rows
) -> tuple[int, int]:
    """The live rows from `first` on that offer what is asked and reach every asked end.

    Writes at most `len(found)` rows, ascending; returns how many, and the row from which to go on
    (`blocks * BLOCK` if all rows were seen).
    """
    used = slice(blocks * BLOCK)
    hit = columns.keys[used] >= 0
    hit &= ~(question.words[:, None] & ~columns.offers[:, used]).any(axis=0)
    hit &= (columns.ends[question.columns, used] >= question.ends[:, None]).all(axis=0)
    return _written(hit, first, found)


def find_below(
    columns: Columns, blocks: int, question: Question, first: int, found: Rows
) -> tuple[int, int]:
    """The live rows that need nothing of what is asked and pass no asked end; as `find_above`."""
    used = slice(blocks * BLOCK)
    hit = columns.keys[used] >= 0
    hit &= ~(question.words[:, None] & columns.needs[:, used]).any(axis=0)
    hit &= (columns.ends[question.columns, used] <= question.ends[:, None]).all(axis=0)
    return _written(hit, first, found)


def write_row(columns: Columns, row: int, key: int, fresh: Row, question: Question) -> None:
    """Put a hull into a dead row at the end: `fresh`, with the ends that the question names."""
    columns.keys[row] = key
    columns.offers[:, row], columns.needs[:, row] = fresh.offers, fresh.needs
    columns.ends[:, row] = fresh.ends
    columns.ends[question.columns, row] = question.ends
    block, ends = row // BLOCK, columns.ends[:, row]
    columns.largest[:, block] = np.maximum(columns.largest[:, block], ends)
    columns.smallest[:, block] = np.minimum(columns.smallest[:, block], ends)
    columns.any_offers[:, block] |= fresh.offers
    columns.all_needs[:, block] &= fresh.needs


def arrange(points: npt.NDArray[np.float64], block: int) -> Rows:
    """An order of the columns of `points` in which blocks hold points that lie near each other.

    `points` is [dimensions, n]. Ranges are halved at a multiple of `block` until they fit one: by
    the dimension in turn, or by the one with the most distinct values in a sample.
    """
    order = np.arange(points.shape[1])
    work = [(0, len(order), 0)] if len(points) else []
    while work:
        low, high, depth = work.pop()
        if high - low <= block:
            continue
        axis = _axis(points[:, order[low:high]], depth)
        order[low:high] = order[low:high][np.argsort(points[axis, order[low:high]], kind="stable")]
        middle = low + max(1, (high - low) // (2 * block)) * block
        work += ((low, middle, depth + 1), (middle, high, depth + 1))
    return order


def _written(hit: npt.NDArray[np.bool_], first: int, found: Rows) -> tuple[int, int]:
    rows = first + np.flatnonzero(hit[first:])
    count = min(len(rows), len(found))
    found[:count] = rows[:count]
    more = count == len(found) and count > 0
    return count, int(found[count - 1]) + 1 if more else len(hit)


def _axis(points: npt.NDArray[np.float64], depth: int) -> int:
    sample = points[:, :: max(1, points.shape[1] // SAMPLE)][:, :SAMPLE]
    turns = [(depth + turn) % len(points) for turn in range(len(points))]
    return max(turns, key=lambda axis: len(set(sample[axis].tolist())))
