"""Durable subscriptions as applications see them: deliveries that are acknowledged."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, TypedDict

from sapwood.client.requests import Requesting, Requests
from sapwood.client.subscription import ClientSubscription, Deliveries
from sapwood.client.typed import RecordType
from sapwood.errors import InputError
from sapwood.limits.durable import DURABLE_WINDOW, DURABLE_WINDOW_MAX
from sapwood.model.interest import Interest
from sapwood.session.client_entries import Entry, EntryConfirmed, EntryEvent
from sapwood.session.client_session import ClientSession
from sapwood.session.delivery import Delivery
from sapwood.session.durable.consuming import (
    CONSUMER,
    Arrived,
    ConsumerEvent,
    Dropped,
    Joined,
    Settled,
    Wanted,
)
from sapwood.session.durable.receipts import Receipts
from sapwood.session.durable.since import ALL, last_by_of, since_of
from sapwood.wire.durable import (
    DurablesAction,
    DurablesReply,
    DurablesRequest,
    DurableState,
    Overflow,
    Policy,
)
from sapwood.wire.interests import InterestText, from_text, to_text
from sapwood.wire.names import check_name

_LOG: Final = logging.getLogger("sapwood.client")


class Bounds(TypedDict, total=False):
    """The arguments of `subscribe` for a mailbox, and for its consumer."""

    since: str | datetime | None
    max_count: int | None
    max_bytes: int | None
    max_age: float | timedelta | None
    overflow: str | None
    acknowledge_within: float | timedelta | None
    window: int | None
    max_attempts: int | None
    dead_letter: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Durably:
    """The request of a consumer beside the filter: see `Client.subscribe`."""

    durable: str | None = None
    since: str | datetime | None = None
    max_count: int | None = None
    max_bytes: int | None = None
    max_age: float | timedelta | None = None
    overflow: str | None = None
    acknowledge_within: float | timedelta | None = None
    window: int | None = None
    max_attempts: int | None = None
    dead_letter: str | None = None
    replay: str | None = None
    by: str | Sequence[str] | None = None

    @property
    def is_asked_for(self) -> bool:
        """True if a mailbox is needed. Raises `InputError` for bounds without a mailbox."""
        if self.durable is not None or self.since is not None or self.replay is not None:
            return True
        if self != Durably():
            raise InputError("bounds and a window are those of a mailbox; give it a durable name")
        return False

    def wanted(self, interest: Interest | None, receipts: Receipts, waiting_max: int) -> Wanted:
        """The request to send. Raises `InputError` for one that every broker refuses."""
        if self.durable is not None:
            check_name("durable subscription", self.durable)
        elif interest is None:
            raise InputError("a filter is needed where no durable name is given")
        window = DURABLE_WINDOW if self.window is None else self.window
        if not 1 <= window <= DURABLE_WINDOW_MAX:
            raise InputError(f"a window holds 1 to {DURABLE_WINDOW_MAX} deliveries, not {window}")
        text = None if interest is None else to_text(interest)
        last_by = last_by_of(self.replay, self.by, is_durable=self.durable is not None)
        return Wanted(
            self.durable or "",
            text,
            since_of(ALL if last_by and self.since is None else self.since),
            self._policy(),
            min(window, waiting_max),
            receipts,
            last_by=last_by,
        )

    def _policy(self) -> Policy:
        for bound, name in ((self.max_count, "max_count"), (self.max_bytes, "max_bytes")):
            if bound is not None and bound < 1:
                raise InputError(f"{name} is at least 1, not {bound}")
        if self.max_attempts is not None and self.max_attempts < 0:
            raise InputError(f"max_attempts is at least 0, for ever, not {self.max_attempts}")
        return Policy(
            self.max_count,
            self.max_bytes,
            _seconds("max_age", self.max_age),
            None if self.overflow is None else _overflow(self.overflow),
            _seconds("acknowledge_within", self.acknowledge_within),
            self.max_attempts,
            self.dead_letter,
        )


def _seconds(name: str, given: float | timedelta | None) -> float | None:
    if given is None:
        return None
    seconds = given.total_seconds() if isinstance(given, timedelta) else float(given)
    if seconds < 0 or seconds != seconds:  # noqa: PLR0124 - no number
        raise InputError(f"{name} is a number of seconds from 0 on, not {given}")
    return seconds


def _overflow(given: str) -> Overflow:
    try:
        return Overflow(given)
    except ValueError:
        known = " or ".join(repr(one.value) for one in Overflow)
        raise InputError(f"what goes when a mailbox is full is {known}, not {given!r}") from None


class DurableDelivery(Delivery):
    """A delivery that waits for its acknowledgement.

    `number` counts those of the mailbox, `attempt` the deliveries of this publication, to this
    consumer or another: 1 if it was certainly never delivered before. `place` is that in the
    broker's journal; an identity with a limited grant gets a sealed one, which has no order.
    """

    __slots__ = ("_done", "attempt", "generation", "number", "place")

    number: int
    attempt: int
    place: int
    generation: str
    _done: Callable[[DurableDelivery], None]

    @classmethod
    def made(
        cls,
        id_: str,
        generation: str,
        arrived: tuple[int, int, int, bytes],
        done: Callable[[DurableDelivery], None],
    ) -> DurableDelivery:
        """The delivery of these columns; `done` acknowledges it."""
        number, attempt, place, encoded = arrived
        delivery = cls.of(encoded, (id_,))
        delivery.number, delivery.attempt, delivery.place = number, attempt, place
        delivery.generation = generation
        delivery._done = done
        return delivery

    def acknowledge(self) -> None:
        """Acknowledge the delivery: it is not delivered again. A second call changes nothing.

        With a state file the acknowledgement is on disk when this returns; at the broker it is once
        `DurableSubscription.settled` returns, and soon in any case.
        """
        self._done(self)

    def acknowledged_by(self, done: Callable[[DurableDelivery], None]) -> None:
        """Set another function that acknowledges: from another thread, say."""
        self._done = done


class DurableSubscription(ClientSubscription):
    """A consumer of a durable subscription: an iterator over deliveries to acknowledge.

    `name` is the durable one, `dropped` the number of publications that the bounds of the mailbox
    have dropped.
    """

    def __init__(
        self, id: str, name: str, interest: Interest | None, waiting_max: int, consumers: Consumers
    ) -> None:
        super().__init__(id, interest, waiting_max)
        self.name = name
        #: the filter as the broker has it
        self.filter_text: InterestText = ""
        self.generation = ""
        self.dropped = 0
        self.owner = consumers
        self._settling: list[asyncio.Future[None]] = []

    def __repr__(self) -> str:
        return f"DurableSubscription({self.name!r}, {self.filter_text!r})"

    def acknowledge(self, delivery: DurableDelivery) -> None:
        """Acknowledge a delivery; as `delivery.acknowledge()`."""
        self._acknowledge(delivery, [delivery.number])

    def acknowledge_through(self, delivery: DurableDelivery, without: Collection[int] = ()) -> None:
        """Acknowledge all deliveries taken from this iterator up to this one, included.

        Deliveries that still wait in the iterator are excepted, and so are the numbers in
        `without`.
        """
        waiting = {one.number for one in self._waiting if isinstance(one, DurableDelivery)}
        waiting.update(without)
        numbers = self.owner.up_to(self.id, delivery.number)
        self._acknowledge(delivery, [one for one in numbers if one not in waiting])

    def _acknowledge(self, delivery: DurableDelivery, numbers: list[int]) -> None:
        if delivery.generation == self.generation:  # else of a removed subscription
            self.owner.acknowledge(self.id, numbers)

    async def settled(self) -> None:
        """Return when the broker has stored all acknowledgements made so far."""
        if not self.owner.is_settled(self.id):
            waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._settling.append(waiter)
            await waiter

    def is_settled(self) -> None:
        """Take in that the broker has stored all acknowledgements."""
        settling, self._settling = self._settling, []
        for waiter in settling:
            if not waiter.done():
                waiter.set_result(None)

    def end(self, error: Exception | None = None) -> None:
        """End the iterator, and the calls that wait for `settled`."""
        super().end(error)
        settling, self._settling = self._settling, []
        for waiter in settling:
            if not waiter.done():
                waiter.set_exception(error or InputError("the consumer has gone"))


class OwnSubscription(DurableSubscription):
    """A subscription that began in the journal; a delivery is acknowledged when it is taken."""

    async def __anext__(self) -> Delivery:
        delivery = await super().__anext__()
        assert isinstance(delivery, DurableDelivery), "it comes out of a mailbox"
        self.acknowledge(delivery)
        return delivery

    async def take(self, count_max: int) -> list[Delivery]:
        """As `Deliveries.take`."""
        taken = await super().take(count_max)
        for delivery in taken[1:]:  # the first one came from `__anext__`
            assert isinstance(delivery, DurableDelivery), "it comes out of a mailbox"
            self.acknowledge(delivery)
        return taken


class Consumers:
    """The consumers of one client, and its requests about durable subscriptions.

    `flush` sends the session's output.
    """

    def __init__(self, session: ClientSession, flush: Callable[[], None]) -> None:
        requesting: Requesting[Any, Deliveries] = Requesting(
            session.consume,
            session.leave,
            flush,
            ended=Deliveries.end,
            change=session.change_consumed,
        )
        self.requests: Requests[Any, Deliveries] = Requests(session.consuming.entries, requesting)
        self._session = session
        self._flush = flush
        self._is_scheduled = False
        self._asked: deque[asyncio.Future[DurablesReply]] = deque()

    async def subscribe(
        self,
        id_: str,
        interest: Interest | None,
        durably: Durably,
        waiting_max: int,
        record_type: RecordType[Any] | None = None,
    ) -> DurableSubscription:
        """Register a consumer; returns when the subscription is in force."""
        name = durably.durable or ""
        receipts = self._session.consuming.receipts(name)
        wanted = durably.wanted(interest, receipts, waiting_max)
        kind = DurableSubscription if name else OwnSubscription
        subscription = kind(id_, name, interest, DURABLE_WINDOW_MAX, self)
        subscription.change_by(self.requests)
        subscription.record_type = record_type
        await self.requests.add(id_, wanted, subscription)
        return subscription

    def acknowledge(self, id_: str, numbers: list[int]) -> None:
        """Acknowledge deliveries of a consumer; sent with the next turn of the loop."""
        entry = self._session.consuming.entries.get(id_)
        if entry is None:
            raise InputError(f"the consumer {id_!r} has gone, and with it what it had")
        self._session.consuming.acknowledge(entry, numbers)
        self.schedule()

    def up_to(self, id_: str, number: int) -> list[int]:
        """The numbers that a consumer has in hand, up to this one."""
        entry = self._session.consuming.entries.get(id_)
        return [] if entry is None else entry.filter.receipts.up_to(number)

    def is_settled(self, id_: str) -> bool:
        """True if every acknowledgement of a consumer is stored by the broker."""
        entry = self._session.consuming.entries.get(id_)
        return entry is None or entry.filter.receipts.are_settled

    def schedule(self) -> None:
        """Schedule the sending of acknowledgements, if there are any."""
        if self._session.consuming.are_waiting and not self._is_scheduled:
            self._is_scheduled = True
            asyncio.get_running_loop().call_soon(self._send)

    def _send(self) -> None:
        self._is_scheduled = False
        self._session.acknowledge_waiting()
        self._flush()

    # What the broker says ----------------------------------------------------------------------

    def received(self, event: ConsumerEvent) -> None:
        """Pass an event to the consumer that it concerns."""
        subscription = event.entry.owner.value
        assert isinstance(subscription, DurableSubscription), "consumers own such"
        match event:
            case Joined(entry, reply, is_other, outcome):
                if is_other:
                    _LOG.warning(
                        "the durable subscription %r was removed and made again", reply.name
                    )
                    subscription.is_settled()
                subscription.generation = reply.generation
                was_else = subscription.filter_text not in ("", reply.filter)
                subscription.filter_text = reply.filter
                if not hasattr(subscription, "filter") or was_else:
                    subscription.filter = from_text(reply.filter)
                self._tell_dropped(subscription, reply.dropped, "its bounds", first=True)
                self.requests.answered(EntryConfirmed(entry))
                if outcome is not None:
                    self.requests.answered(outcome)
            case Arrived(entry, deliveries):
                done, generation = subscription.acknowledge, subscription.generation
                for arrived in deliveries:
                    subscription.put(DurableDelivery.made(entry.id, generation, arrived, done))
            case Dropped(_, dropped, reason):
                self._tell_dropped(subscription, dropped, reason)
            case Settled():
                subscription.is_settled()
        self.schedule()

    @staticmethod
    def _tell_dropped(
        subscription: DurableSubscription, dropped: int, reason: str, *, first: bool = False
    ) -> None:
        """Log the number of dropped publications, since the last time or before this consumer."""
        new = dropped - subscription.dropped
        subscription.dropped = dropped
        if new > 0:
            when = "before this consumer came" if first else f"as {reason}"
            _LOG.warning(
                "durable subscription %r: %s publications let go, %s; %s in all",
                *(subscription.name or subscription.id, f"{new:,}", when, f"{dropped:,}"),
            )

    def answered(self, event: EntryEvent) -> None:
        """Pass an answer about a consumer to its call."""
        self.requests.answered(event)

    def lost(self, error: Exception) -> None:
        """Fail the calls that wait for an answer: the connection is lost."""
        asked, self._asked = self._asked, deque()
        for answer in asked:
            if not answer.done():
                answer.set_exception(error)

    def fail(self, error: Exception, iterators: Exception | None) -> None:
        """Fail all calls that wait: no answer will come any more."""
        self.lost(error)
        self.requests.fail(error)
        for value in self.requests:
            value.end(iterators)

    # What is asked of durable subscriptions ----------------------------------------------------

    async def ask(self, action: DurablesAction, name: str = "") -> DurablesReply:
        """Send a request to the broker. Raises `InputError` where it refuses."""
        answer: asyncio.Future[DurablesReply] = asyncio.get_running_loop().create_future()
        self._session.ask(DurablesRequest(action, name))
        self._asked.append(answer)
        self._flush()
        reply = await answer
        if reply.refusal:
            raise InputError(reply.refusal)
        return reply

    def replied(self, reply: DurablesReply) -> None:
        """Pass the broker's answer to the oldest request."""
        if self._asked:
            answer = self._asked.popleft()
            if not answer.done():
                answer.set_result(reply)

    async def listed(self) -> list[DurableState]:
        """All durable subscriptions of the broker, by name."""
        found: list[DurableState] = []
        while True:
            reply = await self.ask(DurablesAction.LIST, found[-1].name if found else "")
            found += reply.durables
            if not reply.more:
                return found


def is_consumer(entry: Entry[Any, Any]) -> bool:
    """True if an entry of a session is a consumer."""
    return entry.kind is CONSUMER
