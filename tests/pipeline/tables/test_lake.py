from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import FileFormatError, InputError
from sapwood.pipeline.matching.match import match
from sapwood.pipeline.matching.output import Output
from sapwood.pipeline.matching.subscriptions import compile_subscriptions
from sapwood.pipeline.spark.faults import spark_faults
from sapwood.pipeline.tables.lake import Size, good_rows, open_lake, parts_of
from sapwood.pipeline.tables.publications import rejected_publications
from tests.pipeline.samples import SCHEMA, expected, filters, pairs, publications

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

SUBSCRIPTIONS = "id STRING, filter STRING"

spark_only = pytest.mark.spark
ignore_arrays = pytest.mark.filterwarnings("ignore:filters cannot see arrays")

sizes = st.lists(st.lists(st.integers(1, 1 << 28), max_size=6), max_size=6)


def subscribed(spark: Any, **wanted: str) -> Any:
    return spark.createDataFrame(list(wanted.items()), SUBSCRIPTIONS)


def stored(path: Path, rows: list[dict[str, Any]], schema: Any = None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, schema), path)


@given(given=sizes, tasks=st.integers(1, 40))
def test_parts_hold_each_row_group_once_and_in_order(given: list[list[int]], tasks: int) -> None:
    files = [Size(f"f{number:02}", tuple(groups)) for number, groups in enumerate(given)]
    parts = parts_of(files, tasks)
    found = [(g.file, number) for part in parts for g in part for number in g.numbers]
    assert found == [(size.file, n) for size in files for n in range(len(size.groups))]
    taken = {(size.file, n): b for size in files for n, b in enumerate(size.groups)}
    held = [[taken[g.file, n] for g in part for n in g.numbers] for part in parts]
    total = sum(taken.values())
    most = min(max(-(-total // tasks), 4 << 20), 128 << 20)
    assert all(len(each) == 1 or sum(each) <= most for each in held)
    # None could have been joined with the one before.
    assert all(sum(a) + b[0] > most for a, b in pairwise(held))
    assert all(len({g.file for g in part}) == len(part) for part in parts)


@spark_only
@ignore_arrays
def test_a_lake_gives_what_its_table_gives(spark: Any, tmp_path: Path) -> None:
    records, wanted = publications(400, seed=5), filters(80, seed=6)
    table = spark.createDataFrame(list(records.items()), SCHEMA).repartition(3)
    table.write.parquet(str(tmp_path / "a lake+more"))
    lake = open_lake(spark, str(tmp_path / "a lake+more"))
    assert lake.parts
    compiled = compile_subscriptions(subscribed(spark, **wanted))
    assert pairs(match(lake, compiled)) == expected(records, wanted)
    for output in (Output.LISTS, Output.COUNTS):
        found = match(lake, compiled, output=output).collect()
        same = match(lake.table, compiled, output=output).collect()
        assert sorted(map(str, found)) == sorted(map(str, same))


@pytest.mark.long
@spark_only
def test_a_lake_of_text_and_documents(spark: Any, tmp_path: Path) -> None:
    rows = [
        ("a", json.dumps({"x": 1}), "<order><item/></order>"),
        ("b", json.dumps({"x": 2}), None),
        ("c", None, "<order/>"),
        ("d", "no JSON", "<order><item/></order>"),
        ("e", None, None),
        (None, "{}", "<order/>"),
    ]
    schema = "id STRING, attributes STRING, document STRING"
    spark.createDataFrame(rows, schema).coalesce(1).write.parquet(str(tmp_path / "lake"))
    lake = open_lake(spark, str(tmp_path / "lake"))
    assert lake.parts
    wanted = [("x", "x > 0", None), ("item", None, "/order/item"), ("all", "true", None)]
    subscriptions = spark.createDataFrame(wanted, "id STRING, filter STRING, xpath STRING")
    found = pairs(match(lake, subscriptions))
    assert found == pairs(match(lake.table, subscriptions))
    assert ("a", "item") in found
    assert ("c", "item") not in found
    records_only = subscribed(spark, x="x > 0", all="true")
    assert pairs(match(lake, records_only)) == [("a", "all"), ("a", "x"), ("b", "all"), ("b", "x")]


@spark_only
def test_rows_that_are_no_publications_are_passed_over(spark: Any, tmp_path: Path) -> None:
    nan = float("nan")
    rows = [
        ("good", (1.0, 2.0)),
        ("nan", (nan, 2.0)),
        ("unread nan", (1.0, nan)),
        (None, (1.0, 2.0)),
        ("", (1.0, 2.0)),
        ("nothing", None),
    ]
    schema = "id STRING, attributes STRUCT<x: DOUBLE, y: DOUBLE>"
    spark.createDataFrame(rows, schema).write.parquet(str(tmp_path / "lake"))
    lake = open_lake(spark, str(tmp_path / "lake"))
    found = pairs(match(lake, subscribed(spark, all="true", x="x is null or x > 0")))
    assert found == [("good", "all"), ("good", "x")]
    assert good_rows(lake) == 1
    assert rejected_publications(lake.table).count() == len(rows) - 1


@pytest.mark.long
@spark_only
def test_rows_of_texts_and_documents_are_not_counted_unread(spark: Any, tmp_path: Path) -> None:
    schemas = ("id STRING, attributes STRING", f"{SCHEMA}, document STRING", SCHEMA)
    for number, schema in enumerate(schemas):
        path = str(tmp_path / str(number))
        spark.createDataFrame([], schema).write.parquet(path)
        lake = open_lake(spark, path)
        # A table without a row has no row groups either.
        assert good_rows(lake) is None
    record = {"n": 1, "x": 1.0, "b": None, "s": None, "d": None, "unread": None, "t": None}
    spark.createDataFrame([("p", record)], SCHEMA).write.parquet(str(tmp_path / "one"))
    assert good_rows(open_lake(spark, str(tmp_path / "one"))) == 1
    spark.createDataFrame([("p", "{}")], schemas[0]).write.parquet(str(tmp_path / "text"))
    assert good_rows(open_lake(spark, str(tmp_path / "text"))) is None


@pytest.mark.long
@spark_only
def test_files_may_have_different_columns(spark: Any, tmp_path: Path) -> None:
    stored(tmp_path / "day=1" / "a.parquet", [{"id": "a", "attributes": {"x": 1}}])
    stored(tmp_path / "day=2" / "b.parquet", [{"id": "b", "attributes": {"y": {"z": "t"}}}])
    stored(tmp_path / "day=2" / "c.parquet", [{"id": "c", "attributes": {"X": 5}}])
    lake = open_lake(spark, str(tmp_path))
    assert lake.parts
    wanted = subscribed(spark, x="x > 0", y="y.z = 't'", no="x is null")
    found = pairs(match(lake, wanted))
    assert found == pairs(match(lake.table, wanted))
    assert found == [("a", "x"), ("b", "no"), ("b", "y"), ("c", "x")]


@spark_only
@pytest.mark.parametrize("ids", [["no"], ["day", "no"]])
@pytest.mark.one_in(3)
def test_a_table_of_any_shape_is_a_lake(spark: Any, tmp_path: Path, ids: list[str]) -> None:
    rows = [(1, 7, 2.5, (True,)), (2, 8, None, (None,)), (None, 9, 2.5, None), (3, None, 2.5, None)]
    schema = "day INT, no BIGINT, x DOUBLE, d STRUCT<e: BOOLEAN>"
    spark.createDataFrame(rows, schema).write.parquet(str(tmp_path / "lake"))
    lake = open_lake(spark, str(tmp_path / "lake"), ids)
    assert lake.parts
    wanted = subscribed(spark, x="x > 2", e="d.e", day="day = 1 or day = 2", no="no >= 7")
    found = pairs(match(lake, wanted))
    assert found == pairs(match(lake.table, wanted))
    assert {publication for publication, _ in found} == (
        {"7", "8", "9"} if ids == ["no"] else {"1/7", "2/8"}
    )


@spark_only
def test_ids_that_are_no_whole_numbers_come_from_the_table(spark: Any, tmp_path: Path) -> None:
    rows = [(0.1, 1), (1e21, 2)]
    spark.createDataFrame(rows, "x DOUBLE, n INT").write.parquet(str(tmp_path / "lake"))
    lake = open_lake(spark, str(tmp_path / "lake"), ["x"])
    assert lake.parts is None
    assert pairs(match(lake, subscribed(spark, n="n > 0"))) == [("0.1", "n"), ("1.0E21", "n")]


@spark_only
def test_a_lake_without_rows_has_no_deliveries(spark: Any, tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.string()), ("attributes", pa.struct([("x", pa.int64())]))])
    stored(tmp_path / "none.parquet", [], schema)
    lake = open_lake(spark, str(tmp_path))
    assert pairs(match(lake, subscribed(spark, all="true"))) == []


@pytest.mark.long
@spark_only
def test_the_jvm_reads_what_workers_would_read_otherwise(spark: Any, tmp_path: Path) -> None:
    wanted = subscribed(spark, all="true")
    in_folder = tmp_path / "folders"
    stored(in_folder / "id=p1" / "a.parquet", [{"attributes": {"x": 1}}])
    lake = open_lake(spark, str(in_folder))
    assert lake.parts is None
    assert pairs(match(lake, wanted)) == [("p1", "all")]

    stored(tmp_path / "parted" / "x=5" / "a.parquet", [{"no": "p4", "y": 1}])
    lake = open_lake(spark, str(tmp_path / "parted"), ["no"])
    assert lake.parts is None
    assert pairs(match(lake, subscribed(spark, x="x = 5"))) == [("p4", "x")]

    plain = tmp_path / "plain"
    stored(plain / "a.parquet", [{"id": "p2", "attributes": {"x": 1}}])
    spark.conf.set("spark.sql.files.ignoreMissingFiles", "true")
    try:
        lake = open_lake(spark, str(plain))
    finally:
        spark.conf.unset("spark.sql.files.ignoreMissingFiles")
    assert lake.parts is None
    assert pairs(match(lake, wanted)) == [("p2", "all")]

    texts = pa.struct([("s", pa.dictionary(pa.int32(), pa.string()))])
    schema = pa.schema([("id", pa.string()), ("attributes", texts)])
    stored(tmp_path / "texts" / "a.parquet", [{"id": "p3", "attributes": {"s": "a"}}], schema)
    lake = open_lake(spark, str(tmp_path / "texts"))
    assert lake.parts is None
    assert pairs(match(lake, subscribed(spark, all="s = 'a'"))) == [("p3", "all")]


@spark_only
def test_a_file_that_vanishes_is_named(spark: Any, tmp_path: Path) -> None:
    stored(tmp_path / "a.parquet", [{"id": "p", "attributes": {"x": 1}}])
    lake = open_lake(spark, str(tmp_path))
    (tmp_path / "a.parquet").unlink()
    found = match(lake, subscribed(spark, all="true"))
    with pytest.raises(InputError, match=r"a\.parquet.*not where this executor"), spark_faults():
        found.collect()


@spark_only
def test_a_lake_that_is_not_there_is_named(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="no such file or folder"):
        open_lake(spark, str(tmp_path / "nowhere"))


@spark_only
@ignore_arrays
def test_a_lake_on_s3_gives_what_it_gives_here(spark: Any, s3: Any, tmp_path: Path) -> None:
    records, wanted = publications(200, seed=15), filters(40, seed=16)
    table = spark.createDataFrame(list(records.items()), SCHEMA).repartition(2)
    table.write.parquet(str(tmp_path / "a lake+more"))
    s3.copy(tmp_path / "a lake+more", "a lake+more")
    here = open_lake(spark, str(tmp_path / "a lake+more"))
    there = open_lake(spark, s3.uri("a lake+more").replace("s3:", "s3a:"))
    assert there.parts
    assert there.rows == len(records)
    assert there.table.schema.simpleString() == here.table.schema.simpleString()
    found, same = (sorted(map(str, lake.table.drop("file").collect())) for lake in (there, here))
    assert found == same
    names = {row["file"] for row in there.table.select("file").distinct().collect()}
    assert names == {
        f"s3a://sapwood/a lake+more/{path.name}"
        for path in (tmp_path / "a lake+more").glob("*.parquet")
    }
    compiled = compile_subscriptions(subscribed(spark, **wanted))
    assert pairs(match(there, compiled)) == expected(records, wanted)


@spark_only
@pytest.mark.long
def test_files_on_s3_may_have_any_shape_and_different_columns(
    spark: Any, s3: Any, tmp_path: Path
) -> None:
    stored(tmp_path / "a.parquet", [{"no": 1, "x": 1}, {"no": None, "x": 1}])
    stored(tmp_path / "b" / "b.parquet", [{"no": 2, "y": {"z": "t"}}, {"no": 3, "X": 5}])
    s3.copy(tmp_path, "shapes")
    wanted = subscribed(spark, x="x > 0", y="y.z = 't'", no="x is null")
    for path, count in (("shapes", 2), ("shapes/*", 4), ("shapes/b/b.parquet", 2)):
        there = open_lake(spark, s3.uri(path), ["no"])
        here = open_lake(spark, str(tmp_path / path.removeprefix("shapes").lstrip("/")), ["no"])
        assert there.rows == count
        found = pairs(match(there, wanted))
        assert found == pairs(match(here, wanted))
        assert good_rows(there) == good_rows(here)
    floats = open_lake(spark, s3.uri("shapes"), ["no", "x"])
    assert floats.parts


@spark_only
@pytest.mark.long
def test_what_workers_do_not_read_on_s3_is_said(spark: Any, s3: Any, tmp_path: Path) -> None:
    stored(tmp_path / "id=p1" / "a.parquet", [{"attributes": {"x": 1}}])
    texts = pa.struct([("s", pa.dictionary(pa.int32(), pa.string()))])
    schema = pa.schema([("id", pa.string()), ("attributes", texts)])
    stored(tmp_path / "texts" / "a.parquet", [{"id": "p3", "attributes": {"s": "a"}}], schema)
    stored(tmp_path / "types" / "a.parquet", [{"id": "p", "attributes": {"x": 1}}])
    stored(tmp_path / "types" / "b.parquet", [{"id": "p", "attributes": {"x": "1"}}])
    stored(tmp_path / "float" / "a.parquet", [{"x": 0.1, "n": 1}])
    s3.copy(tmp_path, "odd")
    s3.put("odd/damaged/a.parquet", b"damaged")
    system = "cannot be read without a file system of Spark's for this scheme: "
    for path, reason in {
        "odd": f"{system}the column 'id' is in the names of folders",
        "odd/texts": f"{system}texts within structs were written from dictionaries",
        "odd/types": "holds files whose columns 'attributes.x' have different types, int64 and",
        "odd/damaged/a.parquet": "cannot be read: ",
        "odd/none": "there is no such file or folder, or it is empty",
    }.items():
        with pytest.raises(FileFormatError) as caught:
            open_lake(spark, s3.uri(path))
        assert caught.value.reason.startswith(reason)
        assert caught.value.path == f"s3://sapwood/{path}"
    spark.conf.set("spark.sql.files.ignoreMissingFiles", "true")
    try:
        with pytest.raises(FileFormatError, match="ignoreMissingFiles is set"):
            open_lake(spark, s3.uri("odd/float"), ["x"])
    finally:
        spark.conf.unset("spark.sql.files.ignoreMissingFiles")
    lake = open_lake(spark, s3.uri("odd/float"), ["x"])
    assert lake.parts is None
    assert pairs(match(lake, subscribed(spark, n="n > 0"))) == [("0.1", "n")]
