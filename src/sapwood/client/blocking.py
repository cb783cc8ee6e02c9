"""The client without asyncio: the same methods, blocking, for scripts and notebooks.

The asyncio client runs on an event loop in a thread of its own; every method here hands its work
over and waits. Methods may be called from any thread.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Collection, Coroutine, Iterable, Iterator, Mapping
from datetime import timedelta
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeVar, Unpack, overload

from sapwood.client import client as asynchronous
from sapwood.client.columns import Table
from sapwood.client.durable import Bounds, DurableDelivery, DurableSubscription
from sapwood.client.freshness import Live
from sapwood.client.groups import Items, SubscriptionGroup
from sapwood.client.publishing import Content, Published
from sapwood.client.subscription import BATCH_MAX, ClientSubscription, Deliveries
from sapwood.client.typed import BlockingTypedDurableSubscription, BlockingTypedSubscription
from sapwood.errors import ConnectionLostError, InputError
from sapwood.limits import DELIVERIES_WAITING_MAX
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.interest import Interest
from sapwood.session.delivery import Delivery
from sapwood.session.settings import ConnectionSettings, TlsFiles
from sapwood.wire.durable import DurableState

PUBLISH_MANY: Final = 512
"""Publications that `publish_many` passes to the event loop at a time."""

TAKE: Final = 512
"""Deliveries that an iterator fetches from the event loop at a time, if as many wait."""

T = TypeVar("T")


def connect(
    address: str = "127.0.0.1",
    name: str | None = None,
    *,
    reconnect: bool = True,
    reconnect_s: float | None = None,
    settings: ConnectionSettings | None = None,
    state: str | Path | None = None,
    user: str | None = None,
    password: str | None = None,
    token: str | None = None,
    tls: TlsFiles | None = None,
) -> BlockingClient:
    """A client of the broker at `address`, to be used with `with`; see `sapwood.connect`."""
    return BlockingClient(
        asynchronous.connect(
            address,
            name,
            reconnect=reconnect,
            reconnect_s=reconnect_s,
            settings=settings,
            state=state,
            user=user,
            password=password,
            token=token,
            tls=tls,
        )
    )


class BlockingDeliveries:
    """An iterator over deliveries that waits for the next one."""

    def __init__(self, client: BlockingClient, deliveries: Deliveries) -> None:
        self._client = client
        self._deliveries = deliveries
        self._fetched: deque[Delivery] = deque()

    def __iter__(self) -> Iterator[Delivery]:
        return self

    def __next__(self) -> Delivery:
        while True:
            if not self._fetched:
                self._fetched.extend(self.take(TAKE))
                if not self._fetched:
                    raise StopIteration
            delivery = self._fetched.popleft()
            if self._deliveries.is_wanted(delivery):  # it may have waited here for too long
                return delivery

    @property
    def late(self) -> int:
        """The number of deliveries that were skipped because they may have been too old."""
        return self._deliveries.late

    def take(self, count_max: int, timeout_s: float | None = None) -> list[Delivery]:
        """The next deliveries, at least one and at most `count_max`; waits for the first.

        An empty list means that the iterator has ended. Raises `TimeoutError` where nothing came in
        `timeout_s` seconds.
        """
        if self._fetched:
            return [self._fetched.popleft() for _ in range(min(count_max, len(self._fetched)))]
        return self._client.wait(asyncio.wait_for(self._deliveries.take(count_max), timeout_s))

    def batches(self, count_max: int = BATCH_MAX) -> Iterator[list[Delivery]]:
        """Deliveries in lists of those that wait, at least one and at most `count_max`."""
        while taken := self.take(count_max):
            yield taken


class BlockingSubscription(BlockingDeliveries):
    """A subscription in force, and the iterator over its deliveries."""

    def __init__(self, client: BlockingClient, subscription: ClientSubscription) -> None:
        super().__init__(client, subscription)
        self.id = subscription.id
        self.filter = subscription.filter
        self._subscription = subscription

    def change(self, filter: str | Interest, *, dialect: str | None = None) -> None:
        """Give the subscription another filter, without a gap; as `ClientSubscription.change`."""
        self._client.wait(self._subscription.change(filter, dialect=dialect))
        self.filter = self._subscription.filter


class BlockingDurableSubscription(BlockingSubscription):
    """A consumer of a durable subscription: an iterator over deliveries to acknowledge."""

    def __init__(self, client: BlockingClient, subscription: DurableSubscription) -> None:
        super().__init__(client, subscription)
        self.name = subscription.name
        self._durable = subscription

    @property
    def dropped(self) -> int:
        """The number of publications that the bounds of the mailbox have dropped."""
        return self._durable.dropped

    def take(self, count_max: int, timeout_s: float | None = None) -> list[Delivery]:
        """As `BlockingDeliveries.take`; each delivery is one to acknowledge, from any thread."""
        taken = super().take(count_max, timeout_s)
        for delivery in taken:
            assert isinstance(delivery, DurableDelivery), "it comes out of a mailbox"
            delivery.acknowledged_by(self.acknowledge)
        return taken

    def acknowledge(self, delivery: DurableDelivery) -> None:
        """Acknowledge a delivery; as `delivery.acknowledge()`."""
        self._call(self._durable.acknowledge, delivery)

    def acknowledge_through(self, delivery: DurableDelivery) -> None:
        """Acknowledge all deliveries of this iterator up to this one."""
        fetched = {one.number for one in self._fetched if isinstance(one, DurableDelivery)}
        self._call(self._durable.acknowledge_through, delivery, fetched)

    def settled(self) -> None:
        """Return when the broker has stored all acknowledgements made so far."""
        self._client.wait(self._durable.settled())

    def _call(self, function: Callable[..., None], *arguments: Any) -> None:
        """Call a function in the client's event loop, and return when it has."""

        async def call() -> None:
            function(*arguments)

        self._client.wait(call())


