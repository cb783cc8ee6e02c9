"""Routing tables say what is known and from which side it was heard."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from sapwood.errors import InvariantError
from sapwood.language import parse_filter
from sapwood.model.interest import Interest
from sapwood.routing.tables import CLIENTS, Entries, LocalEntry, ReceivedEntry

WANTED = parse_filter("a > 1")


def entries() -> Entries[Interest]:
    made: Entries[Interest] = Entries()
    made.by_client["c"] = {}
    made.add(LocalEntry("k1", "c", "s1", WANTED))
    for neighbor, key in (("r2", "k2"), ("r3", "k3")):
        made.received[neighbor] = {key: ReceivedEntry(WANTED, 1)}
    return made


class Written:
    """A follower that writes down what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, ...]] = []

    def add_side(self, side: str) -> None:
        self.told.append(("side", side))

    def remove_side(self, side: str) -> None:
        self.told.append(("no side", side))

    def learned(self, side: str, key: str, filter: Interest) -> None:
        assert filter == WANTED
        self.told.append(("learned", side, key))

    def learned_many(self, side: str, entries: Sequence[tuple[str, Interest]]) -> None:
        assert {wanted for _, wanted in entries} <= {WANTED}
        self.told.append(("learned", side, *(key for key, _ in entries)))

    def forgot(self, side: str, key: str) -> None:
        self.told.append(("forgot", side, key))


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


def test_a_follower_is_told_of_every_change() -> None:
    written = Written()
    made: Entries[Interest] = Entries(written)
    made.by_client["c"] = {}
    entry: LocalEntry[Interest] = LocalEntry("k1", "c", "s1", WANTED)
    made.add(entry)
    made.link_up("r2")
    made.enter("r2", "k2", ReceivedEntry(WANTED, 1))
    made.enter("r2", "k3", ReceivedEntry(WANTED, 2))
    local = [LocalEntry[Interest](f"k{number}", "c", f"s{number}", WANTED) for number in (4, 5)]
    made.add_many(local, [WANTED, WANTED])
    named = [(key, WANTED) for key in ("k6", "k7")]
    made.enter_many("r2", {key: ReceivedEntry(WANTED, 3) for key, _ in named}, named)
    made.validate()
    made.leave("r2", "k2")
    made.remove(entry)
    assert list(made.link_down("r2")) == ["k3", "k6", "k7"]
    assert written.told == [
        ("learned", CLIENTS, "k1"),
        ("side", "r2"),
        ("learned", "r2", "k2"),
        ("learned", "r2", "k3"),
        ("learned", CLIENTS, "k4", "k5"),
        ("learned", "r2", "k6", "k7"),
        ("forgot", "r2", "k2"),
        ("forgot", CLIENTS, "k1"),
        ("no side", "r2"),
    ]


def test_a_follower_that_comes_later_is_told_what_is_there() -> None:
    made, written = entries(), Written()
    made.follow(written)
    assert written.told == [
        ("learned", CLIENTS, "k1"),
        ("side", "r2"),
        ("learned", "r2", "k2"),
        ("side", "r3"),
        ("learned", "r3", "k3"),
    ]
    assert made.follower is written
    assert made.sides() == {
        CLIENTS: {"k1": WANTED},
        "r2": {"k2": WANTED},
        "r3": {"k3": WANTED},
    }


def test_several_may_follow_and_one_takes_the_place_of_another() -> None:
    known, first, second, third = entries(), Written(), Written(), Written()
    known.exchange(None, first)
    known.exchange(None, second)
    assert known.followers == [first, second]
    assert first.told == second.told != []
    known.link_up("r4")
    known.enter("r4", "k4", ReceivedEntry(WANTED, 1))
    known.exchange(first, third)
    assert known.followers == [second, third]
    known.leave("r4", "k4")
    known.remove(known.by_key["k1"])
    known.link_down("r4")
    ended = [("forgot", "r4", "k4"), ("forgot", CLIENTS, "k1"), ("no side", "r4")]
    begun = [("side", "r4"), ("learned", "r4", "k4")]
    assert first.told[-2:] == begun
    assert second.told[-5:] == [*begun, *ended]
    assert third.told[-3:] == ended
    assert ("learned", "r4", "k4") in third.told  # what is there is told to whoever comes
    known.exchange(second, None)
    assert known.follower is third
    known.exchange(third, None)
    assert known.follower is None
    assert known.followers == ()
