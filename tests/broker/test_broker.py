"""The broker over real sockets, in this event loop."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, cast

import pytest

from sapwood.broker.broker import Broker
from sapwood.broker.running import run_broker
from sapwood.broker.settings import BrokerSettings
from sapwood.client import connect
from sapwood.errors import EnvironmentMissingError, InvariantError
from sapwood.limits import FRAME_BYTES_MAX
from sapwood.matching.readiness import RECORDS
from sapwood.routing.messages import Subscribe
from sapwood.routing.router import Router
from sapwood.wire.address import Address
from sapwood.wire.greetings import Hello, Refusal, RefusalCode, Role
from sapwood.wire.messages import (
    AcceptedReply,
    Delivery,
    Goodbye,
    GoodbyeCode,
    Ping,
    Pong,
    PublishRequest,
    SubscribedReply,
    SubscribeRequest,
    UnsubscribedReply,
    UnsubscribeRequest,
)
from sapwood.wire.runs import FRAMES, RunFinder
from tests.broker.helpers import ANY_PORT, LARGE, Raw, Story, body, line, running, settings, soon
from tests.patience import PATIENCE_S

if TYPE_CHECKING:
    from sapwood.model.interest import Interest

# One broker --------------------------------------------------------------------------------------


async def test_a_broker_delivers_what_matches_and_nothing_else() -> None:
    async with running() as broker:
        subscriber = await Raw.client(broker.address, "sub")
        publisher = await Raw.client(broker.address, "pub")
        subscriber.say(SubscribeRequest("s1", "a > 1"), SubscribeRequest("s2", "a > 2"))
        assert await subscriber.next() == SubscribedReply("s1")
        assert await subscriber.next() == SubscribedReply("s2")
        publisher.say(
            *(PublishRequest(n, body(f"p{n}", a=n)) for n in (1, 2, 3)),
        )
        assert await publisher.next() == AcceptedReply(3)
        # p1 came first and does not match, so the first delivery is p2.
        assert await subscriber.next() == Delivery(("s1",), body("p2", a=2))
        assert await subscriber.next() == Delivery(("s1", "s2"), body("p3", a=3))
        subscriber.say(UnsubscribeRequest("s1"))
        assert await subscriber.next() == UnsubscribedReply("s1")
        publisher.say(PublishRequest(4, body("p4", a=2)), PublishRequest(5, body("p5", a=9)))
        assert await subscriber.next() == Delivery(("s2",), body("p5", a=9))
        for raw in (subscriber, publisher):
            await raw.close()


async def test_a_client_that_sends_again_what_was_accepted_publishes_it_once() -> None:
    async with running() as broker:
        subscriber = await Raw.client(broker.address, "sub")
        subscriber.say(SubscribeRequest("s1", "exists a"))
        await subscriber.next()
        publisher = await Raw.client(broker.address, "pub")
        publisher.say(PublishRequest(1, body("p1", a=1)), PublishRequest(2, body("p2", a=2)))
        await publisher.until(AcceptedReply)
        await publisher.close()
        again = await Raw.client(broker.address, "pub")
        again.say(*(PublishRequest(n, body(f"p{n}", a=n)) for n in (1, 2, 3)))
        assert [await again.next(), await again.next()] == [AcceptedReply(2), AcceptedReply(3)]
        delivered = [await subscriber.next() for _ in range(3)]
        assert [d.publication for d in delivered if isinstance(d, Delivery)] == [
            body(f"p{n}", a=n) for n in (1, 2, 3)
        ]
        for raw in (subscriber, again):
            await raw.close()


async def test_another_run_of_a_client_counts_anew() -> None:
    async with running() as broker:
        for session in ("one", "two"):
            raw = await Raw.client(broker.address, "pub", session)
            raw.say(PublishRequest(1, body("p1")))
            assert await raw.next() == AcceptedReply(1)
            await raw.close()
            await soon(broker.connections.until(lambda: not broker.connections.clients))
        assert broker.counters.publications == 2


@pytest.mark.parametrize("are_loaded", [False, True])
async def test_a_gap_in_the_numbers_ends_the_connection(
    monkeypatch: pytest.MonkeyPatch, *, are_loaded: bool
) -> None:
    if are_loaded:  # what came together is found together
        FRAMES.load()
        RECORDS.load()
    else:
        monkeypatch.setattr(RunFinder, "find", lambda _finder, _data, start, *_, **__: ([], start))
    story = Story()
    async with running(story=story) as broker:
        raw = await Raw.client(broker.address)
        raw.say(PublishRequest(2, body("p2")), PublishRequest(3, body("p3")))
        goodbye = await raw.goodbye()
        assert goodbye.code is GoodbyeCode.PROTOCOL
        assert goodbye.reason == "publication 2 came after 0"
        assert broker.counters.faulty_peers == 1
        await raw.close()
    assert story.reasons("peer at fault") == ["publication 2 came after 0"]


async def test_pings_are_answered() -> None:
    async with running() as broker:
        raw = await Raw.client(broker.address)
        raw.say(Ping())
        assert await raw.next() == Pong()
        await raw.close()


async def test_a_client_that_does_not_answer_pings_is_disconnected() -> None:
    async with running(settings(keepalive_idle_s=0.05, keepalive_missed_max=2)) as broker:
        raw = await Raw.client(broker.address)
        heard = await raw.until(Ping)
        assert heard == [Ping()]
        assert await raw.next() == Ping()
        assert (await raw.goodbye()).code is GoodbyeCode.SILENT
        await raw.close()


# Foreign and faulty peers ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "answer", "kind"),
    [
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"HTTP/1.1 400 Bad Request", "an HTTP client"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"\x15\x03\x03", "a TLS client hello"),
        (b"\xff" * 100, b"This is a Sapwood broker.", "no protocol known here"),
    ],
)
async def test_another_protocol_is_told_and_logged(sent: bytes, answer: bytes, kind: str) -> None:
    story = Story()
    async with running(story=story) as broker:
        raw = await Raw.dial(broker.address)
        raw.writer.write(sent)
        assert (await raw.rest()).startswith(answer)
        await raw.close()
    (reason,) = story.reasons("peer at fault")
    assert reason.endswith(f"which looks like {kind}")


async def test_a_peer_that_says_nothing_is_gone_in_time() -> None:
    async with running(settings(greeting_s=0.05)) as broker:
        raw = await Raw.dial(broker.address)
        assert b"the greeting was not completed in time" in await raw.rest()
        await raw.close()


async def test_a_frame_that_is_too_large_ends_the_connection() -> None:
    async with running() as broker:
        raw = await Raw.client(broker.address)
        raw.writer.write(b"\x7f\xff\xff\xff")
        goodbye = await raw.goodbye()
        assert goodbye.code is GoodbyeCode.PROTOCOL
        assert f"at most {FRAME_BYTES_MAX} bytes" in goodbye.reason
        await raw.close()


async def test_a_broker_takes_no_more_connections_than_its_limit() -> None:
    async with running(settings(connections_max=1)) as broker:
        first = await Raw.client(broker.address, "first")
        second, answer = await Raw.greet(
            broker.address, Hello(role=Role.CLIENT, name="second", session="s")
        )
        assert isinstance(answer, Refusal)
        assert answer.code is RefusalCode.FULL
        await second.close()
        first.say(Ping())
        assert await first.next() == Pong()
        await first.close()


# Overlays ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", ["covering", "simple", "identity", "flooding"])
async def test_brokers_in_a_line_deliver_exactly_what_matches(protocol: str) -> None:
    async with (
        line("r1", "r2", "r3", protocol=protocol) as brokers,
        connect(str(brokers["r1"].address)) as publisher,
        connect(str(brokers["r3"].address)) as far,
        connect(str(brokers["r2"].address)) as near,
    ):
        some = await far.subscribe("a >= 5 and a < 8")
        more = await near.subscribe("a >= 3")
        await publisher.publish_many({"a": n} for n in range(10))
        await publisher.publish({"a": 7, "last": True})
        assert [(await soon(anext(some))).attributes["a"] for _ in range(4)] == [5, 6, 7, 7]
        assert [(await soon(anext(more))).attributes["a"] for _ in range(8)] == [*range(3, 10), 7]
        assert (len(some), len(more)) == (0, 0)


async def test_a_link_that_returns_is_told_everything_again() -> None:
    async with running(settings("r1")) as r1:
        story = Story()
        async with running(settings("r2", r1.address), story) as r2:
            await soon(r1.until_linked("r2"))
            async with connect(str(r2.address)) as far, connect(str(r1.address)) as near:
                wanted = await far.subscribe("a = 1")
                r1.connections.links["r2"].abort()
                await soon(r1.connections.until(lambda: "r2" not in r1.connections.links))
                await soon(r1.until_linked("r2"))
                # Answers keep the order of the link: this one comes after all that r2 told r1.
                await near.subscribe("a = 2")
                await near.publish({"a": 1}, "p1")
                assert (await soon(anext(wanted))).id == "p1"
        assert story.lines == [
            f"listening on {r2.address} as r2",
            *("link up r1", "link down r1", "link up r1", "link down r1"),
        ]


async def test_in_a_ring_a_link_stands_by_and_nobody_is_cut_off() -> None:
    stories = [Story() for _ in range(3)]
    async with (
        running(settings("r1"), stories[0]) as r1,
        running(settings("r2", r1.address), stories[1]) as r2,
        running(settings("r3", r1.address, r2.address), stories[2]) as r3,
        connect(str(r1.address)) as first,
        connect(str(r2.address)) as second,
        connect(str(r3.address)) as third,
    ):
        clients = (first, second, third)
        # All at once, and the same: each broker takes the others' for covered by its own.
        wanted = await soon(asyncio.gather(*(client.subscribe("a >= 0") for client in clients)))
        for number, client in enumerate(clients):
            await soon(client.publish({"a": number}))
        for one in wanted:
            found = {(await soon(anext(one))).attributes["a"] for _ in clients}
            assert found == {0, 1, 2}
            assert len(one) == 0
        assert sum(len(broker.connections.links) for broker in (r1, r2, r3)) == 4
        # The link that stands by takes the place of one that fails.
        name = next(iter(r1.connections.links))
        fallen = r1.connections.links[name]
        fallen.abort()
        await soon(r1.connections.until(lambda: r1.connections.links.get(name) is not fallen))
        await soon(r2.connections.until(lambda: bool(r2.connections.links)))
        await soon(r3.connections.until(lambda: bool(r3.connections.links)))
    reasons = [reason for story in stories for reason in story.reasons("no link")]
    assert any("mesh+" in reason for reason in reasons + stories[2].reasons("circle"))
    assert not any(story.reasons("link closed for good") for story in stories)


@pytest.mark.parametrize("protocol", ["mesh+covering", "mesh+xroute"])
async def test_brokers_on_a_circle_deliver_once_and_do_without_one_of_them(protocol: str) -> None:
    stories = [Story() for _ in range(3)]
    async with (
        running(settings("r1", protocol=protocol), stories[0]) as r1,
        running(settings("r3", r1.address, protocol=protocol), stories[2]) as r3,
        connect(str(r1.address)) as near,
        connect(str(r3.address)) as far,
    ):
        peers = r1.address, r3.address
        async with (
            running(settings("r2", *peers, protocol=protocol), stories[1]) as r2,
            connect(str(r2.address)) as aside,
        ):
            for broker, others in ((r1, ("r2", "r3")), (r2, ("r1", "r3")), (r3, ("r1", "r2"))):
                await soon(broker.until_linked(*others))
            wanted = await soon(far.subscribe("exists a"))
            for number, client in enumerate((near, aside, far)):
                await soon(client.publish({"a": number}))
                assert (await soon(anext(wanted))).attributes["a"] == number
            assert [len(broker.connections.links) for broker in (r1, r2, r3)] == [2, 2, 2]
        await soon(r1.connections.until(lambda: "r2" not in r1.connections.links))
        await soon(r3.connections.until(lambda: "r2" not in r3.connections.links))
        # In force only when nobody in reach is about to announce another tree.
        more = await soon(far.subscribe("a > 2"))
        await soon(near.publish({"a": 3}))
        assert (await soon(anext(more))).attributes["a"] == 3
        assert [(await soon(anext(wanted))).attributes["a"]] == [3]
        assert (len(wanted), len(more)) == (0, 0)
    assert not any(story.reasons("link closed for good") for story in stories)


@pytest.mark.parametrize("protocol", ["covering", "mesh+covering"])
async def test_a_publication_reaches_clients_as_the_bytes_that_came(protocol: str) -> None:
    # 1 as an integer of 64 bits: no encoder of ours writes it so.
    made = b"\x93\xa1p\x81\xa1a\xcf\x00\x00\x00\x00\x00\x00\x00\x01\xc0"
    async with line("r1", "r2", "r3", protocol=protocol) as brokers:
        near = await Raw.client(brokers["r1"].address, "near")
        far = await Raw.client(brokers["r3"].address, "far")
        far.say(SubscribeRequest("s", "a = 1"))
        await far.until(SubscribedReply)
        near.say(PublishRequest(1, made))
        assert (await far.until(Delivery))[-1] == Delivery(("s",), made)
        await near.close()
        await far.close()


async def test_a_neighbor_that_sends_what_it_should_have_refused_loses_its_link() -> None:
    async with running() as broker:
        raw = await Raw.neighbor(broker)
        raw.say(Subscribe("k", cast("Interest", "a ="), 1))  # text that its sender did not read
        goodbye = await raw.goodbye()
        assert goodbye.code is GoodbyeCode.PROTOCOL
        assert "the neighbor passed on what it should have refused" in goodbye.reason
        await raw.close()


# Life --------------------------------------------------------------------------------------------


async def test_a_broker_without_a_name_gets_one_of_its_own() -> None:
    async with running(BrokerSettings(listen=ANY_PORT)) as broker:
        assert broker.name == f"{socket.gethostname()}-{broker.address.port}"


async def test_a_port_in_use_is_named_with_the_remedy() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        address = Address("127.0.0.1", taken.getsockname()[1])
        broker = Broker(settings(listen=address), Story().log)
        with pytest.raises(EnvironmentMissingError) as refused:
            await broker.start()
    assert f"--listen {address}: the port is in use; stop what listens there" in str(refused.value)


@pytest.mark.parametrize("host", ["192.0.2.1", "a..b"])
async def test_an_address_of_another_machine_cannot_be_listened_on(host: str) -> None:
    broker = Broker(settings(listen=Address(host, 7411), allow_anyone=True), Story().log)
    with pytest.raises(EnvironmentMissingError, match="cannot listen there"):
        await broker.start()


async def test_a_broker_that_stops_says_goodbye_to_everybody() -> None:
    async with running() as broker:
        client = await Raw.client(broker.address)
        neighbor = await Raw.neighbor(broker, "n")
        silent = await Raw.dial(broker.address)
        await soon(broker.connections.until(lambda: len(broker.connections.all) == 3))
        stopping = asyncio.create_task(broker.stop("maintenance"))
        for raw in (client, neighbor):
            goodbye = await raw.goodbye()
            assert (goodbye.code, goodbye.reason) == (GoodbyeCode.SHUTDOWN, "maintenance")
            await raw.close()
        assert await silent.rest() == b""
        await silent.close()
        await soon(stopping)
        with pytest.raises(ConnectionRefusedError):
            await Raw.dial(broker.address)
        await broker.stop()


async def test_a_broker_that_stops_sends_what_is_queued() -> None:
    count = 200
    async with running() as broker:
        subscriber = await Raw.client(broker.address, "sub")
        subscriber.say(SubscribeRequest("s1", "exists a"))
        await subscriber.next()
        async with connect(str(broker.address)) as publisher:
            await publisher.publish_many({"a": n, "text": "x" * LARGE} for n in range(count))
        stopping = asyncio.create_task(broker.stop())
        heard = await subscriber.until(Goodbye)
        assert sum(isinstance(message, Delivery) for message in heard) == count
        await subscriber.close()
        await soon(stopping)


async def test_a_defect_ends_the_broker_instead_of_wrong_deliveries(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    story = Story()
    async with running(story=story) as broker:

        def defective(*_: object) -> None:
            raise InvariantError("the tables differ")

        raw = await Raw.client(broker.address)
        monkeypatch.setattr(broker.router, "handle", defective)
        raw.say(PublishRequest(1, body("p1")))
        with pytest.raises(InvariantError, match="the tables differ"):
            await soon(broker.run_until_failure())
        raw.say(PublishRequest(2, body("p2")))
        stopping = asyncio.create_task(broker.stop())
        assert (await raw.goodbye()).code is GoodbyeCode.SHUTDOWN
        await raw.close()
        await soon(stopping)
    assert [entry["event"] for entry in story.entries].count("defect") == 1


@pytest.mark.network
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_broker_process_says_where_it_listens_and_ends_on_a_signal(
    number: signal.Signals,
) -> None:
    arguments = ("--listen", "127.0.0.1:0", "--name", "r1")
    with subprocess.Popen(
        (sys.executable, "-m", "sapwood", "broker", *arguments),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        first = process.stdout.readline().split()
        process.send_signal(number)
        out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0
    assert first[:2] == ["listening", "on"]
    assert first[3:] == ["as", "r1"]
    assert out == ""
    assert [json.loads(line)["event"] for line in err.splitlines()] == ["listening", "stopped"]


def test_a_signal_ends_a_broker_in_good_order() -> None:
    story = Story()

    def announce(line: str) -> None:
        story.lines.append(line)
        os.kill(os.getpid(), signal.SIGTERM)

    run_broker(settings(), story.log, announce)
    assert story.lines[0].startswith("listening on 127.0.0.1:")
    assert story.entries[-1]["event"] == "stopped"
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_defect_ends_a_broker_with_its_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def defective(*_: object) -> None:
        raise InvariantError("the tables differ")

    monkeypatch.setattr(Router, "handle", defective)
    story = Story()
    threads: list[threading.Thread] = []

    def announce(line: str) -> None:
        threads.append(threading.Thread(target=connect_once, args=(line.split()[2],)))
        threads[0].start()

    with pytest.raises(InvariantError, match="the tables differ"):
        run_broker(settings(), story.log, announce)
    threads[0].join()
    assert story.entries[-1]["event"] == "stopped"


def connect_once(address: str) -> None:
    from sapwood.client.blocking import connect
    from sapwood.errors import ConnectionLostError

    # Whether the goodbye comes before or after the welcome is a matter of chance.
    try:
        with connect(address, reconnect=False) as client:
            client.flush()
    except ConnectionLostError:
        pass


@pytest.mark.parametrize("detector", ["timeout:0.3", "phi:8"])
async def test_a_failure_detector_gives_a_silent_neighbor_up_and_no_client(detector: str) -> None:
    """Unanswered pings alone would wait for half a minute."""
    made = settings(keepalive_idle_s=0.1, keepalive_missed_max=300, detector=detector)
    async with running(made) as broker:
        client = await Raw.client(broker.address)
        neighbor = await Raw.neighbor(broker)
        for _ in range(3):  # how fast it answers is learned
            while not isinstance(await neighbor.next(), Ping):
                pass
            neighbor.say(Pong())
        assert (await neighbor.goodbye()).code is GoodbyeCode.SILENT
        await neighbor.close()
        client.say(Ping())
        await client.until(Pong)
        await client.close()
