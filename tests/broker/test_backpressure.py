"""Queues of a broker over real sockets: who is too slow goes, who is too fast waits."""

from __future__ import annotations

import asyncio

from sapwood import parse_filter
from sapwood.client import connect
from sapwood.limits import FRAME_BYTES_FLOOR
from sapwood.routing.messages import Publish, Subscribe
from sapwood.wire.messages import (
    AcceptedReply,
    Delivery,
    GoodbyeCode,
    LinkCongestion,
    Ping,
    Pong,
    PublishRequest,
    SubscribeRequest,
)
from tests.broker.helpers import LARGE, Raw, Story, body, running, settings, soon


async def test_a_consumer_that_never_reads_is_disconnected_and_harms_nobody() -> None:
    bound = 600_000
    story = Story()
    slow_settings = settings(frame_bytes_max=FRAME_BYTES_FLOOR, outgoing_bytes_max=bound)
    async with running(slow_settings, story) as broker:
        slow = await Raw.client(broker.address, "slow")
        slow.say(SubscribeRequest("s1", "exists a"))
        await slow.next()
        async with connect(str(broker.address)) as other, connect(str(broker.address)) as pub:
            wanted = await other.subscribe("exists a")
            sent = 0
            while broker.counters.slow_consumers == 0:
                sent += 1
                await pub.publish({"a": sent, "text": "x" * LARGE})
            await pub.publish({"a": 0})
            received = [await soon(anext(wanted)) for _ in range(sent + 1)]
            assert [d.attributes["a"] for d in received] == [*range(1, sent + 1), 0]
        # When it reads at last, it finds whole frames and, after those, the reason.
        heard = await slow.until(object)
        goodbye = await slow.goodbye()
        assert goodbye.code is GoodbyeCode.SLOW_CONSUMER
        assert isinstance(heard[0], Delivery)
        await slow.close()
    assert story.reasons("client left")[0].startswith("slow consumer: ")


async def test_of_several_consumers_that_never_read_the_slowest_goes_first() -> None:
    story = Story()
    bound = 2 * FRAME_BYTES_FLOOR
    tight = settings(frame_bytes_max=FRAME_BYTES_FLOOR, outgoing_total_bytes_max=bound)
    async with running(tight, story) as broker:
        twice = await Raw.client(broker.address, "twice")
        once = await Raw.client(broker.address, "once")
        twice.say(SubscribeRequest("s1", "exists a"))
        once.say(SubscribeRequest("s1", "a = 1"))
        for raw in (twice, once):
            await raw.next()
        async with connect(str(broker.address)) as pub:
            while broker.counters.slow_consumers == 0:
                for a in (1, 2):
                    await pub.publish({"a": a, "text": "x" * LARGE})
        assert set(broker.connections.clients) >= {"once"}
        assert "twice" not in broker.connections.clients
        assert broker._backpressure._waiting_total <= bound
        for raw in (twice, once):
            await raw.close()
        await broker.connections.until(lambda: not broker.connections.clients)
        assert broker._backpressure._waiting_total == 0
        assert not broker._backpressure._waiting


async def test_publishers_wait_while_a_link_is_slow_and_go_on_when_it_has_drained() -> None:
    bound = FRAME_BYTES_FLOOR
    held_settings = settings(frame_bytes_max=bound, link_high_water_bytes=bound)
    async with running(held_settings) as broker:
        slow = await Raw.neighbor(broker, "slow")
        other = await Raw.neighbor(broker, "other", "t")
        slow.say(Subscribe("slow.1", parse_filter("exists a"), 1), Ping())
        assert await slow.next() == Pong()
        count = 600
        async with connect(str(broker.address)) as publisher:
            publishing = asyncio.create_task(
                publisher.publish_many({"a": n, "text": "x" * LARGE} for n in range(count))
            )
            told = await other.until(LinkCongestion)
            assert told[-1] == LinkCongestion(True)
            assert broker.counters.publishers_held == 1
            assert not publishing.done()
            received = 0
            while received < count:
                received += isinstance(await slow.next(), Publish)
            assert (await soon(publishing)).accepted == count
            assert await other.next() == LinkCongestion(False)
            assert not broker.congestion.holds(("slow",))
        for raw in (slow, other):
            await raw.close()


