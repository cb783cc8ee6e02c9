"""Group commit: nothing leaves before what it stands behind, and the loop waits for no disk."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from sapwood.broker import committing
from sapwood.broker.broker import Broker
from sapwood.errors import EnvironmentMissingError
from sapwood.limits import UNACKNOWLEDGED_MAX
from sapwood.store.durability import Durability
from sapwood.store.lines import bounds
from sapwood.store.log import Syncer
from sapwood.store.store import JOURNAL
from sapwood.store.writer import Gathered, StoreFullError, Writer
from sapwood.wire.messages import (
    AcceptedReply,
    Delivery,
    Ping,
    Pong,
    PublishRequest,
    SubscribedReply,
    SubscribeRequest,
)
from tests.broker.helpers import Raw, body, running, settings, soon
from tests.patience import PATIENCE_S


class Gate:
    """Lets the disk make commits durable only while it is open, and notes how large they are.

    So many `syncs` wait for it at a time.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch, syncs: int = 1) -> None:
        self.sizes: list[int] = []
        self._open = threading.Event()
        self._open.set()
        append, sync, sync_beside = Writer.append, Writer.sync, Syncer.sync

        def noted(writer: Writer, gathered: Gathered) -> bool:
            self.sizes.append(gathered.count)
            return append(writer, gathered)

        def gated(writer: Writer) -> None:
            assert self._open.wait(PATIENCE_S)
            sync(writer)

        def gated_beside(syncer: Syncer) -> None:
            assert self._open.wait(PATIENCE_S)
            sync_beside(syncer)

        monkeypatch.setattr(Writer, "append", noted)
        monkeypatch.setattr(Writer, "sync", gated)
        monkeypatch.setattr(Syncer, "sync", gated_beside)
        monkeypatch.setattr(committing, "STORE_SYNCS_MAX", syncs)

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
        assert [size for size in gate.sizes if size] == [1, 3]
        assert done == [1, 2]
        assert commits.ticket() is None
        assert commits.held_bytes == 0
        commits.when_done(lambda: done.append(3))
        assert done == [1, 2, 3]
        await sub.close()
        await pub.close()


async def test_a_commit_begins_beside_another_when_as_much_has_gathered_and_is_done_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch, syncs=2)
    async with running(settings(data=tmp_path)) as broker:
        assert broker.store is not None
        commits, store = broker.store.commits, broker.store.store
        pub = await Raw.client(broker.address, "pub")
        pub.say(PublishRequest(1, body("p1")))
        assert await pub.next() == AcceptedReply(1)
        gate.shut()
        gate.sizes.clear()

        async def published(number: int, text: str) -> None:
            pub.say(PublishRequest(number, body(f"p{number}", text=text)))
            await until_published(broker, number)
            await asyncio.sleep(0)

        await published(2, "x" * 100)
        await published(3, "x" * 60)  # less than is under way
        assert gate.sizes == [1]
        await published(4, "x" * 60)
        assert gate.sizes == [1, 2]
        await published(5, "x" * 1000)  # two are under way
        assert gate.sizes == [1, 2]
        assert (store.done, store.next_place) == (1, 5)
        ticket = commits.ticket()
        assert ticket is not None
        done: list[int] = []
        commits.when_done(lambda: done.append(store.done))
        gate.open()
        while await pub.next() != AcceptedReply(5):
            pass
        assert gate.sizes == [1, 2, 1]
        assert done == [5]
        assert commits.ticket() is None
        await pub.close()


async def test_a_sync_that_is_done_says_that_all_before_it_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sync, waits, entered = Syncer.sync, threading.Event(), threading.Event()
    is_held = [False]

    def first_waits(syncer: Syncer) -> None:
        if is_held[0]:
            is_held[0] = False
            entered.set()
            assert waits.wait(PATIENCE_S)
        sync(syncer)

    monkeypatch.setattr(Syncer, "sync", first_waits)
    async with running(settings(data=tmp_path)) as broker:
        pub = await Raw.client(broker.address, "pub")
        pub.say(PublishRequest(1, body("p1")))
        assert await pub.next() == AcceptedReply(1)
        is_held[0] = True
        pub.say(PublishRequest(2, body("p2")))
        assert await asyncio.to_thread(entered.wait, PATIENCE_S)
        pub.say(PublishRequest(3, body("p3")))
        assert [await pub.next(), await pub.next()] == [AcceptedReply(2), AcceptedReply(3)]
        waits.set()
        await pub.close()


