"""Operations on batches of matches: gaps for absent publications, unions of two engines.

Of three publications, of which the second is absent, an engine matches two. If it finds the slots 4
and 7 for the first and slot 5 for the third, its batch is ``offsets 0 2 3, slots 4 7 5``; the batch
of all three is ``offsets 0 2 2 3`` with the same slots.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from sapwood.matching.protocol import SlotBatch

I64: TypeAlias = npt.NDArray[np.int64]


def no_match(given: Sequence[object]) -> SlotBatch:
    """A batch without matches, for as many publications as `given` has."""
    return SlotBatch(np.zeros(len(given) + 1, np.int64), np.zeros(0, np.int32))


def match_present(
    given: Sequence[Any | None], match: Callable[[Sequence[Any]], SlotBatch]
) -> SlotBatch:
    """The matches of the items that are not `None`, and no match for each `None`."""
    places = [at for at, item in enumerate(given) if item is not None]
    found = match([given[at] for at in places])
    return found if len(places) == len(given) else spread(found, places, len(given))


def spread(found: SlotBatch, places: Sequence[int] | I64, count: int) -> SlotBatch:
    """The matches of the items at `places`, ascending, among `count` items; none for the others.

    Where `found` ended early, so does the result, with the last item that was matched.
    """
    matched = len(found.offsets) - 1
    counts = np.zeros(count if matched == len(places) else places[matched - 1] + 1, np.int64)
    counts[places[:matched]] = np.diff(found.offsets)
    return SlotBatch(np.concatenate(([0], counts.cumsum())), found.slots)


def united(first: SlotBatch, second: SlotBatch) -> SlotBatch:
    """The union of the matches of each publication, ascending; no slot is in both batches.

    If one batch has no slots at all, the other is returned as it is.
    """
    if not len(first.slots):
        return second
    if not len(second.slots):
        return first
    rows = np.arange(len(first.offsets) - 1)
    owners = np.concatenate([np.repeat(rows, np.diff(batch.offsets)) for batch in (first, second)])
    slots = np.concatenate((first.slots, second.slots))
    order = np.lexsort((slots, owners))
    return SlotBatch(first.offsets + second.offsets, slots[order])


def joined(batches: Sequence[SlotBatch]) -> SlotBatch:
    """The matches of several batches of records, one after the other."""
    if len(batches) == 1:
        return batches[0]
    counts = np.concatenate([np.diff(batch.offsets) for batch in batches])
    offsets = np.zeros(len(counts) + 1, np.int64)
    counts.cumsum(out=offsets[1:])
    return SlotBatch(offsets, np.concatenate([batch.slots for batch in batches]))
