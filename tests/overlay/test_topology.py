from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import InputError, LimitError, UnknownNameError
from sapwood.limits import HOPS_MAX, LINK_LATENCY_MAX_S, NAME_CHARS_MAX, OVERLAY_ROUTERS_MAX
from sapwood.overlay.topology import Link, Topology, abbreviated

# r1 - r2 - r3
#       |
#      r4 - r5
BRANCHED = Topology(
    ("r1", "r2", "r3", "r4", "r5"),
    (Link("r1", "r2"), Link("r2", "r3", 0.5), Link("r2", "r4"), Link("r5", "r4", 0.25)),
)


@st.composite
def trees(draw: st.DrawFn) -> Topology:
    size = draw(st.integers(1, 12))
    names = tuple(f"n{i}" for i in range(size))
    return Topology(
        names,
        tuple(Link(names[i], names[draw(st.integers(0, i - 1))]) for i in range(1, size)),
    )


def test_neighbors_are_listed_in_the_order_of_the_links() -> None:
    assert BRANCHED.neighbors("r2") == ("r1", "r3", "r4")
    assert BRANCHED.neighbors("r5") == ("r4",)


def test_path_holds_both_ends() -> None:
    assert BRANCHED.path("r1", "r5") == ("r1", "r2", "r4", "r5")
    assert BRANCHED.path("r5", "r3") == ("r5", "r4", "r2", "r3")
    assert BRANCHED.path("r4", "r4") == ("r4",)


def test_hops_are_the_links_in_the_direction_of_travel() -> None:
    assert BRANCHED.hops("r3", "r4") == (("r3", "r2"), ("r2", "r4"))
    assert BRANCHED.hops("r3", "r3") == ()


def test_next_hop_is_the_neighbor_nearest_to_the_destination() -> None:
    assert BRANCHED.next_hop("r1", "r5") == "r2"
    assert BRANCHED.next_hop("r2", "r5") == "r4"


def test_next_hop_refuses_when_there_is_nowhere_to_go() -> None:
    with pytest.raises(InputError, match="destination already"):
        BRANCHED.next_hop("r1", "r1")


def test_behind_lists_the_routers_beyond_a_link_nearest_first() -> None:
    assert list(BRANCHED.behind("r1", "r2")) == ["r2", "r3", "r4", "r5"]
    assert list(BRANCHED.behind("r2", "r4")) == ["r4", "r5"]
    assert list(BRANCHED.behind("r4", "r2")) == ["r2", "r1", "r3"]


def test_behind_refuses_when_the_two_are_not_linked() -> None:
    with pytest.raises(InputError, match="no link between 'r1' and 'r5'; 'r1' is linked to 'r2'"):
        list(BRANCHED.behind("r1", "r5"))


@given(trees(), st.data())
def test_path_is_the_same_way_back_and_made_of_links(
    topology: Topology, data: st.DataObject
) -> None:
    a = data.draw(st.sampled_from(topology.routers))
    b = data.draw(st.sampled_from(topology.routers))
    path = topology.path(a, b)
    assert path[0] == a
    assert path[-1] == b
    assert path == topology.path(b, a)[::-1]
    assert len(set(path)) == len(path)
    for hop in topology.hops(a, b):
        assert hop[1] in topology.neighbors(hop[0])


@given(trees())
def test_behind_splits_the_other_routers_among_the_neighbors(topology: Topology) -> None:
    for router in topology.routers:
        parts = [list(topology.behind(router, n)) for n in topology.neighbors(router)]
        assert sorted(r for part in parts for r in part) == sorted(
            r for r in topology.routers if r != router
        )


def test_contains_tells_routers_from_other_names() -> None:
    assert "r1" in BRANCHED
    assert "r9" not in BRANCHED


def test_known_names_the_routers_there_are_when_one_is_not() -> None:
    with pytest.raises(UnknownNameError, match="known: r1, r2, r3, r4, r5"):
        BRANCHED.known("r9")


