"""Given links: see also `tests/routing/test_core.py`, for the core that is all of it."""

from __future__ import annotations

from sapwood.routing.inputs import LinkDown, LinkUp
from sapwood.routing.router import Router


def test_neighbors_are_those_whose_links_are_up() -> None:
    router = Router("r1")
    for neighbor in ("r2", "r3"):
        router.handle(LinkUp(neighbor), 0.0)
    router.handle(LinkDown("r2"), 0.0)
    assert router.membership.neighbors() == router.membership.neighbors("r9") == ("r3",)
    assert (router.is_tree, router.tells_over(), router.next_deadline()) == (True, None, None)


def test_neighbors_on_a_mesh_depend_on_the_source() -> None:
    router = Router("r1", "mesh+covering")
    router.handle(LinkUp("r2"), 0.0)
    assert router.membership.neighbors() == ("r2",)
    assert router.membership.neighbors("r1") == ()  # r2 has not joined the tree
    assert router.membership.neighbors("r9") == ()
    assert (router.is_tree, router.tells_over()) == (False, frozenset())
    assert router.counters() == {"digests_unread": 0, "content_matches": 0}
