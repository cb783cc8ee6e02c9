"""Brokers under failover: who has lost its peer links to a backup, given or named."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import AsyncExitStack

import pytest

from sapwood.broker.broker import Broker
from sapwood.client import connect
from sapwood.model.publication import Publication
from sapwood.wire.address import Address
from tests.broker.helpers import running, settings, soon

PROTOCOL = "failover:1+covering"


async def _until(holds: Callable[[], bool]) -> None:
    while not holds():
        await asyncio.sleep(0.01)


def _are_linked(one: Broker, other: Broker) -> bool:
    return other.name in one.connections.links and one.name in other.connections.links


@pytest.mark.parametrize("is_given", [True, False])
async def test_a_broker_whose_peer_is_gone_links_to_its_backup(*, is_given: bool) -> None:
    async with AsyncExitStack() as below, running(settings("hub", protocol=PROTOCOL)) as hub:
        north = await below.enter_async_context(
            running(settings("north", hub.address, protocol=PROTOCOL))
        )
        await soon(_until(lambda: _are_linked(hub, north)))
        backups = (hub.address,) if is_given else ()
        shop_settings = settings("shop", north.address, backups=backups, protocol=PROTOCOL)
        async with (
            running(shop_settings) as shop,
            connect(str(shop.address)) as subscriber,
            connect(str(hub.address)) as publisher,
        ):
            await soon(_until(lambda: _are_linked(north, shop)))
            wanted = await subscriber.subscribe("a > 1")
            await below.aclose()
            await soon(_until(lambda: _are_linked(hub, shop)))
            await soon(_until(lambda: any(hub.router.received())))
            await publisher.publish(Publication("p1", {"a": 2}))
            assert (await soon(anext(wanted))).id == "p1"


async def test_a_backup_that_would_close_a_circle_is_passed_over() -> None:
    """The leaf is below the shop: a link there would be a second way between the two."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        leaf_address = Address("127.0.0.1", taken.getsockname()[1])
    async with AsyncExitStack() as below, running(settings("hub", protocol=PROTOCOL)) as hub:
        north = await below.enter_async_context(
            running(settings("north", hub.address, protocol=PROTOCOL))
        )
        backups = (leaf_address, hub.address)
        shop_settings = settings("shop", north.address, backups=backups, protocol=PROTOCOL)
        async with running(shop_settings) as shop:
            desk_settings = settings("desk", shop.address, protocol=PROTOCOL)
            async with running(desk_settings) as desk:
                leaf_settings = settings(
                    "leaf", desk.address, listen=leaf_address, protocol=PROTOCOL
                )
                async with (
                    running(leaf_settings) as leaf,
                    connect(str(leaf.address)) as subscriber,
                    connect(str(hub.address)) as publisher,
                ):
                    await soon(_until(lambda: _are_linked(north, shop)))
                    await soon(_until(lambda: _are_linked(desk, leaf)))
                    wanted = await subscriber.subscribe("a > 1")
                    await below.aclose()
                    await soon(_until(lambda: _are_linked(hub, shop)))
                    assert not _are_linked(shop, leaf)
                    await soon(_until(lambda: any(hub.router.received())))
                    await publisher.publish(Publication("p1", {"a": 2}))
                    assert (await soon(anext(wanted))).id == "p1"
