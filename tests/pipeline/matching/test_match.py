from __future__ import annotations

import json
import warnings
from typing import Any

import pytest

from sapwood import pipeline
from sapwood.errors import InputError, InvalidValueError
from sapwood.pipeline.matching.match import PipelineWarning, match
from sapwood.pipeline.matching.subscriptions import compile_subscriptions
from sapwood.pipeline.tables.publications import rejected_publications
from tests.pipeline.samples import SCHEMA, expected, filters, pairs, publications

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore:filters cannot see arrays"),
]

SUBSCRIPTIONS = "id STRING, filter STRING"


def subscribed(spark: Any, **wanted: str) -> Any:
    return spark.createDataFrame(list(wanted.items()), SUBSCRIPTIONS)


@pytest.fixture(scope="module")
def records() -> dict[str, Any]:
    return publications(400, seed=1)


@pytest.fixture(scope="module")
def wanted() -> dict[str, str]:
    return filters(120, seed=2)


@pytest.mark.parametrize("engine", ["columnar", "counting"])
def test_match_delivers_what_brute_force_delivers(
    spark: Any, records: dict[str, Any], wanted: dict[str, str], engine: str
) -> None:
    table = spark.createDataFrame(list(records.items()), SCHEMA).repartition(3)
    truth = expected(records, wanted)
    assert len(truth) > 1000
    assert pairs(match(table, subscribed(spark, **wanted), engine=engine)) == truth


@pytest.mark.long
def test_match_delivers_the_same_for_records_as_text(
    spark: Any, records: dict[str, Any], wanted: dict[str, str]
) -> None:
    finite = {
        id_: record for id_, record in records.items() if abs(record["x"] or 0) != float("inf")
    }
    assert len(finite) > 200
    rows = [(id_, json.dumps(record)) for id_, record in finite.items()]
    table = spark.createDataFrame(rows, "id STRING, attributes STRING")
    assert pairs(match(table, subscribed(spark, **wanted))) == expected(finite, wanted)


def test_match_keeps_types_apart(spark: Any) -> None:
    table = spark.createDataFrame(
        [("p", (True, 1, 1.0, "1", "true", 0.1))],
        "id STRING, attributes STRUCT<b: BOOLEAN, t: TINYINT, x: DOUBLE, s: STRING, w: STRING, "
        "f: FLOAT>",
    )
    wanted = {
        "boolean": "b and b = true and b <> false",
        "boolean is no number": "b = 1 or b > 0 or not b = 1 or w",
        "integer": "t = 1 and t = 1.0 and t < 1.5",
        "float": "x = 1",
        "text": "s = '1' and w = 'true'",
        "text is no number": "s = 1",
        "float of 32 bits": "f > 0.1 and f < 0.10000001",
    }
    found = pairs(match(table, subscribed(spark, **wanted)))
    assert [subscription for _, subscription in found] == [
        "boolean",
        "float",
        "float of 32 bits",
        "integer",
        "text",
    ]


def test_match_keeps_integers_exact(spark: Any) -> None:
    big = [(str(n), (n,)) for n in (2**53, 2**53 + 1, 2**63 - 1)]
    table = spark.createDataFrame(big, "id STRING, attributes STRUCT<n: BIGINT>")
    wanted = {"a": "n = 9007199254740993", "b": "n > 9007199254740992.0", "c": f"n >= {2**63 - 1}"}
    assert pairs(match(table, subscribed(spark, **wanted))) == [
        (str(2**53 + 1), "a"),
        (str(2**53 + 1), "b"),
        (str(2**63 - 1), "b"),
        (str(2**63 - 1), "c"),
    ]


def test_match_takes_null_as_absent_at_every_level(spark: Any) -> None:
    table = spark.createDataFrame(
        [("p", (None, (None,))), ("q", (None, None)), ("r", (1, (2,)))],
        "id STRING, attributes STRUCT<a: INT, d: STRUCT<e: INT>>",
    )
    wanted = {
        "null": "a is null and d.e is null",
        "there": "exists a and exists d.e",
        "d": "exists d",
    }
    found = pairs(match(table, subscribed(spark, **wanted)))
    assert found == [("p", "null"), ("q", "null"), ("r", "there")]


def test_match_delivers_nothing_for_a_row_that_is_no_publication(spark: Any) -> None:
    nan = float("nan")
    table = spark.createDataFrame(
        [
            ("good", (1.0, 2.0)),
            ("nan", (nan, 2.0)),
            ("unread nan", (1.0, nan)),
            (None, (1.0, 2.0)),
            ("", None),
        ],
        "id STRING, attributes STRUCT<x: DOUBLE, y: DOUBLE>",
    )
    found = pairs(match(table, subscribed(spark, all="true", x="x is null or x > 0")))
    assert found == [("good", "all"), ("good", "x")]
    assert rejected_publications(table).count() == 4


