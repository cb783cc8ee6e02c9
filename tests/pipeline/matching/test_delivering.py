from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sapwood.errors import FileFormatError, InputError
from sapwood.pipeline.matching.delivering import match_into
from sapwood.pipeline.matching.match import PipelineWarning, match
from sapwood.pipeline.matching.output import Output
from sapwood.pipeline.matching.subscriptions import compile_subscriptions
from sapwood.pipeline.results.output import result_at
from sapwood.pipeline.tables.lake import Lake, open_lake
from tests.pipeline.samples import SCHEMA, expected, filters, pairs, publications
from tests.pipeline.stored import pairs_at, rows_at

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore:filters cannot see arrays")]

RECORDS = publications(300, seed=7)
WANTED = filters(60, seed=8)


@pytest.fixture(scope="module")
def lake(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    path = str(tmp_path_factory.mktemp("lake"))
    table = spark.createDataFrame(list(RECORDS.items()), SCHEMA).repartition(3)
    table.write.mode("overwrite").parquet(path)
    return open_lake(spark, path)


@pytest.fixture(scope="module")
def compiled(spark: Any) -> Any:
    return compile_subscriptions(subscribed(spark, **WANTED))


def subscribed(spark: Any, **wanted: str) -> Any:
    return spark.createDataFrame(list(wanted.items()), "id STRING, filter STRING")


def writers(path: Path) -> set[str]:
    """The writers of a result's files: parquet-cpp in workers, parquet-mr in the JVM."""
    files = path.glob("*.parquet")
    return {pq.read_metadata(file).created_by.split()[0].split("-arrow")[0] for file in files}


@pytest.mark.long
def test_pairs_in_files_are_those_that_match_gives(
    spark: Any, lake: Lake, compiled: Any, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    rows = match_into(lake, compiled, str(out))
    assert pairs_at(out) == expected(RECORDS, WANTED)
    assert rows == len(expected(RECORDS, WANTED))
    assert writers(out) == {"parquet-cpp"}
    assert (out / "_SUCCESS").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.mark.parametrize("output", [Output.LISTS, Output.COUNTS])
def test_other_outputs_in_files_are_those_that_match_gives(
    spark: Any, lake: Lake, compiled: Any, tmp_path: Path, output: Output
) -> None:
    rows = match_into(lake, compiled, str(tmp_path / "out"), output=output)
    stored = spark.read.parquet(str(tmp_path / "out"))
    given = match(lake, compiled, output=output)
    assert stored.schema == given.schema
    assert sorted(map(str, stored.collect())) == sorted(map(str, given.collect()))
    assert rows == stored.count()
    # Counts of several tasks have to be put together.
    assert writers(tmp_path / "out") == {"parquet-mr" if output is Output.COUNTS else "parquet-cpp"}


def test_a_table_is_written_by_spark(spark: Any, lake: Lake, compiled: Any, tmp_path: Path) -> None:
    rows = match_into(lake.table, compiled, str(tmp_path / "out"))
    assert pairs_at(tmp_path / "out") == expected(RECORDS, WANTED)
    assert rows == len(expected(RECORDS, WANTED))
    assert writers(tmp_path / "out") == {"parquet-mr"}


def test_a_result_takes_the_place_of_an_earlier_one_and_of_nothing_else(
    spark: Any, lake: Lake, tmp_path: Path
) -> None:
    out = str(tmp_path / "out")
    assert match_into(lake, subscribed(spark, all="true"), out) == len(RECORDS)
    assert match_into(lake, subscribed(spark, none="missing = 1"), out) == 0
    assert spark.read.parquet(out).columns == ["publication", "subscription"]
    with pytest.raises(FileFormatError, match="is no earlier result of this command"):
        match_into(lake, subscribed(spark, all="true"), out, output=Output.LISTS)
    assert rows_at(out) == []


def test_a_job_that_fails_leaves_the_earlier_result(spark: Any, tmp_path: Path) -> None:
    rows = [(f"p{number}", (number,)) for number in range(4)]
    table = spark.createDataFrame(rows, "id STRING, attributes STRUCT<n: BIGINT>")
    table.repartition(2).write.parquet(str(tmp_path / "lake"))
    opened = open_lake(spark, str(tmp_path / "lake"))
    wanted = subscribed(spark, all="true")
    assert match_into(opened, wanted, str(tmp_path / "out")) == 4
    next((tmp_path / "lake").glob("*.parquet")).write_bytes(b"damaged")
    with pytest.raises(InputError, match="cannot be read"):
        match_into(opened, wanted, str(tmp_path / "out"))
    assert len(rows_at(tmp_path / "out")) == 4
    assert sorted(path.name for path in tmp_path.iterdir()) == ["lake", "out"]


def test_files_are_packed_as_the_session_says(
    spark: Any, lake: Lake, compiled: Any, tmp_path: Path
) -> None:
    codec = "spark.sql.parquet.compression.codec"
    for name, writer in (("ZSTD", "parquet-cpp"), ("lz4", "parquet-mr")):
        spark.conf.set(codec, name)
        try:
            match_into(lake, compiled, str(tmp_path / name))
        finally:
            spark.conf.unset(codec)
        assert writers(tmp_path / name) == {writer}
    (file, *_) = (tmp_path / "ZSTD").glob("*.parquet")
    assert pq.read_metadata(file).row_group(0).column(0).compression == "ZSTD"


def test_what_cannot_be_used_is_said(spark: Any, lake: Lake, tmp_path: Path) -> None:
    with pytest.warns(PipelineWarning, match="1 subscriptions cannot be used"):
        match_into(lake, subscribed(spark, bad="n >", all="true"), str(tmp_path / "out"))


@pytest.mark.long
def test_a_job_on_s3_leaves_its_result_or_the_earlier_one(
    spark: Any, s3: Any, tmp_path: Path
) -> None:
    rows = [(f"p{number}", (number,)) for number in range(4)]
    table = spark.createDataFrame(rows, "id STRING, attributes STRUCT<n: BIGINT>")
    table.coalesce(1).write.parquet(str(tmp_path / "lake"))
    s3.copy(tmp_path / "lake", "four/lake")
    opened = open_lake(spark, s3.uri("four/lake"))
    out = s3.uri("four/out")
    assert match_into(opened, subscribed(spark, high="n >= 2", all="true"), out) == 6
    found = pairs(result_at(spark, out))
    assert found == sorted([(f"p{n}", "all") for n in range(4)] + [("p2", "high"), ("p3", "high")])
    files = s3.keys("four/out")
    assert files[0] == "_SUCCESS"
    assert match_into(opened, subscribed(spark, all="true"), out, output=Output.PAIRS) == 4
    later = s3.keys("four/out")
    assert set(files) & set(later) == {"_SUCCESS"}
    for key in s3.keys("four/lake"):
        if key.endswith(".parquet") and not key.startswith("."):
            s3.put(f"four/lake/{key}", b"damaged")
    with pytest.raises(InputError, match=r"s3://sapwood/four/lake/part.*: cannot be read"):
        match_into(opened, subscribed(spark, all="true"), out)
    assert s3.keys("four/out") == later
    assert pairs(result_at(spark, out)) == [(f"p{number}", "all") for number in range(4)]
