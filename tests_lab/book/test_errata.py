"""What the works print and is not so."""

from __future__ import annotations

import pytest

from sapwood_lab.book.errata import (
    ERRATA,
    WAVE,
    adaptive_cost,
    depth_of_tree,
    errata_of,
    optimal_cost,
)
from sapwood_lab.experiments.catalogue import EXPERIMENTS


def test_errata_are_of_works_that_have_a_chapter() -> None:
    works = {EXPERIMENTS[name].source.partition(",")[0] for name in EXPERIMENTS}
    assert {one.work for one in ERRATA} <= works
    assert [one for work in sorted(works) for one in errata_of(work)] == list(ERRATA)


@pytest.mark.parametrize(
    ("work", "place", "words"),
    [
        ("Shen", "theorem 7", "2.97 times"),
        ("Shen", "section 5.5", "500 bytes, a 100th of 50,000"),
        ("Shen", "section 3.4", "has a depth of 6"),
        ("XPE dissemination", "table 1.3", "8,128,000 messages"),
        (
            "XPE dissemination",
            "section 1.4",
            "a/*/b lies in a/b/a/b nowhere, and the table says from step 2 on",
        ),
        ("XPE dissemination", "section 1.6", "it is 1.05%, and 1.38%"),
    ],
)
def test_counter_examples_are_computed(work: str, place: str, words: str) -> None:
    (found,) = (one for one in ERRATA if (one.work, one.place) == (work, place))
    assert words in found.found()


def test_adaptive_costs_less_than_three_times_the_optimum_and_more_than_twice() -> None:
    ratios = [adaptive_cost(WAVE, e) / optimal_cost(WAVE, e) for e in range(1, 4 * WAVE)]
    assert 2.9 < max(ratios) < 3
    assert ratios[: WAVE - 1] == [1.0] * (WAVE - 1)


def test_a_binary_tree_is_as_deep_as_the_logarithm_rounded_down() -> None:
    assert [depth_of_tree(n) for n in (1, 3, 4, 100, 127, 128)] == [0, 1, 2, 6, 6, 7]
