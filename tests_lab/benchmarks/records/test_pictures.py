"""Pictures show the rows that agreed."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from sapwood_lab.benchmarks.records.cells import Cell
from sapwood_lab.benchmarks.records.pictures import draw_records


def cell(engine: str, size: int, match_us: float | None, verdict: str = "agrees") -> Cell:
    return Cell(
        "mix",
        engine,
        size,
        size,
        verdict,
        1.0,
        match_us=match_us,
        matches_per_publication=size / 100,
    )


def test_draw_records_writes_a_picture_for_each_workload_and_for_the_densities(
    tmp_path: Path,
) -> None:
    cells = [cell("columnar", 100, 2.0), cell("columnar", 1000, 3.0), cell("slow", 100, None, "no")]
    rows = [asdict(c) for c in cells]
    files = draw_records({"cells": rows, "densities": rows[:1]}, tmp_path / "new")
    assert [file.name for file in files] == ["records-mix.svg", "records-density.svg"]
    text = files[0].read_text("utf-8")
    assert ">columnar<" in text
    assert ">slow<" not in text


def test_draw_records_draws_nothing_where_nothing_agreed(tmp_path: Path) -> None:
    rows = [asdict(cell("slow", 100, None, "not filled"))]
    assert draw_records({"cells": rows, "densities": rows}, tmp_path) == []