async def test_a_disk_that_fails_to_make_a_commit_durable_ends_the_broker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_: Syncer) -> None:
        raise OSError(5, "Input/output error")

    broker = Broker(settings(data=tmp_path))
    address = await broker.start()
    pub = await Raw.client(address, "pub")
    pub.say(PublishRequest(1, body("p1")))
    assert await pub.next() == AcceptedReply(1)
    monkeypatch.setattr(Syncer, "sync", broken)
    pub.say(PublishRequest(2, body("p2")))
    with pytest.raises(EnvironmentMissingError, match=r"cannot be made durable: Input/output"):
        async with asyncio.timeout(PATIENCE_S):
            await broker.run_until_failure()
    assert broker.store is not None
    assert broker.store.commits.ticket() is not None
    await soon(broker.store.commits.drained())  # there is no hope of that commit
    await broker.stop()
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


async def test_what_is_done_when_it_is_written_leaves_in_its_turn_whatever_the_disk_does(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = Gate(monkeypatch)
    durability = Durability.parse("interval:1")
    async with running(settings(data=tmp_path, durability=durability)) as broker:
        assert broker.store is not None
        commits = broker.store.commits
        pub = await Raw.client(broker.address, "pub")
        pub.say(PublishRequest(1, body("p1")))  # a segment is begun for it, beside the loop
        assert await pub.next() == AcceptedReply(1)
        gate.shut()
        for number in (2, 3):
            pub.say(PublishRequest(number, body(f"p{number}")))
            assert await pub.next() == AcceptedReply(number)
            assert commits.ticket() is None
        gate.open()
        await pub.close()


async def test_the_loop_leaves_writing_to_the_thread_while_the_system_is_slow_to_take_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[str] = []
    append = Writer.append

    def noted(writer: Writer, gathered: Gathered) -> bool:
        threads.append(threading.current_thread().name)
        return append(writer, gathered)

    monkeypatch.setattr(Writer, "append", noted)
    async with running(settings(data=tmp_path, durability=Durability.parse("none"))) as broker:
        assert broker.store is not None
        commits = broker.store.commits
        pub = await Raw.client(broker.address, "pub")

        async def published(number: int) -> str:
            threads.clear()
            pub.say(PublishRequest(number, body(f"p{number}")))
            assert await pub.next() == AcceptedReply(number)
            return threads[-1]

        first = await published(1)  # begins a segment
        assert first == "commits"
        monkeypatch.setattr(committing, "STORE_WRITE_S", 1e9)
        assert await published(2) == threading.current_thread().name
        monkeypatch.setattr(committing, "STORE_WRITE_S", 0.0)
        monkeypatch.setattr(committing, "STORE_REST", 1e12)
        assert await published(3) == threading.current_thread().name
        assert await published(4) == "commits"
        assert commits.ticket() is None
        await pub.close()


async def test_what_the_loop_could_not_write_is_written_by_the_thread_when_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    append, failures = Writer.append, [0]

    def full(writer: Writer, gathered: Gathered) -> bool:
        if failures[0]:
            failures[0] -= 1
            raise StoreFullError(28, "no room")
        return append(writer, gathered)

    monkeypatch.setattr(Writer, "append", full)
    monkeypatch.setattr(committing, "STORE_RETRY_S", 0.001)
    async with running(settings(data=tmp_path, durability=Durability.parse("none"))) as broker:
        assert broker.store is not None
        pub = await Raw.client(broker.address, "pub")
        pub.say(PublishRequest(1, body("p1")))
        assert await pub.next() == AcceptedReply(1)
        failures[0] = 3
        pub.say(PublishRequest(2, body("p2")))
        assert await pub.next() == AcceptedReply(2)
        assert failures == [0]
        await pub.close()
    assert bounds(tmp_path / JOURNAL) == (0, 2)
