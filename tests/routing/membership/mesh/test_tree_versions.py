"""The versions of one source's tree at one router."""

from __future__ import annotations

import pytest

from sapwood.errors import InvariantError
from sapwood.model.publication import Publication
from sapwood.overlay.spanning import SpanningTree
from sapwood.routing.core import RoutingCore
from sapwood.routing.membership.mesh.tree_router import BranchKey, Position, TreeRouter
from sapwood.routing.membership.mesh.tree_versions import Held, TreeVersions
from sapwood.routing.messages import Announce, Version
from sapwood.routing.protocols import protocol
from sapwood.routing.router import DEFAULT_ENGINES

TREE = SpanningTree(("r1", "r2", "r3"), (0, 1))
S1 = ("ann", "s1")


def branch(number: int, incarnation: int = 0) -> TreeRouter:
    """The branch of r2 on a version of the tree of r1."""
    version = Version(incarnation, number)
    place = Position.of("r2", Announce(TREE, version, 0))
    return TreeRouter(
        place,
        BranchKey(version, 10 * number),
        number,
        RoutingCore("r2", protocol("covering"), DEFAULT_ENGINES),
    )


def trees(latest: int, carrying: int, *branches: TreeRouter, incarnation: int = 0) -> TreeVersions:
    announced = Announce(TREE, Version(incarnation, latest), carrying)
    return TreeVersions(Position.of("r2", announced), list(branches))


def test_branches_are_found_by_version_and_by_who_is_joined() -> None:
    first, second = branch(1), branch(3)
    second.peers["r3"] = 7
    made = trees(3, 1, first, second)
    assert made.latest is second
    assert made.of(Version(0, 1)) is first
    assert made.below("r1", 10) is first
    assert made.below("r1", 11) is made.below("r3", 10) is None
    assert made.above("r3", 7) is second
    assert made.above("r3", 8) is made.above("r1", 7) is None
    assert made.is_dry


def test_what_grew_is_superseded_and_what_runs_dry_is_not() -> None:
    dry, carrying, grown, latest = map(branch, (1, 2, 3, 5))
    made = trees(5, 2, dry, carrying, grown, latest)
    assert made.superseded() == [grown]
    assert not made.is_dry
    earlier_life = branch(9)
    assert trees(5, 2, earlier_life, incarnation=1).superseded() == []
    assert not trees(5, 2, earlier_life, incarnation=1).is_dry


def test_a_subscription_is_in_force_where_the_source_may_publish() -> None:
    carrying, latest = branch(1), branch(2)
    assert not trees(2, 1, carrying).is_in_force(S1)
    made = trees(2, 1, carrying, latest)
    assert made.is_in_force(S1)
    carrying.unconfirmed.add(S1)
    assert not made.is_in_force(S1)
    latest.carries = True
    assert made.is_in_force(S1)
    latest.unconfirmed.add(S1)
    assert not made.is_in_force(S1)
    alone = trees(2, 1, branch(2))
    assert not alone.is_in_force(S1)


def test_what_is_held_is_let_go_when_nothing_older_is_left() -> None:
    first, second, third = map(branch, (1, 2, 3))
    made = trees(3, 2, first, second, third)
    assert not made.has_to_wait(first)
    assert made.has_to_wait(second)
    held = [Held(Publication("p", {}), 7), Held(Publication("q", {}), 9)]
    for one in held:
        made.hold(second.version, one)
    assert made.older() == [first]
    assert made.release() == []
    made.branches.remove(second)
    assert made.release() == []
    made.branches.remove(first)
    assert made.release() == held
    assert made.release() == []


def test_validate_finds_branches_that_cannot_be() -> None:
    with pytest.raises(InvariantError, match="other trees"):
        trees(2, 1, branch(2), branch(1)).validate()
    with pytest.raises(InvariantError, match="other trees"):
        trees(3, 1, branch(2)).validate()
    with pytest.raises(InvariantError, match="later than"):
        trees(3, 1, branch(4)).validate()
    made = trees(2, 1, branch(2))
    made.hold(Version(0, 2), Held(Publication("p", {}), None))
    with pytest.raises(InvariantError, match="waits for nothing"):
        made.validate()
