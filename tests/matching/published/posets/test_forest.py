"""The poset-derived forest: one covering parent, minimal cover, sibling purity (Shen T-11)."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import settings
from hypothesis.stateful import invariant

from sapwood import parse_filter
from sapwood.errors import InvariantError
from sapwood.matching.published.posets.engine import Poset
from sapwood.matching.published.posets.forest import PosetForest
from tests.examples import examples
from tests.matching.published.posets.machine import PosetMachine
from tests.matching.published.posets.nesting import (
    EQUIVALENT,
    all_edges,
    edges_of,
    plain_filters,
)


def forest_of(*texts: str) -> PosetForest:
    forest = PosetForest()
    for node, text in enumerate(texts):
        forest.add(node, parse_filter(text))
    forest.validate()
    return forest


def test_forest_hangs_a_filter_below_an_immediate_cover() -> None:
    forest = forest_of("exists x", "x < 8", "x < 2", "y = 1", "x < 1 and y = 1")
    assert set(forest.roots) == {0, 3}
    assert forest.parents(2) == (1,)
    assert forest.parents(4) == (2,)


def test_forest_moves_what_a_newcomer_covers_below_it() -> None:
    forest = forest_of("x < 2", "x < 8", "y = 1", "exists x")
    assert set(forest.roots) == {3, 2}
    assert set(forest.children(3)) == {1}
    assert set(forest.children(1)) == {0}


def test_forest_hangs_orphans_elsewhere() -> None:
    forest = forest_of("x < 8", "y < 8", "x < 2 and y < 2", "x < 1")
    assert forest.parents(2) == (0,)
    assert forest.remove(0) == (3,)
    assert forest.parents(2) == (1,)
    forest.validate()


def test_filters_that_accept_the_same_hang_below_each_other_in_order_of_arrival() -> None:
    forest = PosetForest()
    for node, wanted in enumerate(EQUIVALENT):
        forest.add(node, wanted)
        forest.validate()
    assert [tuple(forest.parents(node)) for node in range(3)] == [(), (0,), (1,)]
    assert forest.remove(0) == (1,)
    forest.validate()


def test_validate_finds_a_parent_that_does_not_cover() -> None:
    forest = forest_of("x < 8", "x < 2")
    forest._regions[1] = forest_of("y < 2")._regions[0]
    with pytest.raises(InvariantError, match="does not cover it"):
        forest.validate()


def test_validate_finds_a_circle() -> None:
    forest = forest_of("x < 8")
    forest._children = {-1: {}, 0: {0: None}}
    forest._parent = {0: 0}
    with pytest.raises(InvariantError, match="below no root"):
        forest.validate()


class AnyShape(PosetMachine):
    def poset(self) -> Poset:
        return PosetForest()


class PlainShapes(AnyShape):
    drawn = plain_filters()

    @invariant()
    def keeps_covering_edges_only(self) -> None:
        assert edges_of(self.tried, self.filters) <= all_edges(self.filters)
        assert all(len(self.tried.parents(node)) <= 1 for node in self.filters)

    @invariant()
    def is_a_minimal_cover(self) -> None:
        covered = {child for _, child in all_edges(self.filters)}
        assert set(self.tried.roots) == set(self.filters) - covered

    @invariant()
    def has_pure_siblings(self) -> None:
        families = [set(self.tried.roots), *(set(self.tried.children(n)) for n in self.filters)]
        edges = all_edges(self.filters)
        assert not any(pair in edges for f in families for pair in permutations(sorted(f), 2))


TestAnyShape = AnyShape.TestCase
TestAnyShape.settings = settings(max_examples=examples(15), stateful_step_count=20)
TestPlainShapes = PlainShapes.TestCase
TestPlainShapes.settings = settings(max_examples=examples(25), stateful_step_count=25)
