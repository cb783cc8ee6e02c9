from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import Result

from tests.cli.pipelines.runs import BAD_P, BAD_S, COUNTED, GOOD_P, GOOD_S, run

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]


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
    ]
    assert list((tmp_path / "out").glob("part-*.parquet"))


def test_match_ends_with_1_when_something_was_rejected(tmp_path: Path) -> None:
    done = match(tmp_path, "--json", subs=GOOD_S + BAD_S, pubs=GOOD_P + BAD_P)
    assert done.exit_code == 1, done.output
    assert json.loads(done.stdout) == {
        "subscriptions": {"read": 2, "good": 1, "rejected": 1},
        "publications": {**COUNTED, "read": 3, "rejected": 1},
        "deliveries": 1,
        "layout": "broadcast",
        "output": "pairs",
        "out": f"{tmp_path}/out",
        "rejected_file": f"{tmp_path}/out.rejected",
    }


@pytest.mark.long
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
    assert "MatchWorker" in done.stdout
    assert not (tmp_path / "out").exists()
