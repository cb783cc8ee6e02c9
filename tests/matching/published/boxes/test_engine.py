"""The compiled engines of boxes: exact for every shape of filter, compiled or not."""

from __future__ import annotations

import math
from typing import Final

import pytest
from hypothesis import settings

from sapwood import parse_filter
from sapwood.errors import InvariantError
from sapwood.matching.protocol import Engine
from sapwood.matching.published.boxes import CountingBoxes, KdTreeBoxes
from sapwood.matching.published.boxes.kernels.choice import BOXES
from sapwood.matching.readiness import Awaiting
from sapwood.model.publication import Record
from sapwood_lab.workload.records.boxes import boxes
from tests.examples import examples
from tests.matching.engine_laws import EngineMachine
from tests.matching.switched import Nobody, Switched

Boxes = CountingBoxes | KdTreeBoxes
KINDS: Final = (CountingBoxes, KdTreeBoxes)
FEW: Final = 2
"""Rows that are scanned: with more there is a structure."""


def made(kind: type[Boxes], *, is_on: bool = True) -> Boxes:
    return kind(Awaiting(Switched(BOXES, is_on=is_on), Nobody(), every=1), FEW)


def engine_of(kind: type[Boxes], *texts: str, is_on: bool = True) -> Boxes:
    engine = made(kind, is_on=is_on)
    for slot, text in enumerate(texts):
        engine.add(slot, parse_filter(text))
    engine.validate()
    return engine


@pytest.mark.parametrize("is_on", [True, False])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({"a": 5}, [0, 2, 4]),
        ({"a": 10}, [2, 4]),
        ({"a": 5, "b": 1}, [0, 1, 2, 4]),
        ({"a": "x"}, [2, 3]),
        ({"a": True}, [2]),
        ({}, [2]),
        ({"a": math.inf}, [2]),
        ({"a": -math.inf, "b": 1.5}, [0, 1, 2, 4]),
        ({"a": 0.5, "b": 7}, [0, 1, 2, 4]),
    ],
)
def test_engine_matches_boxes_and_other_shapes(
    kind: type[Boxes], record: Record, expected: list[int], *, is_on: bool
) -> None:
    texts = (
        "a < 10",
        "a <= 5 and b >= 1",
        "true",
        "a = 'x'",
        "a <= 10",
        "false",
        "a > 5 and c = 1",
    )
    engine = engine_of(kind, *texts, is_on=is_on)
    assert engine.match(record) == expected
    assert engine.match_any(record) is True
    assert engine.match_count(record) == len(expected)


@pytest.mark.parametrize("kind", KINDS)
def test_engine_reports_a_filter_with_several_boxes_once(kind: type[Boxes]) -> None:
    several = "a > 1 and a < 9 or b > 1 and b < 9 or c = 'x'"
    engine = engine_of(kind, several, "a = 1", "a = 2", "b = 3")
    record: Record = {"a": 5, "b": 5, "c": "x"}
    assert engine.match(record) == [0]
    assert engine.found(record).tolist() == [0]
    engine.remove(0)
    engine.validate()
    assert engine.match(record) == []
    assert not engine.match_any(record)


@pytest.mark.parametrize("kind", KINDS)
def test_whole_numbers_that_doubles_do_not_tell_apart_are(kind: type[Boxes]) -> None:
    large = 2**53
    engine = engine_of(
        kind, f"a >= {large + 1}", f"a < {large + 1}", f"a > {large}", f"a >= {large}",
        f"a <= {large + 2}", f"a between {large} and {large + 2}",
    )  # fmt: skip
    assert engine.match({"a": large + 1}) == [0, 2, 3, 4, 5]
    assert engine.match({"a": float(large)}) == [1, 3, 4, 5]
    assert engine.match({"a": large + 3}) == [0, 2, 3]
    assert engine.match({"a": -(large + 1)}) == [1, 4]


@pytest.mark.parametrize("kind", KINDS)
def test_open_ends_exclude_exactly_themselves(kind: type[Boxes]) -> None:
    engine = engine_of(kind, "a > 5 and a < 6", "a > 5", "a < 6", "a >= 5 and a <= 6")
    assert engine.match({"a": 5}) == [2, 3]
    assert engine.match({"a": math.nextafter(5, 6)}) == [0, 1, 2, 3]
    assert engine.match({"a": math.nextafter(6, 5)}) == [0, 1, 2, 3]
    assert engine.match({"a": 6}) == [1, 3]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("limit", [1, 3, 1000])
def test_a_limit_ends_the_search(kind: type[Boxes], limit: int) -> None:
    workload = boxes("uniform", 0.2)
    engine, filters = made(kind), [one.record_filter for one in workload.subscriptions(300, 1)]
    for slot, wanted in enumerate(filters):
        engine.add(slot, wanted)
    for publication in workload.publications(20, 1):
        accepting = {slot for slot, one in enumerate(filters) if one.accepts(publication.record)}
        found = engine.found(publication.record, limit).tolist()
        assert len(found) == min(limit, len(accepting))
        assert set(found) <= accepting
        assert engine.match(publication.record) == sorted(accepting)


@pytest.mark.parametrize("kind", KINDS)
def test_a_batch_ends_after_enough_matches(kind: type[Boxes]) -> None:
    engine = engine_of(kind, "a > 1", "a > 2", "a > 3", "a > 4")
    batch = engine.found_many([{"a": 9}, {}, {"a": 3}, {"a": 9}], max_matches=5)
    assert batch.offsets.tolist() == [0, 4, 4, 6]
    assert sorted(batch.slots[4:].tolist()) == [0, 1]


@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_are_removed_go_once_they_are_half(kind: type[Boxes]) -> None:
    engine = engine_of(kind, *(f"a >= {low}" for low in range(20)))
    assert engine.match({"a": 3}) == [0, 1, 2, 3]
    for slot in range(19):
        engine.remove(slot)
        engine.validate()
        assert engine.match({"a": 30}) == [*range(slot + 1, 20)]
    assert engine._boxes.count < 3


@pytest.mark.parametrize("kind", KINDS)
def test_validate_finds_a_row_that_is_not_its_slots(kind: type[Boxes]) -> None:
    engine = engine_of(kind, "a < 10", "a > 3")
    engine._boxes.slots[0] = 1
    with pytest.raises(InvariantError, match="slot 0"):
        engine.validate()
    engine._boxes.slots[0] = 0
    engine._boxes.remove(1)
    with pytest.raises(InvariantError, match="rows"):
        engine.validate()


class CountingMachine(EngineMachine):
    def engine(self) -> Engine:
        return made(CountingBoxes)


class KdTreeMachine(EngineMachine):
    def engine(self) -> Engine:
        return made(KdTreeBoxes)


class PlainMachine(EngineMachine):
    def engine(self) -> Engine:
        return made(CountingBoxes, is_on=False)


TestCountingMachine = CountingMachine.TestCase
TestKdTreeMachine = KdTreeMachine.TestCase
TestPlainMachine = PlainMachine.TestCase
for machine in (TestCountingMachine, TestKdTreeMachine, TestPlainMachine):
    machine.settings = settings(max_examples=examples(40), stateful_step_count=20)
