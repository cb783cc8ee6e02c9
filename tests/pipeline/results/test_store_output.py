from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sapwood.errors import FileFormatError
from sapwood.pipeline.matching.job import MatchJob
from sapwood.pipeline.matching.output import Output
from sapwood.pipeline.results.output import (
    check_rejected,
    check_table,
    exists,
    remove_rejected,
    result_at,
    write_rejected,
    write_table,
)
from sapwood.pipeline.tables.schemas import REJECTED
from tests.pipeline.samples import SCHEMA, expected, filters, publications

pytestmark = pytest.mark.spark


@pytest.mark.long
def test_a_table_is_written_and_read_by_workers_where_spark_has_no_file_system(
    spark: Any, s3: Any
) -> None:
    out = s3.uri("tables/a b")
    assert not exists(spark, out)
    check_table(spark, out, ["id", "x"])
    rows = [("a", 1, None), ("b", None, [{"y": True}])]
    schema = "id STRING, x BIGINT, t ARRAY<STRUCT<y: BOOLEAN>>"
    table = spark.createDataFrame(rows, schema)
    assert write_table(table.repartition(2), out) == 2
    assert exists(spark, out)
    found = result_at(spark, out)
    assert found.schema == table.schema
    assert sorted(map(str, found.collect())) == sorted(map(str, table.collect()))
    check_table(spark, out, ["id", "x"])
    with pytest.raises(FileFormatError, match=r"^s3://sapwood/tables/a b: exists and is no ear"):
        check_table(spark, out, ["x"])
    assert write_table(table.limit(0), out) == 0
    assert result_at(spark, out).schema == table.schema
    assert [n for n in s3.keys("tables/a b") if not n.startswith("part-00000-")] == ["_SUCCESS"]


def test_rejected_rows_are_a_folder_that_is_there_if_there_are_any(spark: Any, s3: Any) -> None:
    aside = s3.uri("aside")
    rows = [("f", n, "why", f"text {n}") for n in (3, 1, 2)]
    names = [column.split()[0] for column in REJECTED.split(", ")]
    table = spark.createDataFrame(rows, "file STRING, line BIGINT, reason STRING, text STRING")
    assert write_rejected(table.select(names), aside, expected=3) == 3
    (name,) = [key for key in s3.keys("aside") if key.endswith(".json")]
    with s3.files.open_input_stream(f"{s3.bucket}/aside/{name}") as stream:
        lines = [json.loads(line) for line in bytes(stream.read()).splitlines()]
    assert [line["line"] for line in lines] == [1, 2, 3]
    assert lines[0]["text"] == "text 1"
    remove_rejected(spark, aside)
    assert not exists(spark, aside)
    s3.put("aside/part-0.parquet", b"")
    with pytest.raises(FileFormatError, match="exists and is no folder of rejected rows"):
        check_rejected(spark, aside)
    with pytest.raises(FileFormatError, match="exists and is no earlier result"):
        check_table(spark, aside, ["id"])


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:filters cannot see arrays")
@pytest.mark.parametrize("output", [Output.LISTS, Output.COUNTS])
def test_a_job_on_s3_gives_what_it_gives_here(
    spark: Any, s3: Any, tmp_path: Path, output: Output
) -> None:
    records, wanted = publications(60, seed=3), filters(20, seed=4)
    lines = [json.dumps({"id": id_, "filter": text}) for id_, text in wanted.items()]
    subscriptions = tmp_path / "s.jsonl"
    subscriptions.write_text("\n".join([*lines, '{"id": "bad", "filter": "n >"}', ""]))
    table = spark.createDataFrame([*records.items(), (None, None)], SCHEMA)
    table.coalesce(1).write.parquet(str(tmp_path / "lake"))
    s3.copy(tmp_path / "lake", f"{output}/lake")
    here = MatchJob(str(subscriptions), str(tmp_path / "lake"), str(tmp_path / "o"), output=output)
    there = MatchJob(
        str(subscriptions), s3.uri(f"{output}/lake"), s3.uri(f"{output}/out"), output=output
    )
    local, remote = here.run(spark), there.run(spark)
    assert remote.publications == local.publications
    assert remote.subscriptions == local.subscriptions
    assert remote.deliveries == local.deliveries == len(expected(records, wanted))
    assert remote.out == f"s3://sapwood/{output}/out"
    assert remote.aside == f"s3://sapwood/{output}/out.rejected"
    found = result_at(spark, there.out)
    same = result_at(spark, here.out)
    assert sorted(map(str, found.collect())) == sorted(map(str, same.collect()))
    assert len(s3.keys(f"{output}/out.rejected")) == 2
    assert all(not key.startswith("_writing") for key in s3.keys(f"{output}/out"))