async def test_what_a_neighbor_says_of_congestion_holds_those_who_publish_to_it() -> None:
    async with running() as broker:
        near, far = await Raw.neighbor(broker, "near"), await Raw.neighbor(broker, "far", "t")
        far.say(Subscribe("far.1", parse_filter("a = 1"), 1), LinkCongestion(True))
        assert (await near.until(LinkCongestion))[-1] == LinkCongestion(True)
        publisher = await Raw.client(broker.address, "pub")
        other = await Raw.client(broker.address, "other")
        # The first publication is accepted: only then is this client known to publish there.
        publisher.say(PublishRequest(1, body("p1", a=1)))
        assert await publisher.next() == AcceptedReply(1)
        publisher.say(PublishRequest(2, body("p2", a=1)))
        for number in (1, 2):  # the other one does not
            other.say(PublishRequest(number, body(f"q{number}", a=2)))
            assert await other.next() == AcceptedReply(number)
        far.say(LinkCongestion(False))
        assert (await near.until(LinkCongestion))[-1] == LinkCongestion(False)
        assert await publisher.next() == AcceptedReply(2)
        assert broker.counters.publishers_held == 1
        for raw in (near, far, publisher, other):
            await raw.close()


async def test_a_held_publisher_goes_on_when_the_slow_link_is_gone() -> None:
    async with running() as broker:
        far = await Raw.neighbor(broker, "far")
        far.say(Subscribe("far.1", parse_filter("a = 1"), 1), LinkCongestion(True), Ping())
        await far.until(Pong)
        publisher = await Raw.client(broker.address, "pub")
        publisher.say(PublishRequest(1, body("p1", a=1)))
        await publisher.next()
        publisher.say(PublishRequest(2, body("p2", a=1)))
        await far.close()
        assert await publisher.next() == AcceptedReply(2)
        await publisher.close()


async def test_a_publisher_who_feeds_two_slow_links_waits_for_both() -> None:
    async with running() as broker:
        slow = [await Raw.neighbor(broker, name, name) for name in ("slow", "slower")]
        for raw, name in zip(slow, ("slow", "slower"), strict=True):
            raw.say(Subscribe(f"{name}.1", parse_filter("a = 1"), 1), LinkCongestion(True), Ping())
            await raw.until(Pong)
        publisher = await Raw.client(broker.address, "pub")
        publisher.say(PublishRequest(1, body("p1", a=1)), PublishRequest(2, body("p2", a=1)))
        assert (await publisher.until(AcceptedReply))[-1] == AcceptedReply(2)
        publisher.say(PublishRequest(3, body("p3", a=1)))
        slow[0].say(LinkCongestion(False), Ping())
        await slow[0].until(Pong)
        assert list(broker.connections._paused) == [broker.connections.clients["pub"]]
        slow[1].say(LinkCongestion(False))
        assert await publisher.next() == AcceptedReply(3)
        assert broker.counters.publishers_held == 1
        for raw in (*slow, publisher):
            await raw.close()


async def test_a_link_beyond_its_bound_is_given_up() -> None:
    bound = FRAME_BYTES_FLOOR
    link_settings = settings(
        frame_bytes_max=bound, link_high_water_bytes=bound, link_outgoing_bytes_max=bound
    )
    async with running(link_settings) as broker:
        slow = await Raw.neighbor(broker, "slow")
        slow.say(Subscribe("slow.1", parse_filter("exists a"), 1), Ping())
        await slow.until(Pong)
        async with connect(str(broker.address)) as publisher:
            while broker.counters.slow_consumers == 0:
                await publisher.publish({"a": 1, "text": "x" * LARGE})
        assert (await slow.goodbye()).code is GoodbyeCode.SLOW_CONSUMER
        await slow.close()


async def test_what_no_queue_has_room_for_is_not_even_composed() -> None:
    bound = 3_000_000
    tight = settings(outgoing_bytes_max=bound, outgoing_total_bytes_max=bound)
    async with running(tight) as broker:
        backpressure = broker._backpressure
        first, second = [await Raw.client(broker.address, name) for name in ("first", "second")]
        assert not backpressure.takes("nobody", 1)
        assert backpressure.takes("first", bound // 2)
        assert backpressure.takes("second", bound // 2)
        assert not backpressure.takes("second", 1)  # with what was composed for others
        assert not backpressure.takes("second", 1)  # which is no client any more
        assert backpressure.takes("first", 0)
        backpressure.check(broker.connections.clients["first"])
        assert backpressure.takes("first", bound)
        assert not backpressure.takes("first", bound + 1)
        assert broker.counters.slow_consumers == 2
        for raw in (first, second):
            await raw.close()


async def test_who_waits_for_most_goes_before_one_who_is_to_get_much() -> None:
    bound = 3_000_000
    tight = settings(outgoing_bytes_max=bound, outgoing_total_bytes_max=bound)
    async with running(tight) as broker:
        backpressure = broker._backpressure
        slow, quick = [await Raw.client(broker.address, name) for name in ("slow", "quick")]
        tcp = broker.connections.clients["slow"]
        tcp.outbox.pause()
        tcp.outbox.write((bytes(2_500_000),))
        backpressure.check(tcp)
        assert backpressure.takes("quick", 1_000_000)
        assert not tcp.connection.open
        assert broker.counters.slow_consumers == 1
        for raw in (slow, quick):
            await raw.close()
