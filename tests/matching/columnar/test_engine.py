"""The columnar engine: when it folds, joins and rebuilds, and what it keeps. Matches are checked in
`tests/matching/test_checks.py`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sapwood import parse_filter
from sapwood.errors import FileFormatError, InvariantError
from sapwood.matching.columnar.engine import ColumnarEngine, FoldPolicy
from sapwood.model.conjunction import Conjunction
from sapwood.model.constraint import NOTHING
from sapwood.model.filter import Filter
from tests.matching.variants import EAGER


def sizes(engine: ColumnarEngine) -> list[int]:
    engine.validate()
    return [part.segment.live for part in engine._state.parts]


def fill(engine: ColumnarEngine, first: int, last: int) -> None:
    for slot in range(first, last):
        engine.add(slot, parse_filter(f"a = {slot}"))


def test_few_filters_stay_in_the_tail() -> None:
    engine = ColumnarEngine()
    fill(engine, 0, 10)
    assert engine.match({"a": 3}) == [3]
    assert sizes(engine) == []


def test_tail_is_folded_when_trying_it_has_cost_as_much() -> None:
    engine = ColumnarEngine(FoldPolicy(fold_cost=100, conjunction_cost=0))
    fill(engine, 0, 10)
    for _ in range(10):
        assert engine.match({"a": 3}) == [3]
    assert sizes(engine) == []
    assert engine.match({"a": 3}) == [3]
    assert sizes(engine) == [10]


def test_long_tail_is_folded_at_the_first_match() -> None:
    engine = ColumnarEngine(FoldPolicy(tail_matched_max=20))
    fill(engine, 0, 21)
    assert sizes(engine) == []
    assert engine.match_any({"a": 3})
    assert sizes(engine) == [21]


def test_full_tail_becomes_a_segment_without_a_match() -> None:
    engine = ColumnarEngine(FoldPolicy(tail_max=8))
    fill(engine, 0, 20)
    assert sizes(engine) == [8, 8]
    assert len(engine._state.tail) == 4


def test_segments_of_full_tails_are_joined_at_the_first_match() -> None:
    engine = ColumnarEngine(FoldPolicy(tail_max=8, smallest=4))
    fill(engine, 0, 20)
    assert engine.match({"a": 19}) == [19]
    assert sizes(engine) == [20]


def test_segments_have_sizes_of_different_powers_of_two() -> None:
    engine = ColumnarEngine(EAGER)
    for step in range(60):
        fill(engine, step, step + 1)
        assert engine.match({"a": step}) == [step]
        classes = [max(size, EAGER.smallest).bit_length() for size in sizes(engine)]
        assert classes == sorted(set(classes), reverse=True)
    assert len(sizes(engine)) > 1


def test_segment_is_rebuilt_when_more_than_half_is_removed() -> None:
    engine = ColumnarEngine(EAGER)
    fill(engine, 0, 10)
    engine.match({})
    for slot in range(5):
        engine.remove(slot)
    (part,) = engine._state.parts
    assert (part.segment.live, part.segment.dead) == (5, 5)
    engine.remove(5)
    (part,) = engine._state.parts
    assert (part.segment.live, part.segment.dead) == (4, 0)
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
    engine = ColumnarEngine(FoldPolicy(smallest=1, tail_matched_max=0))
    for slot in range(4):
        engine.add(slot, parse_filter("a = 1"))
    engine.match({})
    engine.add(4, parse_filter("a = 1 and b = 2"))
    assert engine.match({"a": 1, "b": 2}) == [0, 1, 2, 3, 4]
    assert sizes(engine) == [4, 1]
    assert engine.match({"b": 2, "a": 1, "c": "x"}) == [0, 1, 2, 3, 4]


def test_match_any_settles_doubts_only_where_nothing_is_sure() -> None:
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
    engine = ColumnarEngine(FoldPolicy(tail_max=8))
    fill(engine, 0, 20)
    engine.save(tmp_path)
    assert sizes(engine) == [20]
    again = ColumnarEngine()
    again.load(tmp_path, ())
    assert sizes(again) == [20]
    assert again.match({"a": 7}) == [7]


@pytest.mark.parametrize(
    ("name", "content"),
    [("attributes", {}), ("attributes", [1]), ("probes", [["a"]]), ("probes", "x")],
)
def test_damaged_names_are_told(tmp_path: Path, name: str, content: object) -> None:
    engine = ColumnarEngine()
    engine.add(0, parse_filter("a like '%x%'"))
    engine.save(tmp_path)
    (tmp_path / f"{name}.json").write_text(json.dumps(content))
    with pytest.raises(FileFormatError, match=name):
        ColumnarEngine().load(tmp_path, ())


def test_validate_finds_slots_that_are_lost_doubled_or_miscounted() -> None:
    engine = ColumnarEngine(EAGER)
    fill(engine, 0, 4)
    engine.match({})
    engine._taken = 5
    with pytest.raises(InvariantError, match="count"):
        engine.validate()
    engine._state.homes[2] = -1
    with pytest.raises(InvariantError, match="not where"):
        engine.validate()
    engine._state = engine._state._replace(parts=engine._state.parts * 2)
    with pytest.raises(InvariantError, match="two places"):
        engine.validate()
