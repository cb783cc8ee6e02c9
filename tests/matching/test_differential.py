"""All engines against the reference, on whatever Hypothesis comes up with."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, rule

from sapwood import parse_filter
from sapwood.language.parser import parse
from sapwood.language.syntax import Node
from sapwood.matching.engines import ENGINES, EngineInfo
from sapwood.matching.index import Index
from sapwood.matching.protocol import Engine
from sapwood.matching.reference import holds
from sapwood.model.filter import Filter
from sapwood.model.publication import Record
from tests.examples import examples
from tests.matching.tabled import Tabled, tables
from tests.matching.variants import VARIANTS
from tests.strategies import filter_texts, filters, records

EXACT = tuple(info for info in VARIANTS if info.name != "reference")
"""All of them are asked about each example: to draw one takes longer than to match it."""


@given(texts=st.lists(filter_texts(), max_size=8), asked=st.lists(records(), max_size=5))
def test_engines_match_what_the_reference_matches(texts: list[str], asked: list[Record]) -> None:
    wanted = [parse_filter(text) for text in texts]
    expected = _filled(ENGINES["reference"], wanted)
    each = [expected.match(record) for record in asked]
    any_of_each = [expected.match_any(record) for record in asked]
    expected_offsets, expected_slots = expected.match_slots(asked)
    for info in EXACT:
        engine = _filled(info, wanted)
        engine.validate()
        assert [engine.match(record) for record in asked] == each, info.name
        assert [engine.match_any(record) for record in asked] == any_of_each, info.name
        offsets, slots = engine.match_slots(asked)
        assert offsets.tolist() == expected_offsets.tolist(), info.name
        assert slots.tolist() == expected_slots.tolist(), info.name
        assert (offsets.dtype, slots.dtype) == (expected_offsets.dtype, expected_slots.dtype)


def _filled(info: EngineInfo, wanted: list[Filter]) -> Engine:
    engine: Engine = info.make()
    for slot, one in enumerate(wanted):
        engine.add(slot, one)
    return engine


@given(
    texts=st.lists(filter_texts(), max_size=8),
    removed=st.sets(st.integers(0, 7), max_size=2),
    tabled=tables(),
)
def test_engines_match_in_columns_what_the_reference_matches_in_records(
    texts: list[str], removed: set[int], tabled: Tabled
) -> None:
    gone = removed & set(range(len(texts)))
    reference = Index("reference")
    for slot, text in enumerate(texts):
        reference.add(f"s{slot}", text)
    for slot in gone:
        reference.remove(f"s{slot}")
    expected = reference.match_slots(tabled.records)
    for info in EXACT:
        index = Index(info)
        for slot, text in enumerate(texts):
            index.add(f"s{slot}", text)
            index.match_slots(tabled.table)  # may fold, so that there are several segments
        for slot in gone:
            index.remove(f"s{slot}")
        found = index.match_slots(tabled.table)
        assert found.offsets.tolist() == expected.offsets.tolist(), info.name
        assert found.slots.tolist() == expected.slots.tolist(), info.name
        in_any_order = index.match_slots(tabled.table, in_order=False)
        for first, last in pairwise(expected.offsets.tolist()):
            ascending = sorted(in_any_order.slots[first:last])
            assert ascending == expected.slots[first:last].tolist(), info.name


@settings(max_examples=examples(40))
@given(wanted=filters(), record=records())
def test_engines_agree_with_the_filter_itself(wanted: Filter, record: Record) -> None:
    accepted = [0] if wanted.accepts(record) else []
    for info in EXACT:
        engine = info.make()
        engine.add(0, wanted)
        assert engine.match(record) == accepted, info.name


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
TestChurn.settings = settings(max_examples=examples(25), stateful_step_count=30)
