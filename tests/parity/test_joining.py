"""Broker processes that find each other over TCP, given one address at most."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from pathlib import Path
from random import Random

import pytest

import sapwood
from sapwood.client.client import Client
from sapwood.client.durable import DurableDelivery
from sapwood.client.subscription import ClientSubscription
from sapwood.limits.structured import LEAVES_HALF
from sapwood.model.publication import Publication
from sapwood.overlay.identifiers import slot_of
from sapwood.routing.membership.pastry.choice import space_of
from sapwood.testing.overlay import BrokerProcess
from tests.broker.helpers import soon
from tests.forked import forking
from tests.patience import PATIENCE_S

SPACE = space_of(4)


@contextmanager
def joined(count: int, protocol: str, random: Random) -> Iterator[dict[str, BrokerProcess]]:
    """So many broker processes, each of which has joined by one that was there."""
    with forking():
        processes: dict[str, BrokerProcess] = {}
        try:
            for number in range(count):
                start(processes, f"b{number}", protocol, random)
            yield processes
        finally:
            for process in processes.values():
                process.close()


def start(
    processes: dict[str, BrokerProcess], name: str, protocol: str, random: Random, *more: str
) -> None:
    by = [processes[random.choice(sorted(processes))].address] if processes else []
    joins = [word for address in by for word in ("--join", address)]
    options = ("--listen", "127.0.0.1:0", "--protocol", protocol, *joins, *more)
    process = processes[name] = BrokerProcess(name, options)
    process.wait_until("listening", lambda: bool(process.address), PATIENCE_S)


def lacking(name: str, linked: set[str], alive: set[str]) -> list[str]:
    """The leaves and slots that a broker lacks, by the places of all alive, and links too many."""
    at = {one: SPACE.identifier_of(one) for one in alive}
    order = sorted(alive, key=at.__getitem__)
    place, near = order.index(name), min(LEAVES_HALF, len(order) - 1)
    leaves = {order[(place + step) % len(order)] for step in range(-near, near + 1)} - {name}
    slots = {slot_of(at[name], at[other]) for other in alive - {name}}
    held = {slot_of(at[name], at[other]) for other in linked & alive}
    return sorted((leaves - linked) | (slots - held) | (linked - alive))


def wait_whole(processes: dict[str, BrokerProcess]) -> None:
    """Return when every broker has its leaves and somebody in each slot where anybody is."""
    alive = set(processes)
    for name, process in processes.items():

        def is_whole(name: str = name, process: BrokerProcess = process) -> bool:
            return not lacking(name, process.linked, alive)

        process.wait_until("in its place on the circle", is_whole, PATIENCE_S)


@asynccontextmanager
async def connected_to(process: BrokerProcess) -> AsyncIterator[Client]:
    async with sapwood.connect(process.address) as client:
        yield client


async def connected(stack: AsyncExitStack, process: BrokerProcess) -> Client:
    return await stack.enter_async_context(sapwood.connect(process.address))


async def assert_all_get(
    word: str,
    clients: dict[str, Client],
    wanted: dict[str, tuple[int, ClientSubscription]],
) -> None:
    """Every value from everywhere comes to whom it is due, once, and nothing else does."""
    values = sorted({value for value, _ in wanted.values()})
    for home, client in clients.items():
        for value in values:
            await client.publish(Publication(f"{word}-{home}-{value}", {"x": value}))
    for value, subscription in wanted.values():
        due = {f"{word}-{home}-{value}": 1 for home in clients}
        got = [(await soon(anext(subscription))).id for _ in due]
        assert Counter(got) == due


@pytest.mark.network
@pytest.mark.parametrize("protocol", ["irbr", "scribe", "rpf", "irbr:near"])
@pytest.mark.one_in(3)
async def test_processes_make_a_network_with_no_other_configuration(protocol: str) -> None:
    with joined(5, protocol, Random(1)) as processes:
        wait_whole(processes)
        async with AsyncExitStack() as stack:
            clients = {name: await connected(stack, one) for name, one in processes.items()}
            wanted = {
                name: (at % 3, await client.subscribe(f"x = {at % 3}"))
                for at, (name, client) in enumerate(clients.items())
            }
            await assert_all_get("whole", clients, wanted)


@pytest.mark.network
@pytest.mark.long
@pytest.mark.parametrize("protocol", ["irbr", "scribe", "rpf"])
async def test_nothing_is_lost_once_thirty_processes_have_repaired_after_kills(
    protocol: str,
) -> None:
    random = Random(3)
    with joined(30, protocol, random) as processes:
        wait_whole(processes)
        async with AsyncExitStack() as stack:
            clients, wanted = dict[str, Client](), dict[str, tuple[int, ClientSubscription]]()
            for at, (name, one) in enumerate(processes.items()):
                clients[name] = await connected(stack, one)
                wanted[name] = at, await clients[name].subscribe(f"x = {at}")
            await assert_all_get("before", clients, wanted)
            for name in random.sample(sorted(processes), 10):
                processes.pop(name).close()
                del wanted[name]
                await clients.pop(name).close()
            wait_whole(processes)
            await assert_all_get("after", clients, wanted)


@pytest.mark.network
@pytest.mark.one_in(3)
@pytest.mark.parametrize("protocol", ["irbr", "scribe", "rpf"])
async def test_a_mailbox_fills_while_its_consumer_is_away_and_outlives_its_broker(
    protocol: str, tmp_path: Path
) -> None:
    with joined(3, protocol, Random(2)) as processes:
        home = "b9"
        keep = ("--data", str(tmp_path / home))
        start(processes, home, protocol, Random(2), *keep)
        wait_whole(processes)
        async with connected_to(processes[home]) as client:
            orders = await client.subscribe("x = 1", durable="orders")
            async with connected_to(processes["b1"]) as other:
                await other.publish(Publication("first", {"x": 1}))
                delivery = await soon(anext(orders))
                assert delivery.id == "first"
                assert isinstance(delivery, DurableDelivery)
                delivery.acknowledge()
                await soon(orders.settled())
        async with connected_to(processes["b1"]) as other:
            await other.publish(Publication("away", {"x": 1}))
            await other.publish(Publication("none", {"x": 2}))
        async with connected_to(processes[home]) as client:
            orders = await client.subscribe("x = 1", durable="orders")
            assert (await soon(anext(orders))).id == "away"
        processes.pop(home).close()
        start(processes, home, protocol, Random(2), *keep)
        wait_whole(processes)
        async with connected_to(processes["b2"]) as other:
            await other.publish(Publication("back", {"x": 1}))
        async with connected_to(processes[home]) as client:
            orders = await client.subscribe("x = 1", durable="orders")
            got = [(await soon(anext(orders))).id for _ in range(2)]
            assert got == ["away", "back"]
