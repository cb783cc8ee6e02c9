"""The format `sapwood` between two brokers with journals."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sapwood.client.blocking import connect
from sapwood.model.publication import Publication
from sapwood.pipeline import journals
from sapwood.pipeline.jobs import IngestJob, MatchJob
from sapwood.pipeline.journals import Part
from tests.server.helpers import broker_in_a_thread

pytestmark = [pytest.mark.spark, pytest.mark.network]


class Overlay(NamedTuple):
    """Two brokers that are not linked, and the folders of their journals."""

    source: str
    sink: str
    source_folder: str
    sink_folder: str


@pytest.fixture
def overlay(tmp_path: Path) -> Iterator[Overlay]:
    folders = [tmp_path / name for name in ("from", "to")]
    with ExitStack() as stack:
        addresses = [stack.enter_context(broker_in_a_thread(data=folder)) for folder in folders]
        paths = [str(folder / "journal") for folder in folders]
        yield Overlay(addresses[0], addresses[1], paths[0], paths[1])


def publish(address: str, numbers: range) -> None:
    with connect(address) as client:
        done = client.publish_many(Publication(f"p{n:03d}", {"n": n}) for n in numbers)
    assert done.accepted == len(numbers)


def ids(journal: str) -> list[str]:
    first, end = journals.bounds(journal)
    return [json.loads(line)["id"] for line in journals.read(Part(journal, first, end))]


def test_a_stream_from_broker_to_broker_is_exactly_once_whatever_is_run_again(
    spark: Any, overlay: Overlay, tmp_path: Path
) -> None:
    from sapwood.pipeline.source import register

    register(spark)
    checkpoint = tmp_path / "checkpoint"

    def run() -> int:
        rows = spark.readStream.format("sapwood").option("broker", overlay.source)
        rows = rows.option("filter", "n >= 10").option("maxRowsPerTrigger", "9").load()
        writer = rows.select("id", "attributes").writeStream.format("sapwood")
        writer = writer.option("broker", overlay.sink).option("checkpointLocation", str(checkpoint))
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        return int(query.lastProgress["batchId"])

    publish(overlay.source, range(20))
    assert run() == 2
    # What a driver leaves that was killed after the batch was written, and before it was noted.
    for name in ("2", ".2.crc"):
        (checkpoint / "commits" / name).unlink()
    publish(overlay.source, range(20, 25))
    assert run() == 3
    assert ids(overlay.sink) == [f"p{n:03d}" for n in range(10, 25)]


@pytest.mark.long
def test_a_journal_is_ingested_and_matched_like_files(
    spark: Any, overlay: Overlay, tmp_path: Path
) -> None:
    publish(overlay.source, range(5))
    out = tmp_path / "table"
    summary = IngestJob(overlay.source, str(out)).run(spark)
    assert (summary.publications.good, summary.rejected) == (5, 0)
    rows = spark.read.parquet(str(out)).orderBy("id").collect()
    assert [row["id"] for row in rows] == [f"p{n:03d}" for n in range(5)]
    assert {row["source"] for row in rows} == {overlay.source}
    assert all(row["published_at"] is not None for row in rows)
    (tmp_path / "s.jsonl").write_text('{"id": "s", "filter": "n > 2"}\n')
    job = MatchJob(str(tmp_path / "s.jsonl"), overlay.source_folder, str(tmp_path / "pairs"))
    assert job.run(spark).deliveries == 2


@pytest.mark.long
def test_a_journal_is_read_from_a_broker_and_from_its_folder_alike(
    spark: Any, overlay: Overlay
) -> None:
    from sapwood.pipeline.source import register

    register(spark)
    before = datetime.now(UTC)
    publish(overlay.source, range(6))
    for option, place in (("broker", overlay.source), ("path", overlay.source_folder)):
        reader = spark.read.format("sapwood").option(option, place).option("filter", "n <> 3")
        rows = reader.option("start", "1").option("end", json.dumps({place: 5})).load().collect()
        found = sorted(rows, key=lambda row: row["offset"])
        assert [row["id"] for row in found] == ["p001", "p002", "p004"]
        assert [row["offset"] for row in found] == [1, 2, 4]
        assert {(row["home"], row["source"]) for row in found} == {("r1", place)}
        assert [json.loads(row["attributes"]) for row in found] == [{"n": n} for n in (1, 2, 4)]
        assert all(row["document"] is None for row in found)
        times = [row["published_at"].astimezone(UTC) for row in found]
        assert before <= times[0].replace(tzinfo=UTC)
        lines = reader.option("lines", "true").load().collect()
        assert {row["file"] for row in lines} == {place}
        assert sorted(json.loads(row["value"])["id"] for row in lines) == [
            f"p{n:03d}" for n in (1, 2, 4)
        ]
