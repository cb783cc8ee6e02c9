"""Boxes that hold other boxes, written for reading, and for groups that need no compiler.

`batch.boxes` has the boxes, `batch.buckets` the buckets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

Places: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]
Ints: TypeAlias = Sequence[int]

NOBODY: Final = -1


def sweep(  # noqa: PLR0917 - as the compiled twin
    sides: tuple[Places, Places, Places, Places],
    order: Places,
    stores: Flags,
    asks: Flags,
    starts: Places,  # noqa: ARG001
    boxes: Places,  # noqa: ARG001
    ask_starts: Places,  # noqa: ARG001
    asked: Places,  # noqa: ARG001
) -> Places:
    """A box that holds it, or `NOBODY`, for each box with a query (`asks`).

    `order` has every box behind all that hold it; equal boxes do not hold each other. `stores`
    marks the boxes that may be found, and the last four arguments their buckets
    (`buckets.Buckets`). A held box is never reported: the box that holds it holds all that it
    holds.
    """
    found = np.full(len(order), NOBODY, np.int64)
    plain = as_lists(sides)
    kept: list[int] = []
    for box in order.tolist():
        if asks[box]:
            found[box] = next((other for other in kept if holds(plain, other, box)), NOBODY)
        if stores[box] and found[box] == NOBODY:
            kept.append(box)
    return found


def candidates(  # noqa: PLR0917
    sides: tuple[Places, Places, Places, Places],
    questions: Places,
    starts: Places,  # noqa: ARG001
    boxes: Places,
    ask_starts: Places,  # noqa: ARG001
    asked: Places,  # noqa: ARG001
    room: int,
) -> tuple[int, Places]:
    """The number of questions (boxes) answered, and pairs of (question, box that holds it).

    No pair of a question comes twice. A question is answered only whole, and only while there are
    fewer than `room` pairs.
    """
    plain = as_lists(sides)
    stored = sorted(set(boxes.tolist()))
    pairs: list[tuple[int, int]] = []
    for number, box in enumerate(questions.tolist()):
        if len(pairs) >= room:
            return number, np.array(pairs, np.int64).reshape(-1, 2)
        pairs += [(box, other) for other in stored if other != box and holds(plain, other, box)]
    return len(questions), np.array(pairs, np.int64).reshape(-1, 2)


def holds(sides: tuple[Ints, Ints, Ints, Ints], outer: int, inner: int) -> bool:
    """True if the outer box holds the inner one: on each of its sides."""
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


def as_lists(sides: tuple[Places, Places, Places, Places]) -> tuple[Ints, Ints, Ints, Ints]:
    """The sides as lists, whose elements Python reads faster."""
    starts, attributes, lows, highs = sides
    return starts.tolist(), attributes.tolist(), lows.tolist(), highs.tolist()
