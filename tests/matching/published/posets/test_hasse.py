"""The Siena poset is the transitive reduction of the covering relation (Shen T-11, XSiena P11)."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import settings
from hypothesis.stateful import invariant

from sapwood import parse_filter
from sapwood.errors import InvariantError
from sapwood.matching.published.kdtree.boxes import Region
from sapwood.matching.published.posets.engine import Poset
from sapwood.matching.published.posets.hasse import HasseDiagram
from sapwood.model.filter import Filter
from sapwood.model.publication import Record
from tests.examples import examples
from tests.matching.published.posets.machine import PosetMachine
from tests.matching.published.posets.nesting import (
    EQUIVALENT,
    all_edges,
    edges_of,
    plain_filters,
    reduction,
)


def diagram_of(*texts: str) -> HasseDiagram:
    diagram = HasseDiagram()
    for node, text in enumerate(texts):
        diagram.add(node, parse_filter(text))
    diagram.validate()
    return diagram


def test_diagram_links_immediate_neighbors_only() -> None:
    diagram = diagram_of("x < 8", "exists x", "x < 2", "y = 1", "x < 2 and y = 1")
    assert set(diagram.roots) == {1, 3}
    assert set(diagram.children(1)) == {0}
    assert set(diagram.children(0)) == {2}
    assert set(diagram.parents(4)) == {2, 3}


def test_diagram_removes_a_node_between_others() -> None:
    diagram = diagram_of("exists x", "x < 8", "x < 2", "x > 5 and x < 7")
    assert diagram.remove(1) == ()
    assert set(diagram.children(0)) == {2, 3}
    diagram.validate()


def test_diagram_reports_the_nodes_that_lose_their_last_cover() -> None:
    diagram = diagram_of("exists x", "x < 8", "x > 1", "x < 2 and y = 1", "y = 1")
    assert diagram.remove(0) == (1, 2)
    assert diagram.remove(1) == ()
    assert set(diagram.parents(3)) == {4}


def test_accepting_tests_each_node_once_and_none_below_a_refusal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    diagram = diagram_of("x < 9", "y < 9", "x < 5 and y < 5", "x < 3 and y < 3", "z = 1")
    diagram.add(5, parse_filter("z = 1 and w = 1"))
    tested: Counter[Filter] = Counter()
    accepts = Filter.accepts

    def counted(self: Filter, record: Record) -> bool:
        tested[self] += 1
        return accepts(self, record)

    monkeypatch.setattr(Filter, "accepts", counted)
    assert list(diagram.accepting({"x": 0, "y": 0})) == [0, 1, 2, 3]
    assert set(tested.values()) == {1}
    assert diagram.filter(5) not in tested


def test_of_filters_that_accept_the_same_the_older_stands_above() -> None:
    diagram = HasseDiagram()
    for node, wanted in enumerate(EQUIVALENT):
        diagram.add(node, wanted)
        diagram.validate()
    diagram.add(3, parse_filter("a >= 0"))
    assert set(diagram.roots) == {3}
    assert set(diagram.parents(0)) == {3}
    assert set(diagram.parents(2)) == {1}
    assert diagram.remove(3) == (0,)
    assert diagram.remove(0) == (1,)
    diagram.validate()


def test_a_newcomer_takes_no_place_below_and_above_the_same_node(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Detection that is not transitive must not close a circle over several edges."""
    first, second, third = EQUIVALENT
    known = {(first, second), (second, third), (third, first)}
    monkeypatch.setattr(Region, "covers", lambda a, b: (a.filter, b.filter) in known)
    diagram = HasseDiagram()
    for node, wanted in enumerate((first, second, third)):
        diagram.add(node, wanted)
    diagram.validate()
    assert diagram.roots


def test_validate_finds_an_edge_without_cover() -> None:
    diagram = diagram_of("x < 8", "y < 8")
    diagram._link(0, 1)
    with pytest.raises(InvariantError, match="does not cover it"):
        diagram.validate()


def test_validate_finds_a_forgotten_root() -> None:
    diagram = diagram_of("x < 8", "y < 8")
    diagram._roots.pop(0)
    with pytest.raises(InvariantError, match="roots"):
        diagram.validate()


class AnyShape(PosetMachine):
    def poset(self) -> Poset:
        return HasseDiagram()


class PlainShapes(AnyShape):
    """The edges are exactly the transitive reduction where detection is complete."""

    drawn = plain_filters()

    @invariant()
    def is_the_reduction(self) -> None:
        assert edges_of(self.tried, self.filters) == reduction(all_edges(self.filters))


TestAnyShape = AnyShape.TestCase
TestAnyShape.settings = settings(max_examples=examples(15), stateful_step_count=20)
TestPlainShapes = PlainShapes.TestCase
TestPlainShapes.settings = settings(max_examples=examples(25), stateful_step_count=25)
