"""`sapwood bench` writes its figures and prints tables."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from sapwood.cli.main import main
from sapwood_lab.benchmarks import records
from sapwood_lab.benchmarks.machine import stream_bytes_per_s
from sapwood_lab.cli import bench
from tests_lab.benchmarks.conftest import small_blocks

__all__ = ("small_blocks",)


@pytest.fixture(autouse=True)
def _short_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "stream_bytes_per_s", lambda: stream_bytes_per_s(1 << 22))


@pytest.mark.long
def test_bench_writes_json_and_prints_a_table(tmp_path: Path) -> None:
    out = tmp_path / "results" / "bench.json"
    options = "--workload eq --sizes 50,100 --seconds 0.05 --density 0.05 --engine counting"
    arguments = ["bench", "records", *options.split(), "--out", str(out)]
    arguments += ["--pictures", str(tmp_path)]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    figures = msgspec.json.decode(out.read_bytes())
    cells = figures["records"]["cells"]
    assert {(c["engine"], c["subscriptions"]) for c in cells} == {
        (engine, size) for engine in ("counting", "numpy scan", "plain scan") for size in (50, 100)
    }
    assert {c["verdict"] for c in cells} == {"agrees"}
    assert figures["machine"]["python"]
    assert "x scan" in result.stdout
    assert (tmp_path / "records-eq.svg").exists()
    assert "changes while matching" in result.stdout


@pytest.mark.parametrize("sizes", ["", "0", "10,x", "10,-1"])
def test_bench_refuses_sizes_that_are_no_numbers(sizes: str) -> None:
    result = CliRunner().invoke(main, ["bench", "records", "--sizes", sizes])
    assert result.exit_code == 2
    assert "whole numbers" in result.stderr


def test_bench_exports_a_workload_instead_of_measuring(tmp_path: Path) -> None:
    options = "--workload eq --workload rng --sizes 20 --publications 3"
    arguments = ["bench", "records", *options.split(), "--export", str(tmp_path)]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    for name in ("eq", "rng"):
        assert len((tmp_path / name / "subscriptions.jsonl").read_bytes().splitlines()) == 20
        assert len((tmp_path / name / "publications.jsonl").read_bytes().splitlines()) == 3


def test_bench_says_what_real_records_need(tmp_path: Path) -> None:
    arguments = ["bench", "records", "--workload", "city-lots", "--data", str(tmp_path)]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 2
    assert "citylots-fragment.json, and it is not there" in result.stderr


@pytest.mark.long
def test_bench_exports_what_is_there_of_real_records_and_names_the_rest(tmp_path: Path) -> None:
    arguments = ["bench", "records", "--sizes", "5", "--export", str(tmp_path / "out")]
    result = CliRunner().invoke(main, [*arguments, "--data", str(tmp_path), "--publications", "2"])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "out" / "mix" / "expected.json").exists()
    assert "left out city-lots: " in result.stderr


def test_bench_knows_how_to_measure_and_print_every_subject() -> None:
    assert set(bench._MEASURES) == set(bench._TABLES) == set(bench.SUBJECTS)


def test_bench_refuses_a_subject_it_does_not_know() -> None:
    result = CliRunner().invoke(main, ["bench", "weather"])
    assert result.exit_code == 2
    assert "weather" in result.stderr
