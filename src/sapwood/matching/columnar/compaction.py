"""Compaction: when the memtable becomes a segment, and the choice of segments to join."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from sapwood.matching.columnar.rows import RowWriter
from sapwood.matching.columnar.segment import Segment
from sapwood.matching.columnar.trial import Trial

FREE: Final = -1
IN_MEMTABLE: Final = -2
NOWHERE: Final = -3
FROZEN: Final = -4


@dataclass(frozen=True, slots=True)
class CompactionPolicy:
    """The sizes at which the memtable becomes a segment, and segments are joined.

    Costs are in units of trying one filter of the memtable, about a microsecond.
    """

    #: conjunctions; segments below this size count as equally large
    smallest: int = 4096
    #: filters in the memtable that a match may try one by one; they are objects of some kilobytes
    #: each
    memtable_max: int = 2048
    #: filters of the memtable without an equality that a kernel tries in the time of one that is
    #: tried in Python
    tried_at_once: int = 50
    #: the cost for a batch of a kernel that tries filters, whatever their number
    trial_cost: int = 2
    #: filters that become rows at once if they are added together: `SUBSCRIPTIONS_AT_ONCE_MAX`, of
    #: which half may be there already. Making a segment of them takes about as long as adding them
    #: to the memtable one by one, some 20 us each
    bulk_min: int = 128
    #: conjunctions of rows that become a segment even if no match comes
    frozen_max: int = 32_768
    #: conjunctions of a segment that a match, an addition or a removal makes: a quarter of a second
    #: to two thirds, depending on their constraints. Larger ones are made by `fold` alone
    joined_max: int = 65_536
    #: the same where a worker joins segments beside the caller. The caller waits 6 to 10 ms for
    #: this many, 3 to 5 us each; of 1024 it would be 5 to 8 us each, and as `alike_max` of these
    #: make no segment of the next larger kind, everything would be joined once more
    poured_max: int = 2048
    #: segments of about the same size that a worker joins where publications flow: where matches
    #: that searched several have cost one part in `flow_share` of that join
    alike_max: int = 16
    flow_share: int = 16
    #: the same whatever matches have cost. A conjunction is then moved half as often until a
    #: million are there: 28 to 33 s instead of 40 until a broker had them. Where publications flow,
    #: the join of so many holds them up for seconds
    unmatched_max: int = 64
    #: records that were matched since a segment was last made, after which additions are taken to
    #: have ended for now, as they are when no segment was made for a moment: a worker then joins
    #: all segments. It does not where there is next to nothing beside the largest one (one
    #: conjunction in `quiet_share`), nor more than the added conjunctions have brought: each allows
    #: `quiet_moves` to be joined for this reason
    quiet_after: int = 4096
    quiet_share: int = 64
    quiet_moves: int = 8
    #: segments that are joined all at once then; of more, all but the largest are joined first,
    #: which takes half of the time as a rule, and matches search two until the rest is done. Before
    #: these, the small ones are joined that make up one conjunction in `small_share`, in no time
    few: int = 3
    small_share: int = 8
    #: conjunctions of a segment from which on its access constraints are chosen by sampled records.
    #: That takes some milliseconds, while a kernel tries as many in less than two microseconds:
    #: additions of a few at a time make a hundred segments a second, which are joined before long
    sampled_min: int = 512
    #: the cost of each further segment for a match
    segment_cost: int = 6
    #: the cost of any compaction
    compaction_cost: int = 2000
    #: the further cost for each conjunction in it
    conjunction_cost: int = 6


class SegmentEntry(NamedTuple):
    """A segment and its number, which no other segment in the same state has.

    `mean_candidates` is the mean number of entries that a record led to when it was built, `None`
    where no records were known.
    """

    serial: int
    segment: Segment
    mean_candidates: float | None


@dataclass(slots=True)
class Account:
    """The budget of joins.

    Additions that go on for ever, a few at a time, have everything joined no more often than they,
    or matches, have paid for: so each conjunction is moved a number of times that does not depend
    on how long additions go on.
    """

    #: the cost for matches of searching several segments, less the cost of joins that were paid for
    #: by it
    searched: int = 0
    #: the cost for matches of one segment beside the largest, since that was last joined
    beside: int = 0
    #: conjunctions that may be joined because additions have ended for now
    brought: int = 0

    def matched(self, policy: CompactionPolicy, records: int, segments: int) -> None:
        """Charge the cost of matching `records` records in `segments` segments."""
        self.searched += policy.segment_cost * records * (segments - 1)
        self.beside += policy.segment_cost * records

    def came(self, policy: CompactionPolicy, conjunctions: int, others: int) -> None:
        """Credit a new segment of added conjunctions, beside `others` in all other segments."""
        most = policy.quiet_moves * (conjunctions + others)
        self.brought = min(self.brought + policy.quiet_moves * conjunctions, most)

    def joined(
        self,
        policy: CompactionPolicy,
        chosen: Sequence[SegmentEntry],
        segments: Sequence[SegmentEntry],
    ) -> None:
        """Debit the join of `chosen` among all `segments`."""
        conjunctions = _size(chosen)
        self.searched = max(0, self.searched - join_cost(policy, chosen))
        self.brought = max(0, self.brought - conjunctions)
        if max(segments, key=_live) in chosen:
            self.beside = 0


class State(NamedTuple):
    """The state that changes read and replace; matches read a `Snapshot` that is made of it."""

    #: from the oldest to the newest
    segments: tuple[SegmentEntry, ...]
    #: conjunctions on their way into a segment; nothing is matched before they are in one
    frozen_rows: RowWriter
    #: slot -> its filter
    memtable: dict[int, Trial]
    #: slot -> its location: a segment's serial, IN_MEMTABLE, FROZEN, NOWHERE (its filter accepts
    #: nothing) or FREE
    slot_locations: npt.NDArray[np.int16]


def first_to_join(policy: CompactionPolicy, sizes: Sequence[int], newer: int) -> int:
    """The first segment of those that the newer rows are to be joined with, by powers of two.

    `sizes` are those of the segments, from the oldest to the newest, and `newer` is the number of
    conjunctions that are to become one. Joining from there on makes no segment of more than
    `policy.joined_max`, unless the newer rows alone do. No two segments that could be joined have
    sizes of the same power of two. With `smallest` 4, the sizes 40, 9, 5 and 6 newer ones, 5 is
    joined (11), and then 9 (20).
    """
    first = len(sizes)
    for at in reversed(range(len(sizes))):
        if newer + sizes[at] > policy.joined_max:
            break
        if newer and _size_class(policy, sizes[at]) <= _size_class(policy, newer):
            first = at
        newer += sizes[at]
    return first


def to_join(
    policy: CompactionPolicy, segments: Sequence[SegmentEntry], account: Account, quiet: int = 0
) -> Sequence[SegmentEntry]:
    """The segments that a worker joins next; none if they may stay as they are.

    First come the segments with more removed conjunctions than live ones, together; then all up to
    a size of which there are `policy.unmatched_max`, or `policy.alike_max` where publications flow
    (sizes are alike within a factor of 16); then all, if `quiet`, the number of records since
    the last segment, shows that additions have ended for now: but not for a few conjunctions beside
    a large segment, and only as far as the additions have brought enough; many small segments
    first, the largest one last. Then come as many of the smallest as the matches have paid for that
    had to search each of them. With the sizes 1,000,000, 2,000, 66 and 70, the last two are joined
    for 2,816, the last three for 14,816, and all for six million, if the largest alone and the
    segments beside it have cost as much.
    """
    sparse = [entry for entry in segments if entry.segment.dead > entry.segment.live]
    if sparse:
        return sparse
    alike = _alike(policy, segments, account)
    if alike:
        return alike
    rising = sorted(segments, key=_live)
    if quiet >= policy.quiet_after and len(segments) > 1:
        whole, rest = _size(rising), _size(rising[:-1])
        if rest * policy.quiet_share >= whole:
            if len(segments) <= policy.few and account.brought >= whole:
                return segments
            if len(segments) > policy.few and account.brought >= rest:
                sums = accumulate(map(_live, rising))
                small = sum(policy.small_share * size <= rest for size in sums)
                chosen = rising[:small] if small > policy.few else rising[:-1]
                return [entry for entry in segments if entry in chosen]
    paid: Sequence[SegmentEntry] = ()
    for count in range(2, len(rising) + 1):
        cost = join_cost(policy, rising[:count])
        if cost > account.searched or (count == len(rising) and cost > account.beside):
            break
        paid = rising[:count]
    return paid


def _alike(
    policy: CompactionPolicy, segments: Sequence[SegmentEntry], account: Account
) -> Sequence[SegmentEntry]:
    """The segments up to a size of which there are too many; none if there is no such size."""
    counts = Counter(_tier(policy, entry) for entry in segments)
    for most in (policy.alike_max, policy.unmatched_max):
        largest = max((tier for tier, count in counts.items() if count >= most), default=-1)
        chosen = [entry for entry in segments if _tier(policy, entry) <= largest]
        flows = account.searched * policy.flow_share >= join_cost(policy, chosen)
        if chosen and (flows or most == policy.unmatched_max):
            return chosen
    return ()


def join_due(policy: CompactionPolicy, segments: Sequence[SegmentEntry], account: Account) -> int:
    """The value of `Account.searched` at which matches have paid for a join."""
    cost = join_cost(policy, sorted(segments, key=_live)[:2])
    if len(segments) > 2:
        return cost
    return cost + max(0, account.searched - account.beside)


def join_cost(policy: CompactionPolicy, segments: Iterable[SegmentEntry]) -> int:
    """The cost of joining segments."""
    return policy.compaction_cost + policy.conjunction_cost * _size(segments)


def free_serial(segments: Sequence[SegmentEntry], others: Iterable[int] = ()) -> int:
    """The smallest number that no segment has, and that is not among the others."""
    taken = {*others, *(entry.serial for entry in segments)}
    return next(serial for serial in range(len(taken) + 1) if serial not in taken)


def _live(entry: SegmentEntry) -> int:
    return entry.segment.live


def _size(segments: Iterable[SegmentEntry]) -> int:
    """The live conjunctions of `segments`."""
    return sum(map(_live, segments))


def _size_class(policy: CompactionPolicy, conjunctions: int) -> int:
    return max(conjunctions, policy.smallest).bit_length()


def _tier(policy: CompactionPolicy, entry: SegmentEntry) -> int:
    """The size class of a segment: sizes of one tier are equal within a factor of 16."""
    return _size_class(policy, entry.segment.live) // 4
