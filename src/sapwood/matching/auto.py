"""The default engine: plain and cheap to change while small, compiled when that pays.

It begins as the counting engine, which needs no compiled code. Above a few filters the columnar
engine is faster at everything, if its kernels are at hand; while they are not, counting goes on and
the cost of that is reported to a loader (`readiness.Awaiting`).

The columnar engine takes over as a *successor*: it grows beside counting, by some filters with
every match and every change, and counting alone matches until the successor has all filters. So no
match and no addition waits for all filters to move, every match sees one whole engine, and the
change from one to the other is a single assignment between two inputs. A set that becomes very
small goes back to counting.

Both engines are exact, so their results are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Final, TypeAlias

import numpy as np

from sapwood.errors import InvariantError
from sapwood.matching.beside import worker
from sapwood.matching.columnar import ColumnarEngine
from sapwood.matching.columnar.flat_records import Flattener
from sapwood.matching.columnar.saving import save_filters
from sapwood.matching.counting import CountingEngine
from sapwood.matching.encoded_records import EncodedRecords
from sapwood.matching.protocol import ALL, SlotBatch, Slots
from sapwood.matching.readiness import RECORDS, Awaiting
from sapwood.matching.sizes import held_bytes
from sapwood.matching.storage import Folder
from sapwood.model.conjunction import Conjunction
from sapwood.model.constraint import Constraint
from sapwood.model.filter import Filter
from sapwood.model.publication import ManyValued, Record, Value

_MATCH_WORK: Final = 16
_FILTERS_A_WORK: Final = 4
"""The time by which counting takes longer for a record than columnar, in about microseconds:
`_MATCH_WORK`, and one for each `_FILTERS_A_WORK` filters."""

_ADD_WORK: Final = 100
"""An addition counts as much: many filters come before many publications do."""

_TRIED_MAX: Final = 16
_TRIED_A_WORK: Final = 4
"""Conjunctions that are tried one by one in less time than counting takes: half a microsecond each,
where counting takes 5 to 20 for a record. `_TRIED_A_WORK` of them count as a microsecond more than
columnar takes, which has the overhead of passing the record."""

_FOLD_WORK: Final = 1000
"""A fold, for each filter: a caller that folds is about to match a lot, and ready to wait."""

_SAVED_PLAIN_MAX: Final = 4096
"""Filters that are made a segment by plain Python, in about a fifth of a second; it takes longer
than loading kernels for more."""

_RESTORED_MAX: Final = 1024
"""Filters of a saved index that are made again from its arrays, in about a fifth of a second, so
that no kernel is needed."""


@dataclass(frozen=True, slots=True)
class AutoPolicy:
    """The number of filters at which the columnar engine takes over, once its kernels are loaded.

    Measured, in microseconds a match, counting and columnar: 5 and 8 with 1 filter, 22 and 5 with
    10, 62 and 8 with 100, 124 and 6 with 500, 1,277 and 13 with 10,000 (workload MIX).
    """

    #: the number of filters from which on the columnar engine takes over
    compiled_from: int = 16
    #: records in one batch for which it takes over whatever the number of filters: it takes 2
    #: microseconds for each where counting takes 5 to 20, and folding takes 4 milliseconds
    batch_from: int = 512
    #: the number of filters down to which it stays; counting is as fast there, and as cheap as can
    #: be to change
    compiled_until: int = 4
    #: filters that move with a match, or with a change: about a millisecond
    moved_at_once: int = 128
    #: filters that move with each filter of an `add_many`
    moved_with_each: int = 4
    #: filters that move at once at most where a worker is beside the caller: some 20 milliseconds
    moved_max: int = 2048
    #: the numbers of filters between which all are folded when the last one has moved, in 4 to 50
    #: milliseconds. Trying fewer one by one takes no longer than counting; the next match folds
    #: more, bit by bit. A worker beside the caller, if there is one, does this instead
    folded_from: int = 64
    folded_until: int = 8192


_Test: TypeAlias = tuple[str, Callable[[Value | None], bool]]
"""An attribute, and the test that its value has to pass."""

_Trial: TypeAlias = tuple[int, tuple[_Test, ...]]
"""A slot, and all tests of one of its conjunctions."""


class _Plain(CountingEngine):
    """A counting engine that also keeps the filters as they were added."""

    def __init__(self) -> None:
        super().__init__()
        #: slot -> its filter; exactly the taken slots
        self.filters: dict[int, Filter] = {}
        #: the number of conjunctions of all filters
        self._conjunctions = 0
        #: the filters as `match` tries them; depends on `filters`, and is empty after a change
        self._trials: tuple[_Trial, ...] = ()

    def add(self, slot: int, filter: Filter) -> None:
        """Put `filter` into `slot`."""
        super().add(slot, filter)
        self.filters[slot] = filter
        self._conjunctions += len(filter.conjunctions)
        self._trials = ()

    def remove(self, slot: int) -> None:
        """Free `slot`."""
        super().remove(slot)
        self._conjunctions -= len(self.filters.pop(slot).conjunctions)
        self._trials = ()

    def match(self, record: Record) -> list[int]:
        """The slots whose filters accept `record`, ascending; few filters are tried one by one."""
        if self._conjunctions > _TRIED_MAX:
            return super().match(record)
        trials, value_of = self._trials or self._all_trials(), record.get
        found: list[int] = []
        for slot, tests in trials:
            for name, accepts in tests:
                if not accepts(value_of(name)):
                    break
            else:
                found.append(slot)
        return sorted(set(found)) if len(found) > 1 else found

    def work_of(self, records: int) -> int:
        """Microseconds by which counting `records` records takes longer than columnar would."""
        if self._conjunctions <= _TRIED_MAX:
            return records * self._conjunctions // _TRIED_A_WORK
        return records * (_MATCH_WORK + len(self.filters) // _FILTERS_A_WORK)

    def _all_trials(self) -> tuple[_Trial, ...]:
        self._trials = tuple(
            (slot, _tests(conjunction))
            for slot, added in sorted(self.filters.items())
            for conjunction in added.conjunctions
        )
        return self._trials

    def validate(self) -> None:
        """Check the counting engine, and that its filters and slots agree."""
        super().validate()
        if self.filters.keys() != self._taken.keys():
            raise InvariantError("the filters kept are not those of the taken slots")


class AutoEngine:
    """The counting engine at first, and the columnar one later (see the module).

    #: the engine that serves has every taken slot
    #: there is a successor only where counting serves; each of its slots is taken and has the same
    #: filter there, and every taken slot that it lacks is among those to move
    """

    def __init__(self, awaiting: Awaiting | None = None, policy: AutoPolicy = AutoPolicy()) -> None:
        self._awaiting = awaiting or Awaiting(RECORDS)
        self._policy = policy
        self._serving: _Plain | ColumnarEngine = _Plain()
        self._successor: ColumnarEngine | None = None
        #: slots to move, the last one first; slots that are free or have moved are skipped
        self._to_move: list[int] = []
        #: held while one of these is replaced or filled, or the engine that serves is changed
        self._lock = Lock()

    def __len__(self) -> int:
        """The number of taken slots."""
        return len(self._serving)

    @property
    def serving(self) -> str:
        """The name of the engine that matches: counting or columnar."""
        return "counting" if isinstance(self._serving, _Plain) else "columnar"

    def add(self, slot: int, filter: Filter) -> None:
        """Put `filter` into `slot`; while filters are moving, move some more."""
        self._awaiting.expect()
        with self._lock:
            self._serving.add(slot, filter)
            if self._successor is not None:
                self._to_move.append(slot)
            if isinstance(self._serving, _Plain):
                self._advance(self._serving, _ADD_WORK, 1)

    def add_many(self, filters: Sequence[tuple[int, Filter]]) -> None:
        """Put each filter into its slot; a large batch goes into the columnar engine at once."""
        self._awaiting.expect()
        with self._lock:
            serving = self._serving
            if isinstance(serving, ColumnarEngine):
                serving.add_many(filters)
                return
            work, count = _ADD_WORK * len(filters), len(serving) + len(filters)
            if self._successor is None and count >= self._policy.compiled_from:
                self._prepare(serving, work)
                work = 0
            successor = self._successor
            if successor is not None:
                # Move more than are added, or the number of those left would never shrink.
                self._move(serving, successor, self._policy.moved_with_each * len(filters))
                if not self._to_move:
                    successor.add_many(filters)
                    self._serving, self._successor = successor, None
                    return
            for slot, wanted in filters:
                serving.add(slot, wanted)
                if successor is not None:
                    self._to_move.append(slot)
            if successor is None:
                self._advance(serving, work, 1)

    def remove(self, slot: int) -> None:
        """Free `slot`; while filters are moving, move some more."""
        with self._lock:
            serving, successor = self._serving, self._successor
            serving.remove(slot)
            if successor is not None and successor.holds(slot):
                successor.remove(slot)
            if isinstance(serving, _Plain):
                self._advance(serving, 0, 1)
            elif len(serving) <= self._policy.compiled_until:
                self._serving = _plain_of(serving)

    def remove_many(self, slots: Sequence[int]) -> None:
        """Free slots, all different; while filters are moving, move some more."""
        with self._lock:
            serving = self._serving
            if isinstance(serving, ColumnarEngine):
                serving.remove_many(slots)
                if len(serving) <= self._policy.compiled_until:
                    self._serving = _plain_of(serving)
                return
        for slot in slots:
            self.remove(slot)

    def filter(self, slot: int) -> Filter:
        """The filter in a taken slot: the one that was added, or an equal one without its source.

        Which of the two depends on the engine that serves.
        """
        serving = self._serving
        if isinstance(serving, _Plain):
            return serving.filters[slot]
        return serving.filter(slot)

    def holds(self, slot: int) -> bool:
        """True if a slot is taken."""
        serving = self._serving
        return slot in serving.filters if isinstance(serving, _Plain) else serving.holds(slot)

    def taken(self) -> Iterable[int]:
        """The taken slots, ascending."""
        serving = self._serving
        return sorted(serving.filters) if isinstance(serving, _Plain) else serving.taken()

    def memory(self) -> Mapping[str, int]:
        """Bytes by part: of all objects while counting serves, of arrays while columnar does."""
        serving = self._serving
        if isinstance(serving, _Plain):
            return {"objects": held_bytes(serving, self._successor)}
        return serving.memory()

    def match(self, record: Record) -> list[int]:
        """The slots whose filters accept `record`, ascending, each once."""
        return self._engine(1).match(record)

    def match_any(self, record: Record) -> bool:
        """True if any filter accepts `record`; may stop at the first."""
        return self._engine(1).match_any(record)

    def match_count(self, record: Record) -> int:
        """The number of filters that accept `record`."""
        return self._engine(1).match_count(record)

    def match_slots(self, records: Sequence[Record]) -> SlotBatch:
        """The matches of many records at once."""
        return self._engine(len(records)).match_slots(records)

    def found(self, record: Record, limit: int = ALL) -> Slots:
        """The slots whose filters accept `record`, in any order, each once; ends with `limit`."""
        engine = self._engine(1)
        if isinstance(engine, _Plain):
            return np.array(engine.match(record), np.int32)
        return engine.found(record, limit)

    @property
    def rows_max(self) -> int:
        """Rows of a record from which on `found_several` takes less than to match them."""
        return self._serving.rows_max

    def found_several(self, record: ManyValued, limit: int = ALL) -> Slots:
        """The slots that accept a record with several values, in any order, each once."""
        return self._engine(1).found_several(record, limit)

    def reads(self, attribute: str) -> bool:
        """True if a filter may read an attribute."""
        return self._serving.reads(attribute)

    def flattener(self) -> Flattener | None:
        """The function that makes `EncodedRecords`; `None` while counting serves."""
        serving = self._serving
        return None if isinstance(serving, _Plain) else serving.flattener()

    def found_encoded(self, records: EncodedRecords, limit: int = ALL) -> Slots:
        """`found` for a single record in MessagePack."""
        serving = self._serving
        if isinstance(serving, _Plain):
            return self.found(records[0], limit)
        return serving.found_encoded(records, limit)

    def found_many(
        self, records: Sequence[Record], max_matches: int = ALL, limit: int = ALL
    ) -> SlotBatch:
        """The matches of many records, the slots of each in any order; at least of one record.

        See `protocol.Unsorted`.
        """
        engine = self._engine(len(records), is_encoded=isinstance(records, EncodedRecords))
        if isinstance(engine, _Plain):
            # Counting matches all records given, and a record has no more matches than filters.
            return engine.match_slots(records[: max(1, max_matches // max(1, len(engine)))])
        return engine.found_many(records, max_matches, limit)

    def fold(self) -> None:
        """Move all filters that are to move, and fold the columnar engine."""
        while isinstance(serving := self._serving, _Plain):
            with self._lock:
                # Each turn moves some, so that an addition meanwhile waits for these alone.
                work = 0 if self._successor is not None else _FOLD_WORK * len(serving)
                self._advance(serving, work, 1)
                if self._successor is None:
                    break
        self._serving.fold()

    def save(self, folder: Path) -> None:
        """Write the files that a columnar engine writes."""
        serving = self._serving
        if isinstance(serving, _Plain):
            stored = sorted(serving.filters.items())
            if self._awaiting.at_hand() is None and len(stored) <= _SAVED_PLAIN_MAX:
                save_filters(Folder(folder), stored)
                return
            engine = ColumnarEngine()
            for slot, wanted in stored:
                engine.add(slot, wanted)
            engine.save(folder)
        else:
            serving.save(folder)

    def load(self, folder: Path, filters: Iterable[tuple[int, Filter]]) -> None:
        """Map the files of a columnar engine, and go on with that one unless it is small."""
        assert not len(self), "an engine is loaded when it is empty"
        engine = ColumnarEngine()
        engine.load(folder, filters)
        few = self._policy.compiled_until if self._awaiting.at_hand() else _RESTORED_MAX
        self._serving = _plain_of(engine) if len(engine) <= few else engine

    def validate(self) -> None:
        """Check both engines, and that a successor agrees with the one that serves."""
        serving, successor = self._serving, self._successor
        serving.validate()
        if successor is None:
            return
        successor.validate()
        moved = set(successor.taken())
        if not isinstance(serving, _Plain) or not moved <= serving.filters.keys():
            raise InvariantError("the successor has a slot that the engine that serves has not")
        if not serving.filters.keys() - moved <= set(self._to_move):
            raise InvariantError("a slot is not going to move to the successor")

    def _prepare(self, serving: _Plain, work: int, *, is_encoded: bool = False) -> None:
        """Begin with a successor if kernels are at hand; `work` is what counting has cost since.

        Needs the lock.
        """
        # Records in MessagePack are made by kernels, so kernels are at hand.
        look = self._awaiting.at_hand if is_encoded else partial(self._awaiting.compiled, work)
        if look() is not None:
            self._successor = ColumnarEngine()
            self._to_move = sorted(serving.filters, reverse=True)

    def _move(self, serving: _Plain, successor: ColumnarEngine, count: int) -> None:
        """Move `count` filters; at most `moved_max` where a worker is beside, as a caller waits.

        Needs the lock.
        """
        left = count if worker() is None else min(count, self._policy.moved_max)
        moved: dict[int, Filter] = {}
        while self._to_move and len(moved) < left:
            slot = self._to_move.pop()
            # A slot may have been freed since and taken again; then `_to_move` has it twice.
            if slot in serving.filters and not successor.holds(slot):
                moved[slot] = serving.filters[slot]
        successor.add_many([*moved.items()])

    def _engine(self, records: int, *, is_encoded: bool = False) -> _Plain | ColumnarEngine:
        """The engine to match `records` records with."""
        serving = self._serving
        # A thread that does not get the lock matches with the engine that serves.
        if isinstance(serving, _Plain) and self._lock.acquire(blocking=False):
            try:
                work = serving.work_of(records)
                self._advance(serving, work, records, is_encoded=is_encoded)
            finally:
                self._lock.release()
            return self._serving
        return serving

    def _advance(
        self, serving: _Plain, work: int, records: int, *, is_encoded: bool = False
    ) -> None:
        """Account for `work` that counting does for `records` records, and move some filters.

        Needs the lock. The loader may load kernels meanwhile, or begin to.
        """
        if self._serving is not serving:
            return
        if self._successor is None:
            is_batch = is_encoded or records >= self._policy.batch_from
            few = self._policy.compiled_from if not is_batch else 1
            if len(serving) < few:
                return
            self._prepare(serving, work, is_encoded=is_encoded)
        successor, left = self._successor, max(1, records) * self._policy.moved_at_once
        if successor is None:
            return
        self._move(serving, successor, left)
        if not self._to_move:
            policy = self._policy
            # To try a filter by itself, a record has to be decoded; encoded ones need a segment.
            folded_from = 1 if is_encoded else policy.folded_from
            is_alone = worker() is None or is_encoded
            if is_alone and folded_from <= len(successor) <= policy.folded_until:
                successor.fold()
            self._serving, self._successor = successor, None


def _tests(conjunction: Conjunction) -> tuple[_Test, ...]:
    """The constraints of a conjunction as tests, the quick ones first."""
    lookups: list[_Test] = []
    comparisons: list[_Test] = []
    patterns: list[_Test] = []
    for name, constraint in conjunction.constraints:
        texts = constraint.strings.points()
        if texts is not None and constraint == Constraint(strings=constraint.strings):
            lookups.append((name, frozenset(texts).__contains__))
        elif constraint.strings.is_plain:
            comparisons.append((name, constraint.accepts))
        else:
            patterns.append((name, constraint.accepts))
    return (*lookups, *comparisons, *patterns)


def _plain_of(engine: ColumnarEngine) -> _Plain:
    """The same filters in a counting engine; about a fifth of a millisecond for each."""
    plain = _Plain()
    for slot in engine.taken():
        plain.add(slot, engine.filter(slot))
    return plain
