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
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from threading import Lock
from typing import Final

import numpy as np
import numpy.typing as npt

from sapwood.errors import InvariantError
from sapwood.matching.columnar import residual, restoring, saving
from sapwood.matching.columnar.batch import HEAD, REPEATS, Found, encoded
from sapwood.matching.columnar.build import build
from sapwood.matching.columnar.columns import DEAD
from sapwood.matching.columnar.folding import (
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
from sapwood.matching.columnar.pairs import Pairs
from sapwood.matching.columnar.residual import Probes
from sapwood.matching.columnar.rows import Rows, RowWriter, joined
from sapwood.matching.columnar.sampling import Sample
from sapwood.matching.columnar.searching import KernelsName, Searcher
from sapwood.matching.columnar.segment import Segment
from sapwood.matching.protocol import ALL, SlotBatch, Slots
from sapwood.matching.sizes import held_bytes
from sapwood.matching.storage import Folder
from sapwood.matching.tables import RecordTable, as_dict
from sapwood.model.filter import NOTHING, Filter
from sapwood.model.publication import Record

_FIRST_SLOT: Final = HEAD + 2
"""Where the slots of a single record begin in what a kernel tells."""

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

    `kernels` names the compiled loops or their plain twins, which need no compiler and are slow.
    """

    def __init__(
        self, policy: FoldPolicy | None = None, *, kernels: KernelsName = "compiled"
    ) -> None:
        self._policy = policy or FoldPolicy()
        #: attribute -> number, from 0 without gaps; only ever grows
        self._attributes: dict[str, int] = {}
        self._probes = Probes()
        self._searcher = Searcher(self._attributes, kernels)
        self._state = State((), self._writer(), {}, np.full(64, FREE, np.int16))
        self._taken = 0
        #: filters of the tail tried since the last fold
        self._tried = 0
        #: records in matches so far, which several threads may miscount
        self._matched = 0
        #: `_matched` when it was last asked whether segments have drifted
        self._drift_asked = 0
        self._sample: deque[Record] = deque(maxlen=_SAMPLED_MAX)
        #: whoever replaces `_state` or changes what is in it holds this
        self._lock = Lock()
        #: the parts that `fold` is joining in another thread, a beginning of the state's
        self._folding: tuple[Part, ...] = ()

    def __len__(self) -> int:
        """The number of taken slots."""
        return self._taken

    def add(self, slot: int, filter: Filter) -> None:  # noqa: A002 - the field's word
        """Take `slot` for `filter`; an amortized few rebuilds of its conjunctions."""
        with self._lock:
            homes = self._state.homes
            if slot >= len(homes):
                homes = _grown(homes, slot + 1)
                self._state = self._state._replace(homes=homes)
            assert homes[slot] == FREE, f"slot {slot} is taken"
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
            parts, _, tail, homes = self._state
            home = int(homes[slot])
            assert home != FREE, f"slot {slot} is free"
            homes[slot] = FREE
            self._taken -= 1
            if home == IN_TAIL:
                del tail[slot]
            elif home != NOWHERE:
                at = next(at for at, part in enumerate(parts) if part.serial == home)
                parts[at].segment.remove(slot, self._searcher.kernels)
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
        found: dict[str, int] = {}
        for part in parts:
            for name, size in part.segment.parts_of_memory():
                found[name] = found.get(name, 0) + size
        others = {
            "homes": homes.nbytes,
            "written": held_bytes(written) - held_bytes(self._attributes, self._probes),
            "tail": held_bytes(tail),
            "names": held_bytes(self._attributes, self._probes) + self._searcher.held,
            "sample": held_bytes(self._sample),
        }
        return found | others

    def touched_bytes(self, records: Sequence[Record]) -> float:
        """Bytes of lookups, bit rows and conjunctions that matching a record reads, on average."""
        segments = [part.segment for part in self._state.parts]
        return self._searcher.touched(segments, records) / max(1, len(records))

    def match(self, record: Record) -> list[int]:
        """The slots whose filters accept `record`, ascending, each once."""
        slots: list[int] = self.found(record).tolist()
        slots.sort()
        return slots

    def match_any(self, record: Record) -> bool:
        """Whether any filter accepts `record`; stops at the first one that surely does."""
        return len(self._match_one(record, 1)) > 0

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
        return self._match_one(record, limit)

    def found_many(self, records: Sequence[Record], most: int = ALL) -> SlotBatch:
        """The matches of many records, the slots of each in any order; see `match_slots`.

        Ends after the record with which some segment, or the tail, has `most` matches or more.
        """
        state = self._settled(records)
        batch, given = self._searcher.prepared(records), len(records)
        pairs = Pairs()
        for _, segment, _ in state.parts:
            told = self._searcher.search(segment, records[:given], batch, most=most)
            found = Found.of(told, given)
            if len(state.parts) == 1 and not (state.tail or found.repeats or len(found.doubts)):
                # As a rule there is nothing to put together.
                return SlotBatch(found.offsets, found.slots)
            # All tell of as many records as the one that tells of the fewest.
            records = records[: len(found.offsets) - 1]
            numbers = np.arange(len(found.offsets) - 1)
            pairs.add(np.repeat(numbers, np.diff(found.offsets)), found.slots)
            pairs.repeats |= found.repeats
            if len(found.doubts):
                passes = residual.settle(found, segment.annex, self._probes, records)
                doubted = np.repeat(numbers, np.diff(found.doubt_offsets))
                pairs.add(doubted[passes], segment.slots_of(found.doubts[passes]))
        held = 0
        for number, record in enumerate(records if state.tail else ()):
            tail = _accepting(state.tail, record)
            pairs.add(np.full(len(tail), number), tail)
            held += len(tail)
            if held >= most:
                records = records[: number + 1]
                break
        return pairs.batch(len(records))

    def fold(self) -> None:
        """Join everything into one segment whose access constraints are chosen anew.

        May run in one thread beside any other use. Does nothing if another thread is folding, or if
        there is one segment already, without removed conjunctions and as good as it can be.
        """
        with self._lock:
            if self._folding:
                return
            self._write_tail()
            if len(self._state.written):
                self._fold_newest()
            parts = self._state.parts
            if not parts or (len(parts) == 1 and not self._is_stale(parts[0])):
                return
            self._folding = parts
            attributes, sample = len(self._attributes), self._sampled()
        try:
            rows = joined([part.segment.rows() for part in parts])
            segment = (
                build(rows, attributes, self._searcher.kernels, sample) if len(rows.slot) else None
            )
            usual = None if segment is None else self._usual(segment)
            with self._lock:
                self._install(segment, usual)
        finally:
            self._folding = ()

    def save(self, folder: Path) -> None:
        """Fold everything into one segment and write its arrays."""
        store = Folder(folder)
        self.fold()
        parts = self._state.parts
        usual = parts[0].usual if parts else None
        saving.write_names(
            store, saving.Names(list(self._attributes), list(self._probes.texts()), usual)
        )
        store.write_arrays({"nowhere": np.flatnonzero(self._state.homes == NOWHERE)})
        for part in parts:
            part.segment.save(store.make_folder("segment"))

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
        for part in parts:
            part.segment.validate()
        if not np.array_equal(found, homes):
            raise InvariantError("a slot is not where it is said to be")
        if self._taken != np.count_nonzero(homes != FREE):
            raise InvariantError("the count of taken slots is wrong")

    def _match_one(self, record: Record, limit: int) -> Slots:
        """Slots that accept one record, each once, in any order; `limit` are enough."""
        records = (record,)
        state = self._settled(records)
        pieces = [_accepting(state.tail, record)] if state.tail else []
        count = len(pieces[0]) if pieces else 0
        if count >= limit:
            return pieces[0]
        batch = encoded(records)
        flags = 0
        doubtful: list[tuple[Segment, Found]] = []
        for _, segment, _ in state.parts:
            told = self._searcher.search(segment, records, batch, limit=limit)
            said, _, sure, doubts = told[:_FIRST_SLOT].tolist()
            flags |= said
            pieces.append(told[_FIRST_SLOT : _FIRST_SLOT + sure])
            count += sure
            if count >= limit:
                return np.concatenate(pieces)
            if doubts:
                doubtful.append((segment, Found.of(told, 1)))
        for segment, unsure in doubtful:
            passes = residual.settle(unsure, segment.annex, self._probes, records)
            pieces.append(segment.slots_of(unsure.doubts[passes]))
        if len(pieces) == 1 and not flags:
            return pieces[0]
        slots = np.concatenate(pieces) if pieces else np.zeros(0, np.int32)
        return np.unique(slots) if flags & REPEATS else slots

    def _sampled(self) -> Sample | None:
        return Sample(tuple(self._sample), self._attributes) if self._sample else None

    def _settled(self, records: Sequence[Record]) -> State:
        """The state to match records against, folded first if that is due.

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
            self._sample.extend(as_dict(records[at]) for at in kept)
        state = self._state
        if len(state.written):
            with self._lock:
                if len(self._state.written):
                    self._write_tail()
                    self._fold_newest()
        elif state.tail:
            self._tried += len(state.tail)
            # Whoever comes second matches what there is.
            if self._is_fold_due(state) and self._lock.acquire(blocking=False):
                try:
                    self._write_tail()
                    self._fold_newest()
                finally:
                    self._lock.release()
        return self._state

    def _is_drift_due(self) -> bool:
        """Whether enough was matched since it was last asked to pay for asking and building."""
        return self._matched - self._drift_asked >= max(_DRIFT_RECORDS, self._taken)

    def _is_fold_due(self, state: State) -> bool:
        if len(state.tail) > self._policy.tail_max:
            return True
        sizes = [part.segment.live for part in state.parts[len(self._folding) :]]
        joining = sum(sizes[first_to_join(self._policy, sizes, len(state.tail)) :])
        cost = self._policy.conjunction_cost * (len(state.tail) + joining)
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

    def _fold_newest(self) -> None:
        """Make a part of what was written and of the parts that it has caught up with."""
        parts, written, _, homes = self._state
        self._tried = 0
        sizes = [part.segment.live for part in parts[len(self._folding) :]]
        first = len(self._folding) + first_to_join(self._policy, sizes, len(written))
        rows = joined([*(part.segment.rows() for part in parts[first:]), written.rows()])
        self._state = self._state._replace(
            parts=(*parts[:first], *self._built(rows, parts, homes)), written=self._writer()
        )

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
            self._state = self._state._replace(parts=(*parts[:at], *smaller, *parts[at + 1 :]))

    def _built(
        self, rows: Rows, others: tuple[Part, ...], homes: npt.NDArray[np.int16]
    ) -> tuple[Part, ...]:
        """The part made of `rows`, entered in `homes`; none if there are no rows."""
        if not len(rows.slot):
            return ()
        serial = free_serial(others)
        homes[rows.slot] = serial
        segment = build(rows, len(self._attributes), self._searcher.kernels, self._sampled())
        return (Part(serial, segment, self._usual(segment)),)

    def _is_stale(self, part: Part) -> bool:
        """Whether a part would be better if it were built again."""
        return part.segment.dead > 0 or self._has_drifted(part)

    def _has_drifted(self, part: Part) -> bool:
        """Whether records lead to many more entries of a part than when it was built.

        So they do where nothing was known of records then.
        """
        if len(self._sample) < _SAMPLED_MIN:
            return False
        now = self._usual(part.segment)
        assert now is not None, "there are records"
        return part.usual is None or now > _DRIFT * part.usual + _DRIFT_ENTRIES

    def _usual(self, segment: Segment) -> float | None:
        """Entries that a record of the sample leads to on average; `None` without a sample."""
        records = tuple(self._sample)
        if not records:
            return None
        return self._searcher.looked_up(segment, records) / len(records)

    def _rebuild_drifted(self) -> None:
        """Build small parts again that have drifted."""
        self._drift_asked = self._matched
        parts, _, _, homes = self._state
        for at in range(len(self._folding), len(parts)):
            part = self._state.parts[at]
            if part.segment.live <= self._policy.joined_max and self._has_drifted(part):
                again = self._built(part.segment.rows(), parts, homes)
                before, after = self._state.parts[:at], self._state.parts[at + 1 :]
                self._state = self._state._replace(parts=(*before, *again, *after))

    def _install(self, segment: Segment | None, usual: float | None) -> None:
        """Put the segment that `fold` made in the place of the parts that it was made of."""
        parts, _, _, homes = self._state
        newer = parts[len(self._folding) :]
        if segment is None:
            self._state = self._state._replace(parts=newer)
            return
        # A slot that was freed meanwhile, and perhaps taken again, is elsewhere or nowhere by now.
        slots = segment.slots()
        is_here = np.isin(homes[slots], [part.serial for part in self._folding])
        segment.marks[~is_here] |= DEAD
        segment.dead = int(np.count_nonzero(~is_here))
        serial = free_serial(parts)
        homes[slots[is_here]] = serial
        self._state = self._state._replace(parts=(Part(serial, segment, usual), *newer))


def _grown(homes: npt.NDArray[np.int16], slots: int) -> npt.NDArray[np.int16]:
    grown = np.full(max(slots, len(homes) + len(homes) // 2), FREE, np.int16)
    grown[: len(homes)] = homes
    return grown


def _accepting(tail: Mapping[int, Filter], record: Record) -> Slots:
    """The slots of the tail whose filters accept a record, by trying all."""
    return np.array([slot for slot, wanted in tail.items() if wanted.accepts(record)], np.int32)
