"""What arrives reaches those who iterate, and no queue grows without end."""

from __future__ import annotations

import pytest

from sapwood import parse_filter
from sapwood.client import connect
from sapwood.errors import (
    LimitError,
)
from tests.broker.helpers import running, soon


async def test_each_subscription_gets_its_own() -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        low = await client.subscribe("a < 5", "low")
        all_ = await client.subscribe(parse_filter("exists a"), "all")
        await client.publish_many({"a": n} for n in (1, 9))
        assert [(await soon(anext(all_))).subscriptions for _ in range(2)] == [
            ("all", "low"),
            ("all",),
        ]
        assert (await soon(anext(low))).attributes == {"a": 1}
        assert len(low) == 0


async def test_one_iterator_for_all_subscriptions_has_each_publication_once() -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        merged = client.deliveries()
        low = await client.subscribe("a < 5", "low")
        await client.subscribe("exists a", "all")
        await client.publish_many({"a": n} for n in (1, 9))
        assert [(await soon(anext(merged))).attributes["a"] for _ in range(2)] == [1, 9]
        assert len(low) == len(merged) == 0
        assert client.deliveries() is merged


async def test_an_application_that_does_not_take_its_deliveries_is_told() -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        slow = await client.subscribe("exists a", "slow", waiting_max=3)
        other = await client.subscribe("exists a", "other")
        await client.publish_many({"a": n} for n in range(10))
        assert [(await soon(anext(slow))).attributes["a"] for _ in range(3)] == [0, 1, 2]
        with pytest.raises(LimitError, match="DELIVERIES_WAITING_MAX is 3"):
            await soon(anext(slow))
        assert [(await soon(anext(other))).attributes["a"] for _ in range(10)] == list(range(10))
        await client.publish({"a": 10})
        assert (await soon(anext(other))).subscriptions == ("other",)


async def test_a_merged_iterator_that_is_too_slow_can_be_had_anew() -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        merged = client.deliveries(waiting_max=1)
        await client.subscribe("exists a")
        await client.publish_many({"a": n} for n in range(3))
        assert (await soon(anext(merged))).attributes == {"a": 0}
        with pytest.raises(LimitError):
            await soon(anext(merged))
        again = client.deliveries()
        await client.publish({"a": 3})
        assert (await soon(anext(again))).attributes == {"a": 3}
