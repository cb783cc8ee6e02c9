"""Who is connected, and waiting for a change."""

from __future__ import annotations

import asyncio

import pytest

from sapwood.broker.roster import Roster, client_of, link_of
from tests.broker.helpers import Raw, running, soon


async def test_until_returns_at_once_where_the_condition_holds() -> None:
    await soon(Roster().until(lambda: True))


async def test_until_looks_after_each_change() -> None:
    roster = Roster()
    looks = 0

    def third() -> bool:
        nonlocal looks
        looks += 1
        return looks == 3

    waiting = asyncio.create_task(roster.until(third))
    while not waiting.done():
        roster.changed()
        await asyncio.sleep(0)
    assert looks == 3


async def test_a_waiter_that_gave_up_does_not_disturb_the_next_change() -> None:
    roster = Roster()
    waiting = asyncio.create_task(roster.until(lambda: False))
    await asyncio.sleep(0)
    waiting.cancel()
    await asyncio.wait((waiting,))
    roster.changed()


async def test_a_roster_knows_who_is_who() -> None:
    async with running() as broker:
        client = await Raw.client(broker.address, "c")
        neighbor = await Raw.neighbor(broker, "n", "session of n")
        roster = broker.roster
        assert roster.link_sessions() == {"n": "session of n"}
        assert client_of(roster.clients["c"]).name == "c"
        assert link_of(roster.links["n"]).name == "n"
        with pytest.raises(AssertionError):
            client_of(roster.links["n"])
        with pytest.raises(AssertionError):
            link_of(roster.clients["c"])
        for raw in (client, neighbor):
            await raw.close()
