"""Many subscriptions of a client, requested, iterated and withdrawn together."""

from __future__ import annotations

import asyncio

import pytest

from sapwood import parse_filter, parse_xpath
from sapwood.client import connect
from sapwood.client.blocking import connect as blocking
from sapwood.client.groups import Wanted, texts
from sapwood.errors import DuplicateIdError, InputError, LimitError
from sapwood.language.written import Written
from sapwood.limits import FILTER_TEXT_CHARS_MAX
from sapwood.wire.interests import XPathText
from tests.broker.helpers import Raw, broker_in_a_thread, line, running, settings, soon


async def test_a_group_is_in_force_but_for_what_the_broker_refuses() -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        group = await client.subscribe_many(
            {"low": "a < 5", "bad": "a <", "five": "a = 5", "all": parse_filter("exists a")}
        )
        assert list(group.ids) == ["low", "five", "all"]
        assert group.refused.keys() == {"bad"}
        with pytest.raises(InputError) as alone:
            await client.subscribe("a <", "bad")
        assert group.refused["bad"].splitlines()[0] in str(alone.value)
        await client.publish({"a": 5}, "p1")
        await client.publish({"a": 3}, "p2")
        found = [await soon(anext(group)) for _ in range(2)]
        assert [(one.id, one.subscriptions) for one in found] == [
            ("p1", ("all", "five")),
            ("p2", ("all", "low")),
        ], "each publication once"
        assert repr(group) == "SubscriptionGroup(3 subscriptions)"


async def test_a_group_that_is_withdrawn_ends_and_frees_its_ids() -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        group = await client.subscribe_many(["a = 1", "a = 2", "a = 3"])
        member = next(iter(group.ids))
        await client.unsubscribe(member)
        assert member not in group.ids
        await client.unsubscribe(group)
        assert not group.ids
        assert await soon(group.take(1)) == []
        assert broker.router.table_sizes()["local"] == 0
        await client.unsubscribe(group)
        again = await client.subscribe_many([(member, "a = 1")])
        assert list(again.ids) == [member]


async def test_an_empty_group_is_answered_at_once() -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        group = await client.subscribe_many([])
        assert not group.ids
        assert not group.refused


async def test_an_id_that_is_taken_stops_a_group_before_anything_is_requested() -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        await client.subscribe("a = 1", "s")
        with pytest.raises(DuplicateIdError):
            await client.subscribe_many({"r": "a = 2", "s": "a = 3"})
        with pytest.raises(DuplicateIdError):
            await client.subscribe_many([("r", "a = 2"), ("r", "a = 3")])
        assert broker.router.table_sizes()["local"] == 1


async def test_a_group_whose_caller_gave_up_is_withdrawn() -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        neighbor = await Raw.neighbor(broker, "n")  # which never confirms
        subscribing = asyncio.create_task(client.subscribe_many(["a = 1", "a = 2"]))
        await neighbor.next()
        subscribing.cancel()
        await asyncio.wait((subscribing,))
        await client.publish({"a": 1})
        assert broker.router.table_sizes()["local"] == 0
        await neighbor.close()


async def test_a_group_whose_queue_is_full_is_withdrawn_as_a_whole() -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        group = await client.subscribe_many(["a = 1", "a > 0"], waiting_max=2)
        for _ in range(3):
            await client.publish({"a": 1})
        assert len(await soon(group.take(2))) == 2
        with pytest.raises(LimitError):
            await soon(anext(group))
        await client.publish({"a": 1})
        assert broker.router.table_sizes()["local"] == 0


async def test_a_client_that_comes_back_requests_its_group_again() -> None:
    async with running() as first:
        address, again = first.address, settings(listen=first.address)
        client = await connect(str(address)).__aenter__()
        group = await client.subscribe_many({f"s{n}": f"a = {n}" for n in range(600)})
    async with running(again) as broker:
        async with connect(str(broker.address)) as publisher:
            while broker.router.table_sizes()["local"] < 600:
                await asyncio.sleep(0.01)
            await publisher.publish({"a": 599}, "p")
            assert (await soon(anext(group))).subscriptions == ("s599",)
        assert client.reconnections == 1
        await client.close()


async def test_a_link_that_comes_up_is_told_of_more_than_goes_at_once() -> None:
    async with (
        running(settings("r1")) as first,
        connect(str(first.address)) as client,
        running(settings("r2")) as second,
        connect(str(second.address)) as publisher,
    ):
        group = await client.subscribe_many({f"s{n}": f"a = {n}" for n in range(1000)})
        second.keep_link(first.address)
        await soon(second.until_linked("r1"))
        while second.router.table_sizes()["received"] < 1000:
            await publisher.publish({"b": 1})
        await publisher.publish({"a": 999}, "p")
        assert (await soon(anext(group))).subscriptions == ("s999",)


async def test_a_group_spreads_over_brokers_and_is_confirmed_by_all() -> None:
    async with line("r1", "r2", "r3") as brokers:
        near, far = str(brokers["r1"].address), str(brokers["r3"].address)
        async with connect(near) as client, connect(far) as publisher:
            group = await client.subscribe_many({f"s{n}": f"a >= {n}" for n in range(500)})
            await publisher.publish({"a": 2}, "p")
            assert (await soon(anext(group))).subscriptions == ("s0", "s1", "s2")
            await client.unsubscribe(group)

            async def withdrawn_everywhere() -> None:
                # The client's answer does not wait for brokers farther away.
                while brokers["r3"].router.table_sizes()["received"]:
                    await asyncio.sleep(0)

            await soon(withdrawn_everywhere())


def test_the_blocking_client_does_the_same() -> None:
    with broker_in_a_thread() as address, blocking(address) as client:
        group = client.subscribe_many({"one": "a = 1", "bad": "a ="})
        assert list(group.ids) == ["one"]
        assert group.refused.keys() == {"bad"}
        client.publish({"a": 1}, "p")
        assert next(group).id == "p"
        client.unsubscribe(group)
        assert group.take(1) == []


def test_texts_travel_as_they_are_and_filters_as_their_normal_form() -> None:
    long = "x" * (FILTER_TEXT_CHARS_MAX + 1)
    numbers = iter(range(9))
    given: list[Wanted] = ["a  =  1", parse_filter("b  = 2"), parse_xpath("//c")]
    given.append(Written("filter", "no filter"))
    found = texts(
        given,
        lambda: f"s{next(numbers)}",
    )
    assert found == {"s0": "a  =  1", "s1": "b = 2", "s2": XPathText("//c"), "s3": "no filter"}
    assert texts([("x", Written("xpath", "//d"))], str) == {"x": XPathText("//d")}
    with pytest.raises(LimitError):
        texts([long], str)
    with pytest.raises(LimitError):
        texts([("x", Written("xpath", long))], str)
    with pytest.raises(InputError, match="an id and a filter"):
        texts([("a", "b", "c")], str)  # type: ignore[arg-type]  # on purpose
