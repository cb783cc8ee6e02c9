"""The log-structured merge tree below the columnar engine: the places of filters, and their moves.

`ColumnarEngine` decides what is done when, and why; this module has the changes and joins
themselves. A thread that changes the tree holds its lock. Joins hold it to begin and to end, and
build outside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from threading import Lock
from types import MappingProxyType
from typing import Final

import numpy as np
import numpy.typing as npt

from sapwood.matching.beside import Worker, worker
from sapwood.matching.columnar.assembling import (
    has_stale_statistics,
    mean_candidates,
    segment_of,
)
from sapwood.matching.columnar.compaction import (
    FREE,
    FROZEN,
    NOWHERE,
    Account,
    CompactionPolicy,
    SegmentEntry,
    State,
    first_to_join,
    free_serial,
    join_due,
    to_join,
)
from sapwood.matching.columnar.derived import Attribute
from sapwood.matching.columnar.joining import joined
from sapwood.matching.columnar.like_checks import LikePredicates
from sapwood.matching.columnar.literals import LikePredicate
from sapwood.matching.columnar.ranking import RankedRows, rank
from sapwood.matching.columnar.rows import RowWriter, Slots, slots_of
from sapwood.matching.columnar.searching import LazyKernels, Searcher
from sapwood.matching.columnar.segment import Segment
from sapwood.matching.columnar.snapshot import Snapshot
from sapwood.matching.columnar.trial import Trial
from sapwood.matching.columnar.tried_rows import TriedFilters
from sapwood.model.filter import Filter
from sapwood.model.publication import Record

SAMPLED_MAX: Final = 256
"""Records that are kept to estimate the selectivity of constraints; the latest ones."""

SAMPLED_EVERY: Final = 31
"""One match in this many keeps its record. A prime: where the same records come again and again, a
divisor of their number would find the same few each time, and clusters would follow these."""

_STALE_RECORDS: Final = 2 * SAMPLED_EVERY * SAMPLED_MAX
"""Matched records between two checks of the statistics: twice as many as the sample spans."""

_RENUMBERED: Final = 1 << 14
"""Slots that are renumbered at once, in a tenth of a millisecond."""

_REMOVED_AT_ONCE: Final = 256
"""Slots that are removed from a new segment before it takes its place, in half a millisecond."""


class MergeTree:
    """Memtable, frozen rows and segments, and the snapshot of them that matches read.

    #: _published, where it is not `None`, holds every filter; _state.frozen_rows is empty then
    #: _aliases are empty but between the end of a join and the renumbering of its slots
    """

    def __init__(self, policy: CompactionPolicy, kernels: LazyKernels) -> None:
        self._policy = policy
        #: attribute -> number, from 0 without gaps; only ever grows
        self._attributes: dict[Attribute, int] = {}
        self._predicates = LikePredicates()
        self._kernels = kernels
        #: knows the first attributes, perhaps not all; `_named` brings it up to date
        self._searcher = Searcher(self._attributes, self._kernels)
        self._state = State((), self._writer(), {}, np.full(64, FREE, np.int16))
        #: the filters of the memtable that a kernel tries, once there are segments
        self._triable = TriedFilters(
            self._attributes, self._predicates, lambda: self._kernels.loaded.read_forms
        )
        #: the rest of the memtable
        self._odd: dict[int, Trial] = {}
        #: all that a match reads; `None` if filters were added or removed since the last match
        self._published: Snapshot | None = None
        self._taken = 0
        #: filters of the memtable tried since the last compaction
        self._tried = 0
        #: the cost of batches for the trial of rows since a filter was last added: as long as
        #: filters come, a compaction would not save it
        self._settled = 0
        #: records in matches so far, which several threads may miscount
        self._matched = 0
        #: `_matched` when many filters were last added together
        self._matched_before = 0
        #: `_matched` when a segment was last made of added filters, or less by `quiet_after` once
        #: additions have ended for now
        self._poured_at = 0
        #: the number of segments made of added filters; true while a worker is to look for more
        self._pours = 0
        self._is_watched = False
        #: true if the worker was called after additions had ended for now (`quiet_after`)
        self._was_quiet = False
        #: `_matched` when statistics were last checked
        self._statistics_checked = 0
        #: records that were matched, the latest last; replaced as a whole
        self._sample: tuple[Record, ...] = ()
        #: held while any of the above is replaced or its content changed; but for the counts and
        #: the sample, in which an update may be lost
        self._lock = Lock()
        #: held during a full compaction and by a worker's joins
        self._compaction_lock = Lock()
        #: the segments that `fold` or a worker is joining, which no other thread replaces, and the
        #: slots that were removed from them since
        self._compacting: tuple[SegmentEntry, ...] = ()
        self._removed: list[int] = []
        #: number of a former segment -> that of the segment with its conjunctions by now
        self._aliases: dict[int, int] = {}
        #: the budget of joins, and the cost of the least join
        self._account = Account()
        self._join_due = 0
        #: true while a worker joins segments, or is about to
        self._has_worker = False

    def _publish(self) -> Snapshot:
        """Publish a snapshot of the present state; the lock is held, and no rows are frozen."""
        segments, frozen_rows, memtable, _ = self._state
        assert not len(frozen_rows), "frozen rows are in no segment"
        rows = self._triable.rows() if len(self._triable) else None
        searcher, predicates = self._named(), self._predicates.known()
        tried, odd = MappingProxyType(dict(memtable)), MappingProxyType(dict(self._odd))
        published = Snapshot(segments, tried, searcher, predicates, rows, odd)
        self._published = published
        return published

    def _named(self) -> Searcher:
        """The searcher that knows all attributes; the lock is held."""
        self._searcher = self._searcher.grown(self._attributes)
        return self._searcher

    def _is_statistics_check_due(self) -> bool:
        """True if matches since the last check have paid for another one and for building."""
        return self._matched - self._statistics_checked >= max(_STALE_RECORDS, self._taken)

    def _writer(self) -> RowWriter:
        return RowWriter(self._attributes, self._predicates)

    def _freeze_memtable(self) -> None:
        """Write all filters of the memtable into rows."""
        filters = [(slot, trial.filter) for slot, trial in self._state.memtable.items()]
        if self._state.segments and len(filters) >= self._policy.bulk_min:
            self._freeze_many(filters, slots_of(filters))
        else:
            self._freeze(filters)
        self._state = self._state._replace(memtable={})
        self._triable.clear()
        self._odd = {}

    def _freeze(self, filters: Iterable[tuple[int, Filter]]) -> None:
        """Write filters into rows."""
        _, frozen_rows, _, slot_locations = self._state
        for slot, added in filters:
            before = len(frozen_rows)
            frozen_rows.add(slot, added)
            slot_locations[slot] = FROZEN if len(frozen_rows) > before else NOWHERE

    def _freeze_many(self, filters: Sequence[tuple[int, Filter]], slots: Slots) -> None:
        """Write many filters into rows, by a kernel."""
        _, frozen_rows, _, slot_locations = self._state
        before = len(frozen_rows)
        frozen_rows.add_many(filters, self._kernels.loaded.read_forms)
        slot_locations[slots] = NOWHERE
        slot_locations[frozen_rows.slots_from(before)] = FROZEN

    def _room_for(self, slot: int) -> npt.NDArray[np.int16]:
        """The locations of slots, with a place for `slot`; the lock is held."""
        slot_locations = self._state.slot_locations
        if slot >= len(slot_locations):
            slot_locations = _grown(slot_locations, slot + 1)
            self._state = self._state._replace(slot_locations=slot_locations)
        return slot_locations

    def _first_to_join(self, newer: int) -> int:
        """The first segment of those that `newer` conjunctions are joined with by this thread.

        Where a worker joins segments, there are none.
        """
        segments = self._state.segments
        if worker() is not None:
            return len(segments)
        free = max(
            (at + 1 for at, entry in enumerate(segments) if entry in self._compacting), default=0
        )
        sizes = [entry.segment.live for entry in segments[free:]]
        return free + first_to_join(self._policy, sizes, newer)

    def _compact_newest(self) -> Snapshot:
        """Join the frozen rows, and the segments that are due with them, into one segment.

        The memtable stays as it is.
        """
        segments, frozen_rows, _, slot_locations = self._state
        self._tried, self._settled = 0, 0
        self._poured_at, self._was_quiet = self._matched, False
        self._pours += 1
        others = sum(entry.segment.live for entry in segments)
        self._account.came(self._policy, len(frozen_rows), others)
        first = self._first_to_join(len(frozen_rows))
        rows = frozen_rows.rows()
        newest = RankedRows(rows.outline, rank(rows, len(self._attributes)))
        parts = [*(entry.segment.ranked_rows() for entry in segments[first:]), newest]
        joint = newest if len(parts) == 1 else joined(parts, len(self._attributes))
        self._state = self._state._replace(
            segments=(*segments[:first], *self._built(joint, segments, slot_locations)),
            frozen_rows=self._writer(),
        )
        called = worker()
        if called is not None:
            self._call_worker()
            if not self._is_watched:
                self._is_watched = True
                self._watch(called)
        return self._publish()

    def _rebuild_sparse(self, entry: SegmentEntry) -> None:
        """Build a segment again that has mostly removed conjunctions, if it is not too large."""
        if not self._call_worker() and entry.segment.live <= self._policy.joined_max:
            segments, _, _, slot_locations = self._state
            at = segments.index(entry)
            fewer = joined([entry.segment.ranked_rows()], len(self._attributes))
            smaller = self._built(fewer, segments, slot_locations)
            self._replace_segments((*segments[:at], *smaller, *segments[at + 1 :]))

    def _built(
        self,
        rows: RankedRows,
        others: tuple[SegmentEntry, ...],
        slot_locations: npt.NDArray[np.int16],
    ) -> tuple[SegmentEntry, ...]:
        """The segment of `rows`, entered in `slot_locations`; none if there are no rows."""
        serial = free_serial(others, self._aliases)
        segment, mean = self._made(rows, self._named(), self._predicates.known(), self._sample)
        if segment is None:
            return ()
        slot_locations[rows.outline.slot] = serial
        return (SegmentEntry(serial, segment, mean),)

    def _made(
        self,
        rows: RankedRows,
        searcher: Searcher,
        predicates: Sequence[LikePredicate],
        sample: tuple[Record, ...],
    ) -> tuple[Segment | None, float | None]:
        """The segment of `rows`, if there are any, and the mean candidates of a record there.

        For a small one the sample is not used, and the candidates are `None`.
        """
        is_small = len(rows.outline.slot) < self._policy.sampled_min
        segment = segment_of(rows, searcher, predicates, () if is_small else sample)
        if segment is None or is_small:
            return segment, None
        return segment, mean_candidates(segment, searcher, sample)

    def _entry_at(self, location: int) -> SegmentEntry:
        """The segment with the number of a slot's location."""
        serial = self._aliases.get(location, location)
        return next(entry for entry in self._state.segments if entry.serial == serial)

    def _is_stale(self, entry: SegmentEntry) -> bool:
        """True if building a segment again would improve it."""
        return entry.segment.dead > 0 or self._has_stale_statistics(entry)

    def _has_stale_statistics(self, entry: SegmentEntry) -> bool:
        """True if records lead to many more entries of a segment than when it was built."""
        if entry.segment.conjunctions < self._policy.sampled_min:
            return False
        return has_stale_statistics(
            entry.segment, entry.mean_candidates, self._searcher, self._sample
        )

    def _rebuild_stale(self) -> None:
        """Build small segments with stale statistics again."""
        self._statistics_checked = self._matched
        for entry in self._state.segments:
            is_small = entry.segment.live <= self._policy.joined_max
            if entry not in self._compacting and is_small and self._has_stale_statistics(entry):
                segments, _, _, slot_locations = self._state
                at = segments.index(entry)
                rows = joined([entry.segment.ranked_rows()], len(self._attributes))
                again = self._built(rows, segments, slot_locations)
                self._replace_segments((*segments[:at], *again, *segments[at + 1 :]))

    # Joins beside all other threads ------------------------------------------------------------

    def _call_worker(self) -> bool:
        """Let a worker join segments if any are due; false without a worker. The lock is held."""
        called = worker()
        if called is None:
            return False
        if not self._has_worker and (self._is_statistics_check_due() or self._next_to_join()):
            self._has_worker = True
            called.submit(self._work)
        return True

    def _watch(self, called: Worker) -> None:
        """Let a worker check after a moment that additions have ended; the lock is held."""
        pours = self._pours

        def look() -> None:
            with self._lock:
                if self._pours != pours:
                    self._watch(called)
                    return
                self._is_watched = False
                self._poured_at = self._matched - self._policy.quiet_after
                if self._has_worker or not self._next_to_join():
                    return
                self._has_worker = True
            self._work()

        called.later(look)

    def _work(self) -> None:
        """Join segments as long as any are due."""
        with self._compaction_lock:
            try:
                if self._is_statistics_check_due():
                    self._join_stale()
                while self._join_next():
                    pass
            finally:
                self._has_worker = False

    def _next_to_join(self) -> Sequence[SegmentEntry]:
        """The segments that a worker joins next; the lock is held."""
        segments, policy = self._state.segments, self._policy
        quiet = self._matched - self._poured_at
        chosen = to_join(policy, segments, self._account, quiet)
        if not chosen:
            self._join_due = join_due(policy, segments, self._account)
        return chosen

    def _join_next(self) -> bool:
        """Join the segments that are due next; false if there are none."""
        with self._lock:
            chosen = self._next_to_join()
            if not chosen:
                return False
            self._account.joined(self._policy, chosen, self._state.segments)
            searcher, sample = self._begin(chosen)
        self._join(searcher, sample)
        return True

    def _join_stale(self) -> None:
        """Build segments with stale statistics again, each by itself."""
        self._statistics_checked = self._matched
        with self._lock:
            self._named()
        for entry in self._state.segments:
            if self._has_stale_statistics(entry):
                with self._lock:
                    searcher, sample = self._begin((entry,))
                self._join(searcher, sample)

    def _compact_all(self) -> None:
        """Join all segments and rows into one; no other thread is joining."""
        with self._lock:
            self._freeze_memtable()
            if len(self._state.frozen_rows):
                self._compact_newest()
            else:
                self._publish()
            segments = self._state.segments
            if not segments or (len(segments) == 1 and not self._is_stale(segments[0])):
                return
            searcher, sample = self._begin(segments)
        self._join(searcher, sample)

    def _begin(self, chosen: Sequence[SegmentEntry]) -> tuple[Searcher, tuple[Record, ...]]:
        """Begin to join the chosen segments; the lock is held."""
        self._compacting, self._removed = tuple(chosen), []
        return self._named(), self._sample

    def _join(self, searcher: Searcher, sample: tuple[Record, ...]) -> None:
        """Join the segments that `_begin` got, and put the joined one in their place."""
        predicates = self._predicates.known()
        try:
            # No reference to the parts is held: they take more memory than the segment.
            rows = joined(
                [entry.segment.ranked_rows() for entry in self._compacting], len(searcher.numbers)
            )
            segment, mean = self._made(rows, searcher, predicates, sample)
            del rows
            while len(self._removed) > _REMOVED_AT_ONCE:
                removed, self._removed = self._removed, []
                self._remove_all(segment, removed)
            with self._lock:
                self._remove_all(segment, self._removed)
                self._install(segment, mean)
            self._renumber()
        finally:
            with self._lock:
                self._compacting, self._removed = (), []

    def _remove_all(self, segment: Segment | None, slots: Iterable[int]) -> None:
        """Remove those of the slots that a segment has."""
        if segment is not None:
            for slot in slots:
                segment.remove(slot, self._kernels.loaded)

    def _install(self, segment: Segment | None, mean: float | None) -> None:
        """Replace the segments that were joined by the joined one; the lock is held."""
        former, segments = self._compacting, self._state.segments
        kept = [entry for entry in segments if entry not in former]
        self._compacting = ()
        if segment is not None:
            entry = SegmentEntry(former[0].serial, segment, mean)
            kept.insert(segments.index(former[0]), entry)
            self._aliases = {other.serial: entry.serial for other in former[1:]}
            self._compacting = (entry,)
        self._replace_segments(tuple(kept))

    def _renumber(self) -> None:
        """Give every slot of a joined segment its number as location, and drop the aliases."""
        if not self._aliases:
            return
        others, (entry,) = [*self._aliases], self._compacting
        slots = entry.segment.slots()
        for first in range(0, len(slots), _RENUMBERED):
            some = slots[first : first + _RENUMBERED]
            with self._lock:
                slot_locations = self._state.slot_locations
                # A slot that was freed meanwhile, and perhaps taken again, is elsewhere by now.
                slot_locations[some[np.isin(slot_locations[some], others)]] = entry.serial
        with self._lock:
            self._aliases = {}

    def _replace_segments(self, segments: tuple[SegmentEntry, ...]) -> None:
        """Put other segments with the same filters in place; the lock is held."""
        self._state = self._state._replace(segments=segments)
        if self._published is not None:
            self._publish()


def _grown(slot_locations: npt.NDArray[np.int16], slots: int) -> npt.NDArray[np.int16]:
    grown = np.full(max(slots, len(slot_locations) + len(slot_locations) // 2), FREE, np.int16)
    grown[: len(slot_locations)] = slot_locations
    return grown
