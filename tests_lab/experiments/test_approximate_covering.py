"""Approximate covering in small."""

from __future__ import annotations

import pytest

from sapwood.errors import InputError
from sapwood_lab.experiments import approximate_covering as experiment
from sapwood_lab.experiments.design import Choices
from sapwood_lab.experiments.report import Row


def rows(operations: int) -> list[Row]:
    some = [
        one
        for one in experiment.configurations(Choices((operations,)))
        if one["attributes"] == 2 and one["epsilon"] in {"0", "0.3", "0.9"}
    ]
    return [{**one, **row} for one in some for row in experiment.measure(one)]


@pytest.mark.long
def test_more_travels_as_less_is_searched_and_nothing_is_lost() -> None:
    report = experiment.report(Choices(), rows(400))
    assert all(finding.holds for finding in report.findings), report.findings
    extra = report.column("extra_share")
    assert extra[:3] == extra[3:], "on both curves"
    assert extra[0] == 0
    assert isinstance(extra[2], float)
    assert extra[2] > 0
    assert report.charts[0].lines.keys() == {"2 attributes"}


def test_a_link_that_lost_a_cover_would_be_seen() -> None:
    found = [dict(one) for one in rows(60)]
    found[0]["verdict"] = "a live subscription is not covered"
    found[1]["least_searched"] = 0.1
    claims = {one.claim for one in experiment.report(Choices(), found).findings if not one.holds}
    assert claims == {
        "each live subscription is inside one that was propagated",
        "a search looks at a share of at least 1 - epsilon",
    }


def test_there_is_no_workload_to_choose() -> None:
    with pytest.raises(InputError, match="leave the workload out"):
        experiment.configurations(Choices(source="news"))
