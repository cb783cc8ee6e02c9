"""Decisions of the work's covering procedures, in small."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.data import data_file

from sapwood.errors import InputError
from sapwood.language.xpath import parse_xpath
from sapwood_lab.experiments import xpe_covering
from sapwood_lab.experiments.design import Choices, run
from sapwood_lab.experiments.paths import NITF, dtd_named, nitf_missing, with_nitf
from sapwood_lab.experiments.report import number
from sapwood_lab.experiments.xpe_covering import (
    COLUMNS,
    DESIGN,
    measure_set,
    report,
    small_advertisements,
    small_narrow,
    small_xpes,
)


@pytest.fixture
def no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SAPWOOD_DATA", raising=False)


def test_over_a_dtd_exact_procedures_are_exact(no_data: None) -> None:
    found = run(DESIGN, Choices((40,), 2, "proteins"))
    assert found.columns == COLUMNS
    assert set(found.column("workload")) == {"proteins"}
    rows = [dict(zip(COLUMNS, row, strict=True)) for row in found.rows]
    named = {(row["procedure"], row["version"]): row for row in rows}
    pairs = {str(row["procedure"]): number(row["pairs"]) for row in rows}
    assert sum(pairs[name] for name in pairs if name != "RelExprAndAdv") == 40 * 39
    for name in (
        ("AbsSimCov", "printed"),
        ("RelSimCov", "naive"),
        ("RelSimCov", "bits"),
        ("RelExprAndAdv", "naive"),
        ("RelExprAndAdv", "bits"),
    ):
        row = named[name]
        assert (row["false"], row["missed"]) == (0, 0)
        assert row["found"] == row["hold"]
    assert named["DesCov", "repaired"]["false"] == 0
    assert "nitf" not in found.settings, "one workload was asked for"


def test_all_small_ones_show_every_error_that_has_a_counter_example() -> None:
    """Two steps are enough for few; here are the XPEs that go wrong, and some around them."""
    texts = ("/*", "a", "a/*", "b//b/a", "*/a", "/b//a", "a/*/a", "a/*/b")
    narrow = [parse_xpath(text) for text in ("a/b/b/a", "a/a/b/a")]
    rows = measure_set([parse_xpath(text) for text in texts], small_advertisements(), narrow)
    errors = {(row["procedure"], row["version"]): (row["false"], row["missed"]) for row in rows}
    assert errors["absolute over relative", "printed"][1] == 6, "/* covers whatever is relative"
    assert errors["DesCov", "printed"] == (1, 1)
    assert errors["DesCov", "repaired"] == (0, 1)
    assert errors["RelSimCov", "naive"] == errors["RelSimCov", "bits"] == (0, 0)
    assert errors["RelSimCov", "next table"] == (0, 1)
    assert errors["RelSimCov", "next table by overlaps"] == (1, 0)
    false, missed = errors["RelExprAndAdv", "next table"]
    assert false
    assert not missed
    verdicts = {one.claim: one.holds for one in report(Choices(), rows).findings}
    assert not verdicts["DesCov, printed: claims no covers that do not hold"]
    assert verdicts["DesCov, repaired: claims no covers that do not hold"]
    assert not verdicts["absolute over relative: there are no covers"]


def test_the_workload_of_small_ones_is_complete() -> None:
    assert len(set(small_xpes())) == len(small_xpes()) == 6 + 36 + 216
    assert len(small_narrow()) == 3**4
    assert len(small_advertisements()) == 3 + 9 + 27 + 81


def test_nitf_is_left_out_with_the_reason(no_data: None) -> None:
    assert with_nitf(("news",)) == ("news",)
    found = report(Choices(), run_rows())
    assert "SAPWOOD_DATA names no folder" in str(found.settings["nitf"])
    with pytest.raises(InputError, match="not shipped, and SAPWOOD_DATA"):
        dtd_named(NITF)


def test_a_folder_without_nitf_is_a_reason_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SAPWOOD_DATA", str(tmp_path))
    assert "there is no" in str(nitf_missing())


def test_nitf_is_taken_where_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAPWOOD_DATA", str(data_file("nitf").parent))
    assert dtd_named(NITF).root == NITF
    chosen = xpe_covering.configurations(Choices((30,)))
    assert [one["workload"] for one in chosen] == ["news", "proteins", "nitf", "small"]
    rows = xpe_covering.measure(chosen[2])
    assert rows
    assert all(row["false"] == 0 for row in rows if row["version"] != "printed")
    assert "nitf" not in report(Choices(), rows).settings


def run_rows() -> list[dict[str, str | int | float | None]]:
    return [dict(row) for row in measure_set([parse_xpath("/a"), parse_xpath("/a/b")], ())]
