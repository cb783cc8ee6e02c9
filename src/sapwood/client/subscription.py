"""The deliveries of a client, in queues that the application iterates."""

from __future__ import annotations

import asyncio
import logging
import warnings
from collections import deque
from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any, Final, Self

from sapwood.client.requests import Requests
from sapwood.client.typed import RecordType
from sapwood.errors import InputError, LimitError, NeverMatchesWarning
from sapwood.language.never import why_never
from sapwood.language.written import given_interest
from sapwood.limits import DELIVERIES_WAITING_MAX
from sapwood.model.interest import Interest
from sapwood.session.client_session import NeverEvent, SupplyEvent
from sapwood.session.delivery import Delivery
from sapwood.wire.interests import InterestText, to_text

BATCH_MAX: Final = 4096
"""Deliveries in a list of `batches`, by default."""


class Deliveries:
    """An asynchronous iterator over deliveries, with a bounded queue before it.

    Iterating waits for the next delivery, returns waiting ones without a pause for the event loop,
    and ends when the source has ended (with its error, if it ended by one) and all that waited were
    taken.

    A queue that exceeds `waiting_max` deliveries ends, too, with a `LimitError` after its contents:
    no delivery is dropped silently.
    """

    def __init__(
        self,
        subject: str,
        waiting_max: int = DELIVERIES_WAITING_MAX,
        *,
        max_age_ns: int | None = None,
        drops_late: bool = False,
    ) -> None:
        self.waiting_max = waiting_max
        #: the number of deliveries that were skipped because they may have been too old
        self.late = 0
        self._max_age_ns = max_age_ns
        self._drops_late = drops_late
        #: a delivery in the queue has, or had, a time to live
        self._may_expire = False
        #: the type of the records, where the subscription has one
        self.record_type: RecordType[Any] | None = None
        self._subject = subject
        #: the ids of the subscriptions without an advertisement, by the broker's notices
        self.unadvertised: set[str] = set()
        self._supply_waiters: list[asyncio.Future[None]] = []
        #: the reasons why no publication can match, by the ids of the subscriptions
        self.never_match: dict[str, str] = {}
        self._waiting: deque[Delivery] = deque()
        self._waiters: list[asyncio.Future[None]] = []
        self._ended = False
        self._error: Exception | None = None

    def __len__(self) -> int:
        """The number of deliveries that wait."""
        return len(self._waiting)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Delivery:
        while True:
            while not self._waiting:
                if self._ended:
                    if self._error is not None:
                        raise self._error
                    raise StopAsyncIteration
                await self._something()
            delivery = self._waiting.popleft()
            if self.is_wanted(delivery):
                return delivery

    def is_wanted(self, delivery: Delivery) -> bool:
        """True if a delivery is to be handed out; else it may be too old, and is counted."""
        is_timely = not self._drops_late or delivery.timely
        if is_timely and not (self._may_expire and delivery.has_expired):
            return True
        self.late += 1
        return False

    async def take(self, count_max: int) -> list[Delivery]:
        """The next deliveries, at least one and at most `count_max`; waits for the first.

        An empty list means that the source has ended; raises its error, if it ended by one.
        """
        if count_max < 1:
            raise InputError(f"at least one delivery is taken at a time, not {count_max}")
        try:
            first = await anext(self)
        except StopAsyncIteration:
            return []
        waiting = self._waiting
        if len(waiting) < count_max:
            taken = [first, *waiting]
            waiting.clear()
        else:
            taken = [first, *(waiting.popleft() for _ in range(count_max - 1))]
        if self._drops_late or self._may_expire:
            taken[1:] = filter(self.is_wanted, taken[1:])
        return taken

    async def batches(self, count_max: int = BATCH_MAX) -> AsyncIterator[list[Delivery]]:
        """Deliveries in lists of those that wait, at least one and at most `count_max`.

        No list waits to be full. Ends as iterating does.
        """
        while taken := await self.take(count_max):
            yield taken

    @property
    def ended(self) -> bool:
        """True if no delivery arrives any more; some may still wait."""
        return self._ended

    def put(self, delivery: Delivery) -> bool:
        """Add a delivery; `False` if the queue was full, and has ended."""
        if self._ended:
            return True
        if len(self._waiting) >= self.waiting_max:
            bound = self.waiting_max
            self.end(
                LimitError("DELIVERIES_WAITING_MAX", bound, None, f"what waits {self._subject}")
            )
            return False
        if self._max_age_ns is not None:
            delivery = delivery.within(self._max_age_ns)
        if self.record_type is not None:
            delivery = delivery.read_by(self.record_type.read)
        self._may_expire = self._may_expire or delivery.may_expire
        self._waiting.append(delivery)
        if self._waiters:
            self._wake()
        return True

    def end(self, error: Exception | None = None) -> None:
        """End the queue; only the first call counts."""
        if not self._ended:
            self._ended = True
            self._error = error
            self._wake()
            self._supply_waiters = _woken(self._supply_waiters)

    async def _something(self) -> None:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        try:
            await waiter
        finally:
            if waiter in self._waiters:
                self._waiters.remove(waiter)

    def _wake(self) -> None:
        self._waiters = _woken(self._waiters)

    def supplied(self, id_: str, *, is_there: bool) -> None:
        """Take in a notice of whether an advertisement for one of the subscriptions exists."""
        if is_there:
            self.unadvertised.discard(id_)
        else:
            self.unadvertised.add(id_)
        self._supply_waiters = _woken(self._supply_waiters)

    async def supply_changed(self) -> None:
        """Return after the broker's next notice about advertisements, or at the queue's end."""
        if self._ended:
            return
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._supply_waiters.append(waiter)
        await waiter


