"""Requests for many subscriptions: in frames, so many at a time, each once."""

from __future__ import annotations

from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.session import bulk_requests
from sapwood.session.bulk_requests import BulkRequests, Subscription, withdrawals
from sapwood.session.client_entries import HELD, SUBSCRIPTION, ClientEntries
from sapwood.wire.interests import InterestText, XPathText
from sapwood.wire.messages import SubscribeManyRequest

IDS = tuple(f"s{number}" for number in range(10))


class Bulk:
    """Requests with their entries."""

    def __init__(self) -> None:
        self.entries: ClientEntries[InterestText, None] = ClientEntries(SUBSCRIPTION)
        self.requests = BulkRequests(self.entries)
        self.requests.begin(1)

    def held(self, *ids: str) -> deque[Subscription]:
        return deque(self.entries.add(id_, f"x = {id_[1:]}", None, HELD) for id_ in ids)

    def put(self, *ids: str) -> None:
        self.requests.put(self.held(*ids))

    def frames(self, bytes_max: int = 1000) -> list[tuple[str, ...]]:
        """All requests that wait for no answer."""
        found = []
        while self.requests.has_work(is_open=True):
            request = self.requests.request(bytes_max)
            if request is not None:
                assert request.filters == tuple(f"x = {id_[1:]}" for id_ in request.ids)
                found.append(request.ids)
        return found

    def leave(self, *, is_open: bool = True) -> tuple[list[str], list[str]]:
        """One step of withdrawals: what is gone, what the broker is told of."""
        gone, known = self.requests.leave(is_open=is_open)
        return [one.id for one in gone], known


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_requests, "SUBSCRIPTIONS_WANTED_AT_ONCE_MAX", 4)
    monkeypatch.setattr(bulk_requests, "SUBSCRIPTIONS_UNANSWERED_MAX", 6)


def test_an_answer_makes_room_for_another_request() -> None:
    bulk = Bulk()
    bulk.put(*IDS)
    assert bulk.frames() == [IDS[:4], IDS[4:6]]
    assert bulk.frames() == []
    bulk.requests.answered(*IDS[:3])
    assert bulk.frames() == [IDS[6:9]]
    bulk.requests.answered("unknown")
    assert bulk.frames() == []
    assert not bulk.requests.are_answered
    bulk.requests.answered(*IDS)
    assert bulk.frames() == [IDS[9:]]
    bulk.requests.answered(*IDS)
    assert bulk.requests.are_answered


def test_a_frame_is_no_longer_than_it_may_be_but_for_one_request() -> None:
    bulk = Bulk()
    bulk.put(*IDS[:3])
    size = len("s0") + len("x = 0") + bulk_requests._ENTRY_BYTES
    assert bulk.frames(2 * size) == [IDS[:2], IDS[2:3]]
    bulk.put(*IDS[3:5])
    assert bulk.frames(1) == [("s3",), ("s4",)]


def test_what_is_held_is_requested_when_it_is_put_and_not_with_what_was_there_before() -> None:
    bulk = Bulk()
    held = bulk.held("s1", "s2")
    bulk.entries.add("s0", "x = 0", None, asked=1)
    bulk.requests.begin(2)
    assert bulk.frames() == [("s0",)]
    bulk.requests.put(held)
    bulk.requests.begin(3)
    assert [id_ for ids in bulk.frames() for id_ in ids] == ["s0", "s1", "s2"]
    assert bulk.frames() == []
    assert not held, "who waits sees how far it is"


def test_what_is_given_up_before_it_was_requested_is_gone_and_never_requested() -> None:
    bulk = Bulk()
    bulk.put(*IDS)
    assert bulk.frames() == [IDS[:4], IDS[4:6]]
    bulk.requests.withdraw(("s0", "s6", "s9", "s9", "unknown"))
    assert bulk.leave() == ([], []), "there is no room"
    bulk.requests.answered("s0", "s1")
    assert bulk.leave() == (["s6"], ["s0"])
    assert bulk.frames() == [("s7",)]
    bulk.requests.answered(*IDS)
    assert bulk.leave() == (["s9"], [])
    assert bulk.frames() == [("s8",)]
    bulk.requests.answered(*IDS)
    assert bulk.requests.are_answered


