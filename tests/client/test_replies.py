"""Requests and the replies to them, over one broker and several."""

from __future__ import annotations

import asyncio
import threading

import pytest

from sapwood.client import Client, ClientSubscription, Delivery, blocking, connect
from sapwood.client.replies import answering
from sapwood.errors import ConnectionLostError, InputError, InvalidValueError
from sapwood.routing.messages import Confirm, Subscribe
from tests.broker.helpers import Raw, broker_in_a_thread, line, running, soon


async def serve(client: Client, requests: ClientSubscription) -> None:
    """Reply to each request with twice its number."""
    async for asked in requests:
        await client.reply(asked, {"twice": 2 * asked.attributes["n"]}, payload=asked.payload)


@pytest.mark.network
async def test_a_reply_comes_over_brokers_to_the_request_that_it_is_for() -> None:
    async with (
        line("r1", "r2", "r3") as brokers,
        connect(str(brokers["r1"].address)) as asking,
        connect(str(brokers["r3"].address)) as also_asking,
        connect(str(brokers["r3"].address)) as answerer,
    ):
        requests = await answerer.subscribe("op = 'double' and exists request.number")
        serving = asyncio.create_task(serve(answerer, requests))
        askers = (asking, also_asking) * 20
        replies = await soon(
            asyncio.gather(
                *(
                    one.request({"op": "double", "n": n}, timeout=30.0, payload=bytes([n]))
                    for n, one in enumerate(askers)
                )
            )
        )
        assert [one.attributes["twice"] for one in replies] == [2 * n for n in range(40)]
        assert [one.payload for one in replies] == [bytes([n]) for n in range(40)]
        assert brokers["r1"].router.table_sizes()["local"] == 1, "one subscription for all"
        serving.cancel()


async def test_the_subscription_is_in_force_everywhere_before_the_request_goes_out() -> None:
    async with (
        running() as broker,
        connect(str(broker.address)) as client,
        connect(str(broker.address)) as answerer,
    ):
        requests = await answerer.subscribe("op = 'x'")
        neighbor = await Raw.neighbor(broker, "n")
        assert isinstance(await neighbor.next(), Subscribe)
        asking = asyncio.create_task(client.request({"op": "x"}, timeout=30.0))
        told = await neighbor.next()
        assert isinstance(told, Subscribe)
        assert broker.counters.publications == 0
        neighbor.say(Confirm(told.key, told.sending))
        await answerer.reply(await soon(anext(requests)), {})
        await soon(asking)
        await neighbor.close()


async def test_a_reply_that_nobody_waits_for_is_dropped() -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        with pytest.raises(TimeoutError, match=r"within 0\.01 s"):
            await client.request({"op": "slow"}, timeout=0.01)
        requests = await client.subscribe("exists request.number")
        asking = asyncio.create_task(client.request({"op": "quick"}, timeout=30.0))
        quick = await soon(anext(requests))
        number = quick.attributes["request"]["number"]
        slow = {"from": quick.attributes["request"]["from"], "number": number - 1}
        await client.reply(Delivery("p", {"request": slow}, ()), {"which": "late"})
        await client.reply(quick, {"which": "first"})
        await client.reply(quick, {"which": "second"})
        assert (await soon(asking)).attributes["which"] == "first"


async def test_replies_are_no_deliveries_of_the_one_iterator_over_all_subscriptions() -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        everything = client.deliveries()
        await client.subscribe("exists request.number or wanted")
        asking = asyncio.create_task(client.request({"n": 1}, timeout=30.0))
        asked = await soon(anext(everything))
        await client.reply(asked, {"n": 2})
        assert (await soon(asking)).attributes["n"] == 2
        also = asyncio.create_task(client.request({"n": 3}, timeout=30.0))
        await client.reply(await soon(anext(everything)), {"n": 4, "wanted": True})
        assert (await soon(also)).attributes["n"] == 4
        assert (await soon(anext(everything))).attributes["n"] == 4


async def test_a_reply_lives_as_long_as_its_request_is_waited_for() -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        requests = await client.subscribe("exists request.number")
        replies = await client.subscribe("exists reply.number")
        asking = asyncio.create_task(client.request({"op": "x"}, timeout=30.0))
        asked = await soon(anext(requests))
        assert asked.ttl == 30.0
        await client.reply(asked, {})
        ttl = (await soon(anext(replies))).ttl
        assert ttl is not None
        assert 0 < ttl < 30.0
        await soon(asking)


@pytest.mark.parametrize("name", ["request", "request.from"])
async def test_a_request_says_by_itself_what_it_is(name: str) -> None:
    async with running() as broker, connect(str(broker.address)) as client:
        with pytest.raises(InvalidValueError, match="rename it"):
            await client.request({name: 1}, timeout=1.0)
        with pytest.raises(InputError, match="are records, not bytes"):
            await client.request(b"<a/>", timeout=1.0)  # type: ignore[arg-type]


def test_what_asks_for_no_reply_gets_none() -> None:
    asked = Delivery("p1", {"request": {"from": "x", "number": 1}}, ())
    with pytest.raises(InputError, match="'p1' asks for no reply"):
        answering(Delivery("p1", {"a": 1}, ()), {})
    with pytest.raises(InvalidValueError, match="'reply'"):
        answering(asked, {"reply.to": "me"})
    assert answering(asked, {"a": 1}) == {"a": 1, "reply": {"to": "x", "number": 1}}


async def test_a_request_ends_with_its_client() -> None:
    async with running() as broker:
        async with connect(str(broker.address)) as client:
            asking = asyncio.create_task(client.request({"op": "x"}, timeout=30.0))
            requests = await client.subscribe("exists request.number")
            again = asyncio.create_task(client.request({"op": "x"}, timeout=30.0))
            await soon(anext(requests))
        for one in (asking, again):
            with pytest.raises(ConnectionLostError):
                await soon(one)
        with pytest.raises(ConnectionLostError):
            await client.request({"op": "x"}, timeout=1.0)


def test_blocking_clients_ask_and_reply() -> None:
    with (
        broker_in_a_thread() as address,
        blocking.connect(address) as asking,
        blocking.connect(address) as answerer,
    ):
        requests = answerer.subscribe("exists request.number")

        def answer() -> None:
            answerer.reply(next(requests), {"answer": 42})

        thread = threading.Thread(target=answer)
        thread.start()
        assert asking.request({"question": "?"}, timeout=30.0).attributes["answer"] == 42
        thread.join()
