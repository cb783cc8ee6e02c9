"""The place of a router in a tree, and its branch of that tree."""

from __future__ import annotations

import pytest

from sapwood.errors import InvariantError
from sapwood.overlay.spanning import SpanningTree
from sapwood.routing.core import RoutingCore
from sapwood.routing.membership.mesh.tree_router import BranchKey, Position, TreeRouter
from sapwood.routing.messages import Announce, Version
from sapwood.routing.protocols import protocol
from sapwood.routing.router import DEFAULT_ENGINES

TREE = Announce(SpanningTree(("r1", "r2", "r3", "r4"), (0, 0, 1)), Version(0, 1), 0)


def test_a_place_names_parent_and_children() -> None:
    assert Position.of("r1", TREE) == Position(TREE, True, None, ("r2", "r3"))
    assert Position.of("r2", TREE) == Position(TREE, True, "r1", ("r4",))
    assert Position.of("r4", TREE) == Position(TREE, True, "r2", ())


def test_a_router_may_stand_outside() -> None:
    assert Position.of("r9", TREE) == Position(TREE, False, None, ())


S1, S2 = ("ann", "s1"), ("bob", "s2")


def branch() -> TreeRouter:
    """The branch of r2, to which nobody is linked yet."""
    return TreeRouter(
        Position.of("r2", TREE),
        BranchKey(Version(0, 1), 7),
        3,
        RoutingCore("r2", protocol("covering"), DEFAULT_ENGINES),
    )


def test_a_branch_is_whole_when_all_below_are_ready_and_nothing_is_owed() -> None:
    made = branch()
    assert not made.is_whole
    made.peers["r4"] = 1
    made.ready.add("r4")
    assert made.is_whole
    made.unconfirmed.update((S1, S2))
    made.unconfirmed_here.add(S1)
    assert not made.is_whole
    made.confirmed(S1)
    assert made.is_whole
    assert made.unconfirmed == {S2}
    made.lose("r4")
    assert not made.is_whole


def test_a_client_that_has_left_is_owed_nothing() -> None:
    made = branch()
    made.advertises = True
    for kept in (made.unconfirmed, made.unconfirmed_here, made.unadvertised, made.unconfirmed_ads):
        kept.update((S1, S2))
    made.forget("ann")
    made.advertised(S2)
    assert (made.unconfirmed, made.unconfirmed_here) == ({S2}, {S2})
    assert (made.unadvertised, made.unconfirmed_ads) == (set(), set())
    made.validate()


def test_validate_finds_what_cannot_be() -> None:
    made = branch()
    made.ready.add("r4")
    with pytest.raises(InvariantError, match="a stranger is ready"):
        made.validate()
    made = branch()
    made.unconfirmed_here.add(S1)
    with pytest.raises(InvariantError, match="owed that is in force"):
        made.validate()
    made = branch()
    made.unadvertised.add(S1)
    with pytest.raises(InvariantError, match="nothing is advertised yet"):
        made.validate()
