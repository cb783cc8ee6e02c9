"""A broker that recovers: what it was told before it stopped is what it goes on with."""

from __future__ import annotations

import asyncio
import os
import socket
import sqlite3
import zlib
from contextlib import closing
from pathlib import Path
from shutil import copytree, rmtree
from typing import Any

import msgspec
import pytest

from sapwood.broker import committing, storing
from sapwood.broker.broker import Broker
from sapwood.broker.kernels import KernelLoader
from sapwood.client import connect
from sapwood.errors import EnvironmentMissingError
from sapwood.matching.readiness import RECORDS
from sapwood.store import store as store_module
from sapwood.store.disk import SystemFile
from sapwood.store.durability import Durability
from sapwood.wire.greetings import Hello, Role, Welcome
from sapwood.wire.messages import (
    AcceptedReply,
    AdvertisedReply,
    AdvertiseRequest,
    AllStated,
    Delivery,
    Ping,
    Pong,
    PublicationRefused,
    PublishRequest,
    ReplayRequest,
    SubscribedReply,
    SubscribeManyRequest,
    SubscribeRequest,
)
from tests.broker.helpers import Raw, Story, body, running, settings, soon
from tests.broker.test_keeping import ids
from tests.patience import PATIENCE_S

RECOVER = "recover+covering"


def keeping(folder: Path, **more: Any) -> Any:
    return settings(data=folder, protocol=RECOVER, **more)


async def subscribed(broker: Broker, name: str, filter_: str, session: str = "s") -> Raw:
    raw = await Raw.client(broker.address, name, session)
    raw.say(SubscribeRequest("i", filter_))
    assert await raw.next() == SubscribedReply("i")
    return raw


async def stopped(broker: Broker, *raws: Raw) -> None:
    """Stop a broker whose clients are there until it goes."""
    stopping = asyncio.ensure_future(broker.stop())
    for raw in raws:
        await raw.goodbye()
        await raw.close()
    await stopping


async def test_a_broker_that_starts_again_has_its_subscriptions(tmp_path: Path) -> None:
    story = Story()
    async with running(keeping(tmp_path)) as broker:
        raw = await subscribed(broker, "sub", "a > 1")
        await stopped(broker, raw)
    async with running(keeping(tmp_path), story) as broker:
        assert set(broker.router.absent) == {"sub"}
        assert broker.router.table_sizes()["local"] == 1
        raw = await Raw.client(broker.address, "sub", "s")
        assert not broker.router.absent
        raw.say(PublishRequest(1, body("p", a=2)))
        assert await raw.until(AcceptedReply) == [
            Delivery(("i",), body("p", a=2)),
            AcceptedReply(1),
        ]
        await raw.close()
    (restored,) = [entry for entry in story.entries if entry["event"] == "state restored"]
    assert restored["clients"] == restored["local"] == 1


@pytest.mark.parametrize(("large", "expected"), [(1, [(RECORDS,)]), (1 << 16, [])])
async def test_kernels_are_at_hand_before_a_large_state_is_restored(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: int, expected: list[Any]
) -> None:
    monkeypatch.setattr(storing, "_LARGE", large)
    asked: list[Any] = []
    monkeypatch.setattr(KernelLoader, "have", lambda _, needed: asked.append(needed))
    async with running(keeping(tmp_path)) as broker:
        raw = await subscribed(broker, "sub", "a > 1")
        await stopped(broker, raw)
    assert asked == []  # there was nothing
    async with running(keeping(tmp_path)) as broker:
        assert set(broker.router.absent) == {"sub"}
    assert asked == expected


OLDER: dict[str, tuple[str, bytes]] = {
    "a state record with fewer fields": ("records", msgspec.msgpack.encode([4, "sub", "i"])),
    "a state record of a kind that there is no more": ("records", msgspec.msgpack.encode([99])),
    "a note of another form": ("notes", b"\x93\x01\x02\xc0"),
}


CHANGES: dict[str, str] = {
    "records": "UPDATE records SET record = ?, crc = ?",
    "notes": "INSERT OR REPLACE INTO notes VALUES ('mark', ?, ?)",
}


@pytest.mark.parametrize("what", OLDER)
async def test_what_another_version_wrote_is_refused_with_a_sentence(
    what: str, tmp_path: Path
) -> None:
    async with running(keeping(tmp_path)) as broker:
        raw = await subscribed(broker, "sub", "a > 1")
        await stopped(broker, raw)
    table, value = OLDER[what]
    with closing(sqlite3.connect(tmp_path / "state.sqlite")) as file:
        changed = file.execute(CHANGES[table], (value, zlib.crc32(value)))
        assert changed.rowcount > 0
        file.commit()
    with pytest.raises(EnvironmentMissingError, match="another version wrote it; use the Sapwood"):
        async with running(keeping(tmp_path)):
            pass


