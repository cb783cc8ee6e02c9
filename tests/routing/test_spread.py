"""What subscriptions and advertisements have in common: known, told, confirmed, withdrawn."""

from __future__ import annotations

import pytest

from sapwood.errors import InvariantError
from sapwood.language import parse_filter
from sapwood.model.interest import Interest
from sapwood.routing.effects import Refused, Send, Subscribed, Unsubscribed
from sapwood.routing.messages import Confirm, Subscribe, Unsubscribe
from sapwood.routing.propagation.simple import Simple
from sapwood.routing.spread import Spread
from sapwood.routing.statements import SUBSCRIPTIONS

WANTED, OTHER = parse_filter("a > 1"), parse_filter("a > 2")


def spread_with_links(*neighbors: str) -> Spread[Interest]:
    made: Spread[Interest] = Spread(SUBSCRIPTIONS, "r1.0", Simple)
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
    assert spread.propagate(key, WANTED, source=None) == [
        Send("r2", Subscribe(key, WANTED, 1)),
        Send("r3", Subscribe(key, WANTED, 2)),
    ]
    assert spread.repeated(spread.own("c")["s"], WANTED) == []
    assert spread.confirmed("r3", key, 2) == []
    assert spread.confirmed("r2", key, 2) == []
    assert spread.confirmed("r2", key, 1) == [Subscribed("c", "s")]
    assert spread.repeated(spread.own("c")["s"], WANTED) == [Subscribed("c", "s")]
    spread.validate()


def test_spread_passes_on_what_a_neighbor_states_and_withdraws() -> None:
    spread = spread_with_links("r2", "r3")
    told = spread.receive("r2", "r9.0.1", WANTED, 7)
    assert told == [Send("r3", Subscribe("r9.0.1", WANTED, 1))]
    assert spread.known("r9.0.1") == "over the link to r2"
    assert spread.confirmed("r3", "r9.0.1", 1) == [Send("r2", Confirm("r9.0.1", 7))]
    assert spread.retract("r2", "r9.0.1") == [Send("r3", Unsubscribe("r9.0.1"))]
    assert spread.known("r9.0.1") is None
    spread.validate()


def test_spread_replays_to_a_link_what_did_not_come_from_it() -> None:
    spread = spread_with_links("r2")
    spread.receive("r2", "r9.0.1", WANTED, 7)
    key = spread.register("c", "s", OTHER).key
    spread.propagate(key, OTHER, source=None)
    spread.link_up("r3")
    assert [effect.message for effect in spread.replay("r3") if isinstance(effect, Send)] == [
        Subscribe(key, OTHER, 2),
        Subscribe("r9.0.1", WANTED, 3),
    ]
    assert spread.link_down("r2") == [
        Subscribed("c", "s"),
        Send("r3", Unsubscribe("r9.0.1")),
    ]
    spread.validate()


def test_spread_refuses_another_filter_under_an_id_and_ids_it_does_not_know() -> None:
    spread = spread_with_links()
    entry = spread.register("c", "s", WANTED)
    [refused] = spread.repeated(entry, OTHER)
    assert isinstance(refused, Refused)
    assert "subscription id 's' is taken" in refused.reason
    assert "unsubscribe it first" in refused.reason
    assert spread.unknown("c", "t") == [
        Refused("c", "t", "this client has no subscription with id 't'")
    ]
    assert spread.release(entry) == [Unsubscribed("c", "s")]


def test_spread_detach_withdraws_all_of_a_client() -> None:
    spread = spread_with_links("r2")
    keys = []
    for id_ in "ab":
        keys.append(spread.register("c", id_, WANTED).key)
        spread.propagate(keys[-1], WANTED, source=None)
    assert spread.detach("c") == [Send("r2", Unsubscribe(key)) for key in keys]
    with pytest.raises(InvariantError, match="not attached"):
        spread.own("c")
    spread.attach("c")
    with pytest.raises(InvariantError, match="attached already"):
        spread.attach("c")
    spread.validate()


def test_spread_validate_notices_links_that_differ() -> None:
    spread = spread_with_links("r2")
    del spread.entries.received["r2"]
    with pytest.raises(InvariantError, match="links and received"):
        spread.validate()
