"""Posets as engines: exact, equal filters share a node, and all engines agree (XSiena P13)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood import parse_filter
from sapwood.errors import InvariantError
from sapwood.matching.counting import CountingEngine
from sapwood.matching.protocol import Engine
from sapwood.matching.published.kdtree import KdTreeEngine
from sapwood.matching.published.posets.engine import PosetEngine
from sapwood.matching.published.posets.forest import PosetForest
from sapwood.matching.published.posets.hasse import HasseDiagram
from sapwood.model.filter import Filter
from sapwood.model.publication import Record
from tests import strategies as some
from tests.examples import examples
from tests.matching.engine_laws import RELATED, EngineMachine
from tests.matching.published.posets.nesting import boxes

POSETS = pytest.mark.parametrize("poset", [HasseDiagram, PosetForest])


def engine_of(poset: Callable[[], HasseDiagram | PosetForest], *texts: str) -> PosetEngine:
    engine = PosetEngine(poset())
    for slot, text in enumerate(texts):
        engine.add(slot, parse_filter(text))
    engine.validate()
    return engine


@POSETS
def test_engine_shares_a_node_among_equal_filters(
    poset: Callable[[], HasseDiagram | PosetForest],
) -> None:
    engine = engine_of(poset, "x < 8", "not x >= 8", "x < 2")
    assert (len(engine), len(engine._poset)) == (3, 2)
    assert engine.match({"x": 5}) == [0, 1]
    engine.remove(0)
    engine.validate()
    assert engine.match({"x": 1}) == [1, 2]
    engine.remove(1)
    engine.validate()
    assert engine.match({"x": 1}) == [2]
    assert not engine.match_any({"x": 5})


@POSETS
def test_match_any_tests_no_more_than_the_roots(
    poset: Callable[[], HasseDiagram | PosetForest], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = engine_of(poset, "x < 8", "x < 5", "x < 2")
    tested: list[Filter] = []
    accepts = Filter.accepts

    def noted(self: Filter, record: Record) -> bool:
        tested.append(self)
        return accepts(self, record)

    monkeypatch.setattr(Filter, "accepts", noted)
    assert engine.match_any({"x": 1})
    assert not engine.match_any({"x": 9})
    assert tested == [parse_filter("x < 8")] * 2


@POSETS
def test_engine_is_restored_from_its_filters(
    poset: Callable[[], HasseDiagram | PosetForest], tmp_path: Path
) -> None:
    engine = engine_of(poset, "x < 8", "x < 2")
    engine.save(tmp_path)
    restored = PosetEngine(poset())
    restored.load(tmp_path, enumerate(map(parse_filter, ("x < 8", "x < 2"))))
    restored.validate()
    assert restored.match({"x": 1}) == engine.match({"x": 1}) == [0, 1]


def test_validate_finds_a_node_that_no_slot_needs() -> None:
    engine = engine_of(HasseDiagram, "x < 8")
    engine._poset.add(7, parse_filter("y < 8"))
    with pytest.raises(InvariantError, match="distinct filters"):
        engine.validate()


@given(
    held=st.lists(st.tuples(st.one_of(boxes(), RELATED), st.integers(0, 4)), max_size=12),
    records=st.lists(
        st.one_of(some.records(), st.dictionaries(st.sampled_from("abc"), st.integers(0, 4))),
        min_size=1,
        max_size=4,
    ),
)
@settings(max_examples=examples(80))
def test_all_engines_name_the_same_interfaces_for_every_record(
    held: list[tuple[Filter, int]], records: list[Record]
) -> None:
    engines: list[Engine] = [
        PosetEngine(HasseDiagram()),
        PosetEngine(PosetForest()),
        CountingEngine(),
        KdTreeEngine(),
    ]
    for slot, (wanted, _) in enumerate(held):
        for engine in engines:
            engine.add(slot, wanted)
    for record in records:
        expected = {interface for wanted, interface in held if wanted.accepts(record)}
        for engine in engines:
            assert {held[slot][1] for slot in engine.match(record)} == expected


class SienaPosetMachine(EngineMachine):
    def engine(self) -> Engine:
        return PosetEngine(HasseDiagram())


class PosetForestMachine(EngineMachine):
    def engine(self) -> Engine:
        return PosetEngine(PosetForest())


TestSienaPosetMachine = SienaPosetMachine.TestCase
TestSienaPosetMachine.settings = settings(max_examples=examples(25), stateful_step_count=20)
TestPosetForestMachine = PosetForestMachine.TestCase
TestPosetForestMachine.settings = settings(max_examples=examples(25), stateful_step_count=20)
