"""Routing tables say what is known and from which side it was heard."""

from __future__ import annotations

import pytest

from sapwood.errors import InvariantError
from sapwood.language import parse_filter
from sapwood.matching.index import Index
from sapwood.model.interest import Interest
from sapwood.routing.tables import Entries, LocalEntry, ReceivedEntry, Tables

WANTED = parse_filter("a > 1")


def entries() -> Entries[Interest]:
    made: Entries[Interest] = Entries()
    made.by_client["c"] = {}
    made.add(LocalEntry("k1", "c", "s1", WANTED))
    for neighbor, key in (("r2", "k2"), ("r3", "k3")):
        made.received[neighbor] = {key: ReceivedEntry(WANTED, 1)}
    return made


def tables() -> Tables:
    made = Tables(Index(records="counting"))
    made.local.add("k1", WANTED)
    for neighbor, key in (("r2", "k2"), ("r3", "k3")):
        made.received[neighbor] = Index(records="counting")
        made.received[neighbor].add(key, WANTED)
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


def test_tables_validate_notices_an_index_that_differs() -> None:
    made = tables()
    made.validate(entries())
    made.received["r2"].remove("k2")
    with pytest.raises(InvariantError, match="link r2 holds 0"):
        made.validate(entries())
    del made.received["r2"]
    with pytest.raises(InvariantError, match="of other links"):
        made.validate(entries())
