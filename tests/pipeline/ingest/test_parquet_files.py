from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sapwood.pipeline.ingest.job import IngestJob
from sapwood.pipeline.ingest.parquet_files import check_kept_rows
from sapwood.pipeline.tables.summaries import Counts
from tests.pipeline.matching.test_job import NOON, rejected_rows, stored

pa = pytest.importorskip("pyarrow")


def test_texts_are_judged_unless_they_have_a_reason_already() -> None:
    columns = {
        "id": ["p", "q", "r"],
        "reason": pa.array([None, None, "no id"], pa.string()),
        "record": ['{"t": [1]}', "nope", None],
        "document": pa.array([None, None, None], pa.string()),
        "text": ['{"t": [1]}', "nope", None],
    }
    (judged,) = check_kept_rows(iter([pa.RecordBatch.from_pydict(columns)]))
    assert judged.schema.names == ["id", "reason", "document", "text"]
    good, bad, worse = judged.column("reason").to_pylist()
    assert (good, worse) == (None, "no id")
    assert bad.startswith("attributes is no JSON")


@pytest.mark.spark
@pytest.mark.long
def test_ingest_job_reads_parquet_of_any_shape(spark: Any, tmp_path: Path) -> None:
    table, noon = str(tmp_path / "table"), NOON
    nan = float("nan")
    rows = [
        ("p", 1.5, noon),
        ("q", nan, noon),
        (None, 2.0, noon),
        ("p", 3.0, None),
        ("r", 4.0, None),
    ]
    schema = "name STRING, x DOUBLE, at STRING"
    made = spark.createDataFrame(rows, schema).selectExpr("name", "x", "timestamp(at) at")
    made.coalesce(1).write.parquet(table)
    job = IngestJob(table, str(tmp_path / "out"), id_columns=("name",), published_at="at")
    summary = job.run(spark)
    assert summary.publications == Counts(5, 2, 3)
    assert [row[:2] for row in stored(summary.out)] == [("p", noon), ("r", None)]
    assert spark.read.parquet(summary.out).schema["attributes"].dataType.names == ["x"]
    assert [row["line"] for row in rejected_rows(summary.aside)] == [2, 3, 4]
    first = stored(summary.out)
    assert job.run(spark) == summary
    assert stored(summary.out) == first
    again = IngestJob(summary.out, str(tmp_path / "again")).run(spark)
    assert again.publications == Counts(2, 2, 0)
    assert [row[:2] for row in stored(again.out)] == [("p", noon), ("r", None)]


@pytest.mark.spark
def test_ingest_job_reads_parquet_with_records_as_text(spark: Any, tmp_path: Path) -> None:
    table = str(tmp_path / "table")
    rows = [("p", '{"x": 1, "t": [1]}'), ("q", "nope"), ("r", None)]
    spark.createDataFrame(rows, "id STRING, attributes STRING").coalesce(1).write.parquet(table)
    summary = IngestJob(table, str(tmp_path / "out")).run(spark)
    assert summary.publications == Counts(3, 1, 2)
    assert [row["line"] for row in rejected_rows(summary.aside)] == [2, 3]
