from __future__ import annotations

import json
from pathlib import Path

import pytest

from sapwood.pipeline.spark.usage import running
from tests.cli.pipelines.runs import run

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

LINES = (
    '{"id": "a", "filter": "x > 1", "home": "r9"}',
    '{"id": "b", "filter": "x > 2", "home": "r9"}',
    '{"id": "c", "filter": "x > 2"}',
    '{"id": "d", "filter": "x >"}',
)


@pytest.mark.long
def test_compile_says_what_fell_away_and_match_tells_homes(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text("\n".join(LINES))
    (tmp_path / "p.jsonl").write_text('{"id": "p", "attributes": {"x": 2}}\n')
    paths = ("--subscriptions", tmp_path / "s.jsonl", "--out", tmp_path / "set")
    options = ("--home", "r1", "--engine", "counting")
    done = run("compile", *paths, *options)
    assert done.exit_code == 1, done.output
    assert done.stderr.splitlines()[:3] == [
        f"4 subscriptions of 2 homes: 2 entries in {tmp_path}/set/version=1",
        "fell away: 0 repeated, 1 covered, 0 that nothing can match",
        f"1 row rejected: see {tmp_path}/set.rejected",
    ]
    if running():
        assert "of processor time and at most " in done.stderr.splitlines()[-1]
    matched = run(
        *("match", "--subscriptions", tmp_path / "set", "--publications", tmp_path / "p.jsonl"),
        *("--out", tmp_path / "out", "--output", "homes", "--json"),
    )
    assert matched.exit_code == 0, matched.output
    assert json.loads(matched.stdout)["deliveries"] == 1


def test_compile_explains_and_does_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text(LINES[0])
    done = run(
        *("compile", "--subscriptions", tmp_path / "s.jsonl", "--out", tmp_path / "set"),
        "--explain",
    )
    assert done.exit_code == 0, done.output
    assert "Physical Plan" in done.stdout
    assert not (tmp_path / "set").exists()
