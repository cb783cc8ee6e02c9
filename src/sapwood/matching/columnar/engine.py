"""The columnar engine: a mutable tail, immutable segments, and when the one becomes the other.

Additions go to the tail, filters that are tried one by one; a full tail is written into rows, and
enough rows become a segment. A match folds what there is into a segment when trying the tail has
cost about as much as folding will, so neither a burst of additions nor a burst of matches pays for
the other. Segments are joined like the digits of a binary counter (Bentley and Saxe 1980, the
logarithmic method), but none of these joins makes a segment of more than `FoldPolicy.joined_max`
conjunctions. That bounds what one match, addition or removal may have to wait for, and what an
addition costs in all: a few rebuilds of some microseconds each. The price is that n conjunctions
may be in `n / joined_max` segments, and a match searches each of them.

`fold` joins all segments into one, and chooses all access constraints anew from what was added and
matched. It takes some microseconds for each conjunction, most of it outside the interpreter lock,
and may run in a thread of its own beside everything else.

A segment remembers how much was looked up for each record of the sample that it was built with.
When that has grown much since, because other records come now, access constraints are chosen anew:
by `fold`, and by a match where the segment is small enough and has been matched often enough since.

A removal marks conjunctions; a segment with more marked than unmarked ones is built again, which
is paid for by the removals. Segments too large for that wait for `fold`.

Threads: whoever changes something holds the lock, and publishes what came of it as a new
`Snapshot`. A match takes the one that is published, in one read, and sees nothing else. Folding
leaves the former one published until it is done; an addition or a removal takes it back, and the
next match publishes the next one.
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
    IN_TAIL,
    NOWHERE,
    WRITTEN,
    FoldPolicy,
    Part,
    State,
    first_to_join,
    free_serial,
)
from sapwood.matching.columnar.like_checks import Probes
from sapwood.matching.columnar.rows import Rows, RowWriter, joined
from sapwood.matching.columnar.sampling import Sample
from sapwood.matching.columnar.searching import Kernels, LazyKernels, Searcher
from sapwood.matching.columnar.segment import Segment
from sapwood.matching.columnar.snapshot import Snapshot
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
"""The same for the rows of a table where there is a sample already: the record has to be made."""

_SAMPLED_MIN: Final = 64
"""Records in the sample that say something about all."""

_DRIFT: Final = 2.0
_DRIFT_ENTRIES: Final = 64.0
"""A segment has drifted when records lead to `_DRIFT` times as many entries, and so many more."""

_DRIFT_RECORDS: Final = 2 * _SAMPLED_EVERY * _SAMPLED_MAX
"""Matched records until drift is asked about again: twice what the sample reaches back."""


class ColumnarEngine:
    """Access predicates over columns (see `sapwood.matching.columnar`).

    `kernels` are the compiled ones unless others are given, as tests do.

    #: _published, where it is not `None`, holds every filter; nothing is in _state.written then
    """

    def __init__(self, policy: FoldPolicy | None = None, *, kernels: Kernels | None = None) -> None:
        self._policy = policy or FoldPolicy()
        #: attribute -> number, from 0 without gaps; only ever grows
        self._attributes: dict[str, int] = {}
        self._probes = Probes()
        self._kernels = LazyKernels(kernels)
        #: for the first so many attributes; `_named` brings it up to date
        self._searcher = Searcher(self._attributes, self._kernels)
        self._state = State((), self._writer(), {}, np.full(64, FREE, np.int16))
        #: all that a match reads; `None` if something was added or removed since the last match
        self._published: Snapshot | None = None
        self._taken = 0
        #: filters of the tail tried since the last fold
        self._tried = 0
        #: records in matches so far, which several threads may miscount
        self._matched = 0
        #: `_matched` when it was last asked whether segments have drifted
        self._drift_asked = 0
        #: records that were matched, the latest last; replaced as a whole
        self._sample: tuple[Record, ...] = ()
        #: whoever replaces any of the above, or changes what is in it, holds this; but for the
        #: counts and the sample, of which something may be lost
        self._lock = Lock()
        #: whoever joins everything holds this
        self._fold_lock = Lock()
        #: the parts that `fold` is joining in another thread, a beginning of the state's
        self._folding: tuple[Part, ...] = ()

    def __len__(self) -> int:
        """The number of taken slots."""
        return self._taken

    def add(self, slot: int, filter: Filter) -> None:
        """Take `slot` for `filter`; an amortized few rebuilds of its conjunctions."""
        with self._lock:
            homes = self._state.homes
            if slot >= len(homes):
                homes = _grown(homes, slot + 1)
                self._state = self._state._replace(homes=homes)
            assert homes[slot] == FREE, f"slot {slot} is taken"
            self._published = None
            self._taken += 1
            homes[slot] = IN_TAIL
            tail = self._state.tail
            tail[slot] = filter
            if len(tail) > self._policy.tail_max:
                self._write_tail()
                if len(self._state.written) >= self._policy.written_max:
                    self._fold_newest()

    def remove(self, slot: int) -> None:
        """Free `slot`; amortized constant."""
        with self._lock:
            if self._state.homes[slot] == WRITTEN:
                self._fold_newest()
            self._published = None
            parts, _, tail, homes = self._state
            home = int(homes[slot])
            assert home != FREE, f"slot {slot} is free"
            homes[slot] = FREE
            self._taken -= 1
            if home == IN_TAIL:
                del tail[slot]
            elif home != NOWHERE:
                at = next(at for at, part in enumerate(parts) if part.serial == home)
                parts[at].segment.remove(slot, self._kernels.loaded)
                self._rebuild_if_sparse(at)

    def filter(self, slot: int) -> Filter:
        """The filter in a slot, equal to the one that was added, but without its source.

        Integer constants beyond 64 bits, which no text and no record can hold, come back as others
        that compare alike with all values of records.
        """
        with self._lock:
            if self._state.homes[slot] == WRITTEN:
                self._fold_newest()
            home = int(self._state.homes[slot])
            assert home != FREE, f"slot {slot} is free"
            if home == IN_TAIL:
                return self._state.tail[slot]
            if home == NOWHERE:
                return NOTHING
            segment = next(part.segment for part in self._state.parts if part.serial == home)
            return restoring.filter_of(segment, slot, list(self._attributes), self._probes)

    def holds(self, slot: int) -> bool:
        """Whether a slot is taken."""
        homes = self._state.homes
        return slot < len(homes) and bool(homes[slot] != FREE)

    def taken(self) -> Iterable[int]:
        """The taken slots, ascending."""
        slots: list[int] = np.flatnonzero(self._state.homes != FREE).tolist()
        return slots

    def memory(self) -> Mapping[str, int]:
        """Bytes of each column of all segments together, and of what is not in segments."""
        parts, written, tail, homes = self._state
        published, searcher = self._published, self._searcher
        found: dict[str, int] = {}
        for part in parts:
            for name, size in part.segment.parts_of_memory():
                found[name] = found.get(name, 0) + size
        others = {
            "homes": homes.nbytes,
            "written": held_bytes(written) - held_bytes(self._attributes, self._probes),
            "tail": held_bytes(tail, published and published.tail),
            "names": held_bytes(self._attributes, self._probes, searcher.numbers) + searcher.held,
            "sample": held_bytes(self._sample),
        }
        return found | others

    def touched_bytes(self, records: Sequence[Record]) -> float:
        """Bytes of lookups, bit rows and conjunctions that matching a record reads, on average."""
        snapshot = self._published or self._refreshed()
        return snapshot.touched_bytes(records)

    def match(self, record: Record) -> list[int]:
        """The slots whose filters accept `record`, ascending, each once."""
        slots: list[int] = self.found(record).tolist()
        slots.sort()
        return slots

    def match_any(self, record: Record) -> bool:
        """Whether any filter accepts `record`; stops at the first one that surely does."""
        return len(self._settled((record,)).found(record, 1)) > 0

    def match_count(self, record: Record) -> int:
        """How many filters accept `record`."""
        return len(self.found(record))

    def match_slots(self, records: Sequence[Record]) -> SlotBatch:
        """The matches of many records: one call of the kernel for each segment.

        The kernel runs without the interpreter lock; what is left in Python is some hundred
        nanoseconds a record to write it for the kernel. Rows of a table are read where they are.
        """
        found = self.found_many(records)
        for first, last in pairwise(found.offsets.tolist()):
            found.slots[first:last].sort()
        return found

    def found(self, record: Record, limit: int = ALL) -> Slots:
        """The slots whose filters accept `record`, in any order, each once; ends with `limit`."""
        return self._settled((record,)).found(record, limit)

    def found_many(self, records: Sequence[Record], most: int = ALL) -> SlotBatch:
        """The matches of many records, the slots of each in any order; see `match_slots`.

        Ends after the record with which some segment, or the tail, has `most` matches or more.
        """
        return self._settled(records).found_many(records, most)

    def fold(self) -> None:
        """Join everything into one segment whose access constraints are chosen anew.

        May run in one thread beside any other use. Does nothing if another thread is folding, or if
        there is one segment already, without removed conjunctions and as good as it can be.
        """
        if self._fold_lock.acquire(blocking=False):
            try:
                self._fold_all()
            finally:
                self._fold_lock.release()

    def save(self, folder: Path) -> None:
        """Fold everything into one segment and write its arrays."""
        store = Folder(folder)
        with self._fold_lock:  # another thread that folds is waited for
            self._fold_all()
        parts = self._state.parts
        usual = parts[0].usual if parts else None
        names = saving.Names(list(self._attributes), list(self._probes.texts()), usual)
        nowhere = np.flatnonzero(self._state.homes == NOWHERE)
        saving.write(store, names, nowhere, [part.segment for part in parts])

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
        self._probes.restore(names.probes)
        nowhere = store.read_arrays(("nowhere",))["nowhere"]
        parts: tuple[Part, ...] = ()
        if store.folder("segment").exists:
            parts = (Part(0, Segment.load(store.folder("segment")), names.usual),)
        held = [part.segment.slots() for part in parts]
        saving.check_slots(store, nowhere, held)
        slots = np.concatenate([nowhere, *held])
        homes = np.full(max(64, int(slots.max(initial=0)) + 1), FREE, np.int16)
        homes[slots] = 0
        homes[nowhere] = NOWHERE
        self._state = State(parts, self._writer(), {}, homes)
        self._published = None
        self._taken = int(np.count_nonzero(homes != FREE))

    def validate(self) -> None:
        """Every taken slot is where `homes` says, and nowhere else."""
        parts, written, tail, homes = self._state
        found = np.where(homes == NOWHERE, homes, np.int16(FREE))
        found[list(tail)] = IN_TAIL
        for home, slots in (
            (WRITTEN, written.rows().slot),
            *((part.serial, part.segment.slots()) for part in parts),
        ):
            if np.any(found[slots] != FREE):
                raise InvariantError("a slot is in two places")
            found[slots] = home
        if len({part.serial for part in parts}) < len(parts):
            raise InvariantError("two parts have the same number")
        for part in parts:
            part.segment.validate()
        if not np.array_equal(found, homes):
            raise InvariantError("a slot is not where it is said to be")
        if self._taken != np.count_nonzero(homes != FREE):
            raise InvariantError("the count of taken slots is wrong")
        published = self._published
        if published is not None and (
            published.parts is not parts or dict(published.tail) != tail or len(written)
        ):
            raise InvariantError("what matches read is not what there is")

    def _settled(self, records: Sequence[Record]) -> Snapshot:
        """What records are matched against, folded first if that is due.

        One record in many is kept, as what records are like.
        """
        before = self._matched
        self._matched = before + len(records)
        next_kept = -(before + 1) % _SAMPLED_EVERY
        if next_kept < len(records):
            if self._is_drift_due() and self._lock.acquire(blocking=False):
                try:
                    self._rebuild_drifted()
                finally:
                    self._lock.release()
            is_made = isinstance(records, RecordTable) and len(self._sample) == _SAMPLED_MAX
            every = _MADE_EVERY if is_made else _SAMPLED_EVERY
            kept = range(-(before + 1) % every, len(records), every)[-_SAMPLED_MAX:]
            latest = (*self._sample, *(as_dict(records[at]) for at in kept))
            self._sample = latest[-_SAMPLED_MAX:]
        snapshot = self._published or self._refreshed()
        if snapshot.tail:
            self._tried += len(snapshot.tail)
            # Whoever comes second matches what there is.
            if self._is_fold_due(snapshot) and self._lock.acquire(blocking=False):
                try:
                    if self._published is snapshot:
                        self._write_tail()
                        snapshot = self._fold_newest()
                finally:
                    self._lock.release()
        return snapshot

    def _refreshed(self) -> Snapshot:
        """The published snapshot, made first if there is none; what is written is folded then."""
        with self._lock:
            if self._published is not None:
                return self._published
            if len(self._state.written):
                self._write_tail()
                return self._fold_newest()
            return self._publish()

    def _publish(self) -> Snapshot:
        """Let matches read what there is by now; the lock is held, and nothing is written."""
        parts, written, tail, _ = self._state
        assert not len(written), "what is written is in no part"
        published = Snapshot(parts, tuple(tail.items()), self._named(), self._probes.known())
        self._published = published
        return published

    def _named(self) -> Searcher:
        """The searcher that knows all attributes; the lock is held."""
        self._searcher = self._searcher.grown(self._attributes)
        return self._searcher

    def _is_drift_due(self) -> bool:
        """Whether enough was matched since it was last asked to pay for asking and building."""
        return self._matched - self._drift_asked >= max(_DRIFT_RECORDS, self._taken)

    def _is_fold_due(self, snapshot: Snapshot) -> bool:
        """Whether trying the tail has cost about as much as folding will; a guess beside `fold`."""
        newer = len(snapshot.tail)
        if newer > self._policy.tail_max:
            return True
        sizes = [part.segment.live for part in snapshot.parts[len(self._folding) :]]
        joining = sum(sizes[first_to_join(self._policy, sizes, newer) :])
        cost = self._policy.conjunction_cost * (newer + joining)
        return self._tried > self._policy.fold_cost + cost

    def _writer(self) -> RowWriter:
        return RowWriter(self._attributes, self._probes)

    def _write_tail(self) -> None:
        """Write all filters of the tail into rows."""
        _, written, tail, homes = self._state
        for slot, wanted in tail.items():
            before = len(written)
            written.add(slot, wanted)
            homes[slot] = WRITTEN if len(written) > before else NOWHERE
        self._state = self._state._replace(tail={})

    def _fold_newest(self) -> Snapshot:
        """Make a part of what was written and of the parts that it has caught up with.

        What is in the tail stays there.
        """
        parts, written, _, homes = self._state
        self._tried = 0
        sizes = [part.segment.live for part in parts[len(self._folding) :]]
        first = len(self._folding) + first_to_join(self._policy, sizes, len(written))
        rows = joined([*(part.segment.rows() for part in parts[first:]), written.rows()])
        self._state = self._state._replace(
            parts=(*parts[:first], *self._built(rows, parts, homes)), written=self._writer()
        )
        return self._publish()

    def _rebuild_if_sparse(self, at: int) -> None:
        """Build a part again without what was removed, if that is most of it and not too much."""
        parts, _, _, homes = self._state
        segment = parts[at].segment
        if (
            segment.dead > segment.live
            and segment.live <= self._policy.joined_max
            and at >= len(self._folding)
        ):
            smaller = self._built(segment.rows(), parts, homes)
            self._replace_parts((*parts[:at], *smaller, *parts[at + 1 :]))

    def _built(
        self, rows: Rows, others: tuple[Part, ...], homes: npt.NDArray[np.int16]
    ) -> tuple[Part, ...]:
        """The part made of `rows`, entered in `homes`; none if there are no rows."""
        if not len(rows.slot):
            return ()
        serial, searcher, sample = free_serial(others), self._named(), self._sample
        homes[rows.slot] = serial
        segment = _segment_of(rows, searcher, sample)
        return (Part(serial, segment, _usual(segment, searcher, sample)),)

    def _is_stale(self, part: Part) -> bool:
        """Whether a part would be better if it were built again."""
        return part.segment.dead > 0 or self._has_drifted(part)

    def _has_drifted(self, part: Part) -> bool:
        """Whether records lead to many more entries of a part than when it was built.

        So they do where nothing was known of records then.
        """
        sample = self._sample
        if len(sample) < _SAMPLED_MIN:
            return False
        now = _usual(part.segment, self._named(), sample)
        assert now is not None, "there are records"
        return part.usual is None or now > _DRIFT * part.usual + _DRIFT_ENTRIES

    def _rebuild_drifted(self) -> None:
        """Build small parts again that have drifted."""
        self._drift_asked = self._matched
        for part in self._state.parts[len(self._folding) :]:
            if part.segment.live <= self._policy.joined_max and self._has_drifted(part):
                parts, _, _, homes = self._state
                at = next(at for at, other in enumerate(parts) if other is part)
                again = self._built(part.segment.rows(), parts, homes)
                self._replace_parts((*parts[:at], *again, *parts[at + 1 :]))

    def _fold_all(self) -> None:
        """Join everything into one segment; no other thread does."""
        with self._lock:
            self._write_tail()
            if len(self._state.written):
                self._fold_newest()
            else:
                self._publish()
            parts = self._state.parts
            if not parts or (len(parts) == 1 and not self._is_stale(parts[0])):
                return
            self._folding = parts
            searcher, sample = self._named(), self._sample
        try:
            rows = joined([part.segment.rows() for part in parts])
            segment = _segment_of(rows, searcher, sample) if len(rows.slot) else None
            usual = None if segment is None else _usual(segment, searcher, sample)
            with self._lock:
                self._install(segment, usual)
        finally:
            with self._lock:
                self._folding = ()

    def _replace_parts(self, parts: tuple[Part, ...]) -> None:
        """Have the same filters in other parts; the lock is held."""
        self._state = self._state._replace(parts=parts)
        if self._published is not None:
            self._publish()

    def _install(self, segment: Segment | None, usual: float | None) -> None:
        """Put the segment that `fold` made in the place of the parts that it was made of."""
        parts, _, _, homes = self._state
        former, self._folding = self._folding, ()
        newer = parts[len(former) :]
        if segment is None:
            self._replace_parts(newer)
            return
        # A slot that was freed meanwhile, and perhaps taken again, is elsewhere or nowhere by now.
        slots = segment.slots()
        is_here = np.isin(homes[slots], [part.serial for part in former])
        segment.marks[~is_here] |= DEAD
        segment.dead = int(np.count_nonzero(~is_here))
        serial = free_serial(parts)
        homes[slots[is_here]] = serial
        self._replace_parts((Part(serial, segment, usual), *newer))


def _grown(homes: npt.NDArray[np.int16], slots: int) -> npt.NDArray[np.int16]:
    grown = np.full(max(slots, len(homes) + len(homes) // 2), FREE, np.int16)
    grown[: len(homes)] = homes
    return grown


def _segment_of(rows: Rows, searcher: Searcher, sample: tuple[Record, ...]) -> Segment:
    """The segment of some conjunctions; its access constraints suit the records of the sample."""
    seen = Sample(sample, searcher.numbers) if sample else None
    return build(rows, len(searcher.numbers), searcher.kernels, seen)


def _usual(segment: Segment, searcher: Searcher, sample: tuple[Record, ...]) -> float | None:
    """Entries that a record of the sample leads to on average; `None` without a sample."""
    return searcher.looked_up(segment, sample) / len(sample) if sample else None
