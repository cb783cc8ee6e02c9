"""The format `sapwood` between two brokers with journals."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sapwood.client.blocking import connect
from sapwood.model.publication import Publication
from sapwood.pipeline.ingest.job import IngestJob
from sapwood.pipeline.journals import places as journals
from sapwood.pipeline.journals.places import Part
from sapwood.pipeline.matching.job import MatchJob
from tests.broker.helpers import broker_in_a_thread

pytestmark = [pytest.mark.spark, pytest.mark.network]

RELAYED = 800
RELAY_S = 300


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
    from sapwood.pipeline.journals.source import register

    register(spark)
    checkpoint = tmp_path / "checkpoint"

    def run() -> int:
        rows = spark.readStream.format("sapwood").option("broker", overlay.source)
        rows = rows.option("filter", "n >= 10").option("maxRowsPerTrigger", "13").load()
        writer = rows.select("id", "attributes").writeStream.format("sapwood")
        writer = writer.option("broker", overlay.sink).option("checkpointLocation", str(checkpoint))
        query = writer.trigger(availableNow=True).start()
        query.awaitTermination()
        return int(query.lastProgress["batchId"])

    publish(overlay.source, range(20))
    assert run() == 1
    # What a driver leaves that was killed after the batch was written, and before it was noted.
    for name in ("1", ".1.crc"):
        (checkpoint / "commits" / name).unlink()
    publish(overlay.source, range(20, 25))
    assert run() == 2
    assert ids(overlay.sink) == [f"p{n:03d}" for n in range(10, 25)]


@contextmanager
def relaying(overlay: Overlay, folder: Path, master: str) -> Iterator[subprocess.Popen[bytes]]:
    """A relay in processes of its own, Java and executors among them; all end with the block."""
    arguments = [str(folder / "checkpoint"), overlay.source, overlay.sink, master]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.pipeline.journals.relaying", *arguments],
        cwd=Path(__file__).resolve().parents[3],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def until_relayed(journal: str, count: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until so many publications have arrived."""
    while journals.bounds(journal)[1] < count:
        assert process.poll() is None, "the relay has ended before"
        time.sleep(0.05)


def executors_of(process: subprocess.Popen[bytes]) -> list[int]:
    """The executors in a relay's session."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            number = int(place.parent.name)
            is_executor = b"CoarseGrainedExecutorBackend" in place.read_bytes()
            if is_executor and os.getsid(number) == process.pid:
                found.append(number)
    return found


@pytest.mark.long
def test_a_relay_whose_driver_is_killed_goes_on_exactly_once(
    overlay: Overlay, tmp_path: Path
) -> None:
    publish(overlay.source, range(RELAYED))
    with relaying(overlay, tmp_path, "local[2]") as process:
        until_relayed(overlay.sink_folder, RELAYED // 4, process)
    assert len(ids(overlay.sink)) < RELAYED, "it was killed too late to show anything"
    with relaying(overlay, tmp_path, "local[2]") as process:
        assert process.wait(RELAY_S) == 0
    assert sorted(ids(overlay.sink)) == [f"p{n:03d}" for n in range(RELAYED)]


@pytest.mark.long
@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="looks for executors in /proc")
def test_a_relay_whose_executor_is_killed_goes_on_exactly_once(
    overlay: Overlay, tmp_path: Path
) -> None:
    publish(overlay.source, range(RELAYED))
    with relaying(overlay, tmp_path, "local-cluster[2,1,1024]") as process:
        until_relayed(overlay.sink_folder, RELAYED // 4, process)
        running = executors_of(process)
        assert running
        os.kill(running[0], signal.SIGKILL)
        assert process.wait(RELAY_S) == 0
    assert sorted(ids(overlay.sink)) == [f"p{n:03d}" for n in range(RELAYED)]


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
    from sapwood.pipeline.journals.source import register

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
