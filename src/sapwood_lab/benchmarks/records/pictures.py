"""The pictures of `sapwood bench records`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sapwood.charts.pictures import Point, line_chart


def draw_records(report: Mapping[str, Any], folder: Path) -> list[Path]:
    """Write a chart for each workload and one for the densities, of what agreed; the files."""
    folder.mkdir(parents=True, exist_ok=True)
    charts: dict[str, str] = {}
    cells = [cell for cell in report["cells"] if cell["verdict"] == "agrees"]
    for name in dict.fromkeys(cell["workload"] for cell in cells):
        lines: dict[str, list[Point]] = {}
        for cell in cells:
            if cell["workload"] == name:
                point = (cell["subscriptions"], cell["match_us"])
                lines.setdefault(cell["engine"], []).append(point)
        charts[f"records-{name}.svg"] = line_chart(
            f"Matching on {name}", "subscriptions", "µs a publication", lines
        )
    dense: dict[str, list[Point]] = {}
    for cell in report["densities"]:
        if cell["verdict"] == "agrees" and cell["matches_per_publication"]:
            share = 100 * cell["matches_per_publication"] / cell["subscriptions"]
            dense.setdefault(cell["engine"], []).append((share, cell["match_us"]))
    if dense:
        charts["records-density.svg"] = line_chart(
            "Matching by density", "matching subscriptions, %", "µs a publication", dense
        )
    for file, text in charts.items():
        (folder / file).write_text(text, "utf-8")
    return [folder / file for file in charts]
