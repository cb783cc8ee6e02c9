"""Links that a broker keeps by itself, and those that its router asks for."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from sapwood.broker.broker import Broker
from sapwood.routing.protocols import protocol
from tests.broker.helpers import Story, running, settings, soon
from tests.routing.seams.calling import calling

COVERING = protocol("covering")


def dialers() -> list[str]:
    return [t.get_name() for t in asyncio.all_tasks() if t.get_name().startswith("dial ")]


async def test_a_link_that_the_router_asks_for_comes_and_goes() -> None:
    story = Story()
    async with running(settings("r2")) as r2:
        upkeep = calling("r1", "r2", str(r2.address))
        called = replace(COVERING, upkeep=replace(upkeep, name="replay"))
        async with running(settings("r1", protocol=called), story) as r1:
            await soon(r1.until_linked("r2"))
            assert dialers() == [f"dial {r2.address}"]
            await soon(r1.roster.until(lambda: not r1.roster.links))
            assert dialers() == []
    assert story.lines[1:] == ["link up r2", "link down r2"]


async def test_a_link_that_was_given_stays_though_the_router_gives_it_up() -> None:
    async with running(settings("r2")) as r2, running(settings("r1", r2.address)) as r1:
        await soon(r1.until_linked("r2"))
        linking = r1._linking
        linking.ask("r2", str(r2.address))
        linking.ask("r2", str(r2.address))
        linking.release("r2")
        assert dialers() == [f"dial {r2.address}"]
        linking.release("r9")


async def test_a_router_that_moves_is_called_at_its_new_address() -> None:
    async with running(settings("r2")) as old, running(settings("r1")) as r1:
        r1._linking.ask("r2", str(old.address))
        await soon(r1.until_linked("r2"))
        await old.stop()
        await soon(r1.roster.until(lambda: not r1.roster.links))
        async with running(settings("r2")) as new:
            r1._linking.ask("r2", str(new.address))
            await soon(r1.until_linked("r2"))


@pytest.mark.parametrize("address", ["", "nowhere:", "::1:7"])
async def test_an_address_that_is_none_is_logged(address: str) -> None:
    story = Story()
    async with running(settings("r1"), story) as r1:
        assert isinstance(r1, Broker)
        r1._linking.ask("r2", address)
        assert dialers() == []
    assert len(story.reasons("no link")) == 1
