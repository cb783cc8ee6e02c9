"""What routers say to each other."""

from __future__ import annotations

from sapwood.routing.messages import Join, OnTree, Unsubscribe, Version, carried


def test_carried_is_what_a_message_says_on_whatever_tree() -> None:
    said = Unsubscribe("k")
    assert carried(OnTree("r1", 1, said)) is said
    assert carried(said) is said


def test_versions_grow_with_the_incarnation_first() -> None:
    assert Version(0, 9) < Version(1, 0) < Version(1, 1)
    assert carried(Join("r1", Version(0, 1), 1)) == Join("r1", Version(0, 1), 1)
