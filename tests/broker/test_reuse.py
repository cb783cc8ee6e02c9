"""Forwarding by digests between brokers on a circle, one of whose links is cut and comes back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from itertools import combinations

import pytest

from sapwood.broker.broker import Broker
from sapwood.client import connect
from sapwood.client.client import Client
from sapwood.client.subscription import ClientSubscription
from sapwood.language.xpath import parse_xpath
from sapwood.model.publication import Publication
from sapwood.routing.protocols import protocol
from tests.broker.helpers import line, running, settings, soon

COUNT = 40
"""Records of a batch, of which half are for the subscriber; a tenth as many documents are there."""

NAMES = ("r1", "r2", "r3")
WORDS = (
    "mesh+simple+reuse:always",
    "mesh+simple+reuse:partial:2",
    "mesh+simple+reuse:never",
    "mesh+covering+reuse:partial:2",
    "mesh+identity+bloom",
    "mesh+identity+bloom:64:1",
)


def batch(word: str) -> list[Publication]:
    """Records and documents, half of which somebody wants."""
    records = [Publication(f"{word}r{number}", {"a": number}) for number in range(COUNT)]
    documents = [
        Publication(f"{word}d{number}", document=f"<a><{'bc'[number % 2]}/></a>".encode())
        for number in range(COUNT // 10)
    ]
    return [*records, *documents]


async def deliveries(wanted: ClientSubscription, count: int) -> list[str]:
    return [(await soon(anext(wanted))).id for _ in range(count)]


async def assert_exact(
    publisher: Client,
    word: str,
    records: Sequence[ClientSubscription],
    documents: Sequence[ClientSubscription],
) -> None:
    """Publish a batch; every subscriber gets what it wants, in order, and nothing else."""
    await soon(publisher.publish_many(batch(word)))
    for wanted in records:
        due = [f"{word}r{number}" for number in range(COUNT // 2, COUNT)]
        assert await deliveries(wanted, COUNT // 2) == due
    for wanted in documents:
        due = [f"{word}d{number}" for number in range(0, COUNT // 10, 2)]
        assert await deliveries(wanted, COUNT // 20) == due
    assert not any(map(len, (*records, *documents)))


@asynccontextmanager
async def circle(word: str) -> AsyncIterator[dict[str, Broker]]:
    """Three brokers, each linked to both others."""
    async with AsyncExitStack() as stack:
        brokers: dict[str, Broker] = {}
        for name in NAMES:
            peers = [one.address for one in brokers.values()]
            one = running(settings(name, *peers, protocol=protocol(word)))
            brokers[name] = await stack.enter_async_context(one)
        await linked(brokers)
        yield brokers


async def linked(brokers: dict[str, Broker]) -> None:
    for one, other in combinations(brokers, 2):
        await soon(brokers[one].until_linked(other))
        await soon(brokers[other].until_linked(one))


async def cut(brokers: dict[str, Broker], one: str, other: str) -> None:
    """Cut a link: it is another one when this returns, as whoever dialed does so again."""
    fallen = brokers[one].connections.links[other]
    fallen.abort()
    connections = brokers[one].connections
    await soon(connections.until(lambda: connections.links.get(other) is not fallen))
    await linked(brokers)


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.one_in(3)
async def test_brokers_on_a_circle_deliver_exactly_before_and_after_a_cut(word: str) -> None:
    async with (
        circle(word) as brokers,
        connect(str(brokers["r1"].address)) as publisher,
        connect(str(brokers["r2"].address)) as near,
        connect(str(brokers["r3"].address)) as far,
    ):
        clients = (near, far)
        records = [await soon(one.subscribe(f"a >= {COUNT // 2}")) for one in clients]
        documents = [await soon(one.subscribe(parse_xpath("//b"))) for one in clients]
        await assert_exact(publisher, "before", records, documents)
        for one, other in (("r1", "r3"), ("r2", "r1")):
            await cut(brokers, one, other)
            # It is confirmed when the trees that are in force then have it everywhere.
            fence = await soon(far.subscribe("fence = 1"))
            await soon(far.unsubscribe(fence))
            await assert_exact(publisher, f"after {one} {other} ", records, documents)


@pytest.mark.parametrize("word", ["simple+reuse:always", "identity+bloom"])
async def test_a_client_that_leaves_in_the_midst_of_batches_gets_nothing_of_others(
    word: str,
) -> None:
    async with (
        line(*NAMES, protocol=protocol(word)) as brokers,
        connect(str(brokers["r1"].address)) as publisher,
        connect(str(brokers["r3"].address)) as leaving,
        connect(str(brokers["r3"].address)) as staying,
    ):
        going = await soon(leaving.subscribe(f"a >= {COUNT // 2}"))
        stays = await soon(staying.subscribe(f"a >= {COUNT // 2}"))
        task = asyncio.create_task(publisher.publish_many(batch("first")))
        await soon(leaving.unsubscribe(going))
        # It takes the place of the one that has left, while that may be named under way.
        other = await soon(staying.subscribe("a > 1000"))
        await soon(task)
        due = [f"firstr{number}" for number in range(COUNT // 2, COUNT)]
        assert await deliveries(stays, COUNT // 2) == due
        await soon(publisher.publish({"a": 1001}, id="last"))
        assert await deliveries(stays, 1) == ["last"] == await deliveries(other, 1)
        assert len(stays) == len(other) == 0
