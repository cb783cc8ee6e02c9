"""The runner of `benchmarks/peers` checks counts, and says what it could not run."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from sapwood_lab.benchmarks.records.export import export
from sapwood_lab.workload.records import workload

RUNNER = Path(__file__).parents[2] / "benchmarks" / "peers" / "run.py"


@pytest.fixture(scope="module")
def runner() -> ModuleType:
    spec = importlib.util.spec_from_file_location("peers_run", RUNNER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def peer(runner: ModuleType, name: str) -> Any:
    return next(peer for peer in runner.PEERS if peer.name == name)


REPORT = {
    "wanted": 10,
    "added": 10,
    "inexpressible": 0,
    "build_s": 0.5,
    "match_us": 6.0,
    "match_p99_us": 9.0,
    "memory_bytes": 1000,
    "publications": 3,
    "matches": 7,
}


@pytest.mark.long
def test_a_run_of_ours_reports_the_expected_matches(runner: ModuleType, tmp_path: Path) -> None:
    export(workload("mix"), (300,), tmp_path, publications=40)
    reports = [
        runner.run(peer(runner, name), tmp_path, 300, 60.0, 0.05)
        for name in ("columnar/64", "counting")
    ]
    assert {report["added"] for report in reports} == {300}
    assert len({report["matches"] for report in reports}) == 1
    assert all(report["match_us"] > 0 for report in reports)


def test_a_run_without_time_to_fill_reports_what_was_added(
    runner: ModuleType, tmp_path: Path
) -> None:
    export(workload("mix"), (50,), tmp_path, publications=2)
    report = runner.run(peer(runner, "counting"), tmp_path, 50, 0.0, 0.05)
    found = runner.row(("mix", 50), peer(runner, "counting"), report, 1, None)
    assert found["match_us"] is None
    assert found["remark"] == "not filled in time (0 of 50 added)"


def test_a_run_that_fails_says_why(runner: ModuleType, tmp_path: Path) -> None:
    broken = replace(peer(runner, "counting"), run=(sys.executable, "-c", "raise SystemExit('no')"))
    assert runner.run(broken, tmp_path, 1, 1.0, 0.1) == "failed: no"


def test_trouble_names_the_tools_that_are_missing(runner: ModuleType) -> None:
    jvm = peer(runner, "event-ruler")
    assert runner.trouble(jvm, which=lambda tool: None) == "not run: java and mvn missing"
    assert runner.trouble(peer(runner, "columnar"), which=lambda tool: None) == ""


@pytest.mark.parametrize(("status", "said"), [(0, ""), (1, "not run: mvn failed (no such thing)")])
def test_trouble_tells_how_a_build_ended(runner: ModuleType, status: int, said: str) -> None:
    def build(*_: Any, **__: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess((), status, "building\n", "no such thing\n")

    assert runner.trouble(peer(runner, "event-ruler"), lambda tool: tool, build) == said


def test_a_row_is_void_when_the_count_is_wrong(runner: ModuleType) -> None:
    place = ("mix", 10)
    ours = runner.row(place, peer(runner, "columnar"), REPORT, 7, None)
    assert (ours["remark"], ours["ratio"], ours["bytes"]) == ("counts agree", 1.0, 100.0)
    other = runner.row(place, peer(runner, "a-tree"), REPORT, 8, 3.0)
    assert (other["remark"], other["ratio"]) == ("VOID: 7 matches instead of 8", 2.0)
    assert runner.base_of([ours, other], "mix", 10) == 6.0
    assert runner.base_of([other], "mix", 10) is None


def test_a_row_says_what_a_peer_cannot_express(runner: ModuleType) -> None:
    partial = {**REPORT, "added": 8, "inexpressible": 2}
    found = runner.row(("mix", 10), peer(runner, "quamina"), partial, 7, 3.0)
    assert found["remark"] == "partial: cannot say 2 subscriptions"
    nothing = {"wanted": 10, "added": 0, "inexpressible": 10, "build_s": 0.0}
    found = runner.row(("mix", 10), peer(runner, "quamina"), nothing, 7, 3.0)
    assert found["remark"] == "not run: it can say none of the subscriptions"


def test_the_table_has_a_line_for_each_row_and_dashes_for_what_is_missing(
    runner: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    full = runner.row(("mix", 1000), peer(runner, "columnar"), REPORT, 7, None)
    missing = runner.row(("mix", 1000), peer(runner, "a-tree"), "not run: cargo missing", 7, 6.0)
    runner.print_table([full, missing])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert lines[2].startswith("| mix | 1,000 | columnar | a record | 50,000.0 | 6.0 | 9.0 |")
    assert lines[3].count("| - ") == 6
