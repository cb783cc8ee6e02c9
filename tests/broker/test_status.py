"""The status of a broker: links and their delays, tables, counters, its store."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from sapwood.asking.status import StatusReader
from sapwood.broker.broker import Broker
from sapwood.broker.status import delay_bounds_s
from sapwood.client import connect
from sapwood.routing.messages import Subscribe
from sapwood.timing.link_bounds import Passage
from sapwood.wire.address import Address
from sapwood.wire.status import LinkStatus, StatusReply
from tests.broker.helpers import Raw, line, running, settings, soon

pytestmark = pytest.mark.network


async def asked(broker: Broker) -> StatusReply:
    def ask() -> StatusReply:
        with StatusReader(str(broker.address)) as reader:
            return reader.status()

    return await asyncio.to_thread(ask)


def test_bounds_are_in_seconds() -> None:
    assert delay_bounds_s(Passage(350_000, 150_000)) == (0.00015, 0.00035)
    assert delay_bounds_s(Passage(None, 0)) == (None, None)
    assert delay_bounds_s(None) == (None, None)


async def test_links_clients_tables_and_counters_are_those_of_the_broker() -> None:
    async with (
        line("r1", "r2", "r3") as brokers,
        connect(str(brokers["r2"].address)) as client,
    ):
        await client.subscribe("a > 1")
        await client.publish({"a": 2}, id="p")
        found = await asked(brokers["r2"])
        assert (found.broker, found.clients) == ("r2", 2), "who asks is a client"
        assert found.tables == brokers["r2"].router.table_sizes()
        assert (found.tables["local"], found.tables["propagated"]) == (1, 2)
        assert found.events["publications"] == 1
        assert [(link.name, link.up, link.behind) for link in found.links] == [
            ("r1", True, False),
            ("r3", True, False),
        ]


async def test_bounds_of_a_delay_are_those_of_the_last_message_of_the_link() -> None:
    async with line("r1", "r2") as brokers:
        tcp = brokers["r2"].connections.links["r1"]
        keeper = tcp.connection.timekeeper
        assert keeper is not None
        assert keeper.bounds is not None
        keeper.bounds.last = Passage(7_000_000, 2_000_000)
        (link,) = (await asked(brokers["r2"])).links
        assert (link.delay_min_s, link.delay_max_s) == (0.002, 0.007)


async def test_an_address_at_which_there_is_no_neighbor_is_a_link_that_is_down() -> None:
    nowhere = Address("127.0.0.1", 1)
    async with running(settings("r1", nowhere)) as broker:
        assert (await asked(broker)).links == (LinkStatus("127.0.0.1:1", up=False),)
    async with line("r1", "r2") as brokers:
        for broker in brokers.values():
            assert [link.up for link in (await asked(broker)).links] == [True]


async def test_what_a_neighbor_has_yet_to_confirm_is_counted() -> None:
    async with running(settings()) as broker:
        raw = await Raw.neighbor(broker)
        async with connect(str(broker.address)) as client:
            wanted = asyncio.create_task(client.subscribe("a > 1"))
            await soon(raw.until(Subscribe))
            (link,) = (await asked(broker)).links
            assert (link.name, link.unconfirmed) == ("raw", 1)
            await raw.close()
            await soon(wanted)


async def test_a_store_says_its_durability_and_what_it_holds(tmp_path: Path) -> None:
    async with running(settings(data=tmp_path)) as broker:
        async with connect(str(broker.address)) as client:
            await client.publish({"a": 2}, id="p")
        store = (await asked(broker)).store
        assert store is not None
        assert store.durability == str(broker.settings.durability)
        assert (store.first, store.end) == (0, 1)
