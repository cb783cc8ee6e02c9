"""Routing tables say who wants what and from which side it was heard."""

from __future__ import annotations

import pytest

from sapwood.errors import InvariantError
from sapwood.language import parse_filter
from sapwood.matching.index import Index
from sapwood.model.publication import Publication
from sapwood.routing.tables import Clients, LocalSubscription, Received, Tables

WANTED = parse_filter("a > 1")


def tables() -> Tables:
    made = Tables(Clients(Index(records="counting")))
    made.clients.by_client["c"] = {}
    made.clients.add(LocalSubscription("k1", "c", "s1", WANTED))
    for neighbor, key in (("r2", "k2"), ("r3", "k3")):
        made.received[neighbor] = Received(Index(records="counting"))
        made.received[neighbor].add(key, WANTED, 1)
    return made


def test_candidates_of_a_link_are_all_but_what_it_brought() -> None:
    assert [key for key, _ in tables().candidates("r2")] == ["k1", "k3"]


def test_source_is_the_link_that_brought_a_subscription() -> None:
    assert tables().source_of("k3") == "r3"
    assert tables().source_of("k1") is None


def test_match_groups_by_client_in_the_order_of_names() -> None:
    made = tables()
    made.clients.by_client["b"] = {}
    made.clients.add(LocalSubscription("k9", "b", "z", WANTED))
    made.clients.add(LocalSubscription("k0", "c", "a", WANTED))
    found = made.clients.match(Publication("p", {"a": 2}))
    assert found == [("b", ("z",)), ("c", ("a", "s1"))]


def test_remove_forgets() -> None:
    made = tables()
    made.clients.remove(made.clients.by_key["k1"])
    made.received["r2"].remove("k2")
    made.clients.validate()
    made.received["r2"].validate("r2")
    assert made.clients.match(Publication("p", {"a": 2})) == []


def test_validate_notices_an_index_that_differs() -> None:
    made = tables()
    made.received["r2"].index.remove("k2")
    with pytest.raises(InvariantError, match="link r2 holds 0"):
        made.received["r2"].validate("r2")