class BlockingSubscriptionGroup(BlockingDeliveries):
    """Subscriptions that were requested together, and the iterator over their deliveries."""

    def __init__(self, client: BlockingClient, group: SubscriptionGroup) -> None:
        super().__init__(client, group)
        self.group = group

    @property
    def ids(self) -> Collection[str]:
        """As `SubscriptionGroup.ids`."""
        return self.group.ids

    @property
    def refused(self) -> Mapping[str, str]:
        """As `SubscriptionGroup.refused`."""
        return self.group.refused


class BlockingClient:
    """One client of a broker. Made by `connect`."""

    def __init__(self, client: asynchronous.Client) -> None:
        self._client = client
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    @property
    def name(self) -> str:
        """The client's name at the broker."""
        return self._client.name

    @property
    def published(self) -> int:
        """The number of publications passed to this client; see `Client.published`."""
        return self._client.published

    @property
    def reconnections(self) -> int:
        """The number of times that the connection was lost and made again."""
        return self._client.reconnections

    def __enter__(self) -> Self:
        if self._loop is not None:
            raise InputError("a client can be entered once; connect again for another session")
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=_run_loop, args=(self._loop,), name=f"sapwood {self.name}", daemon=True
        )
        self._thread.start()
        try:
            self.wait(self._client.__aenter__())
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Say goodbye, close the connection and end the thread."""
        if self._loop is None:
            return
        try:
            self.wait(self._client.close())
        finally:
            self._stop()

    @overload
    def subscribe(
        self,
        filter: str | Interest | None = None,
        id: str | None = None,
        *,
        durable: str,
        type: type[T],
        waiting_max: int = DELIVERIES_WAITING_MAX,
        moved_from: str | None = None,
        dialect: str | None = None,
        **bounds: Unpack[Bounds],
    ) -> BlockingTypedDurableSubscription[T]: ...

    @overload
    def subscribe(
        self,
        filter: str | Interest | None = None,
        id: str | None = None,
        *,
        durable: str,
        waiting_max: int = DELIVERIES_WAITING_MAX,
        moved_from: str | None = None,
        dialect: str | None = None,
        **bounds: Unpack[Bounds],
    ) -> BlockingDurableSubscription: ...

    @overload
    def subscribe(
        self, filter: str | Interest, id: str | None = None, *, type: type[T], **how: Unpack[Live]
    ) -> BlockingTypedSubscription[T]: ...

    @overload
    def subscribe(
        self, filter: str | Interest, id: str | None = None, **how: Unpack[Live]
    ) -> BlockingSubscription: ...

    def subscribe(
        self,
        filter: str | Interest | None = None,
        id: str | None = None,
        *,
        type: type[Any] | None = None,
        waiting_max: int = DELIVERIES_WAITING_MAX,
        moved_from: str | None = None,
        late: str = "mark",
        dialect: str | None = None,
        **durably: Any,
    ) -> Any:
        """Subscribe, durably if a name is given; see `Client.subscribe`."""
        subscribing: Any = self._client.subscribe
        wanted = {"type": type, "waiting_max": waiting_max, "moved_from": moved_from, "late": late}
        subscription = self.wait(subscribing(filter, id, dialect=dialect, **wanted, **durably))
        if isinstance(subscription, DurableSubscription) and subscription.name:
            return BlockingDurableSubscription(self, subscription)
        assert isinstance(subscription, ClientSubscription), "that is what subscribing leads to"
        return BlockingSubscription(self, subscription)

    def durables(self) -> list[DurableState]:
        """The durable subscriptions of the broker, by name."""
        return self.wait(self._client.durables())

    def durable(self, name: str) -> DurableState:
        """One durable subscription. Raises `InputError` where there is none of this name."""
        return self.wait(self._client.durable(name))

    def remove_durable(self, name: str) -> None:
        """Remove a durable subscription, and its waiting publications. Raises `InputError`."""
        self.wait(self._client.remove_durable(name))

    def subscribe_many(
        self,
        items: Items,
        *,
        waiting_max: int = DELIVERIES_WAITING_MAX,
        progress: Callable[[int], None] | None = None,
    ) -> BlockingSubscriptionGroup:
        """Subscribe to many filters at once; see `Client.subscribe_many`.

        `items` are read and `progress` is called by the client's own thread.
        """
        subscribing = self._client.subscribe_many(items, waiting_max=waiting_max, progress=progress)
        group = self.wait(subscribing)
        return BlockingSubscriptionGroup(self, group)

    def unsubscribe(
        self,
        subscription: BlockingSubscription
        | BlockingTypedSubscription[Any]
        | BlockingTypedDurableSubscription[Any]
        | BlockingSubscriptionGroup
        | str,
    ) -> None:
        """Withdraw a subscription, or a group; returns when nothing more will be delivered."""
        if isinstance(subscription, BlockingSubscriptionGroup):
            self.wait(self._client.unsubscribe(subscription.group))
            return
        name = subscription if isinstance(subscription, str) else subscription.id
        self.wait(self._client.unsubscribe(name))

    def advertise(
        self,
        filter: str | AdvertisedContent,
        id: str | None = None,
    ) -> str:
        """Advertise future publications; returns the id when the advertisement is in force."""
        return self.wait(self._client.advertise(filter, id))

    def unadvertise(self, id: str) -> None:
        """Withdraw an advertisement; returns when it is withdrawn."""
        self.wait(self._client.unadvertise(id))

    def deliveries(self, *, waiting_max: int = DELIVERIES_WAITING_MAX) -> BlockingDeliveries:
        """One iterator for all subscriptions: each publication once, with all that it matches."""

        async def deliveries() -> Deliveries:
            return self._client.deliveries(waiting_max=waiting_max)

        return BlockingDeliveries(self, self.wait(deliveries()))

    def publish(
        self,
        content: Content,
        id: str | None = None,
        *,
        payload: bytes | None = None,
        blind: bool = False,
        ttl: float | timedelta | None = None,
        traceparent: str | None = None,
        tracestate: str | None = None,
    ) -> str:
        """Publish; returns the publication's id when the broker has accepted it."""
        trace = {"traceparent": traceparent, "tracestate": tracestate}
        how = {"payload": payload, "blind": blind, "ttl": ttl, **trace}
        publishing: Any = self._client.publish
        published: str = self.wait(publishing(content, id, **how))
        return published

    def publish_many(
        self, publications: Iterable[Content], *, ttl: float | timedelta | None = None
    ) -> Published:
        """Publish one after the other without waiting for each; returns when all are answered."""
        batch = self._client.batch(ttl=ttl)
        iterator = iter(publications)
        while some := list(islice(iterator, PUBLISH_MANY)):
            self.wait(batch.publish(some))
        return self.wait(batch.finish())

    def publish_table(self, table: Table, *, id: str | None = None) -> Published:
        """Publish each row of a table as a record; returns when all are answered."""
        return self.wait(self._client.publish_table(table, id=id))

    def request(
        self, record: Mapping[str, Any], *, timeout: float, payload: bytes | None = None
    ) -> Delivery:
        """Publish a record as a request; returns the first reply. See `Client.request`."""
        return self.wait(self._client.request(record, timeout=timeout, payload=payload))

    def reply(
        self, request: Delivery, record: Mapping[str, Any], *, payload: bytes | None = None
    ) -> str:
        """Publish a reply to a request; returns its id."""
        return self.wait(self._client.reply(request, record, payload=payload))

    def flush(self) -> None:
        """Return when all publications so far are answered."""
        self.wait(self._client.flush())

    def wait(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the client's event loop and return its result."""
        if self._loop is None:
            work.close()
            raise ConnectionLostError("the client is not connected; use it inside `with`")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()  # the wait was interrupted, so the result is of no use
            raise

    def _stop(self) -> None:
        loop, thread = self._loop, self._thread
        self._loop = self._thread = None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()


def _run_loop(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()
