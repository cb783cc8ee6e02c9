"""Carries out a scenario over broker processes, with real clients on real connections.

What the simulator knows by looking, this driver learns by asking. *Confirmed*: every answer that a
client waits for has come. *Quiet*: a marker that each router publishes has reached every router,
and each client has then had an answer from its own router. Links and connections keep their order,
so whatever was under way before has arrived before.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

import sapwood
from sapwood.client.client import Client
from sapwood.client.subscription import Deliveries
from sapwood.errors import InputError
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.interest import Interest
from sapwood.session.delivery import Delivery
from sapwood.simulation.history import ClientName, SubscriptionName
from sapwood.simulation.scenario import (
    Action,
    AdvertiseAction,
    CrashRouter,
    DetachAction,
    PublishAction,
    ReturnRouter,
    Scenario,
    SubscribeAction,
    SubscribeManyAction,
    UnadvertiseAction,
    UnsubscribeAction,
    UnsubscribeManyAction,
    Until,
    WaitAction,
)
from sapwood.testing.overlay import BrokerProcesses
from tests.patience import PATIENCE_S

MARKER = "parity.marker"
WATCHER = "parity-watcher"

Pair = tuple[str, SubscriptionName]


class Driver:
    """One run of a scenario over the brokers of `overlay`."""

    def __init__(self, overlay: BrokerProcesses) -> None:
        self._overlay = overlay
        self._running = dict.fromkeys(overlay.names)
        self._clients: dict[ClientName, Client] = {}
        #: the publications that were refused, in order
        self.refused: list[str] = []
        #: client -> its wishes and its promises, by its ids: clients outlive their routers
        self._wishes: dict[ClientName, dict[str, Interest]] = {}
        self._promises: dict[ClientName, dict[str, AdvertisedContent]] = {}
        self._received: list[tuple[ClientName, Deliveries]] = []
        self._pending: list[asyncio.Task[Any]] = []
        self._markers = 0

    async def run(self, scenario: Scenario) -> Counter[Pair]:
        """Carry out all steps; returns each delivered pair and how often it was delivered."""
        try:
            for step in scenario.steps:
                await asyncio.sleep(step.after_s)
                await asyncio.wait_for(self._carry_out(step.action), PATIENCE_S)
            await asyncio.wait_for(self._quiet(), PATIENCE_S)
            published = {
                step.action.publication.id
                for step in scenario.steps
                if isinstance(step.action, PublishAction)
            }
            pairs: Counter[Pair] = Counter()
            for owner, queue in self._received:
                for delivery in await drained(queue):
                    if delivery.id in published:
                        pairs.update(
                            (delivery.id, SubscriptionName(*owner, id_))
                            for id_ in delivery.subscriptions
                        )
            return pairs
        finally:
            for client in self._clients.values():
                await client.close()

    async def _carry_out(self, action: Action) -> None:
        match action:
            case SubscribeAction(name, wanted):
                self._wishes.setdefault(name.owner, {})[name.id] = wanted
                if name.home in self._running:
                    client = await self._client(name.owner)
                    await self._begin(client.subscribe(wanted, name.id))
            case UnsubscribeAction(name):
                del self._wishes[name.owner][name.id]
                if name.home in self._running:
                    client = await self._client(name.owner)
                    await self._begin(client.unsubscribe(name.id))
            case SubscribeManyAction(owner, subscriptions):
                for id_, wanted in subscriptions:
                    await self._carry_out(SubscribeAction(SubscriptionName(*owner, id_), wanted))
            case UnsubscribeManyAction(owner, ids):
                for id_ in ids:
                    await self._carry_out(UnsubscribeAction(SubscriptionName(*owner, id_)))
            case AdvertiseAction(promise, promised):
                self._promises.setdefault(promise.owner, {})[promise.id] = promised
                if promise.home in self._running:
                    client = await self._client(promise.owner)
                    await self._begin(client.advertise(promised, promise.id))
            case UnadvertiseAction(promise):
                del self._promises[promise.owner][promise.id]
                if promise.home in self._running:
                    client = await self._client(promise.owner)
                    await self._begin(client.unadvertise(promise.id))
            case PublishAction(publisher, publication):
                if publisher.home in self._running:
                    client = await self._client(publisher)
                    try:
                        await client.publish(publication)
                    except InputError:
                        self.refused.append(publication.id)
            case DetachAction(owner):
                self._wishes.pop(owner, None)
                self._promises.pop(owner, None)
                await self._leave(owner)
            case CrashRouter(router):
                await self._crash(router)
            case ReturnRouter(router):
                await self._return(router)
            case WaitAction(Until.CONFIRMED):
                await self._confirmed()
            case WaitAction(Until.QUIET):
                await self._quiet()
            case _:
                raise AssertionError(f"processes cannot do this: {action}")

    async def _begin(self, request: Coroutine[Any, Any, object]) -> None:
        """Send a request; its answer is waited for later."""
        self._pending.append(asyncio.ensure_future(request))
        await asyncio.sleep(0)  # it runs up to where it waits for the answer

    async def _confirmed(self) -> None:
        pending, self._pending = self._pending, []
        await asyncio.gather(*pending)

    async def _quiet(self) -> None:
        """Subscribe to a fresh marker everywhere, publish it everywhere, await it from whoever can.

        Where brokers are down, a marker comes from all routers that are still joined.
        """
        await self._confirmed()
        self._markers += 1
        watchers = [await self._watcher(home) for home in self._running]
        wanted = f"{MARKER} = {self._markers}"
        markers = [await watcher.subscribe(wanted) for watcher in watchers]
        merged = [self._queue_of(ClientName(home, WATCHER)) for home in self._running]
        for watcher in watchers:
            await watcher.publish({MARKER: self._markers})
        for home, subscription, queue in zip(self._running, markers, merged, strict=True):
            reached = 0
            while reached < len(self._joined(home)):
                delivery = await anext(queue)
                reached += subscription.id in delivery.subscriptions
        for watcher, subscription in zip(watchers, markers, strict=True):
            await watcher.unsubscribe(subscription)
        for client in self._clients.values():
            with suppress(InputError):  # that it may not publish this is an answer as well
                await client.publish({})

    async def _watcher(self, home: str) -> Client:
        """The client that publishes markers at a router, and has advertised them."""
        owner = ClientName(home, WATCHER)
        is_new = owner not in self._clients
        watcher = await self._client(owner)
        if is_new:
            await watcher.advertise(f"exists {MARKER}")
        return watcher

    def _joined(self, router: str) -> list[str]:
        """The running routers that `router` can reach, itself among them."""
        reached = [router]
        for one in reached:
            for edge in self._overlay.edges:
                if one in edge:
                    other = edge[0] if edge[1] == one else edge[1]
                    if other in self._running and other not in reached:
                        reached.append(other)
        return reached

    async def _crash(self, router: str) -> None:
        await self._confirmed()
        del self._running[router]
        await asyncio.to_thread(self._overlay.stop, router, kill=True)
        for a, b in self._overlay.edges:
            neighbor = b if a == router else a
            if router in (a, b) and neighbor in self._running:
                await asyncio.to_thread(self._overlay.wait_unlinked, neighbor, router)
        for owner in [name for name in self._clients if name.home == router]:
            await self._leave(owner)

    async def _return(self, router: str) -> None:
        await asyncio.to_thread(self._overlay.restart, router)
        self._running[router] = None
        for owner, promises in self._promises.items():
            if owner.home == router:
                client = await self._client(owner)
                for id_, promised in promises.items():
                    await self._begin(client.advertise(promised, id_))
        for owner, wishes in self._wishes.items():
            if owner.home == router:
                client = await self._client(owner)
                for id_, wanted in wishes.items():
                    await self._begin(client.subscribe(wanted, id_))

    async def _client(self, owner: ClientName) -> Client:
        client = self._clients.get(owner)
        if client is None:
            address = self._overlay.addresses[owner.home]
            client = sapwood.connect(address, owner.client, reconnect=False)
            await client.__aenter__()
            self._clients[owner] = client
            self._received.append((owner, client.deliveries()))
        return client

    def _queue_of(self, owner: ClientName) -> Deliveries:
        return next(queue for name, queue in reversed(self._received) if name == owner)

    async def _leave(self, owner: ClientName) -> None:
        client = self._clients.pop(owner, None)
        if client is not None:
            await client.close()


async def drained(queue: Deliveries) -> list[Delivery]:
    """All that waits in a queue."""
    waiting: list[Delivery] = []
    while len(queue):
        waiting.extend(await queue.take(len(queue)))
    return waiting
