"""`sapwood experiment`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.sessions import spark

from sapwood.catalogue import Catalogue
from sapwood.cli.main import main
from sapwood_lab.experiments.catalogue import EXPERIMENTS, Experiment, experiment

__all__ = ["spark"]

QUICK = ["experiment", "xroute-tables", "--sizes", "60,30"]


def test_experiment_lists_the_catalogue() -> None:
    for arguments in (["experiment"], ["experiment", "--list"]):
        lines = CliRunner().invoke(main, arguments).stdout.splitlines()
        assert lines[0].split() == ["NAME", "SOURCE", "SUMMARY"]
        assert [line.split()[0] for line in lines[1:]] == list(EXPERIMENTS)
    listed = json.loads(CliRunner().invoke(main, ["experiment", "--list", "--json"]).stdout)
    assert [row["name"] for row in listed] == list(EXPERIMENTS)


def test_experiment_prints_a_table_beside_what_was_published_and_writes_it(tmp_path: Path) -> None:
    pq = pytest.importorskip("pyarrow.parquet")
    result = CliRunner().invoke(main, [*QUICK, "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    heading, columns, first, second, *findings, compare = result.stdout.splitlines()
    assert "XNet, table 6.5" in heading
    assert "published_ratio" in columns
    assert first.split()[0] == "30"
    assert second.split()[0] == "60"
    assert len(findings) == 2
    assert all(line.startswith(("holds: ", "does not hold: ")) for line in findings)
    assert compare.startswith("Compare the ratio")
    written = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert written == [
        "xroute-tables-registrations.svg",
        "xroute-tables-tables.svg",
        "xroute-tables.parquet",
        "xroute-tables.txt",
    ]
    table = pq.read_table(tmp_path / "out" / "xroute-tables.parquet")
    assert table.column("subscriptions").to_pylist() == [30, 60]
    text = (tmp_path / "out" / "xroute-tables.txt").read_text(encoding="utf-8")
    assert text.splitlines()[1].split("\t") == columns.split()


@pytest.mark.long
def test_experiment_prints_json() -> None:
    result = CliRunner().invoke(main, [*QUICK, "--seed", "2", "--workload", "proteins", "--json"])
    report = json.loads(result.stdout)
    assert report["settings"]["workload"] == "proteins"
    assert [row["subscriptions"] for row in report["rows"]] == [30, 60]
    assert [set(finding) for finding in report["findings"]] == [
        {"claim", "holds", "shown", "why", "needs"}
    ] * 2


def test_experiment_says_what_options_need(tmp_path: Path) -> None:
    for options, said in (
        (["--spark"], "give --out as well"),
        (["--master", "local[2]", "--out", str(tmp_path)], "--master is where --spark runs"),
    ):
        result = CliRunner().invoke(main, [*QUICK, *options])
        assert result.exit_code == 2
        assert said in result.stderr


def test_experiments_are_bound_as_a_book_that_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow.parquet")
    one = Catalogue("experiment", Experiment, (experiment("curve-runs"),), group="none")
    monkeypatch.setattr("sapwood_lab.experiments.catalogue.EXPERIMENTS", one)
    arguments = ["experiment", "--quick", "--out", str(tmp_path)]
    kept: list[dict[Path, int]] = []
    for _ in range(2):
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 0, result.output
        assert f"wrote {tmp_path / 'book.html'}" in result.stderr
        runs = tmp_path.glob("curve-runs.sweep/runs/*.parquet")
        kept.append({path: path.stat().st_mtime_ns for path in runs})
    assert kept[0] == kept[1]
    assert len(kept[0]) > 2
    html = (tmp_path / "book.html").read_text(encoding="utf-8")
    assert "parameters smaller than published (--quick)" in html
    assert "sapwood experiment curve-runs" in html
    assert (tmp_path / "curve-runs.txt").exists()


def test_quick_experiment_takes_its_smaller_parameters() -> None:
    result = CliRunner().invoke(main, ["experiment", "delay-bounds", "--quick", "--json"])
    assert {row["messages"] for row in json.loads(result.stdout)["rows"]} == {5_000}


@pytest.mark.parametrize(
    "options",
    [
        ["--all", "curve-runs"],
        ["--all", "--json"],
        ["--quick", "--sizes", "3"],
        ["--all", "--list"],
    ],
)
def test_book_is_of_all_experiments(options: list[str]) -> None:
    result = CliRunner().invoke(main, ["experiment", *options])
    assert result.exit_code == 2
    assert "the book is of all experiments" in result.stderr


@pytest.mark.spark
@pytest.mark.long
def test_experiment_runs_on_spark_and_goes_on_where_it_was(spark: Any, tmp_path: Path) -> None:
    arguments = ["experiment", "xpe-processing", "--sizes", "20", "--workload", "proteins"]
    arguments += ["--spark", "--out", str(tmp_path), "--json"]
    first = CliRunner().invoke(main, arguments)
    assert first.exit_code == 0, first.output
    assert (tmp_path / "xpe-processing.parquet").exists()
    again = CliRunner().invoke(main, arguments)
    assert json.loads(again.stdout) == json.loads(first.stdout), "times too: nothing was done again"


@pytest.mark.parametrize("sizes", ["", "0", "1,,2", "x", "-1", "1.5"])
def test_experiment_refuses_what_is_no_size(sizes: str) -> None:
    result = CliRunner().invoke(main, ["experiment", "xroute-tables", "--sizes", sizes])
    assert result.exit_code == 2
    assert "not whole numbers" in result.stderr


def test_experiment_that_does_not_exist_ends_with_the_known_names() -> None:
    result = CliRunner().invoke(main, ["experiment", "table-6.5"])
    assert result.exit_code == 2
    assert "known: xroute-tables" in result.stderr


@pytest.mark.long
def test_experiment_says_what_parquet_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    result = CliRunner().invoke(main, [*QUICK, "--out", str(tmp_path)])
    assert result.exit_code == 2
    assert "install sapwood[spark]" in result.stderr
