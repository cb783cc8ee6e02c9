"""The columnar engine: when it folds, joins and rebuilds, and what it keeps. Matches are checked in
`tests/matching/test_checks.py`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood import parse_filter
from sapwood.errors import InvariantError
from sapwood.matching.columnar.bitmaps import FillTask
from sapwood.matching.columnar.columns import U64
from sapwood.matching.columnar.compaction import CompactionPolicy
from sapwood.matching.columnar.engine import ColumnarEngine
from sapwood.matching.tables import Kind, RecordTable
from sapwood.model.conjunction import Conjunction
from sapwood.model.constraint import NOTHING
from sapwood.model.filter import Filter
from sapwood.model.publication import Record
from tests.examples import examples
from tests.matching.columnar import plain_kernels as plain
from tests.matching.tabled import column_of
from tests.matching.variants import EAGER
from tests.strategies import filters, records


def sizes(engine: ColumnarEngine) -> list[int]:
    engine.validate()
    return [entry.segment.live for entry in engine._state.segments]


def fill(engine: ColumnarEngine, first: int, last: int) -> None:
    for slot in range(first, last):
        engine.add(slot, parse_filter(f"a = {slot}"))


def test_few_filters_stay_in_the_memtable() -> None:
    engine = ColumnarEngine()
    fill(engine, 0, 10)
    assert engine.match({"a": 3}) == [3]
    assert sizes(engine) == []


def test_memtable_is_folded_when_trying_it_has_cost_as_much() -> None:
    engine = ColumnarEngine(CompactionPolicy(compaction_cost=100, conjunction_cost=0))
    fill(engine, 0, 10)
    for _ in range(10):
        assert engine.match({"a": 3}) == [3]
    assert sizes(engine) == []
    assert engine.match({"a": 3}) == [3]
    assert sizes(engine) == [10]


def test_long_memtable_is_folded_at_the_first_match() -> None:
    engine = ColumnarEngine(CompactionPolicy(memtable_max=20))
    fill(engine, 0, 21)
    assert sizes(engine) == []
    assert engine.match_any({"a": 3})
    assert sizes(engine) == [21]


def test_full_memtable_is_written_and_becomes_a_segment_without_a_match() -> None:
    engine = ColumnarEngine(CompactionPolicy(memtable_max=3, frozen_max=8, joined_max=8))
    fill(engine, 0, 21)
    assert sizes(engine) == [8, 8]
    assert len(engine._state.frozen_rows) == 4
    assert len(engine._state.memtable) == 1


def test_enough_filters_that_come_together_are_written_at_once_and_joined_when_there_is_time() -> (
    None
):
    engine = ColumnarEngine(CompactionPolicy(bulk_min=8))
    engine.add_many([(slot, parse_filter(f"a = {slot}")) for slot in range(7)])
    assert sizes(engine) == []
    engine.add_many([(slot, parse_filter(f"a = {slot}")) for slot in range(7, 20)])
    assert sizes(engine) == []
    assert len(engine._state.frozen_rows) == 13
    assert engine.match({"a": 3}) == [3]
    assert sizes(engine) == [20], "the memtable goes with them"
    assert engine.match({"a": 9}) == [9]
    engine.add_many(
        [(20, parse_filter("false")), *((slot, parse_filter("true")) for slot in range(80, 90))]
    )
    assert engine.match({}) == [*range(80, 90)]


def test_segments_of_full_memtables_are_joined_up_to_the_bound_and_by_fold_beyond() -> None:
    engine = ColumnarEngine(
        CompactionPolicy(memtable_max=0, frozen_max=8, joined_max=24, smallest=4)
    )
    fill(engine, 0, 40)
    assert max(sizes(engine)) <= 24
    assert len(sizes(engine)) > 1
    assert engine.match({"a": 19}) == [19]
    assert len(sizes(engine)) > 1
    engine.fold()
    assert sizes(engine) == [40]
    assert [engine.match({"a": number}) for number in range(41)] == [[at] for at in range(40)] + [
        []
    ]


def test_segments_have_sizes_of_different_powers_of_two() -> None:
    engine = ColumnarEngine(EAGER)
    for step in range(60):
        fill(engine, step, step + 1)
        assert engine.match({"a": step}) == [step]
        classes = [max(size, EAGER.smallest).bit_length() for size in sizes(engine)]
        assert classes == sorted(set(classes), reverse=True)
    assert len(sizes(engine)) > 1


def test_fold_does_nothing_where_there_is_nothing_to_do() -> None:
    engine = ColumnarEngine(EAGER)
    engine.fold()
    assert sizes(engine) == []
    fill(engine, 0, 4)
    engine.fold()
    (entry,) = engine._state.segments
    engine.fold()
    assert engine._state.segments == (entry,)
    engine.remove(2)
    engine.fold()
    assert sizes(engine) == [3]
    assert engine._state.segments[0].segment.dead == 0
    for slot in (0, 1, 3):
        engine.remove(slot)
    engine.fold()
    assert sizes(engine) == []


def test_filter_gives_back_what_was_added_wherever_it_is() -> None:
    texts = (
        "a = 1 and b like '%x%' and b not like 'y%z'",
        f"a > {2**53 + 1} or a < -0.5 and c is null",
        f"a > {2**63 - 1} and b = ''",
        "a in (1, 'x', true) or not b",
        "exists a and (b <> 5 or b = 'q')",
        "a is null or a between 1 and 2.5 or a > 'k'",
        "false",
        "true",
    )
    for policy in (CompactionPolicy(), CompactionPolicy(memtable_max=2), EAGER):
        engine = ColumnarEngine(policy)
        for slot, text in enumerate(texts):
            engine.add(slot, parse_filter(text))
        for folded in (False, True):
            assert [str(engine.filter(slot)) for slot in range(len(texts))] == [
                str(parse_filter(text)) for text in texts
            ]
            if not folded:
                engine.fold()
            engine.validate()


class Interrupting:
    """Kernels that let something happen while `fold` builds, as another thread would."""

    def __init__(self, engine: ColumnarEngine, happens: Callable[[], None]) -> None:
        self.happens: Callable[[], None] | None = happens
        self.match_batch, self.match_table = plain.match_batch, plain.match_table
        self.match_several = plain.match_several
        self.looked_up, self.touched = plain.looked_up, plain.touched
        self.mark_removed, self.try_rows = plain.mark_removed, plain.try_rows
        self.find_fail_states = plain.find_fail_states
        self.flatten_records, self.read_forms = plain.flatten_records, plain.read_forms
        self.engine = engine
        engine._kernels.loaded = self

    def fill_bitmaps(self, task: FillTask, rows: U64) -> None:
        plain.fill_bitmaps(task, rows)
        if self.engine._lock.locked():
            return  # a small segment, which nothing can interrupt
        happens, self.happens = self.happens, None
        if happens is not None:
            happens()


@settings(max_examples=examples(60))
@given(
    wanted=st.lists(filters(), min_size=2, max_size=24),
    changes=st.lists(st.tuples(st.integers(0, 23), filters()), max_size=24),
    asked=st.lists(records(), min_size=1, max_size=4),
)
def test_additions_removals_and_matches_during_a_fold_are_kept(
    wanted: list[Filter], changes: list[tuple[int, Filter]], asked: list[Record]
) -> None:
    engine = ColumnarEngine(
        CompactionPolicy(memtable_max=1, frozen_max=4, joined_max=8, smallest=2, compaction_cost=2),
        kernels=plain,
    )
    held = dict(enumerate(wanted))
    for slot, each in held.items():
        engine.add(slot, each)
    engine.match({})

    def change() -> None:
        for slot, each in changes:
            if held.pop(slot, None) is not None:
                engine.remove(slot)
            else:
                held[slot] = each
                engine.add(slot, each)
            engine.fold()  # is under way already
            assert engine.match({"a": 1}) == sorted(
                s for s, f in held.items() if f.accepts({"a": 1})
            )

    interrupting = Interrupting(engine, change)
    engine.fold()
    if interrupting.happens is not None:
        change()
    engine.validate()
    for record in asked:
        assert engine.match(record) == sorted(s for s, f in held.items() if f.accepts(record))
    assert [engine.filter(slot) for slot in held] == list(held.values())


@settings(max_examples=examples(40))
@given(
    changes=st.lists(
        st.tuples(st.booleans(), st.sets(st.integers(0, 40), max_size=12)), max_size=12
    ),
    is_asked=st.booleans(),
)
def test_filters_removed_together_are_gone_as_if_one_after_the_other(
    changes: list[tuple[bool, set[int]]], is_asked: bool
) -> None:
    policy = CompactionPolicy(memtable_max=3, frozen_max=8, joined_max=16, smallest=2, bulk_min=6)
    many, single = ColumnarEngine(policy, kernels=plain), ColumnarEngine(policy, kernels=plain)
    held: set[int] = set()
    for is_added, slots in changes:
        if is_added:
            fresh = [(slot, parse_filter(f"a < {slot} or b = {slot}")) for slot in slots - held]
            for engine in (many, single):
                engine.add_many(fresh)
            held |= slots
        else:
            gone = sorted(slots & held)
            many.remove_many(gone)
            for slot in gone:
                single.remove(slot)
            held -= slots
        if is_asked:
            assert many.match({"a": 7}) == single.match({"a": 7})
        many.validate()
        assert len(many) == len(held)
    for value in range(0, 42, 3):
        assert many.match({"a": value, "b": 1}) == single.match({"a": value, "b": 1})


def test_filters_removed_together_during_a_fold_are_gone_after_it() -> None:
    engine = ColumnarEngine(EAGER, kernels=plain)
    fill(engine, 0, 20)
    engine.match({})
    Interrupting(engine, lambda: engine.remove_many([3, 7, 11]))
    engine.fold()
    engine.validate()
    assert sizes(engine) == [17]
    assert [engine.match({"a": slot}) for slot in (3, 4, 7)] == [[], [4], []]


def test_segment_is_rebuilt_when_more_than_half_is_removed() -> None:
    engine = ColumnarEngine(EAGER)
    fill(engine, 0, 10)
    engine.match({})
    for slot in range(5):
        engine.remove(slot)
    (entry,) = engine._state.segments
    assert (entry.segment.live, entry.segment.dead) == (5, 5)
    engine.remove(5)
    (entry,) = engine._state.segments
    assert (entry.segment.live, entry.segment.dead) == (4, 0)
    for slot in range(6, 10):
        engine.remove(slot)
    assert sizes(engine) == []
    assert len(engine) == 0


def test_slot_is_reused_while_its_former_conjunctions_are_still_marked() -> None:
    engine = ColumnarEngine(EAGER)
    fill(engine, 0, 10)
    engine.match({})
    engine.remove(3)
    engine.add(3, parse_filter("a = 100"))
    assert engine.match({"a": 3}) == []
    assert engine.match({"a": 100}) == [3]
    engine.remove(3)
    assert engine.match({"a": 100}) == []
    engine.validate()


@pytest.mark.parametrize(
    "nothing",
    [parse_filter("false"), Filter((Conjunction((("a", NOTHING),)),))],
    ids=["no conjunctions", "a conjunction of nothing"],
)
def test_filter_that_accepts_nothing_is_taken_and_removed(nothing: Filter, tmp_path: Path) -> None:
    engine = ColumnarEngine(EAGER)
    engine.add(0, nothing)
    engine.add(1, parse_filter("a = 1"))
    assert engine.match({"a": 1}) == [1]
    assert len(engine) == 2
    engine.validate()
    engine.save(tmp_path)
    again = ColumnarEngine(EAGER)
    again.load(tmp_path, ())
    again.validate()
    assert len(again) == 2
    for each in (engine, again):
        each.remove(0)
        each.validate()
        assert len(each) == 1


def test_slots_may_be_far_apart() -> None:
    engine = ColumnarEngine(EAGER)
    engine.add(100_000, parse_filter("a = 1"))
    engine.add(0, parse_filter("a = 1"))
    assert engine.match({"a": 1}) == [0, 100_000]
    engine.validate()


def test_attributes_that_come_later_are_unknown_to_older_segments() -> None:
    engine = ColumnarEngine(CompactionPolicy(smallest=1, memtable_max=0))
    for slot in range(4):
        engine.add(slot, parse_filter("a = 1"))
    engine.match({})
    engine.add(4, parse_filter("a = 1 and b = 2"))
    assert engine.match({"a": 1, "b": 2}) == [0, 1, 2, 3, 4]
    assert sizes(engine) == [4, 1]
    assert engine.match({"b": 2, "a": 1, "c": "x"}) == [0, 1, 2, 3, 4]


def test_match_any_settles_unverified_only_where_nothing_is_sure() -> None:
    engine = ColumnarEngine(EAGER)
    engine.add(0, parse_filter("a like '%x%'"))
    engine.add(1, parse_filter("a like '%x%' and b = 1"))
    assert engine.match_any({"a": "x"})
    assert not engine.match_any({"a": "y", "b": 1})
    engine.add(2, parse_filter("b = 1"))
    assert engine.match_any({"a": "y", "b": 1})


def test_sets_of_any_size_are_matched_exactly() -> None:
    engine = ColumnarEngine(EAGER)
    for slot, count in enumerate((1, 2, 1024, 1025, 3000)):
        values = ", ".join(str(3 * number) for number in range(count))
        engine.add(slot, parse_filter(f"a in ({values})"))
    assert engine.match({"a": 0}) == [0, 1, 2, 3, 4]
    assert engine.match({"a": 3 * 1023}) == [2, 3, 4]
    assert engine.match({"a": 3 * 1024}) == [3, 4]
    assert engine.match({"a": 3 * 2999}) == [4]
    assert engine.match({"a": 3 * 1000 + 1}) == engine.match({"a": 9000}) == []


def test_saving_makes_one_segment(tmp_path: Path) -> None:
    engine = ColumnarEngine(CompactionPolicy(memtable_max=0, frozen_max=8, joined_max=8))
    fill(engine, 0, 20)
    engine.save(tmp_path)
    assert sizes(engine) == [20]
    again = ColumnarEngine()
    again.load(tmp_path, ())
    assert sizes(again) == [20]
    assert again.match({"a": 7}) == [7]


def test_validate_finds_slots_that_are_lost_doubled_or_miscounted() -> None:
    engine = ColumnarEngine(EAGER)
    fill(engine, 0, 4)
    engine.match({})
    engine._taken = 5
    with pytest.raises(InvariantError, match="count"):
        engine.validate()
    engine._state.slot_locations[2] = -1
    with pytest.raises(InvariantError, match="not where"):
        engine.validate()
    engine._state = engine._state._replace(segments=engine._state.segments * 2)
    with pytest.raises(InvariantError, match="two places"):
        engine.validate()


def test_validate_finds_segments_that_share_a_number_and_a_snapshot_of_something_else() -> None:
    engine = ColumnarEngine(CompactionPolicy(memtable_max=0, frozen_max=8, joined_max=8))
    fill(engine, 0, 16)
    engine.match({})
    engine.validate()
    former = engine._state
    engine._state = former._replace(
        segments=tuple(entry._replace(serial=0) for entry in former.segments),
        slot_locations=np.minimum(former.slot_locations, 0),
    )
    with pytest.raises(InvariantError, match="same number"):
        engine.validate()
    engine._state = former
    engine.validate()
    assert engine._published is not None
    engine._published = replace(engine._published, segments=former.segments[:1])
    with pytest.raises(InvariantError, match="what matches read"):
        engine.validate()


def entries_for(engine: ColumnarEngine, records: list[Record]) -> float:
    """Entries that lookups lead to on average."""
    (entry,) = engine._state.segments
    engine._sample = tuple(records[-256:])
    return engine._searcher.looked_up(entry.segment, engine._sample) / len(engine._sample)


@pytest.mark.parametrize("by", ["fold", "match"])
def test_access_is_chosen_anew_when_other_records_come(by: str) -> None:
    engine = ColumnarEngine()
    for slot in range(1200):
        engine.add(slot, parse_filter(f"a = {slot // 120} and b in ({slot % 2}, {slot % 2 + 2})"))
    varied: list[Record] = [{"a": number % 10, "b": 0} for number in range(256)]
    drifted: list[Record] = [{"a": number % 10, "b": 1} for number in range(256)]
    engine._sample = tuple(varied)
    engine.fold()
    (first,) = engine._state.segments
    assert first.mean_candidates is not None
    assert first.mean_candidates <= 60  # by `a`; what `b = 1` finds is not looked up
    engine._matched = engine._statistics_checked = 0
    engine.fold()
    assert engine._state.segments == (first,)
    engine._sample = tuple(drifted)
    assert entries_for(engine, drifted) > 600
    expected = [engine.match(record) for record in drifted]
    assert engine._state.segments == (first,)
    if by == "fold":
        engine.fold()
    else:
        engine._matched = 15_871
        engine.match({"c": 1})
    (second,) = engine._state.segments
    assert second is not first
    assert entries_for(engine, drifted) <= 60
    assert [engine.match(record) for record in drifted] == expected
    engine.validate()


def test_segments_that_are_rebuilt_together_get_numbers_of_their_own() -> None:
    engine = ColumnarEngine(
        CompactionPolicy(memtable_max=0, frozen_max=8, joined_max=8, sampled_min=0)
    )
    fill(engine, 0, 16)
    assert sizes(engine) == [8, 8]
    former = engine._state.segments
    engine._sample = ({"a": 1},) * 64
    engine._matched = 15_871
    engine.match({"a": 1})
    assert not set(map(id, former)) & set(map(id, engine._state.segments))
    engine.remove(15)
    assert engine.match({"a": 15}) == []
    engine.validate()


def test_large_segments_that_became_stale_wait_for_fold() -> None:
    engine = ColumnarEngine(CompactionPolicy(joined_max=10, sampled_min=0))
    fill(engine, 0, 40)
    engine.fold()
    segments = engine._state.segments
    engine._sample = ({"a": 1},) * 64
    engine._matched = 15_871
    engine.match({"a": 1})
    assert engine._state.segments == segments
    engine.fold()  # nothing was known of records when it was built
    assert engine._state.segments != segments


def test_memory_names_what_is_in_segments_and_what_is_not() -> None:
    engine = ColumnarEngine()
    fill(engine, 0, 1000)
    before = engine.memory()
    assert before["tail"] > 100_000
    assert "blocks" not in before
    engine.fold()
    folded = engine.memory()
    assert folded["blocks"] >= 4 * 4 * 1000
    assert folded["tail"] < 1000
    assert sum(folded.values()) < 150_000
    assert min(folded.values()) >= 0


def test_engine_says_which_slots_are_taken() -> None:
    engine = ColumnarEngine()
    for slot in (1, 5):
        engine.add(slot, parse_filter("a = 1"))
    assert [*engine.taken()] == [1, 5]
    assert [engine.holds(slot) for slot in (0, 1, 5, 10**9)] == [False, True, True, False]


def test_touched_bytes_are_those_of_what_records_lead_to() -> None:
    engine = ColumnarEngine()
    fill(engine, 0, 100)
    assert engine.touched_bytes([{"a": 1}]) == 0.0
    engine.fold()
    # A look into the directory, and a block of five words: slot, two for the ranks, attribute.
    assert engine.touched_bytes([{"a": 1}, {"b": 1}]) == (8 + 4 * 4) / 2
    assert engine.touched_bytes([]) == 0.0


def test_the_sample_is_of_many_records_where_the_same_come_again_and_again() -> None:
    engine = ColumnarEngine()
    engine.add(0, parse_filter("n >= 0"))
    coming: list[Record] = [{"n": number} for number in range(256)]
    for _ in range(40):
        for at in range(0, len(coming), 64):
            engine.match_slots(coming[at : at + 64])
    assert len({record["n"] for record in engine._sample}) == len(coming)


def test_the_sample_of_a_table_is_made_of_few_rows_once_there_is_one() -> None:
    engine = ColumnarEngine()
    engine.add(0, parse_filter("n >= 0"))
    table = RecordTable.of({"n": column_of(Kind.INTEGER, range(20_000))}, 20_000)
    for at in range(0, 10_000, 100):
        engine.match_slots(table[at : at + 100])
    first = list(engine._sample)
    assert len(first) == 256
    assert all(type(record) is dict for record in first)
    engine.match_slots(table[10_000:])
    assert len(engine._sample) == 256
    assert 5 < sum(record not in first for record in engine._sample) < 20


def test_found_many_ends_with_enough_in_all_segments_and_the_memtable() -> None:
    engine = ColumnarEngine(CompactionPolicy(memtable_max=4, frozen_max=4, joined_max=4))
    for slot in range(33):
        engine.add(slot, parse_filter(f"n > {slot % 5}"))
    records: list[Record] = [{"n": at % 7} for at in range(200)]
    whole = engine.found_many(records)
    assert (len(engine._state.segments), len(engine._state.memtable)) == (6, 3)
    start, found = 0, []
    while start < len(records):
        batch = engine.found_many(records[start:], 40)
        assert len(batch.offsets) > 1
        found += [sorted(batch.slots[a:b].tolist()) for a, b in pairwise(batch.offsets.tolist())]
        start = len(found)
    expected = [sorted(whole.slots[a:b].tolist()) for a, b in pairwise(whole.offsets.tolist())]
    assert found == expected
