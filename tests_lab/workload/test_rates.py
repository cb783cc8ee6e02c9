"""Rates that are asked for are those that there are."""

from __future__ import annotations

from itertools import pairwise
from random import Random

import pytest

from sapwood.errors import InputError
from sapwood.language import parse_filter
from sapwood.model.publication import Publication
from sapwood_lab.workload.rates import RatedWorkload, as_text, covers, matches


@pytest.mark.parametrize(
    "workload",
    [RatedWorkload(1), RatedWorkload(5), RatedWorkload(25), RatedWorkload(4, 2, 3)],
    ids=str,
)
@pytest.mark.one_in(2)
def test_covering_and_matching_rates_are_what_the_formulas_say(workload: RatedWorkload) -> None:
    random, count = Random(1), 20_000
    filters = [workload.draw_filter(random) for _ in range(count)]
    records = [workload.draw_record(random) for _ in range(count)]
    covered = sum(covers(one, other) for one, other in pairwise(filters)) / count
    matched = sum(map(matches, filters, records)) / count
    assert covered == pytest.approx(workload.covering_rate, abs=0.015)
    assert matched == pytest.approx(workload.matching_rate, abs=0.015)


def test_the_example_of_the_module_holds() -> None:
    assert RatedWorkload(5).covering_rate == RatedWorkload(5).matching_rate == 0.1
    assert RatedWorkload(25).covering_rate == 0.02


def test_filters_mean_in_sapwood_what_they_mean_here() -> None:
    workload, random = RatedWorkload(3, 2, 3), Random(2)
    for _ in range(300):
        one, other = workload.draw_filter(random), workload.draw_filter(random)
        record = workload.draw_record(random)
        first, second = parse_filter(as_text(one)), parse_filter(as_text(other))
        assert first.covers(second) == covers(one, other)
        assert first.matches(Publication("p", dict(record))) == matches(one, record)


def test_numbers_that_cannot_be_are_refused() -> None:
    with pytest.raises(InputError, match="not 2, 1, 5"):
        RatedWorkload(5, 2, 1)
