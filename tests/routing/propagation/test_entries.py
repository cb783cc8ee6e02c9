"""Entries of subscriptions and advertisements alike: known, told, confirmed, withdrawn."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from sapwood.errors import InvariantError
from sapwood.language import parse_filter
from sapwood.language.interests import Interests
from sapwood.limits import REPLACED_KEYS_MAX
from sapwood.model.interest import Interest
from sapwood.routing.client_entries import SUBSCRIPTIONS
from sapwood.routing.effects import Refused, Send, Subscribed, Unsubscribed
from sapwood.routing.messages import (
    Confirm,
    ConfirmMany,
    Replace,
    Subscribe,
    SubscribeMany,
    Unsubscribe,
    UnsubscribeMany,
)
from sapwood.routing.propagation.covering import Covering
from sapwood.routing.propagation.entries import EntryPropagation
from sapwood.routing.propagation.protocol import Change, Propagation
from sapwood.routing.propagation.simple import Simple

WANTED, OTHER = parse_filter("a > 1"), parse_filter("a > 2")


def spread_with_links(
    *neighbors: str, strategy: Callable[[], Propagation[Interest]] = Simple
) -> EntryPropagation[Interest]:
    made: EntryPropagation[Interest] = EntryPropagation(SUBSCRIPTIONS, "r1.0", strategy)
    made.attach("c")
    for neighbor in neighbors:
        made.link_up(neighbor)
    return made


def test_spread_makes_keys_that_begin_with_its_identity() -> None:
    spread = spread_with_links()
    assert [spread.register("c", id_, WANTED).key for id_ in "ab"] == ["r1.0.1", "r1.0.2"]
    spread.validate()


def test_spread_numbers_what_it_sends_and_announces_when_all_have_confirmed() -> None:
    spread = spread_with_links("r2", "r3")
    key = spread.register("c", "s", WANTED).key
    assert spread.propagate(((key, WANTED),), source=None) == [
        Send("r2", Subscribe(key, WANTED, 1)),
        Send("r3", Subscribe(key, WANTED, 2)),
    ]
    assert spread.repeated(spread.own("c")["s"], WANTED) == []
    assert spread.confirmed("r3", ((key, 2),)) == []
    assert spread.confirmed("r2", ((key, 2),)) == []
    assert spread.confirmed("r2", ((key, 1),)) == [Subscribed("c", "s")]
    assert spread.repeated(spread.own("c")["s"], WANTED) == [Subscribed("c", "s")]
    spread.validate()


def test_spread_passes_on_what_a_neighbor_states_and_withdraws() -> None:
    spread = spread_with_links("r2", "r3")
    told = spread.receive("r2", "r9.0.1", WANTED, 7)
    assert told == [Send("r3", Subscribe("r9.0.1", WANTED, 1))]
    assert spread.known("r9.0.1") == "over the link to r2"
    assert spread.confirmed("r3", (("r9.0.1", 1),)) == [Send("r2", Confirm("r9.0.1", 7))]
    assert spread.retract("r2", "r9.0.1") == [Send("r3", Unsubscribe("r9.0.1"))]
    assert spread.known("r9.0.1") is None
    spread.validate()


def test_spread_replays_to_a_link_what_did_not_come_from_it() -> None:
    spread = spread_with_links("r2")
    spread.receive("r2", "r9.0.1", WANTED, 7)
    key = spread.register("c", "s", OTHER).key
    spread.propagate(((key, OTHER),), source=None)
    spread.link_up("r3")
    assert spread.replay("r3", 2) == [
        Send("r3", SubscribeMany((key, "r9.0.1"), Interests((OTHER, WANTED)), 2)),
    ]
    assert spread.link_down("r2") == [
        Subscribed("c", "s"),
        Send("r3", Unsubscribe("r9.0.1")),
    ]
    spread.validate()


def test_spread_changes_what_has_another_filter_and_refuses_ids_it_does_not_know() -> None:
    spread = spread_with_links()
    former = spread.register("c", "s", WANTED)
    effects = spread.settle(spread.repeated(former, OTHER))
    assert effects == [Subscribed("c", "s")]
    entry = spread.own("c")["s"]
    assert entry.filter == OTHER
    assert list(spread.entries.by_key) == [entry.key]
    assert spread.unknown("c", "t") == [
        Refused("c", "t", "this client has no subscription with id 't'")
    ]
    assert spread.release(entry) == [Unsubscribed("c", "s")]


def test_spread_detach_withdraws_all_of_a_client() -> None:
    spread = spread_with_links("r2")
    keys = []
    for id_ in "ab":
        keys.append(spread.register("c", id_, WANTED).key)
        spread.propagate(((keys[-1], WANTED),), source=None)
    assert spread.detach("c") == [Send("r2", UnsubscribeMany(tuple(keys)))]
    with pytest.raises(InvariantError, match="not attached"):
        spread.own("c")
    spread.attach("c")
    with pytest.raises(InvariantError, match="attached already"):
        spread.attach("c")
    spread.validate()


def test_spread_passes_a_replacement_on_as_one_message() -> None:
    spread = spread_with_links("r2", "r3")
    spread.receive("r2", "r9.0.1", WANTED, 7)
    spread.receive("r2", "r9.0.2", WANTED, 8)
    heard = spread.on_message("r2", Replace("r9.0.3", OTHER, 9, ("r9.0.1", "r9.0.2")))
    assert heard.effects == [Send("r3", Replace("r9.0.3", OTHER, 3, ("r9.0.1", "r9.0.2")))]
    assert list(spread.entries.received["r2"]) == ["r9.0.3"]
    assert spread.confirmed("r3", (("r9.0.1", 1),)) == []
    assert spread.confirmed("r3", (("r9.0.3", 3),)) == [Send("r2", Confirm("r9.0.3", 9))]
    spread.validate()


def test_spread_passes_on_what_a_replacement_comes_to_on_each_link() -> None:
    spread = spread_with_links("r2", "r3", strategy=Covering)
    spread.receive("r2", "wide", WANTED, 1)
    spread.receive("r2", "narrow", OTHER, 2)
    # The narrow one, which was not told before, comes in the place of the wide one.
    heard = spread.on_message("r2", Replace("same", OTHER, 3, ("wide",)))
    assert heard.effects == [Send("r3", Replace("narrow", OTHER, 2, ("wide",)))]
    heard = spread.on_message(
        "r2", Replace("again", OTHER, 4, ("same", "unknown", "same", "again"))
    )
    assert heard.effects == []
    assert list(spread.entries.received["r2"]) == ["narrow", "again"]
    assert spread.confirmed("r3", (("narrow", 2),)) == [
        Send("r2", ConfirmMany(("narrow", "again"), (2, 4))),
    ]
    spread.validate()


def test_spread_closes_a_link_over_which_a_replacement_comes_twice() -> None:
    spread = spread_with_links("r2", "r3")
    spread.on_message("r2", Replace("k", WANTED, 1, ("gone",)))
    heard = spread.on_message("r3", Replace("k", WANTED, 1, ("gone",)))
    assert heard.objection is not None
    assert "cycle" in heard.objection
    spread.validate()


def test_spread_replaces_within_a_bound_and_withdraws_the_rest() -> None:
    spread = spread_with_links("r2")
    keys = [spread.register("c", f"s{n}", WANTED).key for n in range(REPLACED_KEYS_MAX + 3)]
    for key in keys[:-2]:
        spread.propagate(((key, WANTED),), source=None)
    link = spread.links["r2"]
    for key in keys[-2:]:
        link.add(key, WANTED)
    for key in keys[:-2]:
        link.remove(key)
    first, second, rest = spread.emit("r2", Change(tuple(keys[-2:]), tuple(keys[:-2])))
    assert first == Send("r2", Subscribe(keys[-2], WANTED, REPLACED_KEYS_MAX + 2))
    replaced = tuple(keys[:REPLACED_KEYS_MAX])
    assert second == Send("r2", Replace(keys[-1], WANTED, REPLACED_KEYS_MAX + 3, replaced))
    assert rest == Send("r2", Unsubscribe(keys[REPLACED_KEYS_MAX]))


def test_spread_validate_notices_links_that_differ() -> None:
    spread = spread_with_links("r2")
    del spread.entries.received["r2"]
    with pytest.raises(InvariantError, match="links and received"):
        spread.validate()
