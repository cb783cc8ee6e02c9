"""Segments that a worker joins: at any moment, beside any change, nothing is lost or doubled."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import cast

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import rule

from sapwood import parse_filter
from sapwood.matching import beside
from sapwood.matching.columnar import merge_tree
from sapwood.matching.columnar.bitmaps import FillTask
from sapwood.matching.columnar.compaction import CompactionPolicy
from sapwood.matching.columnar.engine import ColumnarEngine
from sapwood.matching.columnar.searching import Kernels
from sapwood.matching.columnar.snapshot import Snapshot
from sapwood.matching.protocol import Engine
from sapwood.model.filter import Filter
from sapwood.model.publication import Record
from tests.examples import examples
from tests.matching.columnar import plain_kernels
from tests.matching.engine_laws import RELATED, EngineMachine
from tests.schedules import Scenario, Where, runs

SMALL = CompactionPolicy(
    smallest=2,
    memtable_max=1,
    bulk_min=3,
    poured_max=3,
    alike_max=3,
    unmatched_max=3,
    compaction_cost=8,
    conjunction_cost=1,
    sampled_min=0,
)


class Later:
    """A worker that works when it is told to."""

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []
        #: what is to be done after a moment
        self.resting: list[Callable[[], None]] = []

    def submit(self, work: Callable[[], None]) -> None:
        self.waiting.append(work)

    def later(self, work: Callable[[], None]) -> None:
        self.resting.append(work)

    def rest(self) -> None:
        """A moment passes."""
        resting, self.resting = self.resting, []
        for work in resting:
            work()

    def work(self) -> None:
        waiting, self.waiting = self.waiting, []
        for work in waiting:
            work()


class Interrupted:
    """Plain kernels, and what happens when a segment is built while nobody holds the lock."""

    def __init__(self, engine: ColumnarEngine) -> None:
        for name in (
            *("match_batch", "match_table", "looked_up", "try_rows"),
            *("touched", "mark_removed", "read_forms"),
        ):
            setattr(self, name, getattr(plain_kernels, name))
        self.engine = engine
        engine._kernels.loaded = cast("Kernels", self)
        self.happens: Iterator[Callable[[], None]] = iter(())

    def fill_bitmaps(self, task: FillTask, rows: npt.NDArray[np.uint64]) -> None:
        plain_kernels.fill_bitmaps(task, rows)
        if not self.engine._lock.locked():
            for happens in self.happens:
                happens()


class Worked(ColumnarEngine):
    """The engine as a broker has it: everything it does is done with a worker at hand."""

    def __init__(self, policy: CompactionPolicy = SMALL) -> None:
        super().__init__(policy, kernels=plain_kernels)
        self.worker = Later()

    def add(self, slot: int, filter: Filter) -> None:
        with beside.working(self.worker):
            super().add(slot, filter)

    def add_many(self, filters: Sequence[tuple[int, Filter]]) -> None:
        with beside.working(self.worker):
            super().add_many(filters)

    def remove(self, slot: int) -> None:
        with beside.working(self.worker):
            super().remove(slot)

    def _snapshot_for(self, records: Sequence[Record]) -> Snapshot:
        with beside.working(self.worker):
            return super()._snapshot_for(records)


def filled(engine: ColumnarEngine, *groups: int) -> None:
    """As many segments as groups, of so many filters each."""
    slot = len(engine)
    for group in groups:
        engine.add_many([(at, parse_filter(f"a > {at}")) for at in range(slot, slot + group)])
        slot += group


def sizes(engine: ColumnarEngine) -> list[int]:
    engine.validate()
    return [entry.segment.live for entry in engine._state.segments]


class Machine(EngineMachine):
    """Additions, removals and matches, before, after and during the work of a worker."""

    tried: Worked

    def engine(self) -> Engine:
        tried = Worked()
        self.kernels = Interrupted(tried)
        return tried

    @rule()
    def work(self) -> None:
        self.tried.worker.work()

    @rule()
    def rest(self) -> None:
        self.tried.worker.rest()

    @rule(removed=st.lists(st.integers(0, 12)), wanted=st.lists(RELATED, max_size=6))
    def work_while_others_change(self, removed: list[int], wanted: list[Filter]) -> None:
        changes = [
            *(partial(self.remove_if_there, slot) for slot in removed),
            *(partial(self.add_beside, one) for one in wanted),
        ]
        self.kernels.happens = iter(changes)
        self.tried.worker.work()
        self.tried.worker.rest()
        self.kernels.happens = iter(())

    def remove_if_there(self, slot: int) -> None:
        if self.filters.pop(slot, None) is not None:
            self.tried.remove(slot)
            self.tried.validate()

    def add_beside(self, wanted: Filter) -> None:
        slot = next(slot for slot in range(len(self.filters) + 1) if slot not in self.filters)
        self.tried.add(slot, wanted)
        self.filters[slot] = wanted
        self.tried.validate()
        accepting = sorted(slot for slot, f in self.filters.items() if f.accepts({"a": 1}))
        assert self.tried.match({"a": 1}) == accepting

    @rule()
    def fold(self) -> None:
        self.tried.fold()


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=examples(25), stateful_step_count=30)


def test_whoever_adds_many_between_matches_makes_the_segment_that_the_next_match_needs() -> None:
    engine = Worked(replace(SMALL, poured_max=100))
    filled(engine, 4, 4)
    assert len(engine._state.frozen_rows) == 8, "no match came in between"
    assert engine.match({"a": 1}) == [0]
    filled(engine, 4)
    assert not len(engine._state.frozen_rows)
    published = engine._published
    assert published is not None
    assert engine.match({"a": 9}) == [*range(9)]
    assert engine._published is published
    filled(engine, 4)
    filled(engine, 4)
    assert len(engine._state.frozen_rows) == 4
    engine.validate()


def test_callers_make_segments_of_what_was_added_and_a_worker_joins_them() -> None:
    engine = Worked()
    filled(engine, 3, 3)
    assert sizes(engine) == [3, 3]
    assert not engine.worker.waiting
    filled(engine, 3)
    assert sizes(engine) == [3, 3, 3]
    assert len(engine.worker.waiting) == 1
    filled(engine, 3)
    assert len(engine.worker.waiting) == 1, "one worker is enough"
    engine.worker.work()
    assert sizes(engine) == [12]
    assert engine.match({"a": 5}) == [0, 1, 2, 3, 4]


def test_additions_one_by_one_are_a_segment_when_a_caller_can_wait_for_it() -> None:
    engine = Worked()
    for slot in range(9):
        engine.add(slot, parse_filter(f"a > {slot}"))
    assert sizes(engine) == [4, 4]


def test_matches_that_search_several_segments_pay_for_a_join() -> None:
    engine = Worked()
    filled(engine, 4, 3)
    for _ in range(2):  # 6 each, of the 15 that the join costs
        engine.match({"a": 1})
    assert not engine.worker.waiting
    engine.match({"a": 1})
    engine.worker.work()
    assert sizes(engine) == [7]
    assert engine._account.searched == 3
    assert engine._account.beside == 0


def test_what_came_together_is_joined_when_records_have_come_for_some_time() -> None:
    engine = Worked(replace(SMALL, quiet_after=3, quiet_share=4, conjunction_cost=10**6))
    filled(engine, 4, 3)
    for _ in range(2):
        engine.match({"a": 1})
    assert not engine.worker.waiting
    for _ in range(2):
        engine.match({"a": 1})
    engine.worker.work()
    assert sizes(engine) == [7]


def test_what_came_together_is_joined_when_nothing_has_come_for_a_moment() -> None:
    engine = Worked(replace(SMALL, quiet_share=4, conjunction_cost=10**6))
    filled(engine, 4, 3)
    engine.worker.rest()  # the second group came since this was to be done
    assert sizes(engine) == [4, 3]
    assert not engine.worker.waiting
    engine.worker.rest()
    assert sizes(engine) == [7]
    assert not engine.worker.resting
    filled(engine, 3)
    engine.worker.rest()
    assert sizes(engine) == [10]


def test_a_few_beside_many_stay_when_nothing_has_come_for_a_moment() -> None:
    engine = Worked(replace(SMALL, quiet_share=2, conjunction_cost=10**6))
    filled(engine, 7, 3)
    engine.worker.rest()
    engine.worker.rest()
    assert sizes(engine) == [7, 3]
    assert not engine.worker.resting
    assert not engine.worker.waiting


def test_a_worker_builds_again_what_was_mostly_removed_whatever_its_size() -> None:
    engine = Worked(replace(SMALL, joined_max=2))
    filled(engine, 8, 20)
    for slot in range(5):
        engine.remove(slot)
    assert len(engine.worker.waiting) == 1
    engine.worker.work()
    assert sizes(engine) == [3, 20]
    for slot in range(5, 28):
        engine.remove(slot)
    engine.worker.work()
    assert sizes(engine) == []


def test_a_worker_chooses_access_anew_when_other_records_come() -> None:
    engine = Worked(replace(SMALL, alike_max=99, unmatched_max=99))
    filled(engine, 4)
    (before,) = engine._state.segments
    engine._sample, engine._matched = ({"a": 1},) * 64, 15_871
    engine.match({"a": 1})
    assert engine._state.segments == (before,)
    engine.worker.work()
    (after,) = engine._state.segments
    assert before.segment is not after.segment
    assert (before.mean_candidates, after.mean_candidates) == (None, 1.0)


def test_work_that_fails_leaves_everything_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Worked()
    filled(engine, 3, 3, 3)

    def fail(*_: object) -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(merge_tree, "segment_of", fail)
        with pytest.raises(MemoryError):
            engine.worker.work()
    assert sizes(engine) == [3, 3, 3]
    filled(engine, 3)
    engine.worker.work()
    assert sizes(engine) == [12]


def test_removals_during_a_join_are_made_up_for_a_few_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(merge_tree, "_REMOVED_AT_ONCE", 2)
    monkeypatch.setattr(merge_tree, "_RENUMBERED", 2)
    engine = Worked()
    kernels = Interrupted(engine)
    filled(engine, 4, 4, 4)
    kernels.happens = iter([partial(engine.remove, slot) for slot in range(1, 12, 2)])
    engine.worker.work()
    assert sizes(engine) == [6]
    assert engine.match({"a": 99}) == [0, 2, 4, 6, 8, 10]


@pytest.mark.parametrize("by", ["add", "remove", "match", "fold"])
@pytest.mark.one_in(4)
def test_a_worker_joins_beside_whoever_else_is_alone(
    by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merge_tree, "_RENUMBERED", 2)
    made: list[Worked] = []

    def make() -> Scenario:
        engine = Worked()
        filled(engine, 3, 3, 3)
        made[:] = [engine]
        calls: dict[str, Callable[[], object]] = {
            "add": lambda: engine.add(9, parse_filter("a > 0")),
            "remove": lambda: engine.remove(4),
            "match": lambda: engine.match({"a": 4}),
            "fold": engine.fold,
        }
        return Scenario((engine.worker.work, calls[by]), (engine,))

    expected = (
        [0, 1, 2, 3, 4, 9] if by == "add" else [0, 1, 2, 3] if by == "remove" else [0, 1, 2, 3, 4]
    )
    count = 0
    for run in runs(make, Where(("columnar/engine.py", "columnar/merge_tree.py")), 1):
        count += 1
        (engine,) = made
        assert run.results[0] is None
        assert run.results[1] == ([0, 1, 2, 3] if by == "match" else None)
        engine.validate()
        engine.worker.work()
        assert engine.match({"a": 5}) == expected, run
    assert count > 20, "there was nothing to choose"
