"""The k-d tree engine: exact for every shape of filter."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

from sapwood import parse_filter
from sapwood.errors import InvariantError
from sapwood.matching.protocol import Engine
from sapwood.matching.published.kdtree import KdTreeEngine
from sapwood.model.publication import Publication, Record
from sapwood_lab.workload.records import WORKLOADS
from tests.examples import examples
from tests.matching.engine_laws import EngineMachine


def engine_of(*texts: str) -> KdTreeEngine:
    engine = KdTreeEngine()
    for slot, text in enumerate(texts):
        engine.add(slot, parse_filter(text))
    engine.validate()
    return engine


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({"a": 5}, [0, 2, 4]),
        ({"a": 10}, [2, 4]),
        ({"a": 5, "b": 1}, [0, 1, 2, 4]),
        ({"a": "x"}, [2, 3]),
        ({"a": True}, [2]),
        ({}, [2]),
        ({"a": float("inf")}, [2]),
        ({"a": float("-inf"), "b": 1.5}, [0, 1, 2, 4]),
    ],
)
def test_engine_matches_boxes_and_other_shapes(record: Record, expected: list[int]) -> None:
    engine = engine_of("a < 10", "a <= 5 and b >= 1", "true", "a = 'x'", "a <= 10", "false")
    assert engine.match(record) == expected
    assert engine.match_any(record) is True


def test_engine_reports_a_filter_with_several_boxes_once() -> None:
    engine = engine_of("a > 1 and a < 9 or b > 1 and b < 9 or c = 'x'")
    assert engine.match({"a": 5, "b": 5, "c": "x"}) == [0]
    engine.remove(0)
    engine.validate()
    assert engine.match({"a": 5, "b": 5, "c": "x"}) == []
    assert not engine.match_any({"a": 5, "b": 5, "c": "x"})


def test_engine_tells_neighboring_integers_apart_that_floats_cannot() -> None:
    engine = engine_of(f"a >= {2**53 + 1}", f"a < {2**53 + 1}", f"a > {2**53}")
    assert engine.match({"a": 2**53 + 1}) == [0, 2]
    assert engine.match({"a": float(2**53)}) == [1]


@pytest.mark.parametrize("workload", sorted(WORKLOADS))
@pytest.mark.one_in(3)
def test_engine_agrees_with_the_filters_on_the_workloads(workload: str) -> None:
    subscriptions = list(WORKLOADS[workload].subscriptions(1500, 7))
    engine = KdTreeEngine()
    for slot, subscription in enumerate(subscriptions):
        engine.add(slot, subscription.record_filter)
    for slot in range(0, 1500, 3):
        engine.remove(slot)
    engine.validate()
    publications: list[Publication] = list(WORKLOADS[workload].publications(20, 7))
    for publication in publications:
        expected = [
            slot
            for slot, subscription in enumerate(subscriptions)
            if slot % 3 and subscription.record_filter.accepts(publication.record)
        ]
        assert engine.match(publication.record) == expected
        assert engine.match_any(publication.record) == bool(expected)


def test_engine_is_restored_from_its_filters(tmp_path: Path) -> None:
    engine = engine_of("a < 10", "a = 'x' or b > 3")
    engine.save(tmp_path)
    restored = KdTreeEngine()
    restored.load(tmp_path, enumerate(map(parse_filter, ("a < 10", "a = 'x' or b > 3"))))
    restored.validate()
    assert restored.match({"a": "x", "b": 4}) == engine.match({"a": "x", "b": 4}) == [1]


def test_validate_finds_a_box_that_is_missing_from_its_tree() -> None:
    engine = engine_of("a < 10", "a > 3")
    engine._trees["a",].remove((0, 0))
    with pytest.raises(InvariantError, match="boxes"):
        engine.validate()


class KdTreeMachine(EngineMachine):
    def engine(self) -> Engine:
        return KdTreeEngine()


TestKdTreeMachine = KdTreeMachine.TestCase
TestKdTreeMachine.settings = settings(max_examples=examples(40), stateful_step_count=20)
