"""What a match reads: it stays what it was, whatever the engine does meanwhile."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood import parse_filter
from sapwood.matching.columnar.compaction import FoldPolicy
from sapwood.matching.columnar.engine import ColumnarEngine
from sapwood.matching.columnar.snapshot import Snapshot
from sapwood.model.filter import Filter
from sapwood.model.publication import Record
from tests.matching.columnar import plain_kernels
from tests.strategies import filters, records

POLICY = FoldPolicy(smallest=2, tail_max=2, written_max=4, joined_max=8, fold_cost=2)


def snapshot_of(*texts: str) -> Snapshot:
    engine = ColumnarEngine(POLICY, kernels=plain_kernels)
    for slot, text in enumerate(texts):
        engine.add(slot, parse_filter(text))
    return engine._settled(())


@settings(max_examples=25)
@given(
    first=st.lists(filters(), min_size=1, max_size=9),
    later=st.lists(filters(), max_size=9),
    asked=st.lists(records(), min_size=1, max_size=4),
)
def test_snapshot_finds_what_was_there_when_it_was_taken(
    first: list[Filter], later: list[Filter], asked: list[Record]
) -> None:
    engine = ColumnarEngine(POLICY, kernels=plain_kernels)
    for slot, each in enumerate(first):
        engine.add(slot, each)
    snapshot = engine._settled(())
    for slot, each in enumerate(later, len(first)):
        engine.add(slot, each)
        engine.match({})
    engine.fold()
    engine.validate()
    for record in asked:
        expected = [slot for slot, each in enumerate(first) if each.accepts(record)]
        assert sorted(snapshot.found(record).tolist()) == expected
        assert sorted(snapshot.found_many([record]).slots.tolist()) == expected


def test_snapshot_cannot_be_changed() -> None:
    snapshot = snapshot_of("a = 1")
    with pytest.raises(FrozenInstanceError):
        snapshot.parts = ()  # type: ignore[misc]
    assert isinstance(snapshot.parts, tuple)
    assert isinstance(snapshot.tail, tuple)
    assert isinstance(snapshot.probes, tuple)
    with pytest.raises(TypeError):
        snapshot.searcher.numbers["b"] = 1  # type: ignore[index]


def test_as_many_as_are_enough_are_looked_for_in_the_tail_first() -> None:
    snapshot = snapshot_of("a = 1", "a = 1")
    assert len(snapshot.tail) == 2
    assert snapshot.found({"a": 1}, 1).tolist() == [0, 1]
    assert snapshot.found({"a": 2}, 1).tolist() == []


def test_touched_bytes_are_none_where_there_is_nothing_but_a_tail() -> None:
    assert snapshot_of("a = 1").touched_bytes([{"a": 1}]) == 0.0
    assert snapshot_of("a = 1", "a = 2", "a = 3").touched_bytes([{"a": 1}]) > 0.0
