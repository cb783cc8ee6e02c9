"""A router's map of all links."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import InvariantError
from sapwood.routing.membership.mesh.links import LinkMap
from sapwood.routing.messages import Neighbors, Version

V1 = Version(0, 1)
V2 = Version(0, 2)


def ring() -> LinkMap:
    """The map of r1 in a ring of three."""
    known = LinkMap("r1", 0)
    known.say(("r3", "r2"))
    known.take(Neighbors("r2", V1, ("r1", "r3")))
    known.take(Neighbors("r3", V1, ("r1", "r2")))
    return known


def test_a_link_counts_when_both_ends_claim_it() -> None:
    known = LinkMap("r1", 0)
    assert known.say(("r2",)) == Neighbors("r1", V1, ("r2",))
    assert known.around == {"r1": ()}
    assert not known.is_settled
    assert known.take(Neighbors("r2", V1, ("r1", "r3")))
    assert known.around == {"r1": ("r2",), "r2": ("r1",)}
    assert not known.is_settled
    assert known.take(Neighbors("r3", V1, ("r2",)))
    assert known.around == {"r1": ("r2",), "r2": ("r1", "r3"), "r3": ("r2",)}
    assert known.is_settled
    known.validate()


def test_only_what_is_newer_is_news() -> None:
    known = ring()
    assert not known.take(Neighbors("r2", V1, ()))
    assert known.take(Neighbors("r2", V2, ("r1",)))
    assert not known.take(Neighbors("r2", V1, ("r1", "r3")))
    assert known.take(Neighbors("r2", Version(1, 0), ("r1", "r3")))
    assert "r2" in known
    assert len(known) == len(list(known)) == 3


def test_a_tree_is_whole_while_all_its_links_count() -> None:
    known = ring()
    tree = known.find("r1", known.around)
    assert list(tree.links()) == [("r1", "r2"), ("r1", "r3")]
    assert known.is_whole(tree)
    assert known.serves(tree)
    known.say(("r3",))
    assert not known.is_whole(tree)
    assert not known.serves(tree)  # r2 is in reach, over r3


def test_a_tree_serves_as_long_as_it_reaches_all_in_reach() -> None:
    known = ring()
    tree = known.find("r1", known.around)
    known.take(Neighbors("r3", V2, ("r1", "r2", "r4")))
    assert known.serves(tree)  # nobody has heard of r4
    known.take(Neighbors("r4", V1, ("r3",)))
    assert known.is_whole(tree)
    assert not known.serves(tree)
    longer = known.find("r1", known.around)
    known.take(Neighbors("r3", Version(0, 3), ("r1", "r2")))
    assert not known.is_whole(longer)
    assert known.serves(longer)  # r4 has gone, and nobody else


def test_a_router_that_nobody_claims_is_out_of_reach() -> None:
    known = ring()
    known.say(("r2",))
    known.take(Neighbors("r2", V2, ("r1",)))
    assert known.around == {"r1": ("r2",), "r2": ("r1",)}
    assert known.is_settled  # whatever r3 still claims
    assert "r3" in known


@given(st.sets(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=12))
def test_all_routers_agree_on_one_tree_that_they_share(pairs: set[tuple[int, int]]) -> None:
    names = [f"r{n}" for n in range(6)]
    around: dict[str, set[str]] = {name: set() for name in names}
    for a, b in pairs:
        if a != b:
            around[names[a]].add(names[b])
            around[names[b]].add(names[a])
    shared: dict[str, frozenset[str]] = {}
    reach: dict[str, int] = {}
    for name in names:
        known = LinkMap(name, 0)
        known.say(around[name])
        for other in names:
            if other != name:
                known.take(Neighbors(other, V1, tuple(sorted(around[other]))))
        shared[name], reach[name] = known.shared, len(known.around)
    for name in names:
        assert all(name in shared[other] for other in shared[name])
        component = [other for other in names if reach[other] == reach[name]]
        assert sum(len(shared[other]) for other in component) % 2 == 0
    ends = sum(map(len, shared.values()))
    components = sum(1 / reach[name] for name in names)
    assert ends == 2 * (len(names) - round(components))  # trees: no circle, nobody left out


def test_validate_finds_a_view_that_is_out_of_date() -> None:
    known = ring()
    known.around = {}
    with pytest.raises(InvariantError, match="not that of what was said"):
        known.validate()
