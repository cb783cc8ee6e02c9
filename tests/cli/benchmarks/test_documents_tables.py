"""The benchmark of table sizes: honest rows in the published order."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from pathlib import Path

import pytest
from click.testing import CliRunner

from sapwood import parse_xpath
from sapwood.cli.benchmarks import documents_tables
from sapwood.cli.benchmarks.documents_tables import (
    LOST,
    print_documents_tables,
    run_documents_tables,
)
from sapwood.cli.main import main
from sapwood.model.documents.pattern import TreePattern

TABLES = ["all", "covering", "perfect", "imperfect"]


def test_tables_shrink_in_the_published_order_and_lose_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    report = run_documents_tables("news", (120,))
    for rate in (0.9, 0.5):
        rows = [row for row in report["tables"] if row["covering_rate"] == rate]
        assert [row["table"] for row in rows] == TABLES
        sizes = [row["size"] for row in rows]
        assert sizes[:2] == [120, round(120 * (1 - rate))]
        assert sizes == sorted(sizes, reverse=True)
        assert all(row["verdict"] == "holds" for row in rows)
        assert all(row["false_positives"] == 0 for row in rows[:2])
    assert report["advertisements"]["times_proteins"] == 1741 / 37
    print_documents_tables(report)
    shown = capsys.readouterr().out
    assert "13.96" in shown
    assert "43.5%" in shown


def test_row_says_when_a_table_loses_a_path(monkeypatch: pytest.MonkeyPatch) -> None:
    def forgetting(xpes: Sequence[TreePattern]) -> list[TreePattern]:
        return [parse_xpath("/nowhere")]

    monkeypatch.setattr(documents_tables, "_maximal", forgetting)
    rows = run_documents_tables("news", (40,), rates=(0.5,))["tables"]
    assert [row["verdict"] for row in rows] == ["holds", LOST, LOST, LOST]


def test_maximal_keeps_one_of_those_that_cover_each_other() -> None:
    texts = ("/a/*//b", "/a//*/b", "/a/b", "/a//b", "/c")
    kept = documents_tables._maximal([parse_xpath(text) for text in texts])
    assert [str(one) for one in kept] == ["/a//b", "/c"]
    assert len(documents_tables._maximal([parse_xpath(text) for text in texts[:2]])) == 1


def test_bench_command_takes_a_dtd_of_ones_own(tmp_path: Path) -> None:
    own = resources.files("sapwood.workload.documents").joinpath("news.dtd").read_bytes()
    dtd = tmp_path / "own.dtd"
    dtd.write_bytes(own)
    out = tmp_path / "figures.json"
    done = CliRunner().invoke(
        main,
        ["bench", "documents-tables", "--sizes", "30", "--dtd", str(dtd), "--out", str(out)],
    )
    assert done.exit_code == 0, done.output
    assert out.exists()
    assert "holds" in done.output
