"""Keeping a link to one address."""

from __future__ import annotations

import asyncio
import socket

from sapwood.broker.dialing import Dialer
from sapwood.broker.logs import Log
from sapwood.broker.peer import Peer
from sapwood.broker.roster import Roster
from sapwood.wire.address import Address
from tests.broker.helpers import ANY_PORT, Story, running, settings, soon


async def refuse(_address: Address) -> Peer:
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
    dialer = Dialer(ANY_PORT, refuse, Roster(), story.log)
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
            await soon(r2.roster.until(lambda: not r2.roster.links))
            async with running(settings("r1", listen=address)) as again:
                await soon(again.until_linked("r2"))


async def test_a_dialer_whose_broker_is_linked_already_waits_for_the_end_of_that_link() -> None:
    story = Story()
    async with running(settings("r1")) as r1, running(settings("r2"), story) as r2:
        r1.keep_link(r2.address)
        await soon(r2.until_linked("r1"))
        r2.keep_link(r1.address)
        # It is refused, and then it waits: no further connection is made.
        await soon(r1.roster.until(lambda: r1.reception.refusals == 1))
        (dialer,) = [t for t in asyncio.all_tasks() if t.get_name() == f"dial {r1.address}"]
        assert not dialer.done()
        assert story.reasons("no link") == []
        connections = r1.counters.connections
        r2.roster.links["r1"].abort()
        await soon(r2.roster.until(lambda: not r2.roster.links))
        await soon(r2.until_linked("r1"))
        assert r1.counters.connections > connections


def test_a_dialer_keeps_its_address() -> None:
    log: Log = Story().log
    assert Dialer(ANY_PORT, refuse, Roster(), log).address == ANY_PORT
