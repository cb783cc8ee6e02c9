from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from sapwood.cli.main import main
from tests.pipeline.conftest import spark  # noqa: F401 - a fixture, found by its name

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

GOOD_S = '{"id": "s", "filter": "x > 1"}\n'
BAD_S = '{"id": "bad", "filter": "x >"}\n'
GOOD_P = '{"id": "p", "attributes": {"x": 2, "t": [1]}}\n{"id": "q", "attributes": {"x": 1}}\n'
BAD_P = "nope\n"
COUNTED = {"read": 2, "good": 2, "rejected": 0, "invisible_arrays": 1}


def run(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["pipeline", *map(str, arguments)])


def match(folder: Path, *options: object, subs: str = GOOD_S, pubs: str = GOOD_P) -> Result:
    (folder / "s.jsonl").write_text(subs)
    (folder / "p.jsonl").write_text(pubs)
    paths = ("--subscriptions", folder / "s.jsonl", "--publications", folder / "p.jsonl")
    return run("match", *paths, "--out", folder / "out", "--engine", "counting", *options)


def test_match_ends_with_0_when_all_is_done(tmp_path: Path) -> None:
    done = match(tmp_path)
    assert done.exit_code == 0, done.output
    assert done.stdout == ""
    assert done.stderr.splitlines() == [
        f"2 publications matched against 1 subscription: 1 delivery in {tmp_path}/out",
        "1 array in publications carried, but not visible to filters",
    ]
    assert list((tmp_path / "out").glob("part-*.parquet"))


def test_match_ends_with_1_when_something_was_rejected(tmp_path: Path) -> None:
    done = match(tmp_path, "--json", subs=GOOD_S + BAD_S, pubs=GOOD_P + BAD_P)
    assert done.exit_code == 1, done.output
    assert json.loads(done.stdout) == {
        "subscriptions": {"read": 2, "good": 1, "rejected": 1},
        "publications": {**COUNTED, "read": 3, "rejected": 1},
        "deliveries": 1,
        "out": f"{tmp_path}/out",
        "rejected_file": f"{tmp_path}/out.rejected",
    }


def test_match_says_where_rejected_rows_are(tmp_path: Path) -> None:
    done = match(tmp_path, "--rejected", tmp_path / "aside", subs=BAD_S)
    assert done.exit_code == 1
    assert done.stderr.splitlines()[-1] == (
        f"1 row rejected (1 of the subscriptions, 0 of the publications): see {tmp_path}/aside"
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--strict",), "s.jsonl, line 2: "),
        (("--engine", "none"), "no engine is called 'none'"),
        (("--publications", "nowhere.jsonl"), "nowhere.jsonl: there is no such file or folder"),
        (("--id", "x"), "JSON Lines name their ids themselves"),
    ],
)
def test_match_ends_with_2_when_it_could_not_be_done(
    tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    done = match(tmp_path, *options, subs=GOOD_S + BAD_S)
    assert done.exit_code == 2
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_match_ends_with_2_when_spark_cannot_write(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    done = match(tmp_path, "--out", tmp_path / "file" / "out")
    assert done.exit_code == 2
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_match_ends_with_2_when_options_are_missing() -> None:
    assert run("match").exit_code == 2


def test_match_explains_and_does_nothing_else(tmp_path: Path) -> None:
    done = match(tmp_path, "--explain")
    assert done.exit_code == 0
    assert "MatchBatches" in done.stdout
    assert not (tmp_path / "out").exists()


def test_ingest_reads_csv_with_what_options_say(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("carrier;flight;x\nUA;1;-\nAA;2;1.5\nAA;2;2\n")
    done = run(
        *("ingest", "--publications", tmp_path / "a.txt", "--out", tmp_path / "out", "--json"),
        *("--schema", "carrier STRING, x DOUBLE", "--format", "csv", "--delimiter", ";"),
        *("--id", "carrier", "--id", "flight", "--null-value", "-"),
    )
    assert done.exit_code == 1, done.output
    assert json.loads(done.stdout) == {
        "publications": {"read": 3, "good": 2, "rejected": 1, "invisible_arrays": 0},
        "undeclared_attributes": [],
        "out": f"{tmp_path}/out",
        "rejected_file": f"{tmp_path}/out.rejected",
    }


def test_ingest_says_what_it_did(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(GOOD_P + '{"id": "r", "attributes": {"x": "2", "y": 1}}\n')
    (tmp_path / "b.jsonl").write_text('{"id": "z", "attributes": {"y": 1}}\n')
    done = run(
        *("ingest", "--publications", tmp_path / "*.jsonl", "--out", tmp_path / "out"),
        *("--schema", "x INT, t ARRAY<INT>"),
    )
    assert done.exit_code == 1, done.output
    assert done.stderr.splitlines() == [
        f"3 publications in {tmp_path}/out",
        "1 array in publications carried, but not visible to filters",
        "not declared by the schema, and therefore not carried: y",
        f"1 line rejected: see {tmp_path}/out.rejected",
    ]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--null-value", "NA"), "which needs a --schema as well"),
        (("--schema", "x DUBBLE"), "is no Spark DDL"),
        (("--schema", "x DATE"), "'x': a column of type DATE"),
        (("--schema", "none.toml"), "none.toml: cannot be read"),
    ],
)
def test_ingest_ends_with_2_when_the_schema_is_none(
    tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    (tmp_path / "a.jsonl").write_text(GOOD_P)
    done = run("ingest", "--publications", tmp_path, "--out", tmp_path / "out", *options)
    assert done.exit_code == 2
    assert said in done.stderr


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


def test_stream_tells_of_each_batch_in_json(tmp_path: Path) -> None:
    done = stream(tmp_path, "--json", "--schema", "x INT, t ARRAY<INT>")
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout) == {"batch": 0, "publications": COUNTED, "deliveries": 1}


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


def test_job_prints_a_program_for_spark_submit() -> None:
    done = run("job")
    assert done.exit_code == 0
    assert Path(done.stdout.strip()).name == "job.py"
    assert Path(done.stdout.strip()).is_file()
