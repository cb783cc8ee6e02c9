"""The columnar engine: a log-structured merge tree of filters.

Additions go to the *memtable*, whose filters are tried one by one; a full memtable is *frozen* into
rows, and enough rows become a segment. A match compacts earlier, when trying the memtable has cost
about as much as a compaction will, so neither a burst of additions nor a burst of matches pays for
the other. Segments are joined like the digits of a binary counter (Bentley and Saxe 1980, the
logarithmic method), but none of these joins makes a segment of more than
`CompactionPolicy.joined_max` conjunctions. That bounds the time that one match, addition or removal
may have to wait, and the total cost of an addition: a few rebuilds of some microseconds each. The
price is that n conjunctions may be in `n / joined_max` segments, and a match searches each of them.

`fold` is the full compaction: one segment, with all access constraints chosen anew from all filters
and sampled records. It takes some microseconds for each conjunction, most of it outside the
interpreter lock, and may run in a thread of its own beside everything else.

A segment stores the mean number of entries that a record of the sample led to when it was built.
When other records come, and lead to far more, the *statistics* of the segment are stale, and access
constraints are chosen anew: by `fold`, and by a match where the segment is small enough and has
been matched often enough since.

A removal marks conjunctions (a tombstone is one bit); a segment with more marked than unmarked ones
is built again, which is paid for by the removals. Segments too large for that wait for `fold`.

Where a *worker* is at hand (`matching.beside`), no caller waits for a join: a change or a match
makes at most a small segment, of the filters added since, and the worker joins and rebuilds
segments of any size while changes and matches go on (`compaction.to_join` decides which and when),
and when no filter has been added for a moment. Filters that are removed meanwhile are removed from
the joined segment before that takes its place. A slot of it is located by the number of one of the
segments that it was made of, and for the other ones by *aliases*, until their slots have been
renumbered, some thousands at a time.

Threads: a change holds the lock, and publishes its result as a new `Snapshot`. A match takes the
published one, in one read, and sees nothing else. A compaction leaves the former snapshot published
until it is done; an addition or a removal withdraws it, and the next match publishes the next one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np

from sapwood.errors import InvariantError
from sapwood.matching.beside import worker
from sapwood.matching.columnar import restoring, saving
from sapwood.matching.columnar.compaction import (
    FREE,
    FROZEN,
    IN_MEMTABLE,
    NOWHERE,
    CompactionPolicy,
    SegmentEntry,
    State,
)
from sapwood.matching.columnar.flat_records import Flattener, flattener_of
from sapwood.matching.columnar.merge_tree import SAMPLED_EVERY, SAMPLED_MAX, MergeTree
from sapwood.matching.columnar.rows import slots_of
from sapwood.matching.columnar.searching import Kernels, LazyKernels
from sapwood.matching.columnar.segment import Segment
from sapwood.matching.columnar.snapshot import Snapshot
from sapwood.matching.columnar.trial import Trial
from sapwood.matching.encoded_records import EncodedRecords
from sapwood.matching.protocol import ALL, SlotBatch, Slots
from sapwood.matching.sizes import held_bytes
from sapwood.matching.storage import Folder
from sapwood.matching.tables import RecordTable, as_dict
from sapwood.model.filter import NOTHING, Filter
from sapwood.model.publication import ManyValued, Record

ROWS_MIN: Final = 64
FILTERS_A_ROW: Final = 200
"""A record is matched in so many rows at most, and one more for each so many filters; with more it
takes less to look at all filters once."""

_MADE_EVERY: Final = 1021
"""The same where there is a sample already, and a record has to be made first: out of the columns
of a table, or from its bytes."""


class ColumnarEngine(MergeTree):
    """Access predicates over columns (see `sapwood.matching.columnar`).

    `kernels` are the compiled ones by default; tests pass others.

    #: _published, where it is not `None`, holds every filter; _state.frozen_rows is empty then
    """

    def __init__(
        self, policy: CompactionPolicy | None = None, *, kernels: Kernels | None = None
    ) -> None:
        super().__init__(policy or CompactionPolicy(), LazyKernels(kernels))

    def __len__(self) -> int:
        """The number of taken slots."""
        return self._taken

    def add(self, slot: int, filter: Filter) -> None:
        """Put `filter` into `slot`; amortized a few rebuilds of its conjunctions."""
        with self._lock:
            slot_locations = self._room_for(slot)
            assert slot_locations[slot] == FREE, f"slot {slot} is taken"
            self._published = None
            self._taken += 1
            slot_locations[slot] = IN_MEMTABLE
            self._settled = 0
            memtable = self._state.memtable
            trial = memtable[slot] = Trial(filter)
            is_triable = bool(self._state.segments)
            if not (is_triable and self._triable.add(slot, filter, trial.form())):
                self._odd[slot] = trial
            if len(memtable) > self._policy.memtable_max:
                self._freeze_memtable()
                self._compact_if_many()

    def add_many(self, filters: Sequence[tuple[int, Filter]]) -> None:
        """Put each filter into its slot; a large batch becomes rows at once."""
        if len(filters) < self._policy.bulk_min:
            for slot, wanted in filters:
                self.add(slot, wanted)
            return
        with self._lock:
            slots = slots_of(filters)
            slot_locations = self._room_for(int(slots.max()))
            assert np.all(slot_locations[slots] == FREE), "slots are taken"
            self._published = None
            self._taken += len(filters)
            self._freeze_many(filters, slots)
            is_matched, self._matched_before = self._matched > self._matched_before, self._matched
            self._compact_if_many(is_matched=is_matched)

    def _compact_if_many(self, *, is_matched: bool = False) -> None:
        """Make a segment of the frozen rows if there are many; otherwise a match does that.

        Beside a worker also where matches come in between (`is_matched`): the next one would do it,
        and a publisher would wait for what a subscriber has brought.
        """
        policy = self._policy
        beside = 1 if is_matched else policy.poured_max
        most = policy.frozen_max if worker() is None else beside
        if len(self._state.frozen_rows) >= most:
            self._compact_newest()

    def remove(self, slot: int) -> None:
        """Free `slot`; amortized constant."""
        with self._lock:
            if self._state.slot_locations[slot] == FROZEN:
                self._compact_newest()
            slot_locations = self._state.slot_locations
            location = int(slot_locations[slot])
            assert location != FREE, f"slot {slot} is free"
            slot_locations[slot] = FREE
            self._taken -= 1
            if location == IN_MEMTABLE:
                self._forget_added(slot)
            elif location != NOWHERE:
                self._remove_from(location, (slot,))

    def remove_many(self, slots: Sequence[int]) -> None:
        """Free slots, all different, as `remove` does."""
        with self._lock:
            held = np.array(slots, np.int64)
            locations = self._state.slot_locations[held]
            if np.any(locations == FROZEN):
                self._compact_newest()
                locations = self._state.slot_locations[held]
            assert not np.any(locations == FREE), "slots are free"
            self._state.slot_locations[held] = FREE
            self._taken -= len(held)
            for slot in held[locations == IN_MEMTABLE].tolist():
                self._forget_added(slot)
            # All of a segment at once: it may be built again then, and has another number.
            for former, serial in self._aliases.items():
                locations[locations == former] = serial
            for serial in np.unique(locations[locations >= 0]).tolist():
                self._remove_from(serial, held[locations == serial].tolist())

    def _forget_added(self, slot: int) -> None:
        """Remove a filter from the memtable; the lock is held."""
        self._published = None
        del self._state.memtable[slot]
        if self._odd.pop(slot, None) is None:
            self._triable.remove(slot)

    def _remove_from(self, location: int, slots: Sequence[int]) -> None:
        """Remove slots from the segment that they are located in; the lock is held."""
        entry, kernels = self._entry_at(location), self._kernels.loaded
        for slot in slots:  # matches look at the marks of segments themselves
            entry.segment.remove(slot, kernels)
        if entry in self._compacting:
            self._removed.extend(slots)
        elif entry.segment.dead > entry.segment.live:
            self._rebuild_sparse(entry)

    def filter(self, slot: int) -> Filter:
        """The filter in a slot, equal to the one that was added, but without its source.

        Integer constants beyond 64 bits, which no text and no record can hold, come back as other
        integers that compare alike with all values of records.
        """
        with self._lock:
            if self._state.slot_locations[slot] == FROZEN:
                self._compact_newest()
            location = int(self._state.slot_locations[slot])
            assert location != FREE, f"slot {slot} is free"
            if location == IN_MEMTABLE:
                return self._state.memtable[slot].filter
            if location == NOWHERE:
                return NOTHING
            segment = self._entry_at(location).segment
            return restoring.filter_of(segment, slot, list(self._attributes), self._predicates)

    def holds(self, slot: int) -> bool:
        """True if a slot is taken."""
        slot_locations = self._state.slot_locations
        return slot < len(slot_locations) and bool(slot_locations[slot] != FREE)

    def taken(self) -> Iterable[int]:
        """The taken slots, ascending."""
        slots: list[int] = np.flatnonzero(self._state.slot_locations != FREE).tolist()
        return slots

    def memory(self) -> Mapping[str, int]:
        """Bytes of each column of all segments together, and of the parts beside segments."""
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
        """The mean bytes of lookups, bitmaps and conjunctions that matching a record reads."""
        snapshot = self._published or self._published_snapshot()
        return snapshot.touched_bytes(records)

    def match(self, record: Record) -> list[int]:
        """The slots whose filters accept `record`, ascending, each once."""
        slots: list[int] = self.found(record).tolist()
        slots.sort()
        return slots

    def match_any(self, record: Record) -> bool:
        """True if any filter accepts `record`; stops at the first verified match."""
        return len(self.found(record, 1)) > 0

    def match_count(self, record: Record) -> int:
        """The number of filters that accept `record`."""
        return len(self.found(record))

    def match_slots(self, records: Sequence[Record]) -> SlotBatch:
        """The matches of many records: one call of the kernel for each segment.

        The kernel runs without the interpreter lock; the rest, in Python, is some hundred
        nanoseconds a record to write it for the kernel. Rows of a table are read where they are.
        """
        found = self.found_many(records)
        for first, last in pairwise(found.offsets.tolist()):
            found.slots[first:last].sort()
        return found

    def found(self, record: Record, limit: int = ALL) -> Slots:
        """The slots whose filters accept `record`, in any order, each once; ends with `limit`."""
        records = (record,)
        return self._snapshot_for(records).found(records, limit)

    def reads(self, attribute: str) -> bool:
        """True if a filter reads an attribute, or one did when segments were joined last."""
        snapshot = self._published or self._published_snapshot()
        return attribute in snapshot.searcher.numbers or any(
            added.reads(attribute) for added in snapshot.memtable.values()
        )

    def flattener(self) -> Flattener | None:
        """The maker of `EncodedRecords`; `None` while all filters are in the memtable."""
        if not self._state.segments:
            return None
        return flattener_of(self._kernels.loaded.flatten_records)

    def found_encoded(self, records: EncodedRecords, limit: int = ALL) -> Slots:
        """`found` for a single record in MessagePack."""
        return self._snapshot_for(records).found(records, limit)

    @property
    def rows_max(self) -> int:
        """Rows of a record from which on `found_several` takes less than to match them."""
        return ROWS_MIN + self._taken // FILTERS_A_ROW

    def found_several(self, record: ManyValued, limit: int = ALL) -> Slots:
        """The slots that accept a record with several values, in any order, each once.

        Looks at every filter once, some nanoseconds each, however many rows there would be.
        """
        row = {name: one[0] if type(one) is tuple else one for name, one in record.items()}
        return self._snapshot_for((row,)).found_several(record, limit)

    def found_many(
        self, records: Sequence[Record], max_matches: int = ALL, limit: int = ALL
    ) -> SlotBatch:
        """The matches of many records, the slots of each in any order; see `match_slots`.

        Ends after the record with which some segment, or the memtable, has `max_matches` matches or
        more. `limit` verified matches of a record are enough.
        """
        return self._snapshot_for(records).found_many(records, max_matches, limit)

    def fold(self) -> None:
        """Join all segments and the memtable into one segment, with new access constraints.

        May run in one thread beside any other use. Does nothing if another thread is folding or
        joining segments, or if there is one segment already, without removed conjunctions and with
        statistics that are not stale.
        """
        if self._compaction_lock.acquire(blocking=False):
            try:
                self._compact_all()
            finally:
                self._compaction_lock.release()

    def save(self, folder: Path) -> None:
        """Fold all filters into one segment and write its arrays."""
        store = Folder(folder)
        with self._compaction_lock:  # waits for another thread that folds
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
        filters: Iterable[tuple[int, Filter]],  # noqa: ARG002 - the arrays suffice
    ) -> None:
        """Map the arrays that `save` wrote; no filter is read."""
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
        """Check that every taken slot is in the place of its `slot_locations`, and in no other."""
        segments, frozen_rows, memtable, slot_locations = self._state
        found = np.where(slot_locations == NOWHERE, slot_locations, np.int16(FREE))
        found[list(memtable)] = IN_MEMTABLE
        for former, serial in self._aliases.items():
            slot_locations = np.where(slot_locations == former, np.int16(serial), slot_locations)
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
            published.segments is not segments or published.memtable != memtable or len(frozen_rows)
        ):
            raise InvariantError("what matches read is not what there is")

    def _snapshot_for(self, records: Sequence[Record]) -> Snapshot:
        """The snapshot to match records against, after a compaction if that is due.

        One record in many is kept for the sample.
        """
        before = self._matched
        self._matched = before + len(records)
        next_kept = -(before + 1) % SAMPLED_EVERY
        if next_kept < len(records):
            if self._is_statistics_check_due() and self._lock.acquire(blocking=False):
                try:
                    if not self._call_worker():
                        self._rebuild_stale()
                finally:
                    self._lock.release()
            is_made = isinstance(records, RecordTable | EncodedRecords)
            is_made &= len(self._sample) == SAMPLED_MAX
            every = _MADE_EVERY if is_made else SAMPLED_EVERY
            kept = range(-(before + 1) % every, len(records), every)[-SAMPLED_MAX:]
            latest = (*self._sample, *(as_dict(records[at]) for at in kept))
            self._sample = latest[-SAMPLED_MAX:]
        snapshot = self._published or self._published_snapshot()
        if len(snapshot.segments) > 1:
            self._account.matched(self._policy, len(records), len(snapshot.segments))
            is_due = self._account.searched > self._join_due
            if not self._was_quiet:
                is_due |= self._matched - self._poured_at >= self._policy.quiet_after
            if is_due and self._lock.acquire(blocking=False):
                try:
                    self._was_quiet = self._matched - self._poured_at >= self._policy.quiet_after
                    self._call_worker()
                finally:
                    self._lock.release()
        if snapshot.memtable:
            policy, tried = self._policy, float(len(snapshot.odd))
            if snapshot.rows is not None:
                tried += snapshot.rows.unplaced / policy.tried_at_once
                self._settled += policy.trial_cost
            self._tried += int(tried * len(records))
            # A thread that does not get the lock matches against this snapshot.
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

    def _is_compaction_due(self, snapshot: Snapshot) -> bool:
        """True if trying the memtable has cost about as much as a compaction will."""
        newer = len(snapshot.memtable)
        if newer > self._policy.memtable_max:
            return True
        tried = self._tried + self._settled
        if tried <= self._policy.compaction_cost:
            return False
        first = self._first_to_join(newer)
        joining = sum(entry.segment.live for entry in snapshot.segments[first:])
        cost = self._policy.conjunction_cost * (newer + joining)
        return tried > self._policy.compaction_cost + cost
