"""Queues of deliveries in a client."""

from __future__ import annotations

import asyncio

import pytest

from sapwood import NeverMatchesWarning, parse_filter
from sapwood.client import connect
from sapwood.client.subscription import ClientSubscription, Deliveries
from sapwood.errors import ConnectionLostError, InputError, LimitError
from sapwood.session.delivery import Delivery
from tests.broker.helpers import running, settings, soon


def delivery(number: int) -> Delivery:
    return Delivery(f"p{number}", {"n": number}, ("s1",))


async def test_deliveries_are_handed_out_in_order() -> None:
    deliveries = Deliveries("here")
    for number in range(3):
        assert deliveries.put(delivery(number))
    assert len(deliveries) == 3
    assert [(await anext(deliveries)).id for _ in range(3)] == ["p0", "p1", "p2"]


async def test_taking_waits_for_the_first_and_gives_what_is_there() -> None:
    deliveries = Deliveries("here")
    taking = asyncio.create_task(deliveries.take(2))
    await asyncio.sleep(0)
    assert not taking.done()
    for number in range(3):
        deliveries.put(delivery(number))
    assert [one.id for one in await taking] == ["p0", "p1"]
    assert [one.id for one in await deliveries.take(9)] == ["p2"]


async def test_two_who_wait_get_one_each() -> None:
    deliveries = Deliveries("here")
    waiting = [asyncio.create_task(deliveries.take(1)) for _ in range(2)]
    await asyncio.sleep(0)
    deliveries.put(delivery(1))
    deliveries.put(delivery(2))
    assert [[one.id for one in await task] for task in waiting] == [["p1"], ["p2"]]


async def test_who_gives_up_waiting_loses_nothing() -> None:
    deliveries = Deliveries("here")
    waiting = asyncio.create_task(deliveries.take(1))
    await asyncio.sleep(0)
    deliveries.put(delivery(1))
    waiting.cancel()
    await asyncio.wait((waiting,))
    assert [one.id for one in await deliveries.take(1)] == ["p1"]


async def test_an_end_comes_after_what_waits() -> None:
    deliveries = Deliveries("here")
    deliveries.put(delivery(1))
    deliveries.end()
    assert deliveries.ended
    assert deliveries.put(delivery(2))
    assert [one.id async for one in deliveries] == ["p1"]
    assert await deliveries.take(1) == []


async def test_an_end_wakes_who_waits() -> None:
    deliveries = Deliveries("here")
    waiting = asyncio.create_task(deliveries.take(1))
    await asyncio.sleep(0)
    deliveries.end(ConnectionLostError("gone"))
    deliveries.end()
    with pytest.raises(ConnectionLostError, match="gone"):
        await waiting


async def test_a_full_queue_ends_with_the_limit_after_what_is_in_it() -> None:
    deliveries = Deliveries("for subscription 's1'", waiting_max=2)
    assert [deliveries.put(delivery(number)) for number in range(4)] == [True, True, False, True]
    assert [one.id for one in await deliveries.take(5)] == ["p0", "p1"]
    with pytest.raises(LimitError) as passed:
        await deliveries.take(1)
    assert passed.value.name == "DELIVERIES_WAITING_MAX"
    assert "what waits for subscription 's1' is more; the limit" in str(passed.value)


def test_a_subscription_shows_what_it_is() -> None:
    subscription = ClientSubscription("s1", parse_filter("a = 1"), 10)
    assert repr(subscription) == "ClientSubscription('s1', 'a = 1')"


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


async def test_a_filter_that_can_never_match_is_warned_of_once_and_kept() -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        with pytest.warns(NeverMatchesWarning, match="'s' can never match: a > 3 and a < 2 excl"):
            subscription = await client.subscribe("a > 3 and a < 2", "s")
        assert subscription.never_match == {"s": "a > 3 and a < 2 exclude each other"}
        with pytest.warns(NeverMatchesWarning) as warned:
            group = await client.subscribe_many({"x": "a = 1", "y": "a = 1 and a = 2"})
        assert len(warned) == 1
        assert group.never_match.keys() == {"y"}
        await client.unsubscribe("s")
        assert broker.router.table_sizes()["local"] == 2


async def test_a_strict_broker_refuses_a_filter_that_can_never_match() -> None:
    strict = settings(strict=True)
    async with running(strict) as broker, connect(str(broker.address)) as client:
        with pytest.raises(InputError, match="no record can match"):
            await client.subscribe("a > 3 and a < 2")
