"""Snapshots that matches read: each stays what it was, whatever the engine does meanwhile."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from types import MappingProxyType

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood import parse_filter
from sapwood.matching.columnar.compaction import CompactionPolicy
from sapwood.matching.columnar.engine import ColumnarEngine
from sapwood.matching.columnar.snapshot import MatchPairs, Snapshot
from sapwood.model.filter import Filter
from sapwood.model.publication import Record
from tests.examples import examples
from tests.matching.columnar import plain_kernels
from tests.strategies import filters, records

POLICY = CompactionPolicy(smallest=2, memtable_max=2, frozen_max=4, joined_max=8, compaction_cost=2)


def snapshot_of(*texts: str) -> Snapshot:
    engine = ColumnarEngine(POLICY, kernels=plain_kernels)
    for slot, text in enumerate(texts):
        engine.add(slot, parse_filter(text))
    return engine._snapshot_for(())


@settings(max_examples=examples(25))
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
    snapshot = engine._snapshot_for(())
    for slot, each in enumerate(later, len(first)):
        engine.add(slot, each)
        engine.match({})
    engine.fold()
    engine.validate()
    for record in asked:
        expected = [slot for slot, each in enumerate(first) if each.accepts(record)]
        assert sorted(snapshot.found((record,)).tolist()) == expected
        assert sorted(snapshot.found_many([record]).slots.tolist()) == expected


def test_snapshot_cannot_be_changed() -> None:
    snapshot = snapshot_of("a = 1")
    with pytest.raises(FrozenInstanceError):
        snapshot.segments = ()  # type: ignore[misc]
    assert isinstance(snapshot.segments, tuple)
    assert isinstance(snapshot.memtable, MappingProxyType)
    assert isinstance(snapshot.predicates, tuple)
    with pytest.raises(TypeError):
        snapshot.searcher.numbers["b"] = 1  # type: ignore[index]


def test_as_many_as_are_enough_are_looked_for_in_the_memtable_first() -> None:
    snapshot = snapshot_of("a = 1", "a = 1")
    assert len(snapshot.memtable) == 2
    assert snapshot.found(({"a": 1},), 1).tolist() == [0, 1]
    assert snapshot.found(({"a": 2},), 1).tolist() == []


def test_touched_bytes_are_none_where_there_is_nothing_but_a_memtable() -> None:
    assert snapshot_of("a = 1").touched_bytes([{"a": 1}]) == 0.0
    assert snapshot_of("a = 1", "a = 2", "a = 3").touched_bytes([{"a": 1}]) > 0.0


def test_pairs_are_sorted_by_record_and_slot() -> None:
    pairs = MatchPairs()
    pairs.add(np.array([2, 0, 0]), np.array([5, 9, 1], np.int32))
    pairs.add(np.array([0]), np.array([4], np.int32))
    offsets, slots = pairs.batch(3)
    assert offsets.tolist() == [0, 3, 3, 4]
    assert slots.tolist() == [1, 4, 9, 5]
    assert slots.dtype == np.int32


def test_pairs_that_repeat_are_told_once() -> None:
    pairs = MatchPairs()
    pairs.add(np.array([0, 0, 1]), np.array([0, 0, 0], np.int32))
    pairs.repeats = True
    assert pairs.batch(2).slots.tolist() == [0, 0]


def test_no_pairs_are_an_empty_batch() -> None:
    assert MatchPairs().batch(2).offsets.tolist() == [0, 0, 0]
