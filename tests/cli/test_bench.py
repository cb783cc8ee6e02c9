"""`sapwood bench` writes its figures and prints tables."""

from __future__ import annotations

from pathlib import Path

import msgspec
from click.testing import CliRunner

from sapwood.cli import bench
from sapwood.cli.benchmarks import matching
from sapwood.cli.main import main


def test_bench_writes_json_and_prints_a_table(tmp_path: Path) -> None:
    out = tmp_path / "results" / "bench.json"
    arguments = ["bench", "matching", "--workload", "eq", "--seconds", "0.05", "--out", str(out)]
    sizes = matching.run_matching.__defaults__
    matching.run_matching.__defaults__ = ((100,), 0.01)
    try:
        result = CliRunner().invoke(main, arguments)
    finally:
        matching.run_matching.__defaults__ = sizes
    assert result.exit_code == 0, result.output
    figures = msgspec.json.decode(out.read_bytes())
    assert {cell["engine"] for cell in figures["matching"]} >= {"reference", "columnar"}
    assert all(cell["agrees"] for cell in figures["matching"])
    assert figures["machine"]["python"]
    assert "matches/s" in result.stdout


def test_bench_knows_how_to_measure_and_print_every_subject() -> None:
    assert set(bench._MEASURES) == set(bench._TABLES) == set(bench.SUBJECTS)


def test_bench_refuses_a_subject_it_does_not_know() -> None:
    result = CliRunner().invoke(main, ["bench", "weather"])
    assert result.exit_code == 2
    assert "weather" in result.stderr
