"""Routing tables say what is known and from which side it was heard."""

from __future__ import annotations

import pytest

from sapwood.errors import InvariantError
from sapwood.language import parse_filter
from sapwood.matching.choice import Engines
from sapwood.model.interest import Interest
from sapwood.routing.sided_index import CLIENTS, SidedIndex
from sapwood.routing.tables import Entries, LocalEntry, ReceivedEntry, check_index

WANTED = parse_filter("a > 1")


def entries() -> Entries[Interest]:
    made: Entries[Interest] = Entries()
    made.by_client["c"] = {}
    made.add(LocalEntry("k1", "c", "s1", WANTED))
    for neighbor, key in (("r2", "k2"), ("r3", "k3")):
        made.received[neighbor] = {key: ReceivedEntry(WANTED, 1)}
    return made


def index() -> SidedIndex:
    made = SidedIndex(Engines("counting"))
    made.add(CLIENTS, "k1", WANTED)
    for neighbor, key in (("r2", "k2"), ("r3", "k3")):
        made.add_side(neighbor)
        made.add(neighbor, key, WANTED)
    return made


def test_candidates_of_a_link_are_all_but_what_it_brought() -> None:
    assert [key for key, _ in entries().candidates("r2")] == ["k1", "k3"]


def test_source_is_the_link_that_brought_an_entry() -> None:
    assert entries().source_of("k3") == "r3"
    assert entries().source_of("k1") is None


def test_remove_forgets_the_entry_of_a_client() -> None:
    made = entries()
    made.remove(made.by_key["k1"])
    made.validate()
    assert made.by_client == {"c": {}}
    assert [key for key, _ in made.candidates("r2")] == ["k3"]


def test_entries_validate_notices_a_key_from_two_sources() -> None:
    made = entries()
    made.validate()
    made.received["r3"]["k1"] = ReceivedEntry(WANTED, 2)
    with pytest.raises(InvariantError, match="two sources"):
        made.validate()


def test_check_index_notices_an_index_that_differs() -> None:
    made = index()
    check_index(made, entries())
    made.remove("r2", "k2")
    with pytest.raises(InvariantError, match="holds 0 subscriptions of link r2"):
        check_index(made, entries())
    made.add("r2", "k2", parse_filter("a > 2"))
    with pytest.raises(InvariantError, match="lost or changed a subscription of link r2"):
        check_index(made, entries())
    made.remove_side("r2")
    with pytest.raises(InvariantError, match="of other links"):
        check_index(made, entries())
