"""New subscriptions over the lake and over the journal: every pair once, from the first on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from sapwood.client.blocking import connect
from sapwood.errors import InputError
from sapwood.model.publication import Publication
from sapwood.pipeline.ingest.job import IngestJob
from sapwood.pipeline.stream.backfill import BackfillJob
from tests.broker.helpers import broker_in_a_thread
from tests.pipeline.stored import rows_at
from tests.store.journals import write_journal

pytestmark = [pytest.mark.spark, pytest.mark.network, pytest.mark.long]


class Place(NamedTuple):
    """A broker with a journal, and a folder for everything else."""

    address: str
    folder: Path


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    (tmp_path / "s.jsonl").write_text('{"id": "s", "filter": "n >= 3"}\n{"id": "bad"}\n')
    with broker_in_a_thread(data=tmp_path / "data") as address:
        yield Place(address, tmp_path)


def publish(address: str, numbers: range) -> None:
    with connect(address) as client:
        client.publish_many(Publication(f"p{n:02d}", {"n": n}) for n in numbers)


def told(path: Path) -> list[str]:
    return sorted(row["publication"] for row in rows_at(path))


def test_history_and_live_meet_without_a_gap_or_a_double(spark: Any, place: Place) -> None:
    address, folder = place
    publish(address, range(6))
    lake, out = folder / "lake", folder / "out"
    IngestJob(address, str(lake)).run(spark)
    publish(address, range(6, 9))
    job = BackfillJob(str(folder / "s.jsonl"), address, str(out), lake=str(lake))
    summary = job.run(spark)
    assert summary == (9, 6, True, 1)
    # What is published from here on is live, however often the history is asked for.
    publish(address, range(9, 12))
    assert job.run(spark) == (9, 6, False, 1)
    assert told(out / "history") == [f"p{n:02d}" for n in range(3, 9)]
    for _ in range(2):
        job.follow(spark).awaitTermination()
        assert told(out / "live") == ["p09", "p10", "p11"]
    publish(address, range(12, 13))
    job.follow(spark).awaitTermination()
    assert told(out / "live") == ["p09", "p10", "p11", "p12"]
    assert "MapInArrow" in job.explain(spark)


def test_what_neither_lake_nor_journal_has_is_a_gap(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text('{"id": "s", "filter": "n >= 0"}\n')
    folder = tmp_path / "journal"
    publications = [Publication(f"p{n:02d}", {"n": n}) for n in range(20)]
    first = write_journal(folder, publications, segment_bytes_max=200, kept=4)
    oldest = f"p{first:02d}"

    def job(*lake: str) -> BackfillJob:
        path = None
        if lake:
            path = str(tmp_path / "lake.jsonl")
            lines = "".join(f'{{"id": "{id_}", "attributes": {{"n": 1}}}}\n' for id_ in lake)
            Path(path).write_text(lines)
        return BackfillJob(str(tmp_path / "s.jsonl"), str(folder), str(tmp_path / "out"), lake=path)

    with pytest.raises(InputError, match="what was before it is nowhere"):
        job().run(spark)
    with pytest.raises(InputError, match=f"{oldest!r} is not in"):
        job("p00", "p01").run(spark)
    found = job("p00", oldest).run(spark)
    assert (found.seam, found.deliveries) == (20, 20 - first + 1)
