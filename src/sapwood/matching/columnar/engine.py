"""The columnar engine: a log-structured merge tree of filters.

Additions go to the *memtable*, whose filters are tried one by one; a full memtable is *frozen* into
rows, and enough rows become a segment. A match compacts earlier, when trying the memtable has cost
about as much as a compaction will, so neither a burst of additions nor a burst of matches pays for
the other. Segments are joined like the digits of a binary counter (Bentley and Saxe 1980, the
logarithmic method), but none of these joins makes a segment of more than
`CompactionPolicy.joined_max` conjunctions. That bounds what one match, addition or removal may have
to wait for, and what an addition costs in all: a few rebuilds of some microseconds each. The price
is that n conjunctions may be in `n / joined_max` segments, and a match searches each of them.

`fold` is the full compaction: one segment, with all access constraints chosen anew from what was
added and matched. It takes some microseconds for each conjunction, most of it outside the
interpreter lock, and may run in a thread of its own beside everything else.

A segment remembers how many entries a record of the sample led to when it was built. When other
records come, and lead to far more, the *statistics* of the segment are stale, and access
constraints are chosen anew: by `fold`, and by a match where the segment is small enough and has
been matched often enough since.

A removal marks conjunctions (a tombstone is one bit); a segment with more marked than unmarked ones
is built again, which is paid for by the removals. Segments too large for that wait for `fold`.

Threads: a change holds the lock, and publishes its result as a new `Snapshot`. A match takes the
published one, in one read, and sees nothing else. A compaction leaves the former snapshot published
until it is done; an addition or a removal withdraws it, and the next match publishes the next one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from threading import Lock
from typing import Final

import numpy as np
import numpy.typing as npt

from sapwood.errors import InvariantError
from sapwood.matching.columnar import restoring, saving
from sapwood.matching.columnar.build import build
from sapwood.matching.columnar.columns import DEAD
from sapwood.matching.columnar.compaction import (
    FREE,
    FROZEN,
    IN_MEMTABLE,
    NOWHERE,
    CompactionPolicy,
    SegmentEntry,
    State,
    first_to_join,
    free_serial,
)
from sapwood.matching.columnar.like_checks import LikePredicates
from sapwood.matching.columnar.rows import Rows, RowWriter, joined
from sapwood.matching.columnar.sampling import Sample
from sapwood.matching.columnar.searching import Kernels, LazyKernels, Searcher
from sapwood.matching.columnar.segment import Segment
from sapwood.matching.columnar.snapshot import Snapshot
from sapwood.matching.encoded_records import EncodedRecords
from sapwood.matching.protocol import ALL, SlotBatch, Slots
from sapwood.matching.sizes import held_bytes
from sapwood.matching.storage import Folder
from sapwood.matching.tables import RecordTable, as_dict
from sapwood.model.filter import NOTHING, Filter
from sapwood.model.publication import Record

_SAMPLED_MAX: Final = 256
"""Records that are kept to tell which constraints are selective; the latest ones."""

_SAMPLED_EVERY: Final = 31
"""One match in so many keeps its record. A prime: where the same records come again and again, a
number that divides theirs would find the same few each time, and clusters would follow these."""

_MADE_EVERY: Final = 1021
"""The same where there is a sample already, and a record has to be made first: out of the columns
of a table, or from its bytes."""

_SAMPLED_MIN: Final = 64
"""Records in the sample that say something about all."""

_STALE_FACTOR: Final = 2.0
_STALE_CANDIDATES: Final = 64.0
"""The statistics of a segment are stale when a record leads to `_STALE_FACTOR` times as many
entries as when it was built, and to `_STALE_CANDIDATES` more."""

_STALE_RECORDS: Final = 2 * _SAMPLED_EVERY * _SAMPLED_MAX
"""Matched records between two checks of the statistics: twice what the sample reaches back."""


class ColumnarEngine:
    """Access predicates over columns (see `sapwood.matching.columnar`).

    `kernels` are the compiled ones unless others are given, as tests do.

    #: _published, where it is not `None`, holds every filter; _state.frozen_rows is empty then
    """

    def __init__(
        self, policy: CompactionPolicy | None = None, *, kernels: Kernels | None = None
    ) -> None:
        self._policy = policy or CompactionPolicy()
        #: attribute -> number, from 0 without gaps; only ever grows
        self._attributes: dict[str, int] = {}
        self._predicates = LikePredicates()
        self._kernels = LazyKernels(kernels)
        #: for the first so many attributes; `_named` brings it up to date
        self._searcher = Searcher(self._attributes, self._kernels)
        self._state = State((), self._writer(), {}, np.full(64, FREE, np.int16))
        #: all that a match reads; `None` if something was added or removed since the last match
        self._published: Snapshot | None = None
        self._taken = 0
        #: filters of the memtable tried since the last compaction
        self._tried = 0
        #: records in matches so far, which several threads may miscount
        self._matched = 0
        #: `_matched` when statistics were last checked
        self._statistics_checked = 0
        #: records that were matched, the latest last; replaced as a whole
        self._sample: tuple[Record, ...] = ()
        #: whoever replaces any of the above, or changes what is in it, holds this; but for the
        #: counts and the sample, of which something may be lost
        self._lock = Lock()
        #: held during a full compaction
        self._compaction_lock = Lock()
        #: the segments that `fold` is joining in another thread, the oldest of the state's
        self._compacting: tuple[SegmentEntry, ...] = ()

    def __len__(self) -> int:
        """The number of taken slots."""
        return self._taken

    def add(self, slot: int, filter: Filter) -> None:
        """Take `slot` for `filter`; an amortized few rebuilds of its conjunctions."""
        with self._lock:
            slot_locations = self._state.slot_locations
            if slot >= len(slot_locations):
                slot_locations = _grown(slot_locations, slot + 1)
                self._state = self._state._replace(slot_locations=slot_locations)
            assert slot_locations[slot] == FREE, f"slot {slot} is taken"
            self._published = None
            self._taken += 1
            slot_locations[slot] = IN_MEMTABLE
            memtable = self._state.memtable
            memtable[slot] = filter
            if len(memtable) > self._policy.memtable_max:
                self._freeze_memtable()
                if len(self._state.frozen_rows) >= self._policy.frozen_max:
                    self._compact_newest()

    def remove(self, slot: int) -> None:
        """Free `slot`; amortized constant."""
        with self._lock:
            if self._state.slot_locations[slot] == FROZEN:
                self._compact_newest()
            self._published = None
            segments, _, memtable, slot_locations = self._state
            location = int(slot_locations[slot])
            assert location != FREE, f"slot {slot} is free"
            slot_locations[slot] = FREE
            self._taken -= 1
            if location == IN_MEMTABLE:
                del memtable[slot]
            elif location != NOWHERE:
                at = next(at for at, entry in enumerate(segments) if entry.serial == location)
                segments[at].segment.remove(slot, self._kernels.loaded)
                self._rebuild_if_sparse(at)

    def filter(self, slot: int) -> Filter:
        """The filter in a slot, equal to the one that was added, but without its source.

        Integer constants beyond 64 bits, which no text and no record can hold, come back as others
        that compare alike with all values of records.
        """
        with self._lock:
            if self._state.slot_locations[slot] == FROZEN:
                self._compact_newest()
            location = int(self._state.slot_locations[slot])
            assert location != FREE, f"slot {slot} is free"
            if location == IN_MEMTABLE:
                return self._state.memtable[slot]
            if location == NOWHERE:
                return NOTHING
            segment = next(
                entry.segment for entry in self._state.segments if entry.serial == location
            )
            return restoring.filter_of(segment, slot, list(self._attributes), self._predicates)

    def holds(self, slot: int) -> bool:
        """Whether a slot is taken."""
        slot_locations = self._state.slot_locations
        return slot < len(slot_locations) and bool(slot_locations[slot] != FREE)

    def taken(self) -> Iterable[int]:
        """The taken slots, ascending."""
        slots: list[int] = np.flatnonzero(self._state.slot_locations != FREE).tolist()
        return slots

    def memory(self) -> Mapping[str, int]:
        """Bytes of each column of all segments together, and of what is not in segments."""
        segments, frozen_rows, memtable, slot_locations = self._state
        published, searcher = self._published, self._searcher
        found: dict[str, int] = {}
        for entry in segments:
            for name, size in entry.segment.memory_parts():
                found[name] = found.get(name, 0) + size
        others = {
            "homes": slot_locations.nbytes,
            "written": held_bytes(frozen_rows) - held_bytes(self._attributes, self._predicates),
            "tail": held_bytes(memtable, published and published.memtable),
            "names": held_bytes(self._attributes, self._predicates, searcher.numbers)
            + searcher.held,
            "sample": held_bytes(self._sample),
        }
        return found | others

    def touched_bytes(self, records: Sequence[Record]) -> float:
        """Bytes of lookups, bitmaps and conjunctions that matching a record reads, on average."""
        snapshot = self._published or self._published_snapshot()
        return snapshot.touched_bytes(records)

    def match(self, record: Record) -> list[int]:
        """The slots whose filters accept `record`, ascending, each once."""
        slots: list[int] = self.found(record).tolist()
        slots.sort()
        return slots

    def match_any(self, record: Record) -> bool:
        """Whether any filter accepts `record`; stops at the first one that surely does."""
        return len(self._snapshot_for((record,)).found(record, 1)) > 0

    def match_count(self, record: Record) -> int:
        """How many filters accept `record`."""
        return len(self.found(record))

    def match_slots(self, records: Sequence[Record]) -> SlotBatch:
        """The matches of many records: one call of the kernel for each segment.

        The kernel ranges without the interpreter lock; what is left in Python is some hundred
        nanoseconds a record to write it for the kernel. Rows of a table are read where they are.
        """
        found = self.found_many(records)
        for first, last in pairwise(found.offsets.tolist()):
            found.slots[first:last].sort()
        return found

    def found(self, record: Record, limit: int = ALL) -> Slots:
        """The slots whose filters accept `record`, in any order, each once; ends with `limit`."""
        return self._snapshot_for((record,)).found(record, limit)

    def found_many(
        self, records: Sequence[Record], max_matches: int = ALL, limit: int = ALL
    ) -> SlotBatch:
        """The matches of many records, the slots of each in any order; see `match_slots`.

        Ends after the record with which some segment, or the memtable, has `max_matches` matches or
        more. `limit` sure matches of a record are enough.
        """
        return self._snapshot_for(records).found_many(records, max_matches, limit)

    def fold(self) -> None:
        """Join everything into one segment whose access constraints are chosen anew.

        May run in one thread beside any other use. Does nothing if another thread is folding, or if
        there is one segment already, without removed conjunctions and as good as it can be.
        """
        if self._compaction_lock.acquire(blocking=False):
            try:
                self._compact_all()
            finally:
                self._compaction_lock.release()

    def save(self, folder: Path) -> None:
        """Fold everything into one segment and write its arrays."""
        store = Folder(folder)
        with self._compaction_lock:  # another thread that folds is waited for
            self._compact_all()
        segments = self._state.segments
        mean_candidates = segments[0].mean_candidates if segments else None
        names = saving.Names(
            list(self._attributes), list(self._predicates.texts()), mean_candidates
        )
        nowhere = np.flatnonzero(self._state.slot_locations == NOWHERE)
        saving.write(store, names, nowhere, [entry.segment for entry in segments])

    def load(
        self,
        folder: Path,
        filters: Iterable[tuple[int, Filter]],  # noqa: ARG002 - the arrays say enough
    ) -> None:
        """Map what `save` wrote; no filter is read."""
        assert not len(self), "an engine is loaded when it is empty"
        store = Folder(folder)
        names = saving.read_names(store)
        self._attributes.update((name, number) for number, name in enumerate(names.attributes))
        self._predicates.restore(names.predicates)
        nowhere = store.read_arrays(("nowhere",))["nowhere"]
        segments: tuple[SegmentEntry, ...] = ()
        if store.folder("segment").exists:
            segments = (
                SegmentEntry(0, Segment.load(store.folder("segment")), names.mean_candidates),
            )
        held = [entry.segment.slots() for entry in segments]
        saving.check_slots(store, nowhere, held)
        slots = np.concatenate([nowhere, *held])
        slot_locations = np.full(max(64, int(slots.max(initial=0)) + 1), FREE, np.int16)
        slot_locations[slots] = 0
        slot_locations[nowhere] = NOWHERE
        self._state = State(segments, self._writer(), {}, slot_locations)
        self._published = None
        self._taken = int(np.count_nonzero(slot_locations != FREE))

    def validate(self) -> None:
        """Every taken slot is where `slot_locations` says, and nowhere else."""
        segments, frozen_rows, memtable, slot_locations = self._state
        found = np.where(slot_locations == NOWHERE, slot_locations, np.int16(FREE))
        found[list(memtable)] = IN_MEMTABLE
        for location, slots in (
            (FROZEN, frozen_rows.rows().slot),
            *((entry.serial, entry.segment.slots()) for entry in segments),
        ):
            if np.any(found[slots] != FREE):
                raise InvariantError("a slot is in two places")
            found[slots] = location
        if len({entry.serial for entry in segments}) < len(segments):
            raise InvariantError("two segments have the same number")
        for entry in segments:
            entry.segment.validate()
        if not np.array_equal(found, slot_locations):
            raise InvariantError("a slot is not where it is said to be")
        if self._taken != np.count_nonzero(slot_locations != FREE):
            raise InvariantError("the count of taken slots is wrong")
        published = self._published
        if published is not None and (
            published.segments is not segments
            or dict(published.memtable) != memtable
            or len(frozen_rows)
        ):
            raise InvariantError("what matches read is not what there is")

    def _snapshot_for(self, records: Sequence[Record]) -> Snapshot:
        """The snapshot to match records against, after a compaction if that is due.

        One record in many is kept for the sample.
        """
        before = self._matched
        self._matched = before + len(records)
        next_kept = -(before + 1) % _SAMPLED_EVERY
        if next_kept < len(records):
            if self._is_statistics_check_due() and self._lock.acquire(blocking=False):
                try:
                    self._rebuild_stale()
                finally:
                    self._lock.release()
            is_made = isinstance(records, RecordTable | EncodedRecords)
            is_made &= len(self._sample) == _SAMPLED_MAX
            every = _MADE_EVERY if is_made else _SAMPLED_EVERY
            kept = range(-(before + 1) % every, len(records), every)[-_SAMPLED_MAX:]
            latest = (*self._sample, *(as_dict(records[at]) for at in kept))
            self._sample = latest[-_SAMPLED_MAX:]
        snapshot = self._published or self._published_snapshot()
        if snapshot.memtable:
            self._tried += len(snapshot.memtable)
            # Whoever comes second matches what there is.
            if self._is_compaction_due(snapshot) and self._lock.acquire(blocking=False):
                try:
                    if self._published is snapshot:
                        self._freeze_memtable()
                        snapshot = self._compact_newest()
                finally:
                    self._lock.release()
        return snapshot

    def _published_snapshot(self) -> Snapshot:
        """The published snapshot, made first if there is none; frozen rows are compacted then."""
        with self._lock:
            if self._published is not None:
                return self._published
            if len(self._state.frozen_rows):
                self._freeze_memtable()
                return self._compact_newest()
            return self._publish()

    def _publish(self) -> Snapshot:
        """Let matches read what there is by now; the lock is held, and no rows are frozen."""
        segments, frozen_rows, memtable, _ = self._state
        assert not len(frozen_rows), "frozen rows are in no segment"
        published = Snapshot(
            segments, tuple(memtable.items()), self._named(), self._predicates.known()
        )
        self._published = published
        return published

    def _named(self) -> Searcher:
        """The searcher that knows all attributes; the lock is held."""
        self._searcher = self._searcher.grown(self._attributes)
        return self._searcher

    def _is_statistics_check_due(self) -> bool:
        """Whether enough was matched since the last check to pay for one and for building."""
        return self._matched - self._statistics_checked >= max(_STALE_RECORDS, self._taken)

    def _is_compaction_due(self, snapshot: Snapshot) -> bool:
        """Whether trying the memtable has cost about as much as a compaction will."""
        newer = len(snapshot.memtable)
        if newer > self._policy.memtable_max:
            return True
        sizes = [entry.segment.live for entry in snapshot.segments[len(self._compacting) :]]
        joining = sum(sizes[first_to_join(self._policy, sizes, newer) :])
        cost = self._policy.conjunction_cost * (newer + joining)
        return self._tried > self._policy.compaction_cost + cost

    def _writer(self) -> RowWriter:
        return RowWriter(self._attributes, self._predicates)

    def _freeze_memtable(self) -> None:
        """Write all filters of the memtable into rows."""
        _, frozen_rows, memtable, slot_locations = self._state
        for slot, added in memtable.items():
            before = len(frozen_rows)
            frozen_rows.add(slot, added)
            slot_locations[slot] = FROZEN if len(frozen_rows) > before else NOWHERE
        self._state = self._state._replace(memtable={})

    def _compact_newest(self) -> Snapshot:
        """Join the frozen rows, and the segments that they have caught up with, into one segment.

        The memtable stays as it is.
        """
        segments, frozen_rows, _, slot_locations = self._state
        self._tried = 0
        sizes = [entry.segment.live for entry in segments[len(self._compacting) :]]
        first = len(self._compacting) + first_to_join(self._policy, sizes, len(frozen_rows))
        rows = joined([*(entry.segment.rows() for entry in segments[first:]), frozen_rows.rows()])
        self._state = self._state._replace(
            segments=(*segments[:first], *self._built(rows, segments, slot_locations)),
            frozen_rows=self._writer(),
        )
        return self._publish()

    def _rebuild_if_sparse(self, at: int) -> None:
        """Build a segment again if most of it was removed, and it is not too large."""
        segments, _, _, slot_locations = self._state
        segment = segments[at].segment
        if (
            segment.dead > segment.live
            and segment.live <= self._policy.joined_max
            and at >= len(self._compacting)
        ):
            smaller = self._built(segment.rows(), segments, slot_locations)
            self._replace_segments((*segments[:at], *smaller, *segments[at + 1 :]))

    def _built(
        self, rows: Rows, others: tuple[SegmentEntry, ...], slot_locations: npt.NDArray[np.int16]
    ) -> tuple[SegmentEntry, ...]:
        """The segment of `rows`, entered in `slot_locations`; none if there are no rows."""
        if not len(rows.slot):
            return ()
        serial, searcher, sample = free_serial(others), self._named(), self._sample
        slot_locations[rows.slot] = serial
        segment = _segment_of(rows, searcher, sample)
        return (SegmentEntry(serial, segment, _mean_candidates(segment, searcher, sample)),)

    def _is_stale(self, entry: SegmentEntry) -> bool:
        """Whether a segment would be better if it were built again."""
        return entry.segment.dead > 0 or self._has_stale_statistics(entry)

    def _has_stale_statistics(self, entry: SegmentEntry) -> bool:
        """Whether records lead to many more entries of a segment than when it was built.

        Statistics are stale, too, where no record had been matched by then.
        """
        sample = self._sample
        if len(sample) < _SAMPLED_MIN:
            return False
        now = _mean_candidates(entry.segment, self._named(), sample)
        assert now is not None, "there are records"
        return (
            entry.mean_candidates is None
            or now > _STALE_FACTOR * entry.mean_candidates + _STALE_CANDIDATES
        )

    def _rebuild_stale(self) -> None:
        """Build small segments with stale statistics again."""
        self._statistics_checked = self._matched
        for entry in self._state.segments[len(self._compacting) :]:
            if entry.segment.live <= self._policy.joined_max and self._has_stale_statistics(entry):
                segments, _, _, slot_locations = self._state
                at = next(at for at, other in enumerate(segments) if other is entry)
                again = self._built(entry.segment.rows(), segments, slot_locations)
                self._replace_segments((*segments[:at], *again, *segments[at + 1 :]))

    def _compact_all(self) -> None:
        """Join everything into one segment; no other thread does."""
        with self._lock:
            self._freeze_memtable()
            if len(self._state.frozen_rows):
                self._compact_newest()
            else:
                self._publish()
            segments = self._state.segments
            if not segments or (len(segments) == 1 and not self._is_stale(segments[0])):
                return
            self._compacting = segments
            searcher, sample = self._named(), self._sample
        try:
            rows = joined([entry.segment.rows() for entry in segments])
            segment = _segment_of(rows, searcher, sample) if len(rows.slot) else None
            mean_candidates = (
                None if segment is None else _mean_candidates(segment, searcher, sample)
            )
            with self._lock:
                self._install(segment, mean_candidates)
        finally:
            with self._lock:
                self._compacting = ()

    def _replace_segments(self, segments: tuple[SegmentEntry, ...]) -> None:
        """Put other segments with the same filters in place; the lock is held."""
        self._state = self._state._replace(segments=segments)
        if self._published is not None:
            self._publish()

    def _install(self, segment: Segment | None, mean_candidates: float | None) -> None:
        """Replace the segments that `fold` has joined by the joined one."""
        segments, _, _, slot_locations = self._state
        former, self._compacting = self._compacting, ()
        newer = segments[len(former) :]
        if segment is None:
            self._replace_segments(newer)
            return
        # A slot that was freed meanwhile, and perhaps taken again, is elsewhere or nowhere by now.
        slots = segment.slots()
        is_here = np.isin(slot_locations[slots], [entry.serial for entry in former])
        segment.marks[~is_here] |= DEAD
        segment.dead = int(np.count_nonzero(~is_here))
        serial = free_serial(segments)
        slot_locations[slots[is_here]] = serial
        self._replace_segments((SegmentEntry(serial, segment, mean_candidates), *newer))


def _grown(slot_locations: npt.NDArray[np.int16], slots: int) -> npt.NDArray[np.int16]:
    grown = np.full(max(slots, len(slot_locations) + len(slot_locations) // 2), FREE, np.int16)
    grown[: len(slot_locations)] = slot_locations
    return grown


def _segment_of(rows: Rows, searcher: Searcher, sample: tuple[Record, ...]) -> Segment:
    """The segment of some conjunctions; its access constraints suit the records of the sample."""
    seen = Sample(sample, searcher.numbers) if sample else None
    return build(rows, len(searcher.numbers), searcher.kernels, seen)


def _mean_candidates(
    segment: Segment, searcher: Searcher, sample: tuple[Record, ...]
) -> float | None:
    """Entries that a record of the sample leads to on average; `None` without a sample."""
    return searcher.looked_up(segment, sample) / len(sample) if sample else None
