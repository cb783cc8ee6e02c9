"""The counting engine beyond what all engines are checked for."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import pytest

from sapwood import parse_filter
from sapwood.errors import InvariantError
from sapwood.matching.counting import CountingEngine


def engine_of(*texts: str) -> CountingEngine:
    engine = CountingEngine()
    for slot, text in enumerate(texts):
        engine.add(slot, parse_filter(text))
    engine.validate()
    return engine


def test_absence_satisfies_without_being_counted() -> None:
    engine = engine_of("(a is null or a = 1) and b = 2", "a is null", "a is null or b is null")
    assert engine.match({"b": 2}) == [0, 1, 2]
    assert engine.match({"a": 1, "b": 2}) == [0]
    assert engine.match({"a": 3, "b": 2}) == []
    assert engine.match({"a": 3}) == [2]
    assert engine.match({}) == [1, 2]


def test_a_value_counts_once_however_many_pieces_its_constraint_has() -> None:
    engine = engine_of("a in (1, 2, 'x', true) and b = 1", "(a < 1 or a > 2) and b = 1")
    assert engine.match({"a": 1, "b": 1}) == [0]
    assert engine.match({"a": 5, "b": 1}) == [1]
    assert engine.match({"a": 1}) == []


def test_slot_with_several_matching_conjunctions_is_reported_once() -> None:
    engine = engine_of("a < 5 or b < 5")
    assert engine.match({"a": 1, "b": 1}) == [0]


def test_equal_patterns_are_tried_once_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = engine_of(*(f"a like '%x%' and b = {number}" for number in range(50)))
    tried = count()
    index = engine._attributes["a"]
    (constraint,) = index._others

    class Counted:
        def accepts(self, value: object) -> bool:
            next(tried)
            return True

    index._others = {Counted(): index._others[constraint]}  # type: ignore[dict-item]
    assert engine.match({"a": "x", "b": 7}) == [7]
    assert next(tried) == 1


def test_nothing_is_left_after_all_is_removed() -> None:
    engine = engine_of(
        "a = 1 and b > 2 or c like '%x%'", "d is null", "true", "e between 'a' and 'b'"
    )
    for slot in (2, 0, 3, 1):
        engine.remove(slot)
        engine.validate()
    tables = (
        engine._taken,
        engine._slots,
        engine._needs,
        engine._unconditional,
        engine._attributes,
    )
    assert not any(tables)
    assert engine.match({"a": 1, "b": 3}) == []


def test_loading_adds_the_filters_again(tmp_path: Path) -> None:
    engine = CountingEngine()
    engine.save(tmp_path)
    engine.load(tmp_path, [(4, parse_filter("a = 1"))])
    assert engine.match({"a": 1}) == [4]


@pytest.mark.parametrize(
    ("field", "value"),
    [("_slots", {}), ("_needs", {}), ("_attributes", {})],
)
def test_validate_finds_tables_that_disagree(field: str, value: object) -> None:
    engine = engine_of("a = 1")
    setattr(engine, field, value)
    with pytest.raises(InvariantError):
        engine.validate()


def test_validate_finds_constraints_that_nobody_has() -> None:
    engine = engine_of("a = 1", "a > 2")
    engine._attributes["a"]._numbers.clear()
    with pytest.raises(InvariantError, match="numbers"):
        engine.validate()
