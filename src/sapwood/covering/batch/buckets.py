"""Buckets of boxes: the boxes that may hold a box are in few of many buckets.

A box is stored by one of its spans: with the boxes of each value of the span, where it has few, or
with all boxes of the span's attribute, or in bucket 0 where it has no span. A box that it holds has
all its spans, and no value that it has not. So a box that queries bucket 0, and for each of its
spans the bucket of the span's first value and that of the attribute, meets all that hold it.

Four boxes, each stored by the span whose bucket the fewest boxes would query::

    box                    stored in                  queries
    0  s = 'a'             2 (s = 'a')                0, 2
    1  s in ('a', 'b')     2 (s = 'a'), 3 (s = 'b')   0, 2
    2  n > 1               1 (n)                      0, 1
    3  s = 'a' and n > 5   1 (n)                      0, 1, 2

So 3 is compared with 2, 0 and 1, all of which cover it, and 2 with none but 3. The arrays are
`starts` 0, 0, 2, 4, 5 and `boxes` 2, 3, 0, 1, 1 of the stored boxes, `ask_starts` 0, 2, 4, 6, 9 and
`asked` 0, 2, 0, 2, 0, 1, 0, 1, 2 of the queries.

A value that many filters name would make a large bucket, and the work in it grows with the square.
Such buckets are cut by a second attribute, the rarest one that a stored box constrains besides: the
boxes that it holds constrain that one as well, so a box queries the pieces of its own attributes.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from sapwood.covering.batch.boxes import Boxes, Places

NOBODY: Final = -1
"""No box."""

WHOLE_MAX: Final = 64
"""Boxes of a bucket that is not cut: comparing this many is as quick as querying pieces."""


class Buckets(NamedTuple):
    """The boxes that are stored in each bucket, and the buckets that each box queries.

    Bucket `b` has the boxes from `starts[b]` up to `starts[b + 1]` among `boxes`. Box `f` queries
    the buckets from `ask_starts[f]` up to `ask_starts[f + 1]` among `asked`, none twice.
    """

    starts: Places
    boxes: Places
    ask_starts: Places
    asked: Places


class _Stored(NamedTuple):
    """Boxes and the names (numbers) of the buckets that they are in, one element for each pair."""

    boxes: Places
    names: Places


def buckets(
    boxes: Boxes, is_stored: npt.NDArray[np.bool_], *, whole_max: int = WHOLE_MAX
) -> Buckets:
    """The buckets of boxes, each stored by the span whose buckets the fewest boxes would query."""
    ranks = 1 + int(max(boxes.lows.max(initial=0), boxes.values.max(initial=0)))
    general = boxes.attributes * (ranks + 1) + ranks
    first_value = boxes.attributes * (ranks + 1) + boxes.lows
    owner = np.repeat(np.arange(len(boxes)), np.diff(boxes.starts))
    chosen, stored = _stored(boxes, is_stored, owner, general, first_value)
    # Bucket 0 is always there, and its name is the least.
    names = np.unique(np.append(stored.names, -1))
    asking = np.concatenate((np.arange(len(boxes)), owner, owner))
    bucket = _find(names, np.concatenate((np.full(len(boxes), -1), first_value, general)))
    is_there = bucket != NOBODY
    asking, bucket = asking[is_there], bucket[is_there]
    number = np.searchsorted(names, stored.names)
    is_large = np.bincount(number, minlength=len(names)) > whole_max
    # From here on a bucket has two names: its number so far, and the attribute it is cut by.
    uncut = int(boxes.attributes.max(initial=-1)) + 1
    second = np.where(is_large[number], _second(boxes, owner, chosen, uncut)[stored.boxes], uncut)
    pieces = number * (uncut + 1) + second
    asking, bucket = _in_pieces(boxes, asking, bucket, is_large, uncut)
    names = np.unique(np.append(pieces, uncut))
    found = _find(names, bucket)
    asking, found = asking[found != NOBODY], found[found != NOBODY]
    by_box = np.lexsort((found, asking))
    number = np.searchsorted(names, pieces)
    order = np.lexsort((stored.boxes, number))
    starts = np.searchsorted(number[order], np.arange(len(names) + 1))
    ask_starts = np.searchsorted(asking[by_box], np.arange(len(boxes) + 1))
    return Buckets(
        starts.astype(np.int64),
        stored.boxes[order].astype(np.int64),
        ask_starts.astype(np.int64),
        found[by_box].astype(np.int64),
    )


def _stored(
    boxes: Boxes,
    is_stored: npt.NDArray[np.bool_],
    owner: Places,
    general: Places,
    first_value: Places,
) -> tuple[Places, _Stored]:
    """The span by which each box that has one is stored, and the pairs of box and name."""
    counts = np.diff(boxes.value_starts)
    value_names = np.repeat(first_value - boxes.lows, counts) + boxes.values
    cost = np.where(
        counts > 0,
        _sums(_frequencies(value_names, first_value), boxes.value_starts),
        _frequencies(general, general),
    )
    chosen = _cheapest(owner, cost)
    kept = chosen[is_stored[owner[chosen]]]
    lists, others = kept[counts[kept] > 0], kept[counts[kept] == 0]
    listed = np.zeros(len(counts), np.bool_)
    listed[lists] = True
    of_value = np.repeat(listed, counts)
    bare = ((np.diff(boxes.starts) == 0) & is_stored).nonzero()[0]
    names = np.concatenate((np.full(len(bare), -1), value_names[of_value], general[others]))
    members = np.concatenate((bare, np.repeat(owner, counts)[of_value], owner[others]))
    return chosen, _Stored(members, names)


def _second(boxes: Boxes, owner: Places, chosen: Places, uncut: int) -> Places:
    """The rarest attribute of each box beside that of the span it is stored by, or `uncut`."""
    cost = np.bincount(boxes.attributes, minlength=uncut + 1)[boxes.attributes]
    rest = np.ones(len(owner), np.bool_)
    rest[chosen] = False
    sides = rest.nonzero()[0]
    rarest = sides[_cheapest(owner[sides], cost[sides])]
    found = np.full(len(boxes), uncut, np.int64)
    found[owner[rarest]] = boxes.attributes[rarest]
    return found


def _in_pieces(
    boxes: Boxes, asking: Places, bucket: Places, is_large: npt.NDArray[np.bool_], uncut: int
) -> tuple[Places, Places]:
    """The pieces that each box queries: those of its attributes in cut buckets, and the rest.

    `asking` and `bucket` are pairs of a box and a bucket that it queries; the result is such pairs,
    too, with pieces.
    """
    cut = is_large[bucket]
    several, cut_bucket = asking[cut], bucket[cut]
    counts = boxes.starts[several + 1] - boxes.starts[several]
    first = np.repeat(boxes.starts[several] - _starts(counts)[:-1], counts)
    sides = first + np.arange(len(first))
    in_pieces = np.repeat(cut_bucket, counts) * (uncut + 1) + boxes.attributes[sides]
    return (
        np.concatenate((asking, np.repeat(several, counts))),
        np.concatenate((bucket * (uncut + 1) + uncut, in_pieces)),
    )


def _frequencies(keys: Places, among: Places) -> Places:
    """The number of times that each of `keys` is in `among`."""
    found, times = np.unique(among, return_counts=True)
    if not len(found):
        return np.zeros(len(keys), np.int64)
    place = np.minimum(np.searchsorted(found, keys), len(found) - 1)
    return np.where(found[place] == keys, times[place], 0)


def _sums(values: Places, starts: Places) -> Places:
    """The sums of the pieces of an array that begin at `starts`."""
    total = _starts(values)
    return total[starts[1:]] - total[starts[:-1]]


def _starts(counts: Places) -> Places:
    """The begins of pieces of these sizes, and the end of the last one."""
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)))


def _cheapest(owner: Places, cost: Places) -> Places:
    """The span of each owner with the least cost, the first of several."""
    order = np.lexsort((cost, owner))
    return order[np.unique(owner[order], return_index=True)[1]]


def _find(names: Places, keys: Places) -> Places:
    """The places of keys in a sorted array, `NOBODY` for keys that it does not have."""
    place = np.minimum(np.searchsorted(names, keys), len(names) - 1)
    return np.where(names[place] == keys, place, NOBODY).astype(np.int64)
