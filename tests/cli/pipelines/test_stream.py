from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from tests.cli.pipelines.runs import BAD_P, BAD_S, COUNTED, GOOD_P, GOOD_S, run

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]


def stream(folder: Path, *options: object, subs: str = GOOD_S, pubs: str = GOOD_P) -> Result:
    (folder / "in").mkdir()
    (folder / "in" / "a.jsonl").write_text(pubs)
    (folder / "s.jsonl").write_text(subs)
    paths = ("--subscriptions", folder / "s.jsonl", "--publications", folder / "in")
    return run("stream", *paths, "--out", folder / "out", "--engine", "counting", *options)


def test_stream_tells_of_each_batch(tmp_path: Path) -> None:
    done = stream(tmp_path, pubs=GOOD_P + BAD_P)
    assert done.exit_code == 1, done.output
    assert done.stderr.splitlines() == ["batch 0: 2 publications, 1 delivery, 1 line rejected"]


@pytest.mark.long
def test_stream_tells_of_each_batch_in_json(tmp_path: Path) -> None:
    done = stream(tmp_path, "--json", "--schema", "x INT, t ARRAY<INT>")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout) == {"batch": 0, "publications": COUNTED, "deliveries": 1}


@pytest.mark.long
def test_stream_ends_with_2_when_strict_and_something_is_bad(tmp_path: Path) -> None:
    done = stream(tmp_path, "--strict", subs=BAD_S)
    assert done.exit_code == 2
    assert "s.jsonl, line 1: filter" in done.stderr
    (tmp_path / "in" / "a.jsonl").unlink()
    (tmp_path / "in").rmdir()
    done = stream(tmp_path, "--strict", pubs=BAD_P)
    assert done.exit_code == 2
    assert "a.jsonl, line 1: not JSON" in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.long
def test_stream_without_an_end_ends_by_an_interrupt(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.sql.streaming import StreamingQuery

    def interrupted(query: Any) -> None:
        query.processAllAvailable()
        raise KeyboardInterrupt

    monkeypatch.setattr(StreamingQuery, "awaitTermination", interrupted)
    done = stream(tmp_path, "--every", "0")
    assert done.exit_code == 0, done.output
    assert "batch 0: 2 publications, 1 delivery" in done.stderr


def test_stream_until_all_is_done_is_not_done_when_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.sql.streaming import StreamingQuery

    def interrupted(_query: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(StreamingQuery, "awaitTermination", interrupted)
    assert stream(tmp_path).exit_code == 130
