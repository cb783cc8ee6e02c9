"""The consumers of one client: its ends of durable subscriptions, across all connections."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from sapwood.errors import FrameError
from sapwood.session.changing import Changes
from sapwood.session.client_entries import (
    ClientEntries,
    Entry,
    EntryChanged,
    EntryEvent,
    EntryKept,
    EntryKind,
    EntryRefused,
    EntryWithdrawn,
)
from sapwood.session.client_state import Acknowledged, ClientRecord, ClientState, Confirmed
from sapwood.session.durable.receipts import Receipts
from sapwood.wire.durable import (
    SEALED_FIRST,
    AcknowledgedReply,
    AcknowledgeRequest,
    DurableDeliveries,
    DurableNotice,
    DurableReply,
    DurableRequest,
    Policy,
    Since,
    SincePlace,
)
from sapwood.wire.interests import InterestText
from sapwood.wire.messages import (
    Message,
    SubscriptionRefused,
    UnsubscribedReply,
    UnsubscribeRequest,
)

Reply: TypeAlias = (
    DurableReply
    | DurableDeliveries
    | DurableNotice
    | AcknowledgedReply
    | SubscriptionRefused
    | UnsubscribedReply
)
"""The messages of a broker to a consumer."""


@dataclass(slots=True)
class Wanted:
    """The request of a consumer: see `DurableRequest`. Without a name, it shares nothing."""

    name: str
    filter: InterestText | None
    since: Since | None
    policy: Policy
    window: int
    receipts: Receipts
    #: the place after the last delivery, for a consumer without a name that reconnects
    next_place: int | None = None
    #: the filter is to replace any other that the subscription has
    is_change: bool = False
    #: only the last publication in the journal is requested for each value of these attributes
    last_by: tuple[str, ...] = ()


def _request(id_: str, wanted: Wanted) -> Message:
    since = wanted.since
    if not wanted.name and wanted.next_place is not None:
        since = SincePlace(wanted.next_place)
    asked = (wanted.filter, since, wanted.policy, wanted.window, wanted.is_change)
    return DurableRequest(id_, wanted.name, *asked, wanted.last_by)


CONSUMER: Final[EntryKind[Wanted]] = EntryKind("subscription", _request, UnsubscribeRequest)


@dataclass(frozen=True, slots=True)
class Joined:
    """A consumer has joined, for the first time or again."""

    entry: Entry[Wanted, Any]
    reply: DurableReply
    #: the subscription is another one of the same name: the former one is gone
    is_other: bool
    #: the outcome of a change that the consumer has requested
    outcome: EntryChanged | EntryKept | None = None


@dataclass(frozen=True, slots=True)
class Arrived:
    """Deliveries that the application has not seen: number, attempt, place, publication."""

    entry: Entry[Wanted, Any]
    deliveries: list[tuple[int, int, int, bytes]]


@dataclass(frozen=True, slots=True)
class Dropped:
    """The bounds of the mailbox have dropped publications: `dropped` in all so far."""

    entry: Entry[Wanted, Any]
    dropped: int
    reason: str


@dataclass(frozen=True, slots=True)
class Settled:
    """The broker has confirmed every acknowledgement."""

    entry: Entry[Wanted, Any]


ConsumerEvent: TypeAlias = Joined | Arrived | Dropped | Settled
CONSUMER_EVENTS: Final = (Joined, Arrived, Dropped, Settled)


class Consuming:
    """The consumers of one client.

    `keep` writes down the records that are to survive the client, where it has a `state`. `ask`
    requests an entry on the open connection.
    """

    __slots__ = ("_answered", "_changes", "_keep", "_state", "_unsent", "entries")

    def __init__(
        self,
        state: ClientState | None,
        keep: Callable[[ClientRecord], None] | None,
        ask: Callable[[Entry[Wanted, Any]], None],
    ) -> None:
        self._changes: Changes[Wanted] = Changes(ask)
        #: the ids of the consumers that the broker has answered on this connection
        self._answered: set[str] = set()
        self.entries: ClientEntries[Wanted, Any] = ClientEntries(CONSUMER)
        self._state = state
        self._keep = keep
        #: the consumers that may have acknowledgements to send
        self._unsent: dict[str, None] = {}

    def connected(self) -> None:
        """Begin a connection, on which all consumers are requested with their present filters."""
        self._answered.clear()
        self._changes.connected(self.entries.get)

    def change(self, id_: str, filter_: InterestText, *, is_open: bool) -> None:
        """Change the filter of a consumer's subscription; as `ClientSession.change`."""
        entry = self.entries.known(id_)
        wanted = replace(entry.filter, filter=filter_, is_change=True)
        is_known = is_open and not entry.is_leaving
        is_answered = id_ in self._answered
        # After a refusal, the former filter has to be requested in the same way.
        entry.filter = replace(entry.filter, is_change=True)
        self._changes.begin(entry, wanted, is_known=is_known, is_answered=is_answered)

    def withdrawn(self, id_: str) -> None:
        """Forget a consumer that is gone."""
        self._changes.forget(id_)

    def receipts(self, name: str) -> Receipts:
        """The receipts of a consumer of a durable subscription, as earlier runs have left them."""
        if self._state is None or not name:
            return Receipts()
        return Receipts(*self._state.of(name))

    def acknowledge(self, entry: Entry[Wanted, Any], numbers: list[int]) -> int:
        """Acknowledge deliveries; return the number of those not acknowledged before.

        The records are written when this returns. Raises `InputError` for numbers never delivered.
        """
        receipts = entry.filter.receipts
        new = [number for number in numbers if receipts.acknowledge(number)]
        if new and entry.filter.name:
            self._write(Acknowledged(entry.filter.name, receipts.generation, tuple(new)))
        self._unsent[entry.id] = None
        return len(new)

    def requests(self) -> Iterator[AcknowledgeRequest]:
        """The requests to acknowledge that are due."""
        unsent, self._unsent = self._unsent, {}
        for id_ in unsent:
            entry = self.entries.get(id_)
            while entry is not None and (request := entry.filter.receipts.take_request()):
                yield AcknowledgeRequest(id_, *request)

    @property
    def are_waiting(self) -> bool:
        """True if there may be acknowledgements to send."""
        return bool(self._unsent)

    def interpret(self, reply: Reply) -> EntryEvent | ConsumerEvent | None:
        """The event of a message from the broker; `None` for a consumer that is gone.

        Raises `FrameError` for a message that a broker must not send.
        """
        entry = self.entries.get(reply.id)
        if entry is None:
            return None
        match reply:
            case DurableReply():
                self._forget_others(entry.filter, reply.generation)
                is_same = entry.filter.receipts.joined(reply.generation)
                self._unsent[entry.id] = None
                entry.was_in_force = True
                is_other = not is_same and bool(entry.filter.name)
                return Joined(entry, reply, is_other, self._outcome(entry, reply))
            case DurableDeliveries():
                return self._delivered(entry, reply)
            case DurableNotice(_, dropped, reason):
                return Dropped(entry, dropped, reason)
            case AcknowledgedReply(_, serial):
                return self._confirmed(entry, serial)
            case SubscriptionRefused(_, reason, cause):
                next_place = entry.filter.next_place
                if self._changes.refused(entry, reason):
                    entry.filter.next_place = next_place
                    return None
                self.entries.remove(entry)
                return EntryRefused(entry, reason, cause)
            case UnsubscribedReply():
                self._changes.forget(entry.id)
                self.entries.remove(entry)
                return EntryWithdrawn(entry)

    def _outcome(
        self, entry: Entry[Wanted, Any], reply: DurableReply
    ) -> EntryChanged | EntryKept | None:
        """The outcome of a change; a reply with another filter may be due to another consumer."""
        is_first = entry.id not in self._answered
        self._answered.add(entry.id)
        outcome = None
        if reply.is_change or is_first:
            outcome = self._changes.answered(entry)
        if outcome is not None:
            entry.filter.is_change = False
        if entry.filter.filter is not None and not self._changes.is_under_way(entry.id):
            entry.filter.filter = reply.filter
        return outcome

    def _forget_others(self, wanted: Wanted, generation: str) -> None:
        """Confirm what was acknowledged to an earlier subscription of the name: it is gone."""
        receipts = wanted.receipts
        if receipts.generation != generation and receipts.unconfirmed:
            gone = tuple(sorted(receipts.unconfirmed))
            self._write(Confirmed(wanted.name, receipts.generation, gone))

    def _delivered(self, entry: Entry[Wanted, Any], reply: DurableDeliveries) -> Arrived | None:
        try:
            columns = zip(
                reply.numbers, reply.attempts, reply.places, reply.publications, strict=True
            )
            arrived = list(columns)
        except ValueError as error:
            raise FrameError(f"the columns of deliveries differ in length: {error}") from None
        wanted = entry.filter
        if not entry.was_in_force:
            raise FrameError(f"deliveries came for {entry.id!r} before the answer to its request")
        new = [one for one in arrived if wanted.receipts.delivered(one[0])]
        if len(new) < len(arrived):
            self._unsent[entry.id] = None
        if not wanted.name:
            last = arrived[-1][2]
            if last < SEALED_FIRST:  # sealed places have no order
                last = max(wanted.next_place or 0, *(one[2] + 1 for one in arrived)) - 1
            wanted.next_place = last + 1
        return Arrived(entry, new) if new else None

    def _confirmed(self, entry: Entry[Wanted, Any], serial: int) -> Settled | None:
        receipts = entry.filter.receipts
        done = receipts.confirmed(serial)
        if done and entry.filter.name:
            self._write(Confirmed(entry.filter.name, receipts.generation, tuple(done)))
        return Settled(entry) if receipts.are_settled else None

    def _write(self, record: Acknowledged | Confirmed) -> None:
        if self._state is not None and self._keep is not None:
            self._state.carry_out(record)
            self._keep(record)
