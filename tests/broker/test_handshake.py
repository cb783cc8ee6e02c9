"""Greetings at a broker: clients by name, and one link between two brokers."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING, Any, cast

import msgspec
import pytest
from hypothesis import given
from hypothesis import settings as settings_of_examples
from hypothesis import strategies as st

from sapwood.broker.connections import Connections, link_of
from sapwood.broker.handshake import Handshake
from sapwood.errors import FrameError
from sapwood.limits import FRAME_BYTES_MAX
from sapwood.routing.router import Router
from sapwood.session.admission import Identity
from sapwood.session.connection import Connection
from sapwood.session.ledger import SessionMemory
from sapwood.session.settings import ConnectionSettings
from sapwood.wire.greetings import Hello, Refusal, RefusalCode, Role, Welcome
from sapwood.wire.messages import GoodbyeCode, LinkEstablished, Ping, Pong
from tests.broker.helpers import Raw, Story, link_hello, running, settings, soon
from tests.examples import examples
from tests.wire.items import one_by_one

if TYPE_CHECKING:
    from sapwood.broker.tcp_connection import TcpConnection


async def test_a_client_that_connects_again_replaces_its_lost_connection() -> None:
    async with running() as broker:
        first = await Raw.client(broker.address, "c", "s")
        second = await Raw.client(broker.address, "c", "s")
        assert (await first.goodbye()).code is GoodbyeCode.REPLACED
        second.say(Ping())
        assert await second.next() == Pong()
        assert list(broker.connections.clients) == ["c"]
        for raw in (first, second):
            await raw.close()


async def test_another_client_cannot_take_a_name_that_is_in_use() -> None:
    async with running() as broker:
        first = await Raw.client(broker.address, "c", "s")
        other, answer = await Raw.greet(
            broker.address, Hello(role=Role.CLIENT, name="c", session="t")
        )
        assert isinstance(answer, Refusal)
        assert answer.code is RefusalCode.NAME_TAKEN
        assert await other.rest() == b""
        first.say(Ping())
        assert await first.next() == Pong()
        assert broker.handshake.refusals == 1
        for raw in (first, other):
            await raw.close()


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"name": "r1"}, RefusalCode.NAME_TAKEN),
        ({"routing": "simple"}, RefusalCode.SETTINGS),
        ({"frame_bytes_max": 1}, RefusalCode.SETTINGS),
        ({"name": "n"}, RefusalCode.ALREADY_LINKED),
        ({"name": "n", "session": "other"}, RefusalCode.NAME_TAKEN),
    ],
)
async def test_a_broker_that_does_not_fit_is_refused(
    change: dict[str, Any], code: RefusalCode
) -> None:
    async with running() as broker:
        neighbor = await Raw.neighbor(broker, "n")
        fields = {
            "name": "x",
            "session": "s",
            "routing": "covering",
            "frame_bytes_max": FRAME_BYTES_MAX,
        }
        hello = Hello(role=Role.BROKER, **{**fields, **change})
        raw, answer = await Raw.greet(broker.address, hello)
        assert isinstance(answer, Refusal)
        assert (answer.code, answer.name) == (code, "r1")
        for tcp in (neighbor, raw):
            await tcp.close()


async def test_who_is_refused_again_for_the_same_reason_is_no_news() -> None:
    story = Story()
    async with running(story=story) as broker:
        for routing in ("flooding", "flooding", "simple", "simple"):
            hello = msgspec.structs.replace(link_hello(broker, "r2"), routing=routing)
            raw, answer = await Raw.greet(broker.address, hello)
            assert isinstance(answer, Refusal)
            await raw.close()
    refused = [one for one in story.entries if one["event"] == "connection refused"]
    assert [one["level"] for one in refused] == ["warning", "debug", "warning", "debug"]


async def test_a_broker_does_not_link_to_itself() -> None:
    story = Story()
    async with running(story=story) as broker:
        broker.keep_link(broker.address)
        (dialer,) = [t for t in asyncio.all_tasks() if t.get_name() == f"dial {broker.address}"]
        await soon(asyncio.wait((dialer,)))
        assert story.reasons("not connecting again") == ["broker r1 cannot link to itself"]


async def test_an_offered_link_that_is_declined_is_no_link() -> None:
    async with running() as broker:
        raw, answer = await Raw.greet(broker.address, link_hello(broker))
        assert isinstance(answer, Welcome)
        assert broker.connections.links == {}
        await raw.close()
        await soon(broker.connections.until(lambda: not broker.connections.offered))
        assert isinstance(broker.router, Router)
        assert broker.router.membership.neighbors() == ()


async def test_a_neighbor_that_establishes_two_links_keeps_the_first() -> None:
    async with running() as broker:
        first, _ = await Raw.greet(broker.address, link_hello(broker))
        second, _ = await Raw.greet(broker.address, link_hello(broker))
        for raw in (first, second):
            raw.say(LinkEstablished())
        assert (await second.goodbye()).code is GoodbyeCode.ALREADY_LINKED
        first.say(Ping())
        assert await first.next() == Pong()
        for raw in (first, second):
            await raw.close()


@pytest.mark.parametrize("names", [("r1", "r2"), ("r2", "r1")])
async def test_two_brokers_that_connect_to_each_other_have_one_link(names: tuple[str, str]) -> None:
    one_name, other_name = names
    async with running(settings(one_name)) as one, running(settings(other_name)) as other:
        one.keep_link(other.address)
        other.keep_link(one.address)
        await soon(one.until_linked(other_name))
        await soon(other.until_linked(one_name))
        # The connection that is not kept goes; the link stays.
        await soon(one.connections.until(lambda: len(one.connections.all) == 1))
        await soon(other.connections.until(lambda: len(other.connections.all) == 1))
        assert list(one.connections.links) == [other_name]
        assert list(other.connections.links) == [one_name]
        # When it is lost, either side makes it again.
        one.connections.links[other_name].abort()
        await soon(one.connections.until(lambda: not one.connections.links))
        await soon(one.until_linked(other_name))
        await soon(other.until_linked(one_name))


# Two brokers in memory, every order of arrival --------------------------------------------------


@dataclass(slots=True, eq=False)
class Wire:
    """One end of a connection in memory."""

    connection: Connection
    dialed: bool
    address: str = "memory"
    client: Any = None
    link: Any = None
    was_up: bool = False
    is_datagram: bool = False
    mail: list[bytes] = field(default_factory=list)

    def flush(self) -> None:
        data = self.connection.take_outgoing()
        if data:
            self.mail.append(data)


class Side:
    """One broker's reception, with what the broker does around it."""

    def __init__(self, name: str) -> None:
        self.connections = Connections()
        me = Identity(name, f"session of {name}", "covering", 1000)
        self.handshake = Handshake(me, self.connections, SessionMemory(), Story().log)

    def end(self, role: Role | None) -> Wire:
        wire = Wire(Connection(role, ConnectionSettings(), 0.0), role is not None)
        if role is not None:
            wire.connection.greet(self.handshake.hello())
            wire.flush()
        return wire

    def hear(self, wire: Wire, data: bytes) -> None:
        tcp = cast("TcpConnection", wire)
        for message in one_by_one(wire.connection.receive(data, 0.0)):
            if wire.link is None:
                self.handshake.greeted(tcp, message)
            elif isinstance(message, LinkEstablished):
                self.handshake.established(tcp)
        wire.flush()

    def sweep(self) -> None:
        """Take out what has ended, as the broker does when it flushes."""
        for name in [n for n, tcp in self.connections.links.items() if tcp.connection.ended]:
            del self.connections.links[name]
        for tcp in [tcp for tcp in self.connections.offered if tcp.connection.ended]:
            del self.connections.offered[tcp]