def test_known_abbreviates_when_there_are_many() -> None:
    names = tuple(f"r{i}" for i in range(100))
    line = Topology(names, tuple(Link(names[i - 1], names[i]) for i in range(1, 100)))
    with pytest.raises(UnknownNameError, match=r"r0, r1, .*, …, r99$") as caught:
        line.known("elsewhere")
    assert len(str(caught.value)) < 200


def test_abbreviated_keeps_a_few_names_whole() -> None:
    assert abbreviated(["a", "b"]) == ("a", "b")
    assert len(abbreviated([str(i) for i in range(50)])) == 13


def test_topology_refuses_a_circle() -> None:
    with pytest.raises(InputError, match="link c-a closes a circle"):
        Topology(("a", "b", "c"), (Link("a", "b"), Link("b", "c"), Link("c", "a")))


def test_topology_refuses_a_link_given_twice() -> None:
    with pytest.raises(InputError, match="closes a circle"):
        Topology(("a", "b"), (Link("a", "b"), Link("b", "a")))


def test_topology_refuses_routers_that_nothing_reaches() -> None:
    with pytest.raises(InputError, match="no way from 'a' to 'c', 'd'"):
        Topology(("a", "b", "c", "d"), (Link("a", "b"), Link("c", "d")))


def test_topology_refuses_a_link_to_a_stranger() -> None:
    with pytest.raises(UnknownNameError, match="'x'"):
        Topology(("a", "b"), (Link("a", "x"),))


@pytest.mark.parametrize("name", ["", "a\nb", 7])
def test_topology_refuses_names_that_are_no_names(name: str) -> None:
    with pytest.raises(InputError, match="name is a non-empty printable text"):
        Topology((name,), ())


def test_topology_refuses_two_routers_of_one_name() -> None:
    with pytest.raises(InputError, match="two routers are called 'a'"):
        Topology(("a", "a"), ())


def test_topology_refuses_no_routers_at_all() -> None:
    with pytest.raises(InputError, match="at least one router"):
        Topology((), ())


def test_router_names_are_taken_up_to_the_limit() -> None:
    assert Topology(("n" * NAME_CHARS_MAX,), ()).routers
    with pytest.raises(LimitError, match="NAME_CHARS_MAX"):
        Topology(("n" * (NAME_CHARS_MAX + 1),), ())


def test_routers_are_taken_up_to_the_limit() -> None:
    names = tuple(f"n{i}" for i in range(OVERLAY_ROUTERS_MAX + 1))
    links = tuple(Link(names[0], name) for name in names[1:])
    assert len(Topology(names[:-1], links[:-1]).routers) == OVERLAY_ROUTERS_MAX
    with pytest.raises(LimitError, match="OVERLAY_ROUTERS_MAX"):
        Topology(names, links)


def test_link_refuses_to_join_a_router_with_itself() -> None:
    with pytest.raises(InputError, match="not 'a' with itself"):
        Link("a", "a")


@pytest.mark.parametrize("latency", [-0.001, float("nan"), float("inf"), LINK_LATENCY_MAX_S * 1.01])
def test_link_refuses_a_latency_that_cannot_be(latency: float) -> None:
    with pytest.raises(InputError, match="link a-b: a latency lies between 0 and"):
        Link("a", "b", latency)


def test_link_takes_latencies_up_to_the_limit() -> None:
    assert Link("a", "b", LINK_LATENCY_MAX_S).latency_s == LINK_LATENCY_MAX_S
    assert Link("a", "b", 0).latency_s == 0


def test_paths_are_taken_up_to_the_limit() -> None:
    names = tuple(f"n{i}" for i in range(HOPS_MAX + 2))
    order = list(range(1, HOPS_MAX + 2))
    Random(3).shuffle(order)
    line = tuple(Link(names[i - 1], names[i]) for i in order)
    allowed = Topology(names[:-1], tuple(link for link in line if link.b != names[-1]))
    assert len(allowed.path(names[0], names[-2])) == HOPS_MAX + 1
    with pytest.raises(LimitError, match=r"the longest path, in links, is 1024; .* HOPS_MAX"):
        Topology(names, line)
