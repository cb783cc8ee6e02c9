"""Nodes and edges."""

from __future__ import annotations

import pytest

from sapwood import parse_filter
from sapwood.covering.edges import CoverEdges
from sapwood.errors import InvariantError
from tests.matching.published.posets.nesting import EQUIVALENT


def chain() -> CoverEdges:
    """0 above 1 above 2, and 0 above 2."""
    edges = CoverEdges()
    edges.add(0, parse_filter("a < 9"), ())
    edges.add(1, parse_filter("a < 5"), (0,))
    edges.add(2, parse_filter("a < 2"), (1, 0))
    edges.validate()
    return edges


def test_remove_returns_the_children_and_forgets_their_edges() -> None:
    edges = chain()
    assert edges.remove(0) == (1, 2)
    assert (list(edges.parents(1)), list(edges.parents(2))) == ([], [1])
    edges.validate()
    assert edges.remove(2) == ()
    assert list(edges.children(1)) == []
    assert len(edges) == 1


def test_may_link_refuses_a_circle_of_filters_that_accept_the_same() -> None:
    edges = CoverEdges()
    for key, parents in enumerate(((), (0,), (1,))):
        edges.add(key, EQUIVALENT[key], parents)
    assert not edges.may_link(1, 0)
    assert not edges.may_link(2, 0)
    assert edges.may_link(0, 2)


def test_validate_finds_an_edge_without_cover() -> None:
    edges = chain()
    edges.link(2, 0)
    with pytest.raises(InvariantError, match="does not cover it"):
        edges.validate()


def test_validate_finds_a_circle() -> None:
    edges = chain()
    edges.filters[2] = edges.filters[1] = edges.filters[0]
    edges.link(2, 0)
    with pytest.raises(InvariantError, match="above themselves"):
        edges.validate()


def test_validate_finds_an_edge_that_only_one_end_knows() -> None:
    edges = chain()
    del edges._parents[2][1]
    with pytest.raises(InvariantError, match="disagree"):
        edges.validate()