async def test_another_run_of_a_client_does_not_inherit_what_the_first_wanted(
    tmp_path: Path,
) -> None:
    async with running(keeping(tmp_path)) as broker:
        raw = await subscribed(broker, "sub", "a > 1")
        await stopped(broker, raw)
    async with running(keeping(tmp_path)) as broker:
        raw = await subscribed(broker, "sub", "a < 1", "another run")
        assert broker.router.table_sizes()["local"] == 1
        raw.say(PublishRequest(1, body("p", a=2)), PublishRequest(2, body("q", a=0)))
        heard = await raw.until(AcceptedReply)
        assert heard[0] == Delivery(("i",), body("q", a=0))
        await raw.close()


async def test_clients_that_do_not_come_back_are_let_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(keeping(tmp_path)) as broker:
        await stopped(broker, *[await subscribed(broker, f"c{n}", "a > 1") for n in range(3)])
    monkeypatch.setattr(storing, "SESSION_RETURN_S", 0.05)
    monkeypatch.setattr(storing, "_SOME", 1)
    story = Story()
    async with running(keeping(tmp_path), story) as broker:
        raw = await Raw.client(broker.address, "c1", "s")
        while broker.router.absent:
            raw.say(Ping())
            assert await raw.next() == Pong()
        assert broker.router.table_sizes()["local"] == 1
        await raw.close()
    gone = [one["client"] for one in story.entries if one["event"] == "client has not come back"]
    assert gone == ["c0", "c2"]


async def test_what_a_client_that_does_not_come_back_had_goes_bit_by_bit_to_the_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(keeping(tmp_path)) as broker:
        raw = await subscribed(broker, "sub", "a > 0")
        raw.say(*(SubscribeRequest(f"s{n}", f"a > {n}") for n in range(1, 600)))
        for _ in range(1, 600):
            assert isinstance(await raw.next(), SubscribedReply)
        await stopped(broker, raw)
    monkeypatch.setattr(storing, "SESSION_RETURN_S", 0.05)
    async with running(keeping(tmp_path)) as broker, asyncio.timeout(PATIENCE_S):
        while broker.router.absent or broker.router.behind():  # and nobody says anything
            await asyncio.sleep(0.01)
        assert broker.router.table_sizes()["local"] == 0
        broker.router.validate()


async def test_a_broker_takes_the_name_of_the_state_that_it_finds(tmp_path: Path) -> None:
    async with running(keeping(tmp_path, name="hub")):
        pass
    async with running(keeping(tmp_path, name=None)) as broker:
        assert broker.name == "hub"
    with pytest.raises(EnvironmentMissingError, match="--name hub"):
        await Broker(keeping(tmp_path, name="other")).start()


async def test_numbers_of_a_session_go_on_after_a_restart(tmp_path: Path) -> None:
    async with running(keeping(tmp_path)) as broker:
        raw = await Raw.client(broker.address, "pub", "s")
        raw.say(*(PublishRequest(n, body(f"p{n}")) for n in (1, 2, 3)))
        while await raw.next() != AcceptedReply(3):
            pass
        await stopped(broker, raw)
    async with running(keeping(tmp_path)) as broker:
        # The client has not heard of 3, and sends it again, under another id even.
        raw = await Raw.client(broker.address, "pub", "s", acknowledged=2)
        raw.say(PublishRequest(3, body("again")), PublishRequest(4, body("p4")))
        while await raw.next() != AcceptedReply(4):
            pass
        raw.say(ReplayRequest(0, 9))
        assert ids(await raw.next()) == ["p1", "p2", "p3", "p4"]
        await raw.close()


