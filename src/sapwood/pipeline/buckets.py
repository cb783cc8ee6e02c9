"""Where boxes are looked for: those that may hold a box are in few of many buckets.

A box is stored by one of its sides: with the boxes of each value of the side, where it has few, or
with all boxes of the side's attribute, or in bucket 0 where it has no side. Whatever it holds has
all its sides, and no value that it has not. So a box that asks in bucket 0, and for each of its
sides in the bucket of the side's first value and in that of the attribute, meets all that hold it.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from sapwood.pipeline.boxes import Boxes, Places

NOBODY: Final = -1
"""No bucket, no box."""


class Buckets(NamedTuple):
    """Which boxes are stored where, and where each side asks.

    Bucket `b` has the boxes from `starts[b]` up to `starts[b + 1]` among `boxes`. Row `s` of
    `asked` has two buckets for side `s`, `NOBODY` where there is none.
    """

    starts: Places
    boxes: Places
    asked: Places


def buckets(boxes: Boxes, is_stored: npt.NDArray[np.bool_]) -> Buckets:
    """The buckets of some boxes, each in the buckets of the side by which the fewest would ask."""
    ranks = 1 + int(max(boxes.lows.max(initial=0), boxes.values.max(initial=0)))
    general = boxes.attributes * (ranks + 1) + ranks
    first_value = boxes.attributes * (ranks + 1) + boxes.lows
    counts = np.diff(boxes.value_starts)
    value_keys = np.repeat(boxes.attributes * (ranks + 1), counts) + boxes.values
    cost = np.where(
        counts > 0,
        _sums(_frequencies(value_keys, first_value), boxes.value_starts),
        _frequencies(general, general),
    )
    owner = np.repeat(np.arange(len(boxes)), np.diff(boxes.starts))
    chosen = _cheapest(owner, cost)
    chosen = chosen[is_stored[owner[chosen]]]
    lists, others = chosen[counts[chosen] > 0], chosen[counts[chosen] == 0]
    listed = np.zeros(len(counts), np.bool_)
    listed[lists] = True
    of_value = np.repeat(listed, counts)
    bare = ((np.diff(boxes.starts) == 0) & is_stored).nonzero()[0]
    keys = np.concatenate((np.full(len(bare), -1), value_keys[of_value], general[others]))
    stored = np.concatenate((bare, np.repeat(owner, counts)[of_value], owner[others]))
    names = np.unique(np.append(keys, -1))  # bucket 0 is always there
    number = np.searchsorted(names, keys)
    order = np.lexsort((stored, number))
    starts = np.searchsorted(number[order], np.arange(len(names) + 1))
    asked = np.stack((_find(names, first_value), _find(names, general)), axis=1)
    return Buckets(starts.astype(np.int64), stored[order].astype(np.int64), asked)


def _frequencies(keys: Places, among: Places) -> Places:
    """How often each of the keys is among others."""
    found, times = np.unique(among, return_counts=True)
    if not len(found):
        return np.zeros(len(keys), np.int64)
    place = np.minimum(np.searchsorted(found, keys), len(found) - 1)
    return np.where(found[place] == keys, times[place], 0)


def _sums(values: Places, starts: Places) -> Places:
    """The sums of the pieces of an array that begin at `starts`."""
    total = np.concatenate((np.zeros(1, np.int64), np.cumsum(values)))
    return total[starts[1:]] - total[starts[:-1]]


def _cheapest(owner: Places, cost: Places) -> Places:
    """For each owner its side with the least cost, the first of several."""
    order = np.lexsort((cost, owner))
    return order[np.unique(owner[order], return_index=True)[1]]


def _find(names: Places, keys: Places) -> Places:
    """The places of keys in a sorted array, `NOBODY` for those that are not there."""
    place = np.minimum(np.searchsorted(names, keys), len(names) - 1)
    return np.where(names[place] == keys, place, NOBODY).astype(np.int64)
