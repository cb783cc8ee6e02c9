"""Where a router stands in a tree."""

from __future__ import annotations

from sapwood.overlay.spanning import SpanningTree
from sapwood.routing.mesh.branch import Place
from sapwood.routing.messages import Announce, Version

TREE = Announce(SpanningTree(("r1", "r2", "r3", "r4"), (0, 0, 1)), Version(0, 1), 0)


def test_a_place_names_parent_and_children() -> None:
    assert Place.of("r1", TREE) == Place(TREE, True, None, ("r2", "r3"))
    assert Place.of("r2", TREE) == Place(TREE, True, "r1", ("r4",))
    assert Place.of("r4", TREE) == Place(TREE, True, "r2", ())


def test_a_router_may_stand_outside() -> None:
    assert Place.of("r9", TREE) == Place(TREE, False, None, ())
