"""The benchmark of containment search: honest rows beside the published figures."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from tests.covering.patterns import patterns

from sapwood.cli.main import main
from sapwood.covering.xsearch import XSearchIndex
from sapwood.model.patterns.containment import twig_covers
from sapwood.model.patterns.pattern import TreePattern
from sapwood_lab.benchmarks import documents_covering
from sapwood_lab.benchmarks.documents_covering import (
    SIZES,
    WRONG,
    print_documents_covering,
    run_documents_covering,
    tabulated_covers,
)


def test_every_size_has_a_row_that_agrees_with_the_patterns(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents_covering, "_ADVERTISED_XPES", 10)
    report = run_documents_covering("proteins", (150, 60), (40,), queries=10)
    first, second = report["search"]
    assert [row["patterns"] for row in (first, second)] == [60, 150]
    for row in (first, second):
        assert row["verdict"] == "agrees"
        assert row["share"] == row["tree_nodes"] / row["pattern_nodes"] < 1
        assert row["published_share"] is row["contained_published_ms"] is None
        assert row["contained_found"] > 0 < row["containing_found"]
        for direction in ("contained", "containing"):
            for slow in ("pairwise", "linear"):
                times = row[f"{direction}_{slow}_ms"] / row[f"{direction}_ms"]
                assert row[f"{direction}_{slow}_times"] == pytest.approx(times)
    assert second["pattern_nodes"] > first["pattern_nodes"]
    (tree,) = report["tree"]
    assert tree["covering_rate"] == 1 - tree["maximal"] / 40
    assert [(row["kind"], row["verdict"]) for row in report["advertised"]] == [
        ("non-recursive", "agrees")
    ]
    assert gc.isenabled()
    print_documents_covering(report)
    shown = capsys.readouterr().out
    assert "published" in shown
    assert " - " in shown


@pytest.mark.long
def test_published_figures_stand_beside_their_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(documents_covering, "_PAIRWISE_MAX", 500)
    (row,) = run_documents_covering("news", (1000,), (), queries=2)["search"]
    assert (row["contained_published_ms"], row["containing_published_ms"]) == (0.23, 0.28)
    assert row["published_share"] == 0.250
    assert (row["verdict"], row["contained_pairwise_times"]) == ("not compared", None)
    assert SIZES[0] == 1000


@pytest.mark.long
def test_an_index_that_misses_something_is_called_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(_index: XSearchIndex, _query: TreePattern) -> set[int]:
        return set()

    monkeypatch.setattr(XSearchIndex, "covering", nothing)
    (row,) = run_documents_covering("proteins", (40,), (), queries=20)["search"]
    assert row["verdict"] == WRONG


@given(patterns(), patterns())
def test_a_table_of_all_pairs_covers_what_homomorphisms_do(
    one: TreePattern, other: TreePattern
) -> None:
    for wide in one.twigs:
        for narrow in other.twigs:
            assert tabulated_covers(wide, narrow) is twig_covers(wide, narrow)


@pytest.mark.long
def test_bench_draws_from_another_dtd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dtd = tmp_path / "small.dtd"
    names = "abcdef"
    dtd.write_text(
        "<!ELEMENT r (a|b|c|d|e|f)*>"
        + "".join(f"<!ELEMENT {name} (a|b|c|d|e|f)*>" for name in names)
    )
    arguments = ["bench", "documents-covering", "--sizes", "30", "--dtd", str(dtd)]
    result = CliRunner().invoke(main, [*arguments, "--out", str(tmp_path / "bench.json")])
    assert result.exit_code == 0, result.output
    assert "agrees" in result.stdout
    assert "covering rate" in result.stdout
