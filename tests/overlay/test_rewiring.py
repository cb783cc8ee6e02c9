"""Overlays whose routers and links come and go."""

from __future__ import annotations

from itertools import combinations, pairwise
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import InputError, LimitError, UnknownNameError
from sapwood.limits import HOPS_MAX
from sapwood.overlay.graph import Graph
from sapwood.overlay.rewiring import (
    Partitioned,
    with_link,
    with_router,
    without_link,
    without_router,
)
from sapwood.overlay.topology import Link, Overlay, Topology

AB, BC, CA = Link("a", "b", 0.1), Link("b", "c", 0.2), Link("c", "a", 0.3)
LINE = Topology(("a", "b", "c"), (AB, BC))


def test_each_change_gives_another_overlay_and_leaves_the_first_one_as_it_was() -> None:
    ring = with_link(LINE, CA)
    assert ring == Graph(("a", "b", "c"), (AB, BC, CA))
    assert without_link(ring, "a", "c") == LINE
    assert without_router(ring, "b") == Topology(("a", "c"), (CA,))
    joined = with_link(with_router(LINE, "d"), Link("b", "d"))
    assert joined == Topology(("a", "b", "c", "d"), (AB, BC, Link("b", "d")))
    assert LINE.links == (AB, BC)


def test_what_is_not_joined_is_in_parts_each_a_tree_or_a_graph() -> None:
    parted = without_router(with_link(with_router(LINE, "d"), Link("d", "b")), "b")
    assert parted == Partitioned(("a", "c", "d"), ())
    ring = with_router(with_link(LINE, CA), "d")
    assert isinstance(ring, Partitioned)
    assert ring.parts == (Graph(("a", "b", "c"), (AB, BC, CA)), Topology(("d",), ()))
    assert ring.neighbors("d") == ()


def test_an_overlay_in_parts_is_a_tree_where_none_of_them_has_a_circle() -> None:
    assert without_link(LINE, "a", "b").is_tree
    # As many links as a tree over these routers has, and a circle all the same.
    assert not with_router(with_link(LINE, CA), "d").is_tree


def test_the_tree_of_a_router_spans_its_part() -> None:
    parted = without_link(LINE, "b", "a")
    assert parted.tree("a") == Topology(("a",), ())
    assert parted.tree("c") == parted.tree("b") == Topology(("b", "c"), (BC,))
    with pytest.raises(UnknownNameError, match="no router is called 'x'"):
        parted.tree("x")


def test_changes_that_cannot_be_are_refused() -> None:
    with pytest.raises(InputError, match="two routers are called 'a'"):
        with_router(LINE, "a")
    with pytest.raises(InputError, match="'c' and 'b' are linked already"):
        with_link(LINE, Link("c", "b"))
    with pytest.raises(UnknownNameError, match="no router is called 'x'"):
        with_link(LINE, Link("a", "x"))
    with pytest.raises(UnknownNameError, match="no router is called 'x'"):
        without_router(LINE, "x")
    with pytest.raises(InputError, match="no link between 'a' and 'c'"):
        without_link(LINE, "a", "c")
    with pytest.raises(InputError, match="at least one router"):
        without_router(Topology(("a",), ()), "a")


def test_parts_are_held_to_the_rules_of_overlays() -> None:
    with pytest.raises(InputError, match="two links join 'b' and 'a'"):
        Partitioned(("a", "b"), (AB, Link("b", "a")))
    with pytest.raises(UnknownNameError, match="no router is called 'b'"):
        Partitioned(("a",), (AB,))
    names = tuple(f"r{number}" for number in range(HOPS_MAX + 2))
    links = tuple(Link(a, b) for a, b in pairwise(names[1:]))
    parted = Partitioned(names, links)
    with pytest.raises(LimitError, match="HOPS_MAX"):
        with_link(parted, Link(names[0], names[1]))


@given(st.integers(0, 2**32))
def test_changes_in_any_order_give_what_is_built_at_once(seed: int) -> None:
    draw = Random(seed)
    overlay: Overlay = Topology(("r0",), ())
    for number in range(12):
        routers = overlay.routers
        apart = [p for p in combinations(routers, 2) if p[1] not in overlay.neighbors(p[0])]
        match draw.randrange(4):
            case 0 if len(routers) > 1:
                overlay = without_router(overlay, draw.choice(routers))
            case 1 if overlay.links:
                gone = draw.choice(overlay.links)
                overlay = without_link(overlay, gone.a, gone.b)
            case 2 if apart:
                overlay = with_link(overlay, Link(*draw.choice(apart)))
            case _:
                overlay = with_router(overlay, f"r{number + 1}")
    built = Partitioned(overlay.routers, overlay.links)
    reached = {name: set(overlay.tree(name).routers) for name in overlay.routers}
    assert reached == {name: set(built.tree(name).routers) for name in built.routers}
    assert isinstance(overlay, Partitioned) == (len(built.parts) > 1)
    has_circle = len(overlay.links) > len(overlay.routers) - len(built.parts)
    assert built.is_tree != has_circle
    assert overlay.is_tree != has_circle
