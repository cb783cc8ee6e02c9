from __future__ import annotations

import logging
from typing import Any

import pytest

from sapwood.errors import FileFormatError
from sapwood.pipeline.spark import reaching
from sapwood.pipeline.spark.places import Place, Store
from sapwood.pipeline.spark.reaching import Look, spark_reaches, store_for_workers, store_here
from sapwood.pipeline.tables.reading import file_kind, read_lines

pa = pytest.importorskip("pyarrow")

BAD = "s3://key:secret@sapwood/x?nonsense=1"


def test_a_worker_tells_why_it_does_not_reach_a_place(s3: Any) -> None:
    batch = pa.RecordBatch.from_pydict({"id": [0]})
    (told,) = Look(Place(BAD, "sapwood/x"))(iter([batch]))
    assert told.schema.names == ["reason"]
    assert "'nonsense'" in told.column(0)[0].as_py()
    assert list(Look(Place(s3.uri("x"), "sapwood/x"))(iter([batch]))) == []


@pytest.mark.spark
def test_a_place_on_this_machine_is_in_no_store(spark: Any) -> None:
    for path in ("/tmp", "file:///tmp", "here"):
        assert store_here(spark, path) is None
        assert store_for_workers(spark, path) is None


@pytest.mark.spark
def test_spark_has_file_systems_for_some_schemes_and_for_no_options(spark: Any, s3: Any) -> None:
    assert spark_reaches(spark, "file:///nowhere")
    assert not spark_reaches(spark, "s3://bucket/x")
    assert not spark_reaches(spark, "s3a://bucket/x")
    assert not spark_reaches(spark, "gs://bucket/x")
    assert not spark_reaches(spark, s3.uri("x"))


@pytest.mark.spark
def test_a_store_is_reached_by_workers_or_by_spark_or_not_at_all(
    spark: Any, s3: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    store = store_for_workers(spark, s3.uri("x"))
    assert store is not None
    assert store.path == "sapwood/x"
    # The driver reaches it, and workers read something else in the URI.
    monkeypatch.setattr(reaching, "looked_at", lambda uri: Store(BAD, store.files, store.path))
    with pytest.raises(FileFormatError, match=r"s3://sapwood/x: executors: .*'nonsense'"):
        store_for_workers(spark, s3.uri("x"))
    monkeypatch.setattr(reaching, "spark_reaches", lambda *_: True)
    with caplog.at_level(logging.INFO, "sapwood.pipeline"):
        assert store_for_workers(spark, s3.uri("x")) is None
    (record,) = caplog.records
    assert record.message.startswith("s3://sapwood/x goes through Spark: executors: ")
    assert "secret" not in record.message


@pytest.mark.spark
def test_what_only_spark_reads_is_said_where_it_reads_nothing(spark: Any, s3: Any) -> None:
    s3.put("lines/a.jsonl", b'{"id": "a", "attributes": {}}\n')
    assert file_kind(spark, s3.uri("lines")) == "jsonl"
    with pytest.raises(FileFormatError, match=r"^s3://sapwood/none: there is no such file or fo"):
        file_kind(spark, s3.uri("none"))
    with pytest.raises(FileFormatError, match=r"^s3a://bucket/x: Spark has no file system for"):
        read_lines(spark, "s3a://bucket/x")
