"""Matches of many publications put together: of some that are there, and of two engines.

Of three publications, of which the second is absent, an engine matches two. Where it finds the
slots 4 and 7 for the first and slot 5 for the third, its batch is ``offsets 0 2 3, slots 4 7 5``;
that of all three is ``offsets 0 2 2 3`` with the same slots.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sapwood.matching.protocol import SlotBatch


def no_match(given: Sequence[object]) -> SlotBatch:
    """No match of any of these."""
    return SlotBatch(np.zeros(len(given) + 1, np.int64), np.zeros(0, np.int32))


def match_present(
    given: Sequence[Any | None], match: Callable[[Sequence[Any]], SlotBatch]
) -> SlotBatch:
    """The matches of what is there; nothing for each `None`."""
    places = [at for at, item in enumerate(given) if item is not None]
    found = match([given[at] for at in places])
    matched = len(found.offsets) - 1
    if matched == len(given):
        return found
    # If it ended early, so does this, with the last item that was matched.
    counts = np.zeros(len(given) if matched == len(places) else places[matched - 1] + 1, np.int64)
    counts[places[:matched]] = np.diff(found.offsets)
    return SlotBatch(np.concatenate(([0], counts.cumsum())), found.slots)


def united(first: SlotBatch, second: SlotBatch) -> SlotBatch:
    """Both matches of each publication, ascending; no slot is in both."""
    rows = np.arange(len(first.offsets) - 1)
    owners = np.concatenate([np.repeat(rows, np.diff(batch.offsets)) for batch in (first, second)])
    slots = np.concatenate((first.slots, second.slots))
    order = np.lexsort((slots, owners))
    return SlotBatch(first.offsets + second.offsets, slots[order])
