"""The roster of connections, and waiting for a change of it."""

from __future__ import annotations

import asyncio

import pytest

from sapwood.broker.connections import Connections, client_of, link_of
from tests.broker.helpers import Raw, running, soon


async def test_until_returns_at_once_where_the_condition_holds() -> None:
    await soon(Connections().until(lambda: True))


async def test_until_looks_after_each_change() -> None:
    connections = Connections()
    looks = 0

    def third() -> bool:
        nonlocal looks
        looks += 1
        return looks == 3

    waiting = asyncio.create_task(connections.until(third))
    while not waiting.done():
        connections.changed()
        await asyncio.sleep(0)
    assert looks == 3


async def test_a_waiter_that_gave_up_does_not_disturb_the_next_change() -> None:
    connections = Connections()
    waiting = asyncio.create_task(connections.until(lambda: False))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait((waiting,))
    connections.changed()


async def test_a_roster_knows_who_is_who() -> None:
    async with running() as broker:
        client = await Raw.client(broker.address, "c")
        neighbor = await Raw.neighbor(broker, "n", "session of n")
        connections = broker.connections
        assert connections.link_sessions() == {"n": "session of n"}
        assert client_of(connections.clients["c"]).name == "c"
        assert link_of(connections.links["n"]).name == "n"
        with pytest.raises(AssertionError):
            client_of(connections.links["n"])
        with pytest.raises(AssertionError):
            link_of(connections.clients["c"])
        for raw in (client, neighbor):
            await raw.close()