def _woken(waiters: Iterable[asyncio.Future[None]]) -> list[asyncio.Future[None]]:
    """Finish the futures of all that wait; return an empty list."""
    for waiter in waiters:
        if not waiter.done():
            waiter.set_result(None)
    return []


class ClientSubscription(Deliveries):
    """A subscription in force, and the iterator over its deliveries."""

    filter: Interest
    _requests: Requests[Any, Deliveries]

    @property
    def advertised(self) -> bool:
        """True if a client may publish what the subscription accepts, by the broker's notices.

        Where brokers route by advertisements, that means that a client advertises it, and
        `supply_changed` returns when it changes; everywhere else it is true.
        """
        return not self.unadvertised

    def __init__(
        self,
        id: str,
        filter: Interest | None,
        waiting_max: int,
        *,
        max_age_ns: int | None = None,
        drops_late: bool = False,
    ) -> None:
        subject = f"for subscription {id!r}"
        super().__init__(subject, waiting_max, max_age_ns=max_age_ns, drops_late=drops_late)
        self.id = id
        if filter is not None:  # else the broker's reply has it
            self.filter = filter

    def change_by(self, requests: Requests[Any, Deliveries]) -> None:
        """Set the requests, which include this subscription, through which it can be changed."""
        self._requests = requests

    async def change(self, filter: str | Interest, *, dialect: str | None = None) -> None:
        """Give the subscription another filter; returns when that is in force everywhere.

        `filter` and `dialect` are as in `Client.subscribe`.

        A publication that both filters accept arrives once all the while. One that only the former
        accepts may arrive until then, and may be among those that wait in the iterator; none that
        only the new one accepts and that is published afterwards is lost. Changes follow each
        other; a connection that is lost meanwhile is replaced.

        Raises as `subscribe` for a value that is no filter, `UnknownIdError` for a subscription
        that was withdrawn, and `InputError` with the broker's reason where it refuses: then the
        subscription goes on as it was. A cancelled call does not undo the change.
        """
        interest = given_interest(filter, dialect)
        if self.record_type is not None:
            self.record_type.check(interest, stacklevel=2)
        never, self.never_match = self.never_match, {}
        try:
            await self._requests.change(self.id, to_text(interest), self)
        except InputError:
            self.never_match = never
            raise
        self.filter = interest

    def __repr__(self) -> str:
        return f"ClientSubscription({self.id!r}, {str(self.filter)!r})"


_LOG: Final = logging.getLogger("sapwood.client")


class DeliveryQueues:
    """The iterators of one client: that of each subscription, and the one over all of them."""

    def __init__(self, subscriptions: Requests[InterestText, Deliveries]) -> None:
        self._subscriptions = subscriptions
        self._merged: Deliveries | None = None
        #: a subscription that gets its deliveries beside the merged iterator
        self.inbox: ClientSubscription | None = None
        #: the iterators with subscriptions that the broker has reported as unsupplied on this
        #: connection
        self._unsupplied: set[Deliveries] = set()

    def merged(self, waiting_max: int) -> Deliveries:
        """The iterator over all subscriptions, whose own iterators get nothing from now on."""
        if self._merged is None or self._merged.ended:
            self._merged = Deliveries("for all subscriptions", waiting_max)
        return self._merged

    def told(self, event: SupplyEvent | NeverEvent) -> None:
        """Take in a notice that subscriptions can get no deliveries, or can get them again."""
        if isinstance(event, NeverEvent):
            self._never(event)
            return
        for id_ in event.ids:
            subscription = self._subscriptions.get(id_)
            if subscription is not None:
                subscription.supplied(id_, is_there=event.is_there)
                if not event.is_there:
                    self._unsupplied.add(subscription)

    def _never(self, event: NeverEvent) -> None:
        subscription, why = self._subscriptions.get(event.id), event.reason
        if isinstance(subscription, ClientSubscription):  # whose text was not sent
            why = why_never(subscription.filter) or why
        if subscription is None or event.id not in subscription.never_match:  # already warned
            words = f"subscription {event.id!r} can never match: {why}"
            warnings.warn(words, NeverMatchesWarning, stacklevel=2)
        if subscription is not None:
            subscription.never_match[event.id] = why

    def returned(self) -> None:
        """Begin a connection, on which the broker repeats its notices of missing advertisements."""
        unsupplied, self._unsupplied = self._unsupplied, set()
        for subscription in unsupplied:
            for id_ in tuple(subscription.unadvertised):
                subscription.supplied(id_, is_there=True)

    def delivered(self, delivery: Delivery) -> None:
        """Queue a delivery; a subscription whose queue is full is withdrawn."""
        if self._merged is not None:
            inbox = self.inbox
            if inbox is not None and inbox.id in delivery.subscriptions:
                inbox.put(delivery)
                if len(delivery.subscriptions) == 1:
                    return
            self._merged.put(delivery)
            return
        for name, subscription in self._concerned(delivery.subscriptions):
            if not subscription.put(delivery):
                _LOG.warning("subscription %r ended: too many deliveries wait", name)
                self._subscriptions.withdraw(name)

    def _concerned(self, names: Sequence[str]) -> Iterable[tuple[str, Deliveries]]:
        """The iterators that have one of the subscriptions, each once, with one of its own."""
        if len(names) == 1:
            subscription = self._subscriptions.get(names[0])
            return () if subscription is None else ((names[0], subscription),)
        found: dict[Deliveries, str] = {}
        for name in names:
            subscription = self._subscriptions.get(name)
            if subscription is not None:
                found.setdefault(subscription, name)
        return [(name, subscription) for subscription, name in found.items()]

    def end(self, error: Exception | None) -> None:
        """End all iterators, with the error if there is one."""
        for queue in (*self._subscriptions, self._merged):
            if queue is not None:
                queue.end(error)
