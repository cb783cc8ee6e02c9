"""Figures 5.3 and 9.16 in small."""

from __future__ import annotations

from typing import Any

import pytest

from sapwood_lab.experiments import bloom_false_positives
from sapwood_lab.experiments.bloom_false_positives import BROKER, LINK
from sapwood_lab.experiments.design import Choices
from sapwood_lab.experiments.report import Row, number


def measured(part: str, log_bits: int, size: int, events: int, matched: int = 0) -> Row:
    given = zip(
        bloom_false_positives.GIVEN, (part, log_bits, size, matched, events, 1), strict=True
    )
    [row] = bloom_false_positives.measure(dict(given))
    return row


def test_few_bits_make_as_many_false_positives_as_the_formula_says_and_lose_nothing() -> None:
    few, many = (measured(BROKER, bits, 600, 100) for bits in (8, 16))
    assert few["false_negatives"] == many["false_negatives"] == 0
    assert few["matched_mean"] == many["matched_mean"]
    assert 5 < number(few["exact_pct"]) < 95
    assert number(few["false_pct"]) == pytest.approx(number(few["exact_pct"]), abs=15)
    assert number(few["exact_pct"]) < number(few["figure_5_3_pct"])
    assert many["false_events"] == 0


@pytest.mark.long
def test_a_link_carries_as_much_for_nothing_as_the_formula_says() -> None:
    row = measured(LINK, 9, 200, 400, matched=40)
    assert not row["false_negatives"]
    assert 20 < number(row["exact_pct"]) < 80
    assert number(row["false_pct"]) == pytest.approx(number(row["exact_pct"]), rel=0.25)


def row(part: str, found: float, exact: float, lost: int = 0, **more: Any) -> Row:
    return {
        "part": part,
        "log_bits": 12,
        "subscriptions": 5_000,
        "events": 10_000,
        "matched_mean": 60.0,
        "false_events": round(100 * found),
        "false_pct": found,
        "exact_pct": exact,
        "figure_5_3_pct": 97.0,
        "false_negatives": lost,
        **more,
    }


def test_the_claims_are_judged_by_the_formula_and_the_published_point() -> None:
    told = bloom_false_positives.report(Choices(), [row(BROKER, 40, 41), row(LINK, 10, 11)])
    assert [one.holds for one in told.findings] == [True] * 5
    assert told.column("published_false") == [4_695, None]
    assert told.charts[0].published
    wrong = [row(BROKER, 60, 41, lost=1), row(LINK, 10, 20), row(LINK, 10, 10)]
    judged = bloom_false_positives.report(Choices(), wrong).findings
    assert [one.holds for one in judged] == [False] * 5


def test_only_the_published_run_has_published_values_beside_it() -> None:
    told = bloom_false_positives.report(Choices(), [row(BROKER, 40, 41, events=300)])
    assert told.column("published_false") == [None]
    assert len(told.findings) == 4
