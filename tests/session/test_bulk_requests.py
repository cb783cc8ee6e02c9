"""Requests for many subscriptions: in frames, so many at a time, each once."""

from __future__ import annotations

import pytest

from sapwood.session import bulk_requests
from sapwood.session.bulk_requests import BulkRequests, withdrawals
from sapwood.wire.interests import XPathText
from sapwood.wire.messages import SubscribeManyRequest

IDS = tuple(f"s{number}" for number in range(10))


def text_of(id_: str) -> str:
    return f"x = {id_[1:]}"


def frames(requests: BulkRequests, bytes_max: int = 1000) -> list[tuple[str, ...]]:
    found = list(requests.frames(text_of, bytes_max))
    assert all(one.filters == tuple(map(text_of, one.ids)) for one in found)
    return [one.ids for one in found]


@pytest.fixture(autouse=True)
def _few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bulk_requests, "SUBSCRIBE_MANY_MAX", 4)
    monkeypatch.setattr(bulk_requests, "SUBSCRIPTIONS_UNANSWERED_MAX", 6)


def test_an_answer_makes_room_for_another_request() -> None:
    requests = BulkRequests()
    requests.begin(IDS)
    assert frames(requests) == [IDS[:4], IDS[4:6]]
    assert frames(requests) == []
    for id_ in IDS[:3]:
        requests.answered(id_)
    assert frames(requests) == [IDS[6:9]]
    requests.answered("unknown")
    assert frames(requests) == []


def test_a_frame_is_no_longer_than_it_may_be_but_for_one_request() -> None:
    requests = BulkRequests()
    requests.put(IDS[:3])
    size = len("s0") + len("x = 0") + bulk_requests._ENTRY_BYTES
    assert frames(requests, 2 * size) == [IDS[:2], IDS[2:3]]
    requests.put(IDS[3:5])
    assert frames(requests, 1) == [("s3",), ("s4",)]


def test_what_is_given_up_before_it_was_requested_is_never_requested() -> None:
    requests = BulkRequests()
    requests.begin(IDS)
    assert frames(requests) == [IDS[:4], IDS[4:6]]
    assert not requests.drop("s0"), "the broker knows it"
    assert requests.drop("s6")
    assert requests.drop("s9")
    assert not requests.drop("s9")
    for id_ in IDS:
        requests.answered(id_)
    assert frames(requests) == [("s7", "s8")]


def test_a_new_connection_begins_afresh() -> None:
    requests = BulkRequests()
    requests.begin(IDS)
    frames(requests)
    requests.begin(IDS[:2])
    assert frames(requests) == [IDS[:2]]


def test_withdrawals_come_in_frames() -> None:
    assert [one.ids for one in withdrawals(IDS, 1000)] == [IDS[:4], IDS[4:8], IDS[8:]]
    assert [one.ids for one in withdrawals(IDS[:3], 20)] == [("s0",), ("s1",), ("s2",)]
    assert list(withdrawals((), 1000)) == []


def test_texts_are_weighed_by_the_most_that_they_can_take() -> None:
    requests = BulkRequests()
    requests.put(("ä", "b"))
    text = XPathText("//ä", (("p", "urn:p"),))
    weight = 4 + 12 + (1 + 16) + (5 + 16) + 16
    found = list(requests.frames(lambda _: text, weight))
    assert found == [SubscribeManyRequest(("ä",), (text,)), SubscribeManyRequest(("b",), (text,))]