@settings_of_examples(max_examples=examples(200))
@given(st.integers(0, 2**32), st.integers(1, 3), st.integers(1, 3))
def test_any_order_of_arrival_leaves_one_link_that_both_ends_agree_on(
    seed: int, from_one: int, from_other: int
) -> None:
    random = Random(seed)
    one, other = Side("r1"), Side("r2")
    pairs: list[tuple[tuple[Side, Wire], tuple[Side, Wire]]] = []
    to_start = [(one, other)] * from_one + [(other, one)] * from_other
    random.shuffle(to_start)
    while True:
        full = [
            (source, target)
            for pair in pairs
            for source, target in (pair, pair[::-1])
            if source[1].mail
        ]
        if to_start and (not full or random.random() < 0.3):
            dialer, acceptor = to_start.pop()
            pairs.append(((dialer, dialer.end(Role.BROKER)), (acceptor, acceptor.end(None))))
        elif full:
            (_, sender), (side, receiver) = random.choice(full)
            side.hear(receiver, sender.mail.pop(0))
            one.sweep()
            other.sweep()
        else:
            break
    up = [(a, b) for (_, a), (_, b) in pairs if a.connection.open and b.connection.open]
    assert len(up) == 1
    assert list(one.connections.links) == ["r2"]
    assert list(other.connections.links) == ["r1"]
    ends = {id(one.connections.links["r2"]), id(other.connections.links["r1"])}
    assert ends == {id(end) for end in up[0]}
    assert link_of(one.connections.links["r2"]).session == "session of r2"
    assert not one.connections.offered
    assert not other.connections.offered


def test_a_message_is_no_greeting() -> None:
    side = Side("r1")
    tcp = cast("TcpConnection", side.end(None))
    with pytest.raises(FrameError, match="a Ping is no greeting"):
        side.handshake.greeted(tcp, Ping())


async def test_a_welcome_of_a_barred_neighbor_is_declined() -> None:
    async with running(settings("r1")) as r1, running(settings("r2")) as r2:
        r1.connections.barred.add(("r2", r2.handshake.me.session))
        tcp = await r1.connect(r2.address)
        ending = await soon(asyncio.shield(tcp.finished))
        assert (ending.code, ending.by_peer) == (GoodbyeCode.BARRED, False)
        assert r1.connections.links == r2.connections.links == {}
