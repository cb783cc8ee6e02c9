from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.pipelines.runs import run

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]


@pytest.mark.long
def test_report_makes_figures_and_a_page(tmp_path: Path) -> None:
    (tmp_path / "d.jsonl").write_text('{"publication": "p", "subscription": "s"}\n')
    paths = ("--deliveries", tmp_path / "d.jsonl", "--out", tmp_path / "out")
    page = tmp_path / "pages" / "page.html"
    done = run("report", *paths, "--page", page)
    assert done.exit_code == 0, done.output
    assert done.stderr == f"1 delivery: figures in {tmp_path}/out, page in {page}\n"
    assert page.read_text().startswith("<!doctype html>")
    sizes = tmp_path / "sizes.jsonl"
    sizes.write_text('{"broker":"r1","table":"local","at":"2026-01-01T00:00:00Z","entries":3}\n')
    done = run("report", *paths, "--json", "--table-sizes", sizes, "--table-sizes", sizes)
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    assert (told["deliveries"], told["dead"]) == (1, None)
    assert told["page"] == f"{tmp_path}/out/report.html"
    assert "at most 3" in Path(told["page"]).read_text()
