from __future__ import annotations

from typing import Any

import pytest

from sapwood import parse_filter, parse_xpath
from sapwood.errors import InputError
from sapwood.language.forms import encode_form
from sapwood.limits.pipeline import (
    BROADCAST_FILTER_CHARS_MAX,
    BROADCAST_SUBSCRIPTIONS_MAX,
    SHARD_SUBSCRIPTIONS_MAX,
)
from sapwood.pipeline.matching.output import Output
from sapwood.pipeline.matching.sharding import (
    Layout,
    ShardMatchWorker,
    layout_for,
    match_sharded,
    read_attributes,
    shards_for,
)
from sapwood.pipeline.tables.publications import Carried, shape_of
from tests.pipeline.samples import SCHEMA, expected, filters, pairs, publications

pa = pytest.importorskip("pyarrow")


def test_layout_for_goes_by_the_size_unless_told() -> None:
    assert layout_for(1, 10) is Layout.BROADCAST
    assert layout_for(BROADCAST_SUBSCRIPTIONS_MAX + 1, 10) is Layout.SHARDED
    assert layout_for(1, BROADCAST_FILTER_CHARS_MAX + 1) is Layout.SHARDED
    assert layout_for(1, 10, Layout.SHARDED) is Layout.SHARDED
    assert layout_for(10**9, 10, Layout.BROADCAST) is Layout.BROADCAST


def test_shards_for_keeps_all_tasks_busy_and_shards_small() -> None:
    assert shards_for(0, 0) == 1
    assert shards_for(10, 4) == 4
    assert shards_for(8 * SHARD_SUBSCRIPTIONS_MAX + 1, 4) == 9


def batch(rows: list[tuple[Any, ...]]) -> Any:
    names = ["shard", "kind", "form", "id", "attribute0"]
    types = [pa.int32(), pa.int32(), pa.binary(), pa.string(), pa.int64()]
    columns = list(zip(*rows, strict=True))
    arrays = [pa.array(c, t) for c, t in zip(columns, types, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=names)


def form(text: str) -> bytes:
    return encode_form(parse_filter(text))


def matched(batches: list[Any], output: Output) -> list[tuple[Any, ...]]:
    function = ShardMatchWorker(Carried(("n",)), "counting", output)
    return sorted(
        tuple(row.values()) for found in function(iter(batches)) for row in found.to_pylist()
    )


def test_a_task_takes_one_shard_after_the_other() -> None:
    first = [(0, 0, form("n < 2"), "low", None), (0, 0, form("true"), "all", None)]
    published = [(0, 1, None, "p", 1), (0, 1, None, "q", 5)]
    second = [(3, 0, form("n > 2"), "high", None), (3, 1, None, "p", 1), (3, 1, None, "q", 5)]
    rows = [*first, *published, *second]
    for cut in range(1, len(rows)):
        pieces = [batch(rows[:cut]), batch(rows[cut:])]
        assert matched(pieces, Output.PAIRS) == [
            ("p", "all"),
            ("p", "low"),
            ("q", "all"),
            ("q", "high"),
        ]
        assert matched(pieces, Output.COUNTS) == [("all", 2), ("high", 1), ("low", 1)]


def test_a_shard_may_lack_either_side() -> None:
    lone = [(0, 1, None, "p", 1), (1, 0, form("true"), "all", None), (2, 1, None, "q", 1)]
    for output in (Output.PAIRS, Output.COUNTS, Output.LISTS):
        assert matched([batch(lone)], output) == []
    assert list(ShardMatchWorker(Carried(("n",)), "counting", Output.PAIRS)(iter([]))) == []


@pytest.mark.spark
@pytest.mark.parametrize("output", [Output.PAIRS, Output.LISTS])
def test_shards_deliver_what_brute_force_delivers(spark: Any, output: Output) -> None:
    records, wanted = publications(150, seed=1), filters(60, seed=2)
    table = spark.createDataFrame(list(records.items()), SCHEMA)
    rows = [(id_, bytearray(form(text))) for id_, text in wanted.items()]
    subscriptions = spark.createDataFrame(rows, "id STRING, attributes BINARY")
    found = match_sharded(table, shape_of(table), subscriptions, shards=3, output=output)
    truth = expected(records, wanted)
    assert len(truth) > 500
    if output is Output.PAIRS:
        assert pairs(found) == truth
    else:
        lists = {row["publication"]: row["subscriptions"] for row in found.collect()}
        assert lists == {p: [s for q, s in truth if q == p] for p in {p for p, _ in truth}}


@pytest.mark.spark
def test_shards_deliver_documents_beside_records(spark: Any) -> None:
    table = spark.createDataFrame(
        [
            ("both", (1,), "<a><b/></a>"),
            ("document", None, "<a/>"),
            ("record", (1,), None),
            ("broken", None, "<a>"),
        ],
        "id STRING, attributes STRUCT<x: INT>, document STRING",
    )
    forms = [("x", form("x = 1")), ("b", encode_form(parse_xpath("/a/b"))), ("n", form("x = 2"))]
    forms.append(("a", encode_form(parse_xpath("/a"))))
    schema = "id STRING, attributes BINARY"
    some = spark.createDataFrame([(id_, bytearray(text)) for id_, text in forms], schema)
    for shards in (1, 3):
        found = match_sharded(table, shape_of(table), some, shards=shards)
        assert pairs(found) == [
            ("both", "a"),
            ("both", "b"),
            ("both", "x"),
            ("document", "a"),
            ("record", "x"),
        ]


@pytest.mark.long
@pytest.mark.spark
def test_shards_take_records_as_text_and_empty_sides(spark: Any) -> None:
    table = spark.createDataFrame(
        [("p", '{"x": 1}'), ("q", "nope")], "id STRING, attributes STRING"
    )
    schema = "id STRING, attributes BINARY"
    some = spark.createDataFrame([("s", bytearray(form("x = 1")))], schema)
    shape = shape_of(table)
    assert pairs(match_sharded(table, shape, some, shards=2)) == [("p", "s")]
    assert read_attributes(some) == ("x",)
    assert pairs(match_sharded(table.limit(0), shape, some, shards=2)) == []
    assert pairs(match_sharded(table, shape, some.limit(0), shards=2)) == []
    with pytest.raises(InputError, match="at least one shard"):
        match_sharded(table, shape, some, shards=0)
