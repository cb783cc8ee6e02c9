"""Content forwarding: only where the publication is wanted, never back."""

from __future__ import annotations

import pytest

from sapwood.errors import InvariantError
from sapwood.language import parse_filter
from sapwood.matching.engine_names import Engines
from sapwood.model.publication import Publication
from sapwood.routing.forwarding.every_hop import EveryHop
from sapwood.routing.forwarding.protocol import Onward
from sapwood.routing.tables import CLIENTS

WANTED = parse_filter("a > 1")
P, Q, R = (Publication(id_, {"a": a}) for id_, a in (("p", 2), ("q", 1), ("r", 3)))


def made() -> EveryHop:
    """A client, and behind r2 and r3 somebody each, want a > 1; behind r4 is nobody."""
    forwarding = EveryHop(Engines("counting"))
    forwarding.learned(CLIENTS, "k1", WANTED)
    for neighbor, key in (("r2", "k2"), ("r3", "k3")):
        forwarding.add_side(neighbor)
        forwarding.learned(neighbor, key, WANTED)
    forwarding.add_side("r4")
    return forwarding


def neighbors(forwarding: EveryHop, publication: Publication, arrival: str | None) -> list[str]:
    routed = forwarding.route((publication,), arrival, (b"",), 0.0)
    return [onward.neighbor for onward in routed.onward]


def test_a_publication_goes_to_those_that_want_it_but_to_where_it_came_from() -> None:
    assert neighbors(made(), P, None) == ["r2", "r3"]
    assert neighbors(made(), P, "r2") == ["r3"]
    assert neighbors(made(), Q, None) == []
    assert made().route((P,), None, (b"",), 0.0).keys == (["k1"],)
    assert made().matched(P) == ["k1"]


def test_what_is_forgotten_is_not_wanted() -> None:
    forwarding = made()
    forwarding.forgot("r3", "k3")
    forwarding.forgot(CLIENTS, "k1")
    forwarding.remove_side("r2")
    assert neighbors(forwarding, P, None) == []
    assert forwarding.matched(P) == []


def test_of_a_batch_each_neighbor_gets_its_part_with_the_digests_as_they_came() -> None:
    forwarding = made()
    forwarding.learned("r4", "k4", parse_filter("a = 3"))
    routed = forwarding.route((P, Q, R), "r3", (b"?p", b"", b"?r"), 0.0)
    assert list(routed.keys) == [["k1"], [], ["k1"]]
    assert [Onward(n, tuple(p), tuple(d)) for n, p, d in routed.onward] == [
        Onward("r2", (0, 2), (b"?p", b"?r")),
        Onward("r4", (2,), (b"?r",)),
    ]
    assert forwarding.digests_unread == 2


def test_one_by_one_comes_to_the_same_as_a_batch() -> None:
    batch, digests = (P, Q, R), (b"", b"?", b"?!")
    whole = made().route(batch, None, digests, 0.0)
    forwarding = made()
    for place, (publication, digest) in enumerate(zip(batch, digests, strict=True)):
        [keys], onward = forwarding.route((publication,), None, (digest,), 0.0)
        assert keys == whole.keys[place]
        assert {neighbor: d for neighbor, _, (d,) in onward} == {
            one.neighbor: one.digests[one.places.index(place)]
            for one in whole.onward
            if place in one.places
        }
    assert forwarding.digests_unread == 2


def test_validate_finds_subscriptions_that_differ() -> None:
    sides = {CLIENTS: {"k1": WANTED}, "r2": {"k2": WANTED}, "r3": {"k3": WANTED}, "r4": {}}
    made().validate(sides)
    with pytest.raises(InvariantError, match="other links"):
        made().validate({CLIENTS: {"k1": WANTED}})
    with pytest.raises(InvariantError, match="link r4 holds 0"):
        made().validate({**sides, "r4": {"k4": WANTED}})
    with pytest.raises(InvariantError, match="link r2 lost or changed k2"):
        made().validate({**sides, "r2": {"k2": parse_filter("a > 2")}})
