from __future__ import annotations

import json
from pathlib import Path

import pytest

from sapwood.model.publication import Publication
from tests.cli.pipelines.runs import run
from tests.store.journals import write_journal

pytestmark = [pytest.mark.spark, pytest.mark.long, pytest.mark.usefixtures("spark")]


def keep(folder: Path, numbers: range) -> None:
    write_journal(folder, [Publication(f"p{n}", {"x": n}) for n in numbers])


def test_backfill_tells_of_history_and_then_of_what_is_live(tmp_path: Path) -> None:
    keep(tmp_path / "j", range(5))
    (tmp_path / "s.jsonl").write_text('{"id": "s", "filter": "x > 2"}\n')
    paths = ("--subscriptions", tmp_path / "s.jsonl", "--journal", tmp_path / "j")
    given = ("backfill", *paths, "--out", tmp_path / "out", "--engine", "counting")
    plan = run(*given, "--explain")
    assert plan.exit_code == 0, plan.output
    assert "MatchWorker" in plan.stdout
    assert not (tmp_path / "out").exists()
    first = run(*given)
    assert first.exit_code == 0, first.output
    assert first.stderr.splitlines() == [
        f"2 deliveries in {tmp_path}/out/history; live from offset 5 of {tmp_path}/j"
    ]
    keep(tmp_path / "j", range(5, 7))
    second = run(*given, "--follow", "--json")
    assert second.exit_code == 0, second.output
    assert [json.loads(line) for line in second.stdout.splitlines()] == [
        {"seam": 5, "deliveries": 2},
        {"batch": 0, "deliveries": 2},
    ]