def test_withdrawals_of_a_connection_that_is_lost_are_gone_bit_by_bit() -> None:
    bulk = Bulk()
    bulk.put(*IDS)
    assert bulk.frames() == [IDS[:4], IDS[4:6]]
    bulk.requests.answered(*IDS)
    bulk.requests.withdraw(IDS)
    assert bulk.leave() == ([], list(IDS[:4]))
    assert [one.id for one in bulk.entries.remove_leaving()] == list(IDS[:4])
    assert bulk.requests.has_work(is_open=False)
    assert bulk.leave(is_open=False) == (list(IDS[4:8]), [])
    bulk.requests.begin(2)
    assert bulk.leave() == (list(IDS[8:]), []), "the broker of the new one knows of none"
    assert bulk.leave() == ([], [])
    assert not list(bulk.entries)
    assert bulk.frames() == []
    assert bulk.requests.are_answered


def test_a_new_connection_begins_afresh() -> None:
    bulk = Bulk()
    bulk.put(*IDS)
    assert bulk.frames() == [IDS[:4], IDS[4:6]]
    for id_ in IDS[2:]:
        entry = bulk.entries.known(id_)
        bulk.entries.remove(entry)
    bulk.requests.begin(2)
    assert bulk.frames() == [IDS[:2]]


@given(st.lists(st.sampled_from(["frames", "leave", "answer", "lost", "withdraw"]), max_size=40))
def test_whatever_happens_each_is_requested_once_a_connection_and_ends_as_it_should(
    steps: list[str],
) -> None:
    bulk = Bulk()
    bulk.put(*IDS)
    withdrawn, known, connection = set[str](), set[str](), 1

    def look() -> None:
        for ids in bulk.frames():
            assert not known & set(ids), "requested once"
            known.update(ids)

    for number, step in enumerate((*steps, "frames", *("leave", "answer", "frames") * 12)):
        if step == "frames" and not withdrawn:
            look()
        elif step == "withdraw":
            some = IDS[number % 10 :: 3]
            withdrawn.update(some)
            bulk.requests.withdraw(some)
        elif step == "lost":
            connection += 1
            bulk.entries.remove_leaving()
            bulk.requests.begin(connection)
            known.clear()
        elif step in ("leave", "frames"):
            gone, told = bulk.leave()
            assert not known & set(gone), "the broker is told of what it knows"
            assert set(told) <= known
            if not bulk.requests._withdrawn:
                look()
        else:
            for entry in bulk.entries.remove_leaving():
                known.discard(entry.id)
            bulk.requests.answered(*IDS)
    assert {one.id for one in bulk.entries} == set(IDS) - withdrawn == known
    assert bulk.requests.are_answered


def test_withdrawals_come_in_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_requests, "SUBSCRIBE_MANY_MAX", 4)
    assert [one.ids for one in withdrawals(IDS, 1000)] == [IDS[:4], IDS[4:8], IDS[8:]]
    assert [one.ids for one in withdrawals(IDS[:3], 20)] == [("s0",), ("s1",), ("s2",)]
    assert list(withdrawals((), 1000)) == []


def test_texts_are_weighed_by_the_most_that_they_can_take() -> None:
    bulk = Bulk()
    text = XPathText("//ä", (("p", "urn:p"),))
    bulk.requests.put(deque(bulk.entries.add(id_, text, None, HELD) for id_ in ("ä", "b")))
    weight = 4 + 12 + (1 + 16) + (5 + 16) + 16
    assert bulk.requests.request(weight) == SubscribeManyRequest(("ä",), (text,))
    assert bulk.requests.request(weight) == SubscribeManyRequest(("b",), (text,))
