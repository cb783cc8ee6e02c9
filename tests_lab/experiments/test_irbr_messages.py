"""Both figures of IRBR, in small."""

from __future__ import annotations

from math import log
from random import Random

import pytest

from sapwood.overlay.identifiers import common_digits
from sapwood_lab.experiments import irbr_messages
from sapwood_lab.experiments.design import Choices
from sapwood_lab.experiments.irbr_messages import (
    LOAD_FACTOR,
    PROTOCOLS,
    PUBLICATIONS,
    Circle,
    Subscribed,
)
from sapwood_lab.experiments.report import Row, number
from sapwood_lab.workload.rates import RatedWorkload, covers

CHOICES = Choices((40,))


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    some = irbr_messages.configurations(CHOICES)
    return [{**one, **row} for one in some for row in irbr_messages.measure(one)]


def test_a_first_subscription_goes_to_all_but_by_scribe_and_a_covered_one_nowhere() -> None:
    circle = Circle(50, Random(1))
    known, home = Subscribed(circle), circle.routers[7]
    told = known.add(home, {"a1": 0.5})
    assert (told["irbr"], told["rpf"]) == (49, 49)
    assert told["scribe"] == len(circle.way(home, circle.rendezvous)) - 1
    told = known.add(home, {"a1": 0.7})
    assert not any(told[name] for name in PROTOCOLS)


def test_what_somebody_near_stands_for_is_told_to_the_near_only() -> None:
    circle, workload = Circle(60, Random(2)), RatedWorkload(1)
    known, random = Subscribed(circle), Random(3)
    for _ in range(30):
        home, wanted = random.choice(circle.routers), workload.draw_filter(random)
        standing = [router for router, one in known.wanted if covers(one, wanted)]
        told = known.add(home, wanted)["irbr"]
        shared = max((common_digits(home, one) for one in standing), default=-1)
        near = [one for one in circle.routers if common_digits(home, one) >= max(shared, 0)]
        assert told == (0 if home in standing else len(near) - 1)


@pytest.mark.long
def test_every_publication_reaches_who_wants_it_with_a_message_each_at_least(
    rows: list[Row],
) -> None:
    for row in rows:
        for name in ("irbr", "rpf", "rpf_plain"):
            assert number(row[f"publish_{name}"]) >= number(row["wanting"])


@pytest.mark.long
def test_the_report_says_which_claims_hold(rows: list[Row]) -> None:
    report = irbr_messages.report(CHOICES, rows)
    holds = {finding.claim: finding.holds for finding in report.findings}
    assert holds["a subscription costs least by Scribe"]
    assert holds["and in its plain form"]
    assert len(report.rows) == len(rows) == 30
    assert len(report.charts) == 6


@pytest.mark.parametrize(("busiest", "holds"), [(9.9, True), (9.97, False)])
def test_the_load_of_the_busiest_router_is_judged_by_a_constant_that_is_named(
    busiest: float, holds: bool
) -> None:
    row: Row = {
        "routers": 100, "rate": 0.5, "subscriptions": 10, "subscribe_irbr": 1.0,
        "busiest_irbr": busiest, "busiest_scribe": 20.0,
    }  # fmt: skip
    bar = list(irbr_messages._bars([row]))[-1]  # three times log4 100 are 9.966
    assert (LOAD_FACTOR, bar.holds) == (3, holds)
    assert f"{busiest / log(100, 4):.2f}" in bar.shown
    assert f"{20 / log(100, 4):.2f}" in bar.shown


def test_a_row_has_as_many_publications_as_are_chosen() -> None:
    (one, *_) = irbr_messages.configurations(Choices((3,), repeats=2))
    assert one["publications"] == 2
    (other, *_) = irbr_messages.configurations(Choices((3,)))
    assert other["publications"] == PUBLICATIONS
    rows = irbr_messages.measure(one)
    assert all(number(row["publish_irbr"]) * 2 % 1 == 0 for row in rows)
