"""Links that a broker keeps up, and those that its router asks for."""

from __future__ import annotations

import asyncio
import socket
from dataclasses import replace

import pytest

from sapwood.broker.broker import Broker
from sapwood.broker.connections import Connections
from sapwood.broker.dialing import Dialer
from sapwood.broker.logs import Log
from sapwood.broker.tcp_connection import TcpConnection
from sapwood.routing.protocols import protocol
from sapwood.wire.address import Address
from tests.broker.helpers import ANY_PORT, Story, running, settings, soon
from tests.routing.seams.calling import calling


async def refuse(_address: Address) -> TcpConnection:
    raise ConnectionRefusedError(111, "Connect call failed")


async def test_a_dialer_survives_a_host_that_cannot_be() -> None:
    story = Story()
    async with running(settings("r1", Address("a..b", 1)), story):
        while not story.reasons("no link"):
            await asyncio.sleep(0.001)
    assert story.reasons("no link")[0].startswith("cannot connect: ")


async def test_a_dialer_goes_on_until_somebody_is_there() -> None:
    with socket.socket() as reserved:  # bound, but nobody listens
        reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        reserved.bind(("127.0.0.1", 0))
        address = Address("127.0.0.1", reserved.getsockname()[1])
    story = Story()
    async with running(settings("r2", address), story) as r2:
        while not story.reasons("no link"):
            await asyncio.sleep(0)
        async with running(settings("r1", listen=address)) as r1:
            await soon(r2.until_linked("r1"))
            await soon(r1.until_linked("r2"))
    assert story.reasons("no link")[0].startswith("cannot connect: ")


async def test_a_dialer_logs_a_reason_once_and_then_only_for_debugging() -> None:
    story = Story()
    dialer = Dialer(ANY_PORT, refuse, Connections(), story.log)
    task = asyncio.create_task(dialer.run())
    while len(story.reasons("no link")) < 3:
        await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.wait((task,))
    levels = [entry["level"] for entry in story.entries]
    assert levels == ["warning", "debug", "debug"]
    assert [entry["failures"] for entry in story.entries] == [1, 2, 3]


async def test_a_dialer_comes_back_after_a_broker_has_stopped() -> None:
    async with running(settings("r1")) as r1:
        address = r1.address
        async with running(settings("r2", address)) as r2:
            await soon(r1.until_linked("r2"))
            await r1.stop()
            await soon(r2.connections.until(lambda: not r2.connections.links))
            async with running(settings("r1", listen=address)) as again:
                await soon(again.until_linked("r2"))


async def test_a_dialer_whose_broker_is_linked_already_waits_for_the_end_of_that_link() -> None:
    story = Story()
    async with running(settings("r1")) as r1, running(settings("r2"), story) as r2:
        r1.keep_link(r2.address)
        await soon(r2.until_linked("r1"))
        r2.keep_link(r1.address)
        # It is refused, and then it waits: no further connection is made.
        await soon(r1.connections.until(lambda: r1.handshake.refusals == 1))
        (dialer,) = [t for t in asyncio.all_tasks() if t.get_name() == f"dial {r1.address}"]
        assert not dialer.done()
        assert story.reasons("no link") == []
        connections = r1.counters.connections
        r2.connections.links["r1"].abort()
        await soon(r2.connections.until(lambda: not r2.connections.links))
        await soon(r2.until_linked("r1"))
        assert r1.counters.connections > connections


def test_a_dialer_keeps_its_address() -> None:
    log: Log = Story().log
    assert Dialer(ANY_PORT, refuse, Connections(), log).address == ANY_PORT


COVERING = protocol("covering")


def dialing() -> list[str]:
    return [t.get_name() for t in asyncio.all_tasks() if t.get_name().startswith("dial ")]


async def test_a_link_that_the_router_asks_for_comes_and_goes() -> None:
    story = Story()
    async with running(settings("r2")) as r2:
        upkeep = calling("r1", "r2", str(r2.address))
        called = replace(COVERING, upkeep=replace(upkeep, name="replay"))
        async with running(settings("r1", protocol=called), story) as r1:
            await soon(r1.until_linked("r2"))
            assert dialing() == [f"dial {r2.address}"]
            await soon(r1.connections.until(lambda: not r1.connections.links))
            assert dialing() == []
    assert story.lines[1:] == ["link up r2", "link down r2"]


async def test_a_link_that_was_given_stays_though_the_router_gives_it_up() -> None:
    async with running(settings("r2")) as r2, running(settings("r1", r2.address)) as r1:
        await soon(r1.until_linked("r2"))
        r1.dialers.ask("r2", str(r2.address))
        r1.dialers.ask("r2", str(r2.address))
        r1.dialers.release("r2")
        assert dialing() == [f"dial {r2.address}"]
        r1.dialers.release("r9")


async def test_a_router_that_moves_is_called_at_its_new_address() -> None:
    async with running(settings("r2")) as old, running(settings("r1")) as r1:
        r1.dialers.ask("r2", str(old.address))
        await soon(r1.until_linked("r2"))
        await old.stop()
        await soon(r1.connections.until(lambda: not r1.connections.links))
        async with running(settings("r2")) as new:
            r1.dialers.ask("r2", str(new.address))
            await soon(r1.until_linked("r2"))


@pytest.mark.parametrize("address", ["", "nowhere:", "::1:7"])
async def test_an_address_that_is_none_is_logged(address: str) -> None:
    story = Story()
    async with running(settings("r1"), story) as r1:
        assert isinstance(r1, Broker)
        r1.dialers.ask("r2", address)
        assert dialing() == []
    assert len(story.reasons("no link")) == 1
