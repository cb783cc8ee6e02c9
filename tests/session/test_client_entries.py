"""Requests of a client that are not withdrawn."""

from __future__ import annotations

from typing import Any

import pytest

from sapwood.errors import InvariantError
from sapwood.session.client_entries import (
    ADVERTISEMENT,
    SUBSCRIPTION,
    ClientEntries,
    EntryKind,
)
from sapwood.wire.messages import (
    AdvertiseRequest,
    SubscribeRequest,
    UnadvertiseRequest,
    UnsubscribeRequest,
)


@pytest.mark.parametrize("kind", [SUBSCRIPTION, ADVERTISEMENT])
def test_entries_are_held_in_the_order_of_their_requests(kind: EntryKind[Any]) -> None:
    entries: ClientEntries[Any, None] = ClientEntries(kind)
    second, first = entries.add("b", "x = 1", None), entries.add("a", "x = 1", None)
    assert list(entries) == [second, first]
    assert ("a" in entries, entries.get("a")) == (True, first)
    entries.remove(second)
    assert ("b" in entries, entries.get("b")) == (False, None)
    assert list(entries) == [first]


def test_an_id_is_taken_once() -> None:
    entries: ClientEntries[Any, None] = ClientEntries(ADVERTISEMENT)
    entry = entries.add("a", "x = 1", None)
    with pytest.raises(InvariantError, match="advertisement 'a' is there already"):
        entries.add("a", "x = 2", None)
    entries.remove(entry)
    entries.add("a", "x = 2", None)


def test_what_is_leaving_is_given_up_together() -> None:
    entries: ClientEntries[Any, None] = ClientEntries(SUBSCRIPTION)
    a, b, c = (entries.add(id_, "x = 1", None) for id_ in "abc")
    for entry in (c, a):
        entries.leave(entry)
    assert (a.is_leaving, b.is_leaving) == (True, False)
    assert entries.remove_leaving() == [c, a]
    assert list(entries) == [b]
    assert len(entries) == 1
    assert entries.remove_leaving() == []


def test_what_has_left_is_not_given_up_again() -> None:
    entries: ClientEntries[Any, None] = ClientEntries(SUBSCRIPTION)
    entry = entries.add("a", "x = 1", None)
    entries.leave(entry)
    entries.remove(entry)
    again = entries.add("a", "x = 2", None)
    assert entries.remove_leaving() == []
    assert list(entries) == [again]


def test_each_kind_is_requested_and_withdrawn_in_its_own_words() -> None:
    assert SUBSCRIPTION.request("a", "x = 1") == SubscribeRequest("a", "x = 1")
    assert SUBSCRIPTION.withdrawal("a") == UnsubscribeRequest("a")
    assert ADVERTISEMENT.request("a", "x = 1") == AdvertiseRequest("a", "x = 1")
    assert ADVERTISEMENT.withdrawal("a") == UnadvertiseRequest("a")
