"""Filters that a client changes, across connections."""

from __future__ import annotations

import pytest

from sapwood import parse_filter
from sapwood.errors import InvariantError
from sapwood.routing.inputs import ClientSubscribe, ClientSubscribeMany, Input
from sapwood.session.client_entries import (
    EntriesConfirmed,
    EntryChanged,
    EntryConfirmed,
    EntryKept,
    EntryRefused,
    EntryWithdrawn,
)
from sapwood.session.client_session import ClientSession
from sapwood.session.client_session_at_broker import ClientSessionAtBroker
from sapwood.wire.messages import SubscriptionRefused
from tests.session.helpers import Home
from tests.session.test_client_session import answered, asked, new_session


def subscribed() -> tuple[ClientSession, Home, ClientSessionAtBroker]:
    """A session of which `a` is in force with `x = 1`."""
    session, home = new_session(), Home()
    peer, _ = home.connect(session)
    session.subscribe("a", "x = 1")
    asked(session, peer)
    peer.subscribed("a")
    [confirmed] = answered(peer, session)
    assert isinstance(confirmed, EntryConfirmed)
    return session, home, peer


def again(
    session: ClientSession, home: Home, peer: ClientSessionAtBroker
) -> tuple[ClientSessionAtBroker, list[str]]:
    """Another connection, and the filters that are asked for on it."""
    home.lose(session, peer)
    peer, _ = home.connect(session)
    return peer, filters(asked(session, peer))


def filters(inputs: list[Input | None]) -> list[str]:
    found: list[str] = []
    for one in inputs:
        if isinstance(one, ClientSubscribe):
            found.append(str(one.filter))
        elif isinstance(one, ClientSubscribeMany):
            found.extend(str(wanted) for _, wanted in one.subscriptions)
    return found


def refuse(peer: ClientSessionAtBroker, reason: str) -> None:
    peer.connection.send(SubscriptionRefused("a", reason))


def test_a_change_is_asked_for_under_the_same_id_and_answered_when_it_is_in_force() -> None:
    session, _, peer = subscribed()
    session.change("a", "x = 2")
    assert asked(session, peer) == [ClientSubscribe("c1", "a", parse_filter("x = 2"))]
    assert answered(peer, session) == []
    peer.subscribed("a")
    [changed] = answered(peer, session)
    assert isinstance(changed, EntryChanged)
    assert changed.entry.filter == "x = 2"
    peer.subscribed("a")  # said once more, it is of no change
    [confirmed] = answered(peer, session)
    assert isinstance(confirmed, EntryConfirmed)


def test_a_change_that_is_refused_leaves_the_subscription_as_it_was() -> None:
    session, _, peer = subscribed()
    session.change("a", "x = 2")
    asked(session, peer)
    refuse(peer, "not you")
    assert answered(peer, session) == []
    assert filters(asked(session, peer)) == ["x = 1"]
    peer.subscribed("a")
    [kept] = answered(peer, session)
    assert isinstance(kept, EntryKept)
    assert (kept.entry.filter, kept.reason) == ("x = 1", "not you")


def test_a_subscription_of_which_both_filters_are_refused_is_gone() -> None:
    session, _, peer = subscribed()
    session.change("a", "x = 2")
    asked(session, peer)
    refuse(peer, "not you")
    answered(peer, session)
    refuse(peer, "nobody")
    [gone] = answered(peer, session)
    assert isinstance(gone, EntryRefused)
    assert gone.reason == "nobody"
    assert "a" not in session.subscriptions


def test_a_connection_that_is_lost_during_a_change_is_made_up_for() -> None:
    session, home, peer = subscribed()
    session.change("a", "x = 2")
    asked(session, peer)
    peer, wanted = again(session, home, peer)
    assert wanted == ["x = 2"]
    peer.subscribed_many(("a",))
    confirmed, changed = answered(peer, session)
    assert isinstance(confirmed, EntriesConfirmed)
    assert isinstance(changed, EntryChanged)


def test_what_changes_between_two_connections_is_asked_for_as_it_is_then() -> None:
    session, home, peer = subscribed()
    home.lose(session, peer)
    session.change("a", "x = 2")
    peer, _ = home.connect(session)
    assert filters(asked(session, peer)) == ["x = 2"]
    peer.subscribed("a")
    [changed] = answered(peer, session)
    assert isinstance(changed, EntryChanged)


def test_a_change_waits_for_the_answer_to_what_was_asked_again() -> None:
    session, home, peer = subscribed()
    peer, wanted = again(session, home, peer)
    assert wanted == ["x = 1"]
    session.change("a", "x = 2")
    assert asked(session, peer) == []
    peer.subscribed("a")
    [confirmed] = answered(peer, session)
    assert isinstance(confirmed, EntryConfirmed)
    assert filters(asked(session, peer)) == ["x = 2"]
    peer.subscribed("a")
    [changed] = answered(peer, session)
    assert isinstance(changed, EntryChanged)


def test_a_change_that_waits_is_what_the_next_connection_asks_for() -> None:
    session, home, peer = subscribed()
    peer, _ = again(session, home, peer)
    session.change("a", "x = 2")
    peer, wanted = again(session, home, peer)
    assert wanted == ["x = 2"]
    peer.subscribed("a")
    [changed] = answered(peer, session)
    assert isinstance(changed, EntryChanged)


def test_a_refusal_of_what_was_asked_again_ends_it_with_the_change_that_waits() -> None:
    session, home, peer = subscribed()
    peer, _ = again(session, home, peer)
    session.change("a", "x = 2")
    refuse(peer, "nobody")
    [gone] = answered(peer, session)
    assert isinstance(gone, EntryRefused)


@pytest.mark.parametrize("is_open", [True, False])
def test_what_is_withdrawn_during_a_change_can_be_asked_for_and_changed_anew(
    *, is_open: bool
) -> None:
    session, home, peer = subscribed()
    session.change("a", "x = 2")
    asked(session, peer)
    if is_open:
        session.unsubscribe("a")
        asked(session, peer)
        peer.subscribed("a")
        peer.unsubscribed("a")
        changed, withdrawn = answered(peer, session)
        assert isinstance(changed, EntryChanged)
        assert isinstance(withdrawn, EntryWithdrawn)
    else:
        home.lose(session, peer)
        assert session.unsubscribe("a") is False
        peer, _ = home.connect(session)
    session.subscribe("a", "x = 3")
    session.change("a", "x = 4")
    assert filters(asked(session, peer)) == ["x = 3", "x = 4"]


def test_two_changes_of_one_at_a_time_are_a_mistake() -> None:
    session, _, _ = subscribed()
    session.change("a", "x = 2")
    with pytest.raises(InvariantError, match="being changed"):
        session.change("a", "x = 3")