@pytest.mark.parametrize("protocol", [RECOVER, "recover+mesh+advertisement+covering"])
async def test_what_a_client_withdrew_while_it_was_away_is_not_in_force_when_it_is_back(
    tmp_path: Path, protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No answer comes that was not asked for, and a subscription of the same id stays."""
    monkeypatch.setattr("sapwood.broker.returned.SUBSCRIPTIONS_AT_ONCE_MAX", 2)
    made = settings(data=tmp_path, protocol=protocol)
    async with running(made) as broker:
        raw = await Raw.client(broker.address, "sub")
        for id_ in "abcdef":
            raw.say(AdvertiseRequest(id_, "x > 1"))
            assert await raw.next() == AdvertisedReply(id_)
            raw.say(SubscribeRequest(id_, "x > 1"))
            assert await raw.next() == SubscribedReply(id_)
        await stopped(broker, raw)
    async with running(made) as broker:
        greeting = Hello(role=Role.CLIENT, name="sub", session="s")
        raw, welcome = await Raw.greet(broker.address, greeting)
        assert isinstance(welcome, Welcome)
        assert welcome.remembers
        raw.say(
            SubscribeManyRequest(("a", "c"), ("x > 1", "x > 1")), AdvertiseRequest("b", "x > 1")
        )
        heard = [await raw.next() for _ in range(3)]
        assert heard == [SubscribedReply("a"), SubscribedReply("c"), AdvertisedReply("b")]
        assert broker.router.ids_of("sub") == (tuple("abcdef"), tuple("abcdef"))
        raw.say(AllStated(), SubscribeRequest("d", "x > 1"), SubscribeRequest("g", "x > 9"))
        assert [await raw.next(), await raw.next()] == [SubscribedReply("d"), SubscribedReply("g")]
        async with asyncio.timeout(PATIENCE_S):
            while len(broker.router.ids_of("sub").subscriptions) > 4:
                await asyncio.sleep(0)
        assert broker.router.ids_of("sub") == (tuple("acdg"), ("b",))
        raw.say(Ping())
        assert await raw.next() == Pong()
        await raw.close()


async def test_a_client_that_comes_back_says_when_it_has_asked_for_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its program is another run under the same session, which wants less."""
    monkeypatch.setattr("sapwood.session.client_session.RESTATE_S", 0.3)
    state = tmp_path / "client"
    made = keeping(tmp_path / "broker")
    async with running(made) as broker:
        address = str(broker.address)
        async with connect(address, "c", state=state) as client:
            await client.subscribe_many({f"s{n}": "x > 1" for n in range(5)})
            await client.subscribe("x > 2", id="one")
            await broker.stop()
    async with running(made) as broker:
        assert len(broker.router.ids_of("c").subscriptions) == 6
        async with connect(str(broker.address), "c", state=state) as client:
            await client.subscribe("x > 2", id="one")
            async with asyncio.timeout(PATIENCE_S):
                while len(broker.router.ids_of("c").subscriptions) > 1:
                    await asyncio.sleep(0.01)
            assert broker.router.ids_of("c").subscriptions == ("one",)


async def test_a_program_that_is_started_again_has_time_to_say_what_it_wants(
    tmp_path: Path,
) -> None:
    """The subscriptions of an earlier run stay in force meanwhile: nothing is missed."""
    state = tmp_path / "client"
    made = keeping(tmp_path / "broker")

    def client(broker: Broker) -> Any:
        return connect(str(broker.address), "c", state=state)

    async with running(made) as broker, client(broker) as first:
        await first.subscribe("x > 2", id="one")
        await broker.stop()
    async with running(made) as broker, client(broker) as second:
        await second.publish({"x": 1})  # answered: whatever the greeting brought is done
        assert broker.router.ids_of("c").subscriptions == ("one",)


async def until(broker: Broker, *, is_full: bool) -> None:
    """Wait until the broker's disk is full, or has room."""
    assert broker.store is not None
    async with asyncio.timeout(PATIENCE_S):
        while broker.store.commits.is_full != is_full:
            await asyncio.sleep(0.001)


class FullFile(SystemFile):
    """A file on a disk that is full as long as `is_full`."""

    __slots__ = ()
    is_full = False

    def write(self, data: bytes | bytearray) -> int:
        if type(self).is_full:
            raise OSError(28, os.strerror(28))
        return super().write(data)


async def test_a_full_disk_refuses_publications_and_goes_on_when_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(committing, "STORE_RETRY_S", 0.01)
    monkeypatch.setattr("sapwood.store.disk.SystemFile", FullFile)
    story = Story()
    async with running(keeping(tmp_path), story) as broker:
        sub = await subscribed(broker, "sub", "exists a")
        pub = await Raw.client(broker.address, "pub", "s")
        FullFile.is_full = True
        try:
            pub.say(PublishRequest(1, body("p1", a=1)))
            await until(broker, is_full=True)
            sub.say(Ping())
            assert await sub.next() == Pong()
            pub.say(PublishRequest(2, body("p2", a=1)))
            refused = await pub.next()
            assert isinstance(refused, PublicationRefused)
            assert (refused.sequence, "disk is full" in refused.reason) == (2, True)
        finally:
            FullFile.is_full = False
        while await pub.next() != AcceptedReply(2):
            pass
        assert await sub.next() == Delivery(("i",), body("p1", a=1))
        await until(broker, is_full=False)
        pub.say(PublishRequest(3, body("p3", a=1)))
        assert await pub.next() == AcceptedReply(3)
        await sub.close()
        await pub.close()
    events = [entry["event"] for entry in story.entries]
    assert events.count("the disk is full") == events.count("the disk has room again") == 1


async def test_a_broker_keeps_room_in_reserve(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(committing, "STORE_RETRY_S", 0.01)
    async with running(settings(data=tmp_path)) as broker:
        raw = await Raw.client(broker.address, "pub", "s")
        with monkeypatch.context() as patched:
            patched.setattr(store_module.Store, "has_room", lambda _: False)
            raw.say(PublishRequest(1, body("p1")))
            assert await raw.next() == AcceptedReply(1)
            raw.say(PublishRequest(2, body("p2")))
            assert isinstance(await raw.next(), PublicationRefused)
            assert await raw.next() == AcceptedReply(2)
        await until(broker, is_full=False)
        raw.say(PublishRequest(3, body("p3")))
        assert await raw.next() == AcceptedReply(3)
        await raw.close()


@pytest.mark.parametrize("durability", ["fsync", "interval:5", "none"])
async def test_two_brokers_that_recover_pass_publications_on(
    tmp_path: Path, durability: str
) -> None:
    how = Durability.parse(durability)
    async with running(keeping(tmp_path / "r1", durability=how)) as first:
        linked = settings(
            "r2", first.address, data=tmp_path / "r2", protocol=RECOVER, durability=how
        )
        async with running(linked) as second:
            await soon(first.until_linked("r2"))
            sub = await subscribed(second, "sub", "exists a")
            pub = await Raw.client(first.address, "pub", "s")
            bodies = [body(f"p{n}", a=n) for n in range(1, 60)]
            pub.say(*(PublishRequest(n, one) for n, one in enumerate(bodies, 1)))
            for one in bodies:
                assert await sub.next() == Delivery(("i",), one)
            assert await pub.until(AcceptedReply)
            await sub.close()
            await pub.close()


async def is_another(broker: Broker, incarnation: int) -> None:
    """Return when a broker has begun anew."""
    while broker.router.incarnation == incarnation:
        await asyncio.sleep(0.01)


async def test_a_broker_with_an_older_folder_begins_anew_and_keeps_its_clients(
    tmp_path: Path,
) -> None:
    """The neighbor knows what the broker said since the copy, and nobody has to ask again."""
    folder, copy = tmp_path / "r2", tmp_path / "copy"
    async with running(keeping(tmp_path / "r1")) as first:
        linked = settings("r2", first.address, data=folder, protocol=RECOVER)
        async with running(linked) as second:
            await soon(first.until_linked("r2"))
            incarnation = second.router.incarnation
            await stopped(second, await subscribed(second, "sub", "a > 1"))
        copytree(folder, copy)
        async with running(linked) as second:
            await soon(first.until_linked("r2"))
            await stopped(second, await subscribed(second, "other", "b > 1"))
        rmtree(folder)
        copy.rename(folder)
        async with running(linked) as second:
            await soon(first.until_linked("r2"))
            await soon(is_another(second, incarnation))
            raw = await Raw.client(second.address, "sub", "s")
            raw.say(SubscribeRequest("late", "c > 1"))
            assert await raw.until(SubscribedReply)
            pub = await Raw.client(first.address, "pub", "s")
            pub.say(PublishRequest(1, body("p", a=2, b=2, c=1)))
            delivered = await raw.until(Delivery)
            assert delivered[-1] == Delivery(("i",), body("p", a=2, b=2, c=1))
            await raw.close()
            await pub.close()


async def test_who_comes_while_state_is_restored_is_heard_when_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    early: list[socket.socket] = []
    opened = Broker._open_store

    def opens(broker: Broker) -> None:
        early.append(socket.create_connection((broker.address.host, broker.address.port), 5.0))
        opened(broker)

    monkeypatch.setattr(Broker, "_open_store", opens)
    async with running(keeping(tmp_path)):
        (one,) = early
        one.setblocking(False)
        loop = asyncio.get_running_loop()
        await loop.sock_sendall(one, b"hello, this is nobody\n")
        async with asyncio.timeout(PATIENCE_S):
            assert await loop.sock_recv(one, 1) != b""
        one.close()
