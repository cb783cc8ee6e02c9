"""When the tail of an engine becomes a segment, and which segments are joined."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from sapwood.matching.columnar.rows import RowWriter
from sapwood.matching.columnar.segment import Segment
from sapwood.model.filter import Filter

FREE: Final = -1
IN_TAIL: Final = -2
NOWHERE: Final = -3
WRITTEN: Final = -4


@dataclass(frozen=True, slots=True)
class FoldPolicy:
    """When the tail becomes a segment, and when segments are joined.

    Costs are in units of trying one filter of the tail, about a microsecond.
    """

    #: conjunctions; segments below this size count as equally large
    smallest: int = 4096
    #: filters in the tail that a match may try one by one; they are objects of some kilobytes each
    tail_max: int = 1024
    #: conjunctions that were written into rows before they become a segment, even if nobody matches
    written_max: int = 32_768
    #: conjunctions of a segment that a match, an addition or a removal makes: a quarter of a second
    #: to two thirds, depending on how much they say. Larger ones are made by `fold` alone
    joined_max: int = 65_536
    #: the cost of any fold
    fold_cost: int = 2000
    #: the further cost of a fold for each conjunction in it
    conjunction_cost: int = 6


class Part(NamedTuple):
    """A segment and its number, which no other segment in the same state has.

    `usual` is how many entries a record led to on average when it was built, `None` where nothing
    was known of records.
    """

    serial: int
    segment: Segment
    usual: float | None


class State(NamedTuple):
    """What changes read and replace; matches read a `Snapshot` that is made of it."""

    #: from the oldest to the newest
    parts: tuple[Part, ...]
    #: conjunctions on their way into a part; before they are there nothing is matched
    written: RowWriter
    #: slot -> filter
    tail: dict[int, Filter]
    #: where each slot is: a part's serial, IN_TAIL, WRITTEN, NOWHERE (it accepts nothing) or FREE
    homes: npt.NDArray[np.int16]


def first_to_join(policy: FoldPolicy, sizes: Sequence[int], newer: int) -> int:
    """The first of the parts that what is newer has caught up with, by powers of two.

    `sizes` are those of the parts, from the oldest to the newest, and `newer` conjunctions are to
    become a part. Joining from there on makes no part of more than `policy.joined_max`, unless what
    is newer alone does. No two parts that could be joined have sizes of the same power of two.
    """
    first = len(sizes)
    for at in reversed(range(len(sizes))):
        if newer + sizes[at] > policy.joined_max:
            break
        if newer and _size_class(policy, sizes[at]) <= _size_class(policy, newer):
            first = at
        newer += sizes[at]
    return first


def free_serial(parts: Sequence[Part]) -> int:
    """The smallest number that no part has."""
    taken = {part.serial for part in parts}
    return next(serial for serial in range(len(taken) + 1) if serial not in taken)


def _size_class(policy: FoldPolicy, conjunctions: int) -> int:
    return max(conjunctions, policy.smallest).bit_length()
