"""The benchmark of table sizes: rows beside what was published."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

import pytest
from click.testing import CliRunner

from sapwood.cli.main import main
from sapwood_lab.benchmarks.documents_tables import print_documents_tables, run_documents_tables
from sapwood_lab.experiments import xpe_tables


@pytest.mark.long
def test_tables_of_every_size_and_rate_stand_beside_the_published(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(xpe_tables, "DOCUMENTS", 5)
    monkeypatch.setattr(xpe_tables, "TIMED_PATHS", 5)
    report = run_documents_tables("news", (120,))
    for rate in (0.9, 0.5):
        rows = [row for row in report["tables"] if row["covering_rate"] == rate]
        assert [row["table"] for row in rows[:3]] == ["all", "covering", "perfect"]
        sizes = [row["size"] for row in rows]
        assert sizes[:2] == [120, round(120 * (1 - rate))]
        assert sizes == sorted(sizes, reverse=True)
        assert all(row["verdict"] == "holds" for row in rows)
    assert report["advertisements"]["times_proteins"] == 1741 / 37
    print_documents_tables(report)
    shown = capsys.readouterr().out
    assert "13.96" in shown
    assert "43.5%" in shown


def test_bench_command_takes_a_dtd_of_ones_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(xpe_tables, "DOCUMENTS", 5)
    own = resources.files("sapwood_lab.workload.documents").joinpath("news.dtd").read_bytes()
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
