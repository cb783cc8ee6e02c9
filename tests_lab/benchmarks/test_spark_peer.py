from __future__ import annotations

from typing import Any

import pytest

from sapwood import parse_filter
from sapwood.errors import InvalidValueError
from sapwood.matching.index import Index
from sapwood.model.subscription import Subscription
from sapwood_lab.benchmarks.spark_peer import (
    FORMULATIONS,
    Range,
    Wanted,
    peer_match,
    wanted,
    wanted_table,
)

FILTERS = {
    "s1": "c = 'v' and x between 1 and 2",
    "s2": "c = 'w' and x = 2 and y >= 5",
    "s3": "c = 'v' and x between 0 and 9 and y between 0 and 9",
}


def subscriptions(filters: dict[str, str]) -> list[Subscription]:
    return [Subscription(id_, parse_filter(text)) for id_, text in filters.items()]


def test_a_text_is_joined_and_numbers_are_ranges() -> None:
    found = wanted(subscriptions(FILTERS))
    assert found[0] == Wanted("s1", "c", "v", (Range("x", 1, 2),))
    assert found[1] == Wanted("s2", "c", "w", (Range("y", 5, float("inf")), Range("x", 2, 2)))


def test_of_several_numbers_the_rarest_is_joined() -> None:
    found = wanted(subscriptions({"s1": "a = 1 and b = 2", "s2": "a = 1 and b = 3"}))
    assert [(each.name, each.value) for each in found] == [("b", "2"), ("b", "3")]


@pytest.mark.parametrize("text", ["x > 1", "a = 'u' and b = 'v'", "a = 1 or b = 1"])
def test_what_the_peer_cannot_say_is_refused(text: str) -> None:
    with pytest.raises(InvalidValueError, match="the peer takes"):
        wanted(subscriptions({"s": text}))


@pytest.mark.spark
def test_all_formulations_deliver_what_the_index_does(spark: Any) -> None:
    records: dict[str, dict[str, Any]] = {
        "p1": {"c": "v", "x": 1.5, "y": 7.0},
        "p2": {"c": "w", "x": 2.0, "y": None},
        "p3": {"c": "w", "x": 2.0, "y": 5.0},
        "p4": {"c": None, "x": 1.0, "y": 1.0},
    }
    schema = "id STRING, attributes STRUCT<c: STRING, x: DOUBLE, y: DOUBLE>"
    rows = [(id_, tuple(record.values())) for id_, record in records.items()]
    published = spark.createDataFrame(rows, schema)
    index = Index(records="reference")
    for id_, text in FILTERS.items():
        index.add(id_, text)
    truth = sorted((id_, s) for id_, record in records.items() for s in index.match(record))
    assert truth == [("p1", "s1"), ("p1", "s3"), ("p3", "s2")]
    table = wanted_table(spark, wanted(subscriptions(FILTERS)), ["x", "y"])
    for formulation in FORMULATIONS:
        found = peer_match(published, table, ["x", "y"], ["c"], formulation)
        assert sorted(map(tuple, found.collect())) == truth