def test_match_delivers_nothing_for_a_text_that_is_no_record(spark: Any) -> None:
    rows = [("a", "{}"), ("b", "nope"), ("c", "[]"), ("d", '{"x": 1}'), ("e", None)]
    table = spark.createDataFrame(rows, "id STRING, attributes STRING").coalesce(1)
    found = pairs(match(table, subscribed(spark, all="true", absent="x is null")))
    assert found == [("a", "absent"), ("a", "all"), ("d", "all")]
    assert rejected_publications(table).count() == 3


@pytest.mark.parametrize("attributes", ["STRUCT<x: INT>", "STRING"])
def test_match_of_nothing_is_nothing(spark: Any, attributes: str) -> None:
    nothing = spark.createDataFrame([], f"id STRING, attributes {attributes}")
    value = (1,) if attributes.startswith("STRUCT") else '{"x": 1}'
    something = spark.createDataFrame([("p", value)], nothing.schema)
    nobody = spark.createDataFrame([], SUBSCRIPTIONS)
    somebody = subscribed(spark, s="x = 1")
    for published, wanted in ((nothing, somebody), (something, nobody), (nothing, nobody)):
        deliveries = match(published, wanted)
        assert deliveries.columns == ["publication", "subscription"]
        assert pairs(deliveries) == []
    assert pairs(match(something, somebody)) == [("p", "s")]


def test_match_reads_no_column_that_no_filter_reads(
    spark: Any, tmp_path: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(tmp_path / "publications")
    spark.createDataFrame([("p", (1, 2, ("x", 4)))], _WIDE).write.parquet(path)
    deliveries = match(spark.read.parquet(path), subscribed(spark, s="a = 1 and d.e = 'x'"))
    deliveries.explain("formatted")
    plan = capsys.readouterr().out
    assert "ReadSchema: struct<id:string,attributes:struct<a:int,d:struct<e:string>>>" in plan
    (arrows,) = (part for part in plan.split("\n\n") if ") MapInArrow\n" in part)
    assert "Input [3]: [id#" in arrows
    assert pairs(deliveries) == [("p", "s")]


_WIDE = "id STRING, attributes STRUCT<a: INT, b: INT, d: STRUCT<e: STRING, f: INT>>"


def test_match_says_once_what_was_set_aside(spark: Any) -> None:
    table = spark.createDataFrame([("p", ([1],))], "id STRING, attributes STRUCT<t: ARRAY<INT>>")
    with pytest.warns(PipelineWarning) as said:
        found = match(table, subscribed(spark, good="exists t", bad="t >"))
    (warning,) = said
    assert str(warning.message).startswith("1 subscriptions cannot be used, the first because of: ")
    assert warning.filename == __file__
    assert pairs(found) == [("p", "good")]


def test_match_with_a_compiled_set_compiles_once_and_says_nothing(spark: Any) -> None:
    compiled = compile_subscriptions(subscribed(spark, s="x = 1", bad=""))
    schema = "id STRING, attributes STRUCT<x: INT, t: ARRAY<INT>>"
    with warnings.catch_warnings():
        warnings.simplefilter("error", PipelineWarning)
        for id_ in ("p", "q"):
            table = spark.createDataFrame([(id_, (1, None))], schema)
            assert pairs(match(table, compiled)) == [(id_, "s")]


def test_match_takes_a_stream(spark: Any, tmp_path: Any) -> None:
    path = str(tmp_path / "publications")
    schema = "id STRING, attributes STRUCT<x: INT>"
    spark.createDataFrame([("p", (1,)), ("q", (2,))], schema).write.parquet(path)
    arriving = spark.readStream.schema(schema).parquet(path)
    deliveries = match(arriving, subscribed(spark, s="x = 1"), engine="counting")
    writer = deliveries.writeStream.format("memory").queryName("found")
    writer.trigger(availableNow=True).start().awaitTermination()
    assert pairs(spark.table("found")) == [("p", "s")]


def test_match_names_a_column_that_no_filter_can_read(spark: Any) -> None:
    table = spark.createDataFrame([], "id STRING, attributes STRUCT<d: DECIMAL(5, 2)>")
    with pytest.raises(InvalidValueError, match=r"attribute 'd': .*cast it to DOUBLE"):
        match(table, subscribed(spark, s="d > 1"))


def test_match_refuses_tables_of_another_kind(spark: Any) -> None:
    good = subscribed(spark, s="x = 1")
    with pytest.raises(InputError, match="as_publications"):
        match(good, good)
    with pytest.raises(InputError, match="text columns id and filter"):
        match(spark.createDataFrame([], SCHEMA), spark.createDataFrame([], SCHEMA))


def test_match_is_a_function_whatever_was_imported_before() -> None:
    assert pipeline.match is match
