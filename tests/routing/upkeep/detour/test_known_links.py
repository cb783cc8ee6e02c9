"""Known links, and the ways that they make."""

from __future__ import annotations

from sapwood.limits.recover import DETOUR_HOPS_MAX
from sapwood.routing.upkeep.detour.known_links import KnownLinks
from sapwood.routing.upkeep.detour.notes import Links, Numbered


def said(router: str, number: int, *neighbors: str, session: int = 1) -> Links:
    return Links(router, Numbered(0, number), dict.fromkeys(neighbors, session))


def square() -> KnownLinks:
    """a-b-c-d-a."""
    known = KnownLinks()
    for router, neighbors in {"a": "bd", "b": "ac", "c": "bd", "d": "ac"}.items():
        assert known.take(said(router, 1, *neighbors))
    return known


def test_a_way_has_few_links_and_each_is_claimed_by_both_ends() -> None:
    known = square()
    assert known.route("a", "b") == ("a", "b")
    assert known.route("a", "c") == ("a", "b", "c")
    known.take(said("b", 2, "c"))
    assert known.route("a", "b") == ("a", "d", "c", "b")
    assert known.route("a", "nobody") is None
    known.take(said("c", 2, "b"))
    assert known.route("a", "b") is None


def test_what_is_older_is_no_news() -> None:
    known = square()
    assert not known.take(said("a", 1))
    assert not known.take(said("a", 0))
    assert known.claims("a", "b")
    assert known.take(Links("a", Numbered(1, 0), {}))
    assert not known.claims("a", "b")
    assert not known.take(said("a", 9, "b"))
    assert len(list(known)) == 4


def test_a_link_that_was_down_in_between_is_in_another_session() -> None:
    known = square()
    way = ("a", "b", "c")
    before = known.sessions(way)
    known.take(said("d", 2, "c", session=7))
    assert known.sessions(way) == before
    known.take(said("b", 2, "a", "c", session=2))
    assert known.sessions(way) not in (None, before)
    known.take(Links("c", Numbered(1, 0), {"b": 1, "d": 1}))  # started again
    assert known.sessions(way) != before
    known.take(said("b", 3))
    assert known.sessions(way) is None


def test_who_is_too_far_away_is_not_reached() -> None:
    known, names = KnownLinks(), [f"r{number:03}" for number in range(DETOUR_HOPS_MAX + 2)]
    for number, name in enumerate(names):
        beside = [*names[max(0, number - 1) : number], *names[number + 1 : number + 2]]
        known.take(said(name, 1, *beside))
    assert known.route(names[0], names[-1]) is None
    route = known.route(names[0], names[-2])
    assert route == tuple(names[:-1])
