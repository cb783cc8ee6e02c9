"""Durable subscriptions, from a client's side, with brokers that keep them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from sapwood import parse_xpath
from sapwood.broker.broker import Broker
from sapwood.client import Client, DurableDelivery, DurableSubscription, connect
from sapwood.client.blocking import connect as connect_blocking
from sapwood.client.subscription import Deliveries
from sapwood.errors import (
    ConnectionLostError,
    DuplicateIdError,
    FrameError,
    HandshakeError,
    InputError,
)
from sapwood.session.durable.since import since_of
from sapwood.wire.durable import AcknowledgeRequest, SinceId, SincePlace, SinceTime
from tests.broker.helpers import running, settings, soon


@asynccontextmanager
async def keeping(folder: Path, **options: Any) -> AsyncIterator[Broker]:
    """A broker with a store in a folder."""
    options = {"protocol": "recover+covering", "name": "hub", **options}
    async with running(settings(data=folder, **options)) as broker:
        yield broker


@asynccontextmanager
async def client_of(
    broker: Broker, name: str | None = None, **options: Any
) -> AsyncIterator[Client]:
    async with connect(str(broker.address), name, **options) as client:
        yield client


async def take(deliveries: Deliveries, count: int) -> list[DurableDelivery]:
    """So many deliveries."""
    taken: list[DurableDelivery] = []
    while len(taken) < count:
        for one in await soon(deliveries.take(count - len(taken))):
            assert isinstance(one, DurableDelivery)
            taken.append(one)
    return taken


def values(deliveries: list[DurableDelivery]) -> list[int]:
    return [one.attributes["x"] for one in deliveries]


async def publish(broker: Broker, *numbers: int) -> None:
    async with client_of(broker) as publisher:
        published = await publisher.publish_many([{"x": number} for number in numbers])
        assert published.accepted == len(numbers)


async def test_what_matches_waits_until_a_consumer_comes(tmp_path: Path) -> None:
    async with keeping(tmp_path) as broker:
        async with client_of(broker) as client:
            made = await client.subscribe("x > 2", durable="alerts")
            assert repr(made) == "DurableSubscription('alerts', 'x > 2')"
        await publish(broker, 1, 2, 3, 4)
        async with client_of(broker) as client:
            again = await client.subscribe(durable="alerts")
            assert str(again.filter) == "x > 2"
            assert values(await take(again, 2)) == [3, 4]


async def test_what_is_acknowledged_does_not_come_again_and_the_rest_does(tmp_path: Path) -> None:
    async with keeping(tmp_path) as broker, client_of(broker) as client:
        subscription = await client.subscribe("exists x", durable="work")
        await publish(broker, *range(10))
        taken = await take(subscription, 10)
        taken[9].acknowledge()
        taken[9].acknowledge()  # a second time changes nothing
        subscription.acknowledge_through(taken[3])
        await soon(subscription.settled())
    async with keeping(tmp_path) as broker, client_of(broker) as client:
        left = await take(await client.subscribe(durable="work"), 5)
        assert values(left) == [4, 5, 6, 7, 8]
        assert {one.attempt for one in left} == {2}


@pytest.mark.parametrize("protocol", ["covering", "flooding", "mesh+recover+covering"])
async def test_whatever_the_protocol_is(tmp_path: Path, protocol: str) -> None:
    for life in range(2):
        async with keeping(tmp_path, protocol=protocol) as broker, client_of(broker) as client:
            subscription = await client.subscribe("exists x", durable="work")
            await publish(broker, *range(10 * life, 10 * life + 10))
            taken = await take(subscription, 5 + 5 * life + 5)
            assert values(taken)[-1] == 10 * life + 9
            subscription.acknowledge_through(taken[4])
            await soon(subscription.settled())


async def test_a_consumer_goes_on_when_its_broker_is_back(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        async with keeping(tmp_path) as broker:
            address = broker.address
            client = await stack.enter_async_context(connect(str(address)))
            shared = await client.subscribe("exists x", durable="work")
            own = await client.subscribe("exists x", since="all")
            await publish(broker, 1, 2)
            (first, second) = await take(shared, 2)
            assert values(await take(own, 2)) == [1, 2]
            first.acknowledge()
        async with keeping(tmp_path, listen=address) as broker:
            await publish(broker, 3)
            assert values(await take(shared, 1)) == [3]
            assert values(await take(own, 1)) == [3]
            second.acknowledge()
            await soon(shared.settled())
            assert (await client.durable("work")).waiting == 1
            assert (len(shared), len(own)) == (0, 0)


async def test_what_the_journal_has_lost_is_let_go_aloud(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with keeping(tmp_path) as broker, client_of(broker) as client:
        assert broker.store is not None
        subscription = await client.subscribe("exists x", durable="work")
        monkeypatch.setattr(broker.store.durables, "_read", lambda _places: {})
        await publish(broker, 1, 2)
        monkeypatch.undo()
        await publish(broker, 3)
        assert values(await take(subscription, 1)) == [3]
        assert (await client.durable("work")).dropped == subscription.dropped == 2


async def test_through_means_what_was_handed_out_and_not_what_waits(tmp_path: Path) -> None:
    async with keeping(tmp_path) as broker, client_of(broker) as client:
        subscription = await client.subscribe("exists x", durable="work")
        await publish(broker, 1, 2, 3)
        first, second = await take(subscription, 2)
        while not len(subscription):
            await asyncio.sleep(0)
        late = await anext(subscription)
        assert isinstance(late, DurableDelivery)
        subscription.acknowledge_through(second)
        await soon(subscription.settled())
        assert (await client.durable("work")).waiting == 1
        late.acknowledge()
        first.acknowledge()
        await soon(subscription.settled())
        assert (await client.durable("work")).waiting == 0


async def test_consumers_share_and_give_back_when_they_go(tmp_path: Path) -> None:
    async with keeping(tmp_path) as broker, client_of(broker) as staying:
        mine = await staying.subscribe("exists x", durable="work", window=100)
        async with client_of(broker) as going:
            other = await going.subscribe(durable="work", window=100)
            await publish(broker, *range(20))
            seen = values(await take(mine, 10))
            given = values(await take(other, 10))
            assert sorted(seen + given) == list(range(20))
            await soon(going.unsubscribe(other))
            assert await other.take(1) == []
        assert sorted(values(await take(mine, 10))) == sorted(given)


async def test_what_one_does_not_acknowledge_in_time_goes_to_another(tmp_path: Path) -> None:
    async with keeping(tmp_path) as broker, client_of(broker) as slow, client_of(broker) as other:
        mine = await slow.subscribe("exists x", durable="work", acknowledge_within=0.05)
        await publish(broker, 1)
        (late,) = await take(mine, 1)
        soon_after = await other.subscribe(durable="work")
        (again,) = await take(soon_after, 1)
        assert (again.number, again.attributes) == (late.number, late.attributes)
        assert again.attempt > late.attempt
        late.acknowledge()  # counts all the same
        await soon(mine.settled())
        assert (await other.durable("work")).waiting == 0


async def test_the_journal_and_what_comes_are_one_sequence(tmp_path: Path) -> None:
    async with keeping(tmp_path) as broker:
        await publish(broker, *range(3000))
        async with client_of(broker) as client:
            publishing = asyncio.create_task(publish(broker, *range(3000, 6000)))
            every = await client.subscribe("exists x", durable="all", since="all")
            own = await client.subscribe("x >= 2000", since="all")
            await publishing
            found = list[int]()
            while len(found) < 6000:
                some = await take(every, 1)
                some += await take(every, min(len(every), 1000)) if len(every) else []
                every.acknowledge_through(some[-1])
                found += values(some)
            assert found == list(range(6000))
            assert values(await take(own, 4000)) == list(range(2000, 6000))


async def test_since_a_time_or_an_id_begins_there(tmp_path: Path) -> None:
    async with keeping(tmp_path) as broker, client_of(broker) as client:
        await client.publish({"x": 1}, "p1")
        await asyncio.sleep(0.002)
        between = datetime.now(UTC)
        await client.publish({"x": 2}, "p2")
        await client.publish({"x": 3}, "p3")
        timed = await client.subscribe("exists x", since=between)
        assert values(await take(timed, 2)) == [2, 3]
        after = await client.subscribe("exists x", durable="after", since="p2")
        assert values(await take(after, 1)) == [3]
        with pytest.raises(InputError, match=r"no publication 'p9' \(any more\)"):
            await client.subscribe("exists x", since="p9")


async def test_since_is_all_a_time_or_an_id() -> None:
    assert since_of("all") == SincePlace(0)
    assert since_of("2026-01-02T03:04:05Z") == SinceTime(1767323045.0)
    assert since_of(datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)) == SinceTime(1767323045.0)
    assert since_of("order-7") == SinceId("order-7")


async def test_documents_are_delivered_durably_too(tmp_path: Path) -> None:
    async with keeping(tmp_path) as broker, client_of(broker) as client:
        subscription = await client.subscribe(parse_xpath("//b"), durable="docs", since="all")
        await client.publish(b"<a><b/></a>")
        await client.publish(b"<a><c/></a>")
        (only,) = await take(subscription, 1)
        assert only.document == b"<a><b/></a>"
        again = await client.subscribe(durable="docs", id="again")
        assert again.filter == parse_xpath("//b")


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"filter": "x > 1", "durable": "there"}, "is there with another filter, exists x"),
        ({"durable": "nowhere"}, "there is no durable subscription 'nowhere' here; give a filter"),
        ({"filter": "x > 1", "durable": "two words"}, "is no name for a durable subscription"),
        ({"filter": "x > 1", "durable": "n", "window": 0}, "a window holds 1 to"),
        ({"filter": "x > 1", "durable": "n", "overflow": "all"}, "'oldest' or 'newest'"),
        ({"filter": "x > 1", "durable": "n", "max_count": 0}, "max_count is at least 1"),
        ({"filter": "x > 1", "durable": "n", "max_age": -1}, "max_age is a number of seconds"),
        ({"filter": "x > 1", "durable": "n", "acknowledge_within": 0.001}, "DURABLE_SECONDS_MIN"),
        ({"filter": "x > 1", "max_count": 5}, "give it a durable name"),
        ({"since": "all"}, "a filter is needed"),
        ({}, "a filter is needed"),
    ],
)
async def test_what_cannot_be_is_refused_with_the_reason(
    tmp_path: Path, asked: dict[str, Any], words: str
) -> None:
    async with keeping(tmp_path) as broker, client_of(broker) as client:
        await client.subscribe("exists x", durable="there")
        subscribing: Any = client.subscribe
        with pytest.raises(InputError, match=words):
            await soon(subscribing(**asked))
        assert [one.name for one in await client.durables()] == ["there"]


async def test_an_id_is_a_subscriptions_or_a_consumers(tmp_path: Path) -> None:
    async with keeping(tmp_path) as broker, client_of(broker) as client:
        await client.subscribe("exists x", "a", durable="there")
        await client.subscribe("exists x", "b")
        with pytest.raises(DuplicateIdError):
            await client.subscribe("exists x", "a")
        with pytest.raises(DuplicateIdError):
            await client.subscribe("exists x", "b", durable="there")


async def test_a_broker_without_a_store_says_so() -> None:
    async with running() as broker, client_of(broker) as client:
        with pytest.raises(InputError, match="keeps nothing; start it with --data"):
            await client.subscribe("exists x", durable="work")
        with pytest.raises(InputError, match="keeps nothing; start it with --data"):
            await client.durables()


async def test_acknowledging_what_was_never_delivered_ends_the_connection(tmp_path: Path) -> None:
    async with keeping(tmp_path) as broker, client_of(broker, reconnect=False) as client:
        subscription = await client.subscribe("exists x", durable="work")
        with pytest.raises(InputError, match="number 7 was never delivered"):
            client._consumers.acknowledge(subscription.id, [7])
        connection = client._session.connection
        assert connection is not None
        connection.send(AcknowledgeRequest(subscription.id, 1, (7, 7)))
        with pytest.raises(FrameError, match="number 7 was never delivered"):
            await soon(client.durables())


async def test_what_bounds_let_go_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    async with keeping(tmp_path) as broker, client_of(broker) as client:
        subscription = await client.subscribe(
            "exists x", durable="short", max_count=3, window=1, max_age=timedelta(hours=1)
        )
        with caplog.at_level(logging.WARNING, "sapwood.client"):
            await publish(broker, *range(6))
            state = await client.durable("short")
        assert (state.waiting, state.dropped, subscription.dropped) == (3, 3, 3)
        assert "publications let go, as its mailbox was full; 3 in all" in caplog.text
        assert broker.counters.durable_dropped == 3
        left = list[int]()
        while not left or left[-1] < 6:  # the first may have been handed out before it was let go
            (one,) = await take(subscription, 1)
            left.append(one.number)
            one.acknowledge()
        assert left[-2:] == [5, 6]
        assert len(left) <= 4


async def test_one_that_is_removed_ends_its_consumers(tmp_path: Path) -> None:
    async with keeping(tmp_path) as broker, client_of(broker) as client:
        subscription = await client.subscribe("exists x", durable="work")
        await publish(broker, 1)
        (one,) = await take(subscription, 1)
        await client.remove_durable("work")
        with pytest.raises(InputError, match="'work' was removed"):
            await soon(subscription.take(1))
        with pytest.raises(InputError, match="has gone, and with it what it had"):
            one.acknowledge()
        assert await client.durables() == []
        with pytest.raises(InputError, match="there is no durable subscription 'work' here"):
            await client.remove_durable("work")


async def test_nothing_is_seen_twice_by_a_client_that_is_started_again(tmp_path: Path) -> None:
    state = tmp_path / "state"
    async with keeping(tmp_path / "data") as broker:
        client = connect(str(broker.address), "me", state=state)
        async with client:
            subscription = await client.subscribe("exists x", durable="work")
            await publish(broker, 1, 2, 3)
            for one in (await take(subscription, 3))[:2]:
                one.acknowledge()
            client._session.consuming._unsent.clear()  # as if it were killed before it is sent
            client._connector._wire = None
        async with client_of(broker, state=state) as again:
            assert again.name == "me"
            subscription = await again.subscribe(durable="work")
            assert values(await take(subscription, 1)) == [3]
            await soon(subscription.settled())
            assert (await again.durable("work")).waiting == 1


async def test_a_publisher_that_is_started_again_goes_on_with_its_numbers(tmp_path: Path) -> None:
    state = tmp_path / "state"
    async with keeping(tmp_path / "data") as broker, client_of(broker) as reader:
        every = await reader.subscribe("exists x", durable="all")
        async with client_of(broker, state=state) as client:
            await client.publish_many([{"x": number} for number in range(5)])
            assert client.published == 5
            publishing = asyncio.create_task(client.publish({"x": 5}))
            await asyncio.sleep(0)
            publishing.cancel()
        async with client_of(broker, state=state) as again:
            assert again.published == 6
            await again.publish({"x": 6})
        assert values(await take(every, 7)) == list(range(7))


async def test_a_state_file_older_than_what_the_broker_knows_is_an_error(tmp_path: Path) -> None:
    state = tmp_path / "state"
    async with keeping(tmp_path / "data") as broker:
        async with client_of(broker, "me", state=state) as client:
            await client.publish({"x": 1})
        copy = state.read_bytes()
        async with client_of(broker, state=state) as client:
            await client.publish({"x": 2})
        state.write_bytes(copy)
        with pytest.raises(HandshakeError, match="the state is an older copy: begin a new file"):
            await connect(str(broker.address), state=state).__aenter__()


async def test_asking_ends_with_the_connection(tmp_path: Path) -> None:
    async with keeping(tmp_path) as broker, client_of(broker, reconnect=False) as client:
        asking = asyncio.create_task(client.durables())
        await asyncio.sleep(0)
        for tcp in list(broker.connections.all):
            tcp.abort()
        with pytest.raises(ConnectionLostError):
            await soon(asking)


def test_the_blocking_client_consumes_too(tmp_path: Path) -> None:
    async def serve() -> None:
        async with keeping(tmp_path) as broker:
            await asyncio.to_thread(consume, str(broker.address))

    def consume(address: str) -> None:
        with connect_blocking(address) as client:
            subscription = client.subscribe("exists x", durable="work")
            client.publish_many([{"x": number} for number in range(4)])
            taken = []
            for delivery in subscription:
                assert isinstance(delivery, DurableDelivery)
                taken.append(delivery)
                if len(taken) == 3:
                    break
            taken[2].acknowledge()
            subscription.acknowledge_through(taken[1])
            subscription.settled()
            assert client.durable("work").waiting == 1
            assert [one.name for one in client.durables()] == ["work"]
            assert (subscription.dropped, client.published) == (0, 4)
            client.remove_durable("work")

    asyncio.run(serve())


@asynccontextmanager
async def two(folder: Path) -> AsyncIterator[tuple[Broker, Broker]]:
    """Two linked brokers that keep what they have."""
    async with AsyncExitStack() as stack:
        a = await stack.enter_async_context(keeping(folder / "a", name="a"))
        b = await stack.enter_async_context(keeping(folder / "b", name="b", peers=(a.address,)))
        await soon(b.until_linked("a"))
        await soon(a.until_linked("b"))
        yield a, b


async def test_one_that_moves_goes_on_without_gap_or_repeating(tmp_path: Path) -> None:
    async with two(tmp_path) as (a, b):
        async with client_of(a) as client:
            await client.subscribe("exists x", durable="work", max_count=5000)
        await publish(b, *range(50))
        async with client_of(b) as client:
            publishing = asyncio.create_task(publish(a, *range(50, 600)))
            moved = await client.subscribe(durable="work", moved_from=str(a.address), window=40)
            await publishing
            await publish(b, *range(600, 650))
            seen = list[int]()
            while len(seen) < 650:
                for one in await take(moved, 1) + await take(moved, min(len(moved), 20)):
                    seen.append(one.attributes["x"])
                    one.acknowledge()
            await soon(moved.settled())
            assert sorted(seen) == list(range(650))
            state = await client.durable("work")
            assert (state.waiting, state.policy.count_max, len(moved)) == (0, 5000, 0)
        async with client_of(a) as client:
            assert await client.durables() == []


async def test_one_that_others_consume_does_not_move(tmp_path: Path) -> None:
    async with two(tmp_path) as (a, b), client_of(a, "busy") as busy, client_of(b) as client:
        await busy.subscribe("exists x", durable="work")
        with pytest.raises(InputError, match="cannot move while others consume it: end busy"):
            await client.subscribe(durable="work", moved_from=str(a.address))
        with pytest.raises(InputError, match="takes its filter and bounds along"):
            await client.subscribe("x > 1", durable="work", moved_from=str(a.address))
        assert await client.durables() == []


def test_a_durable_subscription_is_a_subscription() -> None:
    assert issubclass(DurableSubscription, Deliveries)
