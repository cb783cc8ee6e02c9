"""Group commit: nothing leaves before what it stands behind, and the loop waits for no disk."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from sapwood.broker import committing
from sapwood.broker.broker import Broker
from sapwood.limits import UNACKNOWLEDGED_MAX
from sapwood.store.writer import Gathered, Writer
from sapwood.wire.messages import (
    AcceptedReply,
    Delivery,
    Ping,
    Pong,
    PublishRequest,
    SubscribedReply,
    SubscribeRequest,
)
from tests.broker.helpers import PATIENCE_S, Raw, body, running, settings


class Gate:
    """Lets commits through one by one, and counts them."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.sizes: list[int] = []
        self._open = threading.Event()
        self._open.set()
        commit = Writer.commit

        def gated(writer: Writer, gathered: Gathered) -> None:
            assert self._open.wait(PATIENCE_S)
            commit(writer, gathered)
            self.sizes.append(gathered.count)

        monkeypatch.setattr(Writer, "commit", gated)

    def shut(self) -> None:
        self._open.clear()

    def open(self) -> None:
        self._open.set()


async def until_published(broker: Broker, count: int) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while broker.counters.publications < count:
            await asyncio.sleep(0)


async def test_what_stands_behind_a_commit_waits_and_what_comes_meanwhile_is_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch)
    async with running(settings(data=tmp_path)) as broker:
        assert broker.store is not None
        commits = broker.store.commits
        sub = await Raw.client(broker.address, "sub")
        sub.say(SubscribeRequest("s", "true"))
        assert await sub.next() == SubscribedReply("s")
        pub = await Raw.client(broker.address, "pub")
        gate.shut()
        pub.say(PublishRequest(1, body("p1")))
        await until_published(broker, 1)
        assert commits.ticket() == 1
        done: list[int] = []
        commits.when_done(lambda: done.append(1))
        for number in (2, 3, 4):
            pub.say(PublishRequest(number, body(f"p{number}")))
            await until_published(broker, number)
        assert commits.ticket() == 2
        commits.when_done(lambda: done.append(2))
        assert broker.counters.deliveries == 4
        held = [tcp.outbox.held_bytes for tcp in broker.connections.all]
        assert len(held) == 2
        assert all(held)
        assert commits.held_bytes == sum(held)
        assert done == []
        gate.open()
        heard = [await sub.next() for _ in range(4)]
        assert heard == [Delivery(("s",), body(f"p{n}")) for n in (1, 2, 3, 4)]
        while await pub.next() != AcceptedReply(4):
            pass
        assert gate.sizes == [1, 3]
        assert done == [1, 2]
        assert commits.ticket() is None
        assert commits.held_bytes == 0
        commits.when_done(lambda: done.append(3))
        assert done == [1, 2, 3]
        await sub.close()
        await pub.close()


async def test_whether_the_disk_has_room_is_looked_at_after_so_many_bytes_and_now_and_then(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[int] = []
    monkeypatch.setattr(committing, "STORE_ROOM_S", 1e9)
    monkeypatch.setattr(committing, "STORE_ROOM_BYTES", 3000)
    async with running(settings(data=tmp_path)) as broker:
        assert broker.store is not None
        store = broker.store.store

        def has_room(_: object) -> bool:
            looks.append(1)
            return True

        monkeypatch.setattr(type(store), "has_room", has_room)
        pub = await Raw.client(broker.address, "pub")
        seen = []
        for number in range(1, 10):
            if number == 9:
                monkeypatch.setattr(committing, "STORE_ROOM_S", 0.0)
            pub.say(PublishRequest(number, body(f"p{number}", text="x" * 1000)))
            assert await pub.next() == AcceptedReply(number)
            seen.append(len(looks))
        # At the first one, as it was never looked; at each third; and when the time has come.
        assert seen == [1, 1, 1, 2, 2, 2, 3, 3, 4]
        await pub.close()


async def test_publishers_are_held_back_while_too_much_waits_for_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch)
    monkeypatch.setattr(committing, "STORE_PENDING_BYTES_MAX", 20_000)
    async with running(settings(data=tmp_path)) as broker:
        pub = await Raw.client(broker.address, "pub")
        gate.shut()
        some = [body(f"p{n}", text="x" * 1000) for n in range(1, 101)]
        for number, one in enumerate(some, 1):
            pub.say(PublishRequest(number, one))
            if number <= 20:
                await until_published(broker, number)
        async with asyncio.timeout(PATIENCE_S):
            while not broker.counters.publishers_held:
                await asyncio.sleep(0)
        assert broker.congestion.holds(())
        assert len(some) < UNACKNOWLEDGED_MAX
        gate.open()
        while await pub.next() != AcceptedReply(100):
            pass
        assert not broker.congestion.holds(())
        await pub.close()


async def test_what_is_committed_when_a_broker_stops_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch)
    async with running(settings(data=tmp_path)) as broker:
        pub = await Raw.client(broker.address, "pub")
        gate.shut()
        pub.say(PublishRequest(1, body("p1")))
        await until_published(broker, 1)
        stopping = asyncio.ensure_future(broker.stop())
        await asyncio.sleep(0)
        gate.open()
        assert await pub.next() == AcceptedReply(1)
        await pub.goodbye()
        await pub.close()
        await stopping


async def test_a_ping_is_answered_while_the_disk_is_busy_once_it_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch)
    async with running(settings(data=tmp_path)) as broker:
        pub = await Raw.client(broker.address, "pub")
        gate.shut()
        pub.say(PublishRequest(1, body("p1")), Ping())
        await until_published(broker, 1)
        gate.open()
        assert {type(await pub.next()), type(await pub.next())} == {Pong, AcceptedReply}
        await pub.close()
