"""All engines against the reference, on whatever Hypothesis comes up with."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from sapwood import parse_filter
from sapwood.language.parser import parse
from sapwood.language.syntax import Node
from sapwood.matching.engines import ENGINES, EngineInfo
from sapwood.matching.index import Index
from sapwood.matching.reference import holds
from sapwood.model.publication import Record
from tests.matching.tabled import Tabled, tables
from tests.matching.variants import VARIANTS
from tests.strategies import filter_texts, filters, records

EXACT = tuple(info for info in VARIANTS if info.name != "reference")


@pytest.mark.parametrize("info", EXACT, ids=lambda info: info.name)
@settings(max_examples=60, deadline=None)
@given(texts=st.lists(filter_texts(), max_size=8), asked=st.lists(records(), max_size=5))
def test_engine_matches_what_the_reference_matches(
    info: EngineInfo, texts: list[str], asked: list[Record]
) -> None:
    engine = info.make()
    reference = ENGINES["reference"].make()
    for slot, text in enumerate(texts):
        engine.add(slot, parse_filter(text))
        reference.add(slot, parse_filter(text))
    engine.validate()
    for record in asked:
        assert engine.match(record) == reference.match(record)
        assert engine.match_any(record) == reference.match_any(record)
    offsets, slots = engine.match_slots(asked)
    expected_offsets, expected_slots = reference.match_slots(asked)
    assert offsets.tolist() == expected_offsets.tolist()
    assert slots.tolist() == expected_slots.tolist()
    assert (offsets.dtype, slots.dtype) == (expected_offsets.dtype, expected_slots.dtype)


@pytest.mark.parametrize("info", EXACT, ids=lambda info: info.name)
@settings(max_examples=60, deadline=None)
@given(
    texts=st.lists(filter_texts(), max_size=8),
    removed=st.sets(st.integers(0, 7), max_size=2),
    tabled=tables(),
)
def test_engine_matches_in_columns_what_the_reference_matches_in_records(
    info: EngineInfo, texts: list[str], removed: set[int], tabled: Tabled
) -> None:
    index, reference = Index(info), Index("reference")
    for slot, text in enumerate(texts):
        index.add(f"s{slot}", text)
        reference.add(f"s{slot}", text)
        index.match_slots(tabled.table)  # may fold, so that there are several segments
    for slot in removed & set(range(len(texts))):
        index.remove(f"s{slot}")
        reference.remove(f"s{slot}")
    expected = reference.match_slots(tabled.records)
    found = index.match_slots(tabled.table)
    assert found.offsets.tolist() == expected.offsets.tolist()
    assert found.slots.tolist() == expected.slots.tolist()
    in_any_order = index.match_slots(tabled.table, in_order=False)
    for first, last in pairwise(expected.offsets.tolist()):
        assert sorted(in_any_order.slots[first:last]) == expected.slots[first:last].tolist()


@pytest.mark.parametrize("info", EXACT, ids=lambda info: info.name)
@settings(max_examples=40, deadline=None)
@given(wanted=filters(), record=records())
def test_engine_agrees_with_the_filter_itself(
    info: EngineInfo, wanted: Any, record: Record
) -> None:
    engine = info.make()
    engine.add(0, wanted)
    assert engine.match(record) == ([0] if wanted.accepts(record) else [])


class Churn(RuleBasedStateMachine):
    """Filters come and go in all engines at once; what they match is known from the trees."""

    names = Bundle("names")

    @initialize()
    def start(self) -> None:
        self.indexes = [Index(info) for info in EXACT]
        self.trees: dict[str, Node] = {}
        self.count = 0

    @rule(target=names, text=filter_texts())
    def add(self, text: str) -> str:
        name = f"s{self.count}"
        self.count += 1
        self.trees[name] = parse(text)
        for index in self.indexes:
            index.add(name, text)
        return name

    @rule(name=consumes(names))
    def remove(self, name: str) -> None:
        del self.trees[name]
        for index in self.indexes:
            index.remove(name)

    @rule(record=records())
    def match(self, record: Record) -> None:
        wanted = sorted(name for name, tree in self.trees.items() if holds(tree, record))
        for index in self.indexes:
            assert index.match(record) == wanted, index.engine.name
            assert index.match_any(record) is bool(wanted), index.engine.name

    @rule(several=st.lists(records(), max_size=3))
    def match_many(self, several: list[Record]) -> None:
        wanted = [
            sorted(name for name, tree in self.trees.items() if holds(tree, record))
            for record in several
        ]
        for index in self.indexes:
            assert index.match_many(several) == wanted, index.engine.name

    @invariant()
    def is_consistent(self) -> None:
        for index in getattr(self, "indexes", ()):
            index.validate()
            assert len(index) == len(self.trees)


TestChurn = Churn.TestCase
TestChurn.settings = settings(max_examples=25, stateful_step_count=30, deadline=None)
