"""Tables 6.7 and 6.8 and figures 6.12 to 6.15 in small."""

from __future__ import annotations

from sapwood_lab.benchmarks.documents_covering import WRONG
from sapwood_lab.experiments.design import Choices, run
from sapwood_lab.experiments.report import Row
from sapwood_lab.experiments.xsearch import COLUMNS, DESIGN, SHARES, configurations, report


def row(patterns: int, descendant: float, wildcard: float, times: tuple[float, float]) -> Row:
    contained, containing = times
    return {
        "patterns": patterns,
        "descendant": descendant,
        "wildcard": wildcard,
        "contained_ms": contained,
        "containing_ms": containing,
        "contained_linear_times": 150.0,
        "containing_linear_times": 90.0,
        "share": 0.2 if patterns > 500 else 0.3,
        "verdict": "agrees",
    }


ROWS = [
    row(500, 0.05, 0.1, (0.5, 0.6)),
    row(1_000, 0.05, 0.1, (0.9, 1.2)),
    row(1_000, 0.2, 0.1, (0.8, 1.4)),
    row(1_000, 0.0, 0.1, (1.0, 1.1)),
    row(1_000, 0.05, 0.2, (0.8, 1.3)),
    row(1_000, 0.05, 0.0, (0.7, 1.0)),
]


def test_shares_are_swept_at_the_largest_size_and_no_set_is_measured_twice() -> None:
    found = configurations(Choices((30, 60), repeats=5))
    assert len(found) == 1 + 2 * len(SHARES) - 1
    assert {one["patterns"] for one in found if one["wildcard"] != 0.1} == {60}
    assert {one["queries"] for one in found} == {5}


def test_searches_find_what_pairs_do() -> None:
    found = run(DESIGN, Choices((30, 60), repeats=5))
    assert found.columns == COLUMNS
    assert set(found.column("verdict")) == {"agrees"}
    assert found.findings[-1].holds
    assert all(chart.placed(chart.lines) for chart in found.charts)
    assert [bool(chart.published) for chart in found.charts] == [True, False, True, False, False]


def test_findings_are_those_of_the_rows() -> None:
    found = report(Choices(), ROWS)
    assert [one.holds for one in found.findings] == [
        *(True, True, True, False, False, True, True, True, True)
    ]
    assert found.findings[4].shown == "1.2 of at most 1"
    assert "0.80 times" in found.findings[6].shown, "from 0 to 0.2, not in the order of rows"
    wrong = report(Choices(), [*ROWS[:-1], {**ROWS[-1], "verdict": WRONG}])
    assert str(wrong.findings[-1]) == (
        "does not hold: searches find what pairs do (1 of 6 sets differ)"
    )


def test_published_figures_stand_beside_the_sets_of_their_shares() -> None:
    found = report(Choices(), ROWS)
    assert found.column("contained_published_ms") == [None, 0.23, None, None, None, None]
    assert found.column("published_share") == [None, 0.25, None, None, None, None]
