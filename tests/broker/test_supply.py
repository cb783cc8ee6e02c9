"""Clients hear over sockets whether somebody advertises what they want."""

from __future__ import annotations

import pytest

from sapwood.client import connect
from sapwood.routing.protocols import protocol
from tests.broker.helpers import line, running, settings, soon


@pytest.mark.parametrize("word", ["advertisement+covering", "advertisement+covering+leases"])
async def test_a_client_hears_when_nobody_advertises_and_when_somebody_does(word: str) -> None:
    async with (
        line("r1", "r2", protocol=protocol(word)) as brokers,
        connect(str(brokers["r2"].address)) as subscriber,
    ):
        wanted = await subscriber.subscribe("a = 1")
        group = await subscriber.subscribe_many({"g1": "a = 1", "g2": "a = -1"})
        assert not wanted.advertised
        assert group.unadvertised == {"g1", "g2"}
        async with connect(str(brokers["r1"].address)) as publisher:
            await publisher.advertise("a > 0")
            while not wanted.advertised:
                await soon(wanted.supply_changed())
            await publisher.publish({"a": 1}, "p")
            assert (await soon(anext(wanted))).id == "p"
            assert group.unadvertised == {"g2"}
        while wanted.advertised:
            await soon(wanted.supply_changed())
        assert group.unadvertised == {"g1", "g2"}


async def test_waiting_ends_with_the_client() -> None:
    async with line("r1") as brokers:
        async with connect(str(brokers["r1"].address)) as client:
            wanted = await client.subscribe("a = 1")
            assert wanted.advertised
        await soon(wanted.supply_changed())


async def test_on_a_later_connection_a_client_forgets_what_it_heard_and_hears_it_anew() -> None:
    word = protocol("advertisement")
    async with running(settings(protocol=word)) as broker:
        address = broker.address
        subscriber = connect(str(address), "sub")
        await subscriber.__aenter__()
        wanted = await subscriber.subscribe("a = 1")
        other = await subscriber.subscribe("a = -1")
        assert not wanted.advertised
        assert not other.advertised
    async with running(settings(protocol=word, listen=address)), connect(str(address)) as publisher:
        await publisher.advertise("a > 0")
        while not wanted.advertised or other.advertised:
            await soon(wanted.supply_changed() if not wanted.advertised else other.supply_changed())
        await subscriber.close()
