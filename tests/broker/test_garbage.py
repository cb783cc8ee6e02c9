"""Garbage collection: the objects that tables grow by are out of the collector's way."""

from __future__ import annotations

import gc

import pytest

from sapwood.broker.garbage import TableGrowth
from sapwood.language import parse_filter
from sapwood.language.interests import Interests
from sapwood.limits import SUBSCRIPTIONS_AT_ONCE_MAX
from sapwood.routing.inputs import ClientSubscribe, ClientSubscribeMany, Input, Receive, Tick
from sapwood.routing.messages import Subscribe, SubscribeMany, Unsubscribe

WANTED = parse_filter("a = 1")


@pytest.fixture
def frozen(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    times: list[int] = []
    monkeypatch.setattr(gc, "freeze", lambda: times.append(1))
    return times


def test_objects_are_put_aside_after_so_many_subscriptions(frozen: list[int]) -> None:
    growth = TableGrowth()
    half = SUBSCRIPTIONS_AT_ONCE_MAX // 2
    few: tuple[Input, ...] = (
        Tick(),
        ClientSubscribe("c", "s", WANTED),
        Receive("n", Unsubscribe("k")),
        Receive("n", Subscribe("k", WANTED, 1)),
        ClientSubscribeMany("c", (("t", WANTED),) * (half - 2)),
    )
    for one in few:
        growth.handled(one)
    assert frozen == []
    keys = tuple(f"k{number}" for number in range(half))
    growth.handled(Receive("n", SubscribeMany(keys, Interests([WANTED] * half), 2)))
    assert frozen == [1]
    growth.handled(ClientSubscribe("c", "s", WANTED))
    assert frozen == [1]
