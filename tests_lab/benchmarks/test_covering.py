"""The covering benchmark: every pair on every sequence, lower bounds, and the published order."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sapwood.covering.catalogue import COVERINGS
from sapwood_lab.benchmarks.covering import (
    ORDER,
    WHOLE,
    draw_covering,
    is_faster,
    print_covering,
    published_order,
    run_covering,
)
from sapwood_lab.experiments.covering_time import COUNTING, FOREST, KDTREE, OURS, POSET, VOID

WANTED = 1000


def row(covering: str, operations: int, seconds: float, axes: int = 6, share: float = 0.4) -> Any:
    return {
        "covering": covering,
        "attributes": axes,
        "removal_share": share,
        "wanted": WANTED,
        "operations": operations,
        "operation_us": seconds / operations * 1e6,
        "whole_s": seconds * WANTED / operations,
        "live": 12,
        "propagated": 10,
        "verdict": "holds",
    }


AS_PUBLISHED = [
    row(OURS, WANTED, 0.5),
    row(KDTREE, WANTED, 5.0),
    row(COUNTING, WANTED, 6.0),
    row(FOREST, 200, 2.0),
    row(POSET, 100, 2.0),
]


def test_every_pair_has_a_row_for_every_removal_share() -> None:
    rows = list(run_covering(60, (1,), (0.0, 0.4), 60.0))
    assert {(r["covering"], r["removal_share"]) for r in rows} == {
        (name, share) for name in COVERINGS for share in (0.0, 0.4)
    }
    assert all(r["verdict"] == "holds" and r["operations"] == 60 for r in rows)
    assert all(r["whole_s"] == pytest.approx(r["seconds"]) for r in rows)
    assert len({r["live"] for r in rows if r["removal_share"] == 0.4}) == 1


def test_a_pair_without_time_left_is_stopped_and_those_that_are_compared_are_not() -> None:
    rows = list(run_covering(200, (3,), (0.2,), 0.0, names=("flat-1,reference", *WHOLE)))
    assert {r["covering"]: r["operations"] for r in rows} == {
        "flat-1,reference": 0,
        **dict.fromkeys(WHOLE, 200),
    }


@pytest.mark.long
def test_whole_s_is_a_lower_bound_for_one_that_was_stopped() -> None:
    rows = list(run_covering(2000, (3,), (0.0,), 0.01, names=("flat-1,reference",)))
    assert 0 < rows[0]["operations"] < 2000
    assert rows[0]["whole_s"] == pytest.approx(
        rows[0]["seconds"] * 2000 / rows[0]["operations"], rel=1e-9
    )


def test_is_faster_concludes_nothing_from_a_lower_bound_above() -> None:
    done, stopped = row(KDTREE, WANTED, 5.0), row(FOREST, 100, 0.4)
    assert not is_faster(done, stopped)  # above 4 s may be 4.5 s
    assert is_faster(done, row(FOREST, 100, 0.6))
    assert not is_faster(row(FOREST, 100, 0.6), done)
    assert is_faster(row(FOREST, 101, 0.4), stopped)
    assert not is_faster(stopped, row(POSET, 100, 0.4))


def test_published_order_tells_where_a_claim_fails() -> None:
    assert all((tried, against) == (1, []) for _, tried, against in published_order(AS_PUBLISHED))
    slow = [row(KDTREE, WANTED, 7.0) if r["covering"] == KDTREE else r for r in AS_PUBLISHED]
    found = {claim: against for claim, _, against in published_order(slow)}
    assert found.pop("the k-d tree is faster than counting") == ["d = 6, p = 0.4"]
    assert not any(found.values())


def test_published_order_leaves_out_what_was_not_claimed_or_not_measured() -> None:
    few = [{**r, "attributes": 3} for r in AS_PUBLISHED]
    tried = {claim: count for claim, count, _ in published_order(few)}
    assert tried.pop("counting is faster than the forest beyond 4 attributes") == 0
    assert set(tried.values()) == {1}
    assert {count for _, count, _ in published_order(AS_PUBLISHED[:1])} == {0}
    assert len(ORDER) == len(tried) + 1


def test_print_covering_shows_bounds_the_order_and_what_ours_gains(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_covering([*AS_PUBLISHED, {**row("dense,sfc-z", 10, 1.0), "verdict": VOID}])
    text = capsys.readouterr().out
    assert "6 attributes: seconds for 1,000 operations" in text
    lines = [line.split() for line in text.splitlines()]
    assert ["forest", ">", "10.0"] in lines
    assert ["dense,sfc-z", "VOID"] in lines
    assert "1 of 1" in text
    assert ["flat-1,kdtree", "1,000", "5,000.0", "12", "10", "10.0", "hold"] in lines
    assert ["poset", "100", "20,000.0", "12", "10", ">", "40.0", "hold"] in lines


def test_print_covering_leaves_out_comparisons_that_cannot_be_made(
    capsys: pytest.CaptureFixture[str],
) -> None:
    print_covering([row("dense,sfc-z", WANTED, 1.0)])
    text = capsys.readouterr().out
    assert "published" not in text
    assert "us an operation" not in text


def test_draw_covering_writes_a_chart_for_each_number_of_attributes(tmp_path: Path) -> None:
    rows = [
        *AS_PUBLISHED,
        *({**r, "attributes": 3} for r in AS_PUBLISHED),
        row("dense,sfc-z", WANTED, 1.0, axes=5),
    ]
    drawn = draw_covering(rows, tmp_path / "new")
    assert [path.name for path in drawn] == ["covering-3.svg", "covering-6.svg"]
    text = drawn[0].read_text("utf-8")
    assert "poset, at least" in text
    assert "flat-1,kdtree<" in text
