"""The scan of rows without numba; trees are made only where compiled code searches them."""

from __future__ import annotations

import numpy as np

from sapwood.matching.published.boxes.kernels.layout import F64, I32, RowArrays


def scan(  # noqa: PLR0917 - as the compiled one
    boxes: RowArrays, first: int, last: int, floors: F64, ceilings: F64, limit: int, found: I32
) -> int:
    """Write the first `limit` rows from `first` to `last` that hold a point to `found`.

    Returns the number of these rows.
    """
    if first == last:
        return 0
    begin, end = int(boxes.begins[first]), int(boxes.begins[last])
    attributes = boxes.attributes[begin:end]
    held = (boxes.lows[begin:end] <= floors[attributes]) & (
        ceilings[attributes] <= boxes.highs[begin:end]
    )
    tallies = np.add.reduceat(held, boxes.begins[first:last] - begin, dtype=np.int64)
    needs = boxes.needs[first:last]
    rows = np.flatnonzero((tallies == needs) & (needs > 0))[:limit]
    found[: len(rows)] = rows + first
    return len(rows)
