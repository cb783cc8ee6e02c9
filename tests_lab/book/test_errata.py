"""Errata: printed claims of the works that are not so."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sapwood.model.constraint import equal_to
from sapwood.routing.forwarding.bloom.digest import PREDICATES, shape_of
from sapwood.routing.forwarding.bloom.published.sbstree import SbsTree
from sapwood.routing.forwarding.bloom.published.structures import bits_of
from sapwood_lab.book.errata import (
    ERRATA,
    WAVE,
    adaptive_cost,
    bound_6_4,
    depth_of_tree,
    errata_of,
    first_with_equal_bits,
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
        ("XSiena", "equation 6.4", "the bound is 10 ns less than the second"),
        ("XSiena", "section 5.3.2", "x = 0 and x = "),
        ("XSiena", "section 5.6.2", "0, 2787, 12518, 15000 is matched by"),
        ("XSiena", "section 9.2", "97.0% is the chance after 5,000 elements"),
    ],
)
def test_counter_examples_are_computed(work: str, place: str, words: str) -> None:
    (found,) = (one for one in ERRATA if (one.work, one.place) == (work, place))
    assert words in found.found()


def test_a_filter_with_equal_bits_goes_where_bits_are_not_counted() -> None:
    other = first_with_equal_bits(0, 64)
    shape = shape_of(64, 1, PREDICATES)
    one, same = (bits_of(("x", equal_to(value)), shape) for value in (0, other))
    assert one == same
    assert other > 0
    tree = SbsTree()
    for bits in (one, same):
        tree.add(bits, "i")
    tree.remove(one, "i")
    assert tree.match(same) == {"i"}, "ours counts them"


def test_the_bound_falls_short_by_the_square_of_the_drift() -> None:
    assert bound_6_4(Fraction(1), Fraction(1, 10)) == Fraction(99, 100)


def test_adaptive_costs_less_than_three_times_the_optimum_and_more_than_twice() -> None:
    ratios = [adaptive_cost(WAVE, e) / optimal_cost(WAVE, e) for e in range(1, 4 * WAVE)]
    assert 2.9 < max(ratios) < 3
    assert ratios[: WAVE - 1] == [1.0] * (WAVE - 1)


def test_a_binary_tree_is_as_deep_as_the_logarithm_rounded_down() -> None:
    assert [depth_of_tree(n) for n in (1, 3, 4, 100, 127, 128)] == [0, 1, 2, 6, 6, 7]
