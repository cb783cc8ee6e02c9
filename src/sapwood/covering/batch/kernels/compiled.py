"""Boxes that hold other boxes, compiled by numba and cached on disk; see `kernels.plain`.

The plain twins compare all boxes; these search the buckets that a box queries.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from sapwood.matching.arrays import TwoDimensional
from sapwood.matching.columnar.kernels.views import compiled, new_i64
from sapwood.matching.compiling.libraries import library

Places = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_NOBODY: Final = -1


@compiled
def _holds(sides: tuple[Places, Places, Places, Places], outer: int, inner: int) -> bool:
    starts, attributes, lows, highs = sides
    theirs, last = starts[inner], starts[inner + 1]
    for own in range(starts[outer], starts[outer + 1]):
        while theirs < last and attributes[theirs] < attributes[own]:
            theirs += 1
        if theirs == last or attributes[theirs] != attributes[own]:
            return False
        if lows[own] > lows[theirs] or highs[own] < highs[theirs]:
            return False
    return True


@compiled
def sweep(  # noqa: PLR0917 - numba takes positional arguments
    sides: tuple[Places, Places, Places, Places],
    order: Places,
    stores: Flags,
    asks: Flags,
    starts: Places,
    boxes: Places,
    ask_starts: Places,
    asked: Places,
) -> Places:
    """The twin of `plain.sweep`."""
    found, home = new_i64(len(order)), new_i64(len(order))
    found[:] = _NOBODY
    home[:] = _NOBODY
    for bucket in range(len(starts) - 1):
        for place in range(starts[bucket], starts[bucket + 1]):
            home[boxes[place]] = bucket
    kept = new_i64(len(boxes))
    ends = starts[:-1].copy()
    for box in order:
        if asks[box]:
            for bucket in asked[ask_starts[box] : ask_starts[box + 1]]:
                for place in range(starts[bucket], ends[bucket]):
                    if _holds(sides, kept[place], box):
                        found[box] = kept[place]
                        break
                if found[box] != _NOBODY:
                    break
        if stores[box] and found[box] == _NOBODY:
            kept[ends[home[box]]] = box
            ends[home[box]] += 1
    return found


@compiled
def candidates(  # noqa: PLR0917
    sides: tuple[Places, Places, Places, Places],
    questions: Places,
    starts: Places,
    boxes: Places,
    ask_starts: Places,
    asked: Places,
    room: int,
) -> tuple[int, Places]:
    """The twin of `plain.candidates`."""
    pairs = np.empty((1024, 2), np.int64)
    seen = new_i64(len(sides[0]))
    seen[:] = _NOBODY
    count = 0
    for number in range(len(questions)):
        if count >= room:
            return number, pairs[:count]
        box = questions[number]
        seen[box] = number
        for bucket in asked[ask_starts[box] : ask_starts[box + 1]]:
            for place in range(starts[bucket], starts[bucket + 1]):
                other = boxes[place]
                if seen[other] == number:
                    continue
                seen[other] = number
                if _holds(sides, other, box):
                    if count == len(pairs):
                        pairs = _doubled(pairs)
                    pairs[count, 0], pairs[count, 1] = box, other
                    count += 1
    return len(questions), pairs[:count]


@compiled
def _doubled(pairs: TwoDimensional[Places]) -> TwoDimensional[Places]:
    """The pairs, with as much room behind them."""
    larger = np.empty((2 * len(pairs), 2), np.int64)
    for at in range(len(pairs)):
        larger[at, 0], larger[at, 1] = pairs[at, 0], pairs[at, 1]
    return larger


LIBRARY: Final = library(
    "pipeline",
    candidates,
    sweep,
)
