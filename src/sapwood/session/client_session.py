"""The client's end of a session, across all the connections it takes.

Subscriptions, advertisements and unacknowledged publications live here and not in a connection, so
that a new connection begins by requesting and sending them again. Its publications then wait until
the advertisements that may allow them are in force again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple, TypeAlias, TypeVar

from sapwood.errors import (
    ConnectionLostError,
    FrameError,
    InvariantError,
    PeerError,
)
from sapwood.limits import FRAME_BYTES_FLOOR
from sapwood.limits.store import RESTATE_S
from sapwood.session.bulk_requests import BulkRequests, Subscription, withdrawals
from sapwood.session.changing import Changes
from sapwood.session.client_entries import (
    ADVERTISEMENT,
    HELD,
    SUBSCRIPTION,
    ClientEntries,
    EntriesConfirmed,
    EntriesEvent,
    EntriesWithdrawn,
    Entry,
    EntryConfirmed,
    EntryEvent,
    EntryRefused,
    EntryWithdrawn,
)
from sapwood.session.client_state import (
    Answered,
    ClientRecord,
    ClientState,
    Published,
    Refused,
)
from sapwood.session.connection import Connection, Ending
from sapwood.session.delivery import Delivery
from sapwood.session.durable.consuming import ConsumerEvent, Consuming, Wanted
from sapwood.session.ledger import Unacknowledged
from sapwood.session.phases import Phase
from sapwood.session.settings import ConnectionSettings
from sapwood.wire.durable import (
    AcknowledgedReply,
    DurableDeliveries,
    DurableNotice,
    DurableReply,
    DurablesReply,
    DurablesRequest,
)
from sapwood.wire.greetings import Greeting, Hello, Role, Welcome
from sapwood.wire.interests import AdvertisedText, InterestText
from sapwood.wire.messages import (
    AcceptedReply,
    AdvertisedReply,
    AdvertisementRefused,
    AllStated,
    CheckReply,
    FiltersReply,
    GoodbyeCode,
    Message,
    NeverNotice,
    PublicationRefused,
    PublishRequest,
    ReplayRefused,
    ReplayReply,
    SubscribedManyReply,
    SubscribedReply,
    SubscriptionRefused,
    SuppliedNotice,
    UnadvertisedReply,
    UnsubscribedManyReply,
    UnsubscribedReply,
    UnsuppliedNotice,
)
from sapwood.wire.messages import (
    Delivery as DeliveryMessage,
)
from sapwood.wire.runs import Run


class NeverEvent(NamedTuple):
    """No publication can match this subscription, which is in force all the same."""

    id: str
    reason: str


class SupplyEvent(NamedTuple):
    """An advertisement exists that intersects these subscriptions, or none exists any more."""

    ids: tuple[str, ...]
    is_there: bool


ClientEvent: TypeAlias = (
    Welcome
    | Delivery
    | AcceptedReply
    | PublicationRefused
    | EntryEvent
    | EntriesEvent
    | ConsumerEvent
    | DurablesReply
    | SupplyEvent
    | NeverEvent
)
"""An event of a client session: a delivery or an answer, in a form for applications."""

_EntryReply: TypeAlias = (
    SubscribedReply
    | UnsubscribedReply
    | SubscriptionRefused
    | AdvertisedReply
    | UnadvertisedReply
    | AdvertisementRefused
)

F = TypeVar("F")

_OF_NONE: Final = (DurableReply, DurableDeliveries, DurableNotice, AcknowledgedReply)
"""Messages for consumers alone, whose consumer may be gone by now."""

_OF_CONSUMERS: Final = (*_OF_NONE, SubscriptionRefused, UnsubscribedReply)


class ClientSession:
    """One run of a client under its name.

    `session` distinguishes it from other runs under the same name. Commands may be given at any
    time: a request that cannot be sent now is sent when a broker has welcomed the client. A session
    that is to survive the client continues from a `state`, and calls `keep` with each record of its
    changes, which `state` has taken in by then.

    #: connection is None iff the client is between two connections
    #: _unanswered holds the advertisements that this connection began with, until they are
    #: answered; while there are any, no publication is sent
    """

    def __init__(
        self,
        name: str,
        session: str,
        settings: ConnectionSettings,
        state: ClientState | None = None,
        keep: Callable[[ClientRecord], None] | None = None,
    ) -> None:
        self.name = name
        self.session = session
        self.settings = settings
        self.window = Unacknowledged() if state is None else state.window
        self._keep = keep
        self.consuming = Consuming(state, keep, self._request)
        self.connection: Connection | None = None
        #: the reason why the last connection ended
        self.ending: Ending | None = None
        #: the number of times that a broker has welcomed the client
        self.welcomes = 0
        self.subscriptions: ClientEntries[InterestText, Any] = ClientEntries(SUBSCRIPTION)
        self.advertisements: ClientEntries[AdvertisedText, Any] = ClientEntries(ADVERTISEMENT)
        self._bulk = BulkRequests(self.subscriptions)
        self._changes: Changes[InterestText] = Changes(self._request)
        self._bulk_bytes_max = FRAME_BYTES_FLOOR // 2
        self._unanswered: set[str] = set()
        #: the broker waits for `AllStated`, which follows the requests this connection begins with
        self._is_awaited = False
        #: the time of the last input, and the time until which a program that continues the session
        #: of an earlier run may request its entries; `None`: it is over, or this is that run
        self._now = 0.0
        self._states_until: float | None = None
        #: the last publication that the broker had received when this connection began
        self._resumed_after = 0
        #: no unacknowledged publication was made before the clock showed this; `None` where an
        #: earlier run made one of them
        self._since: int | None = None
        #: the ids of a delivery whose last frame has not arrived
        self._partial: list[str] = []

    @property
    def open(self) -> bool:
        """True if messages reach the broker now."""
        return self.connection is not None and self.connection.phase is Phase.OPEN

    @property
    def has_resubscribed(self) -> bool:
        """True if the broker has answered every request that this connection began with."""
        return self.open and self._bulk.are_answered

    # Connections -------------------------------------------------------------------------------

    def connected(self, now: float) -> None:
        """Greet the broker: the connection is made, and bytes can flow."""
        if self.connection is not None:
            raise InvariantError("the client is connected already")
        self.connection = Connection(Role.CLIENT, self.settings, now)
        self.connection.greet(
            Hello(
                role=Role.CLIENT,
                name=self.name,
                session=self.session,
                acknowledged=self.window.acknowledged,
                credentials=self.settings.credentials,
            )
        )

    def arrived(self) -> None:
        """Note that bytes have arrived, which go to `receive` next."""
        if self.connection is not None:
            self.connection.arrived()

    def receive(self, data: bytes, now: float) -> Iterator[ClientEvent]:
        """The events in the data, in order. Iterate to the end; look at `ending` then."""
        connection = self._connection()
        self._now = now
        try:
            for message in connection.receive(data, now):
                if isinstance(message, SubscribedManyReply | UnsubscribedManyReply):
                    yield from self._answered_many(message)
                    continue
                event = self._interpret(message, connection)
                if event is not None:
                    yield event
            self._request_more()
        except PeerError as error:
            connection.fault(error)
        self.ending = connection.ending

    def lost(self, reason: str) -> Iterator[ClientEvent]:
        """Take in that the connection is lost; entries that were leaving are withdrawn by that."""
        connection = self._connection()
        connection.lost(reason)
        self.ending = connection.ending
        self.connection = None
        self._partial.clear()
        self._unanswered.clear()
        for entries in (self.subscriptions, self.advertisements, self.consuming.entries):
            for entry in entries.remove_leaving():
                yield self._withdrawn(entry)

    def say_goodbye(self, reason: str) -> None:
        """End the session for good, with a goodbye if there is a connection."""
        if self.connection is not None:
            # A client that goes on later under the same session must not be forgotten.
            code = GoodbyeCode.DONE if self._keep is None else GoodbyeCode.SHUTDOWN
            self.connection.say_goodbye(code, reason)

    def take_outgoing(self) -> bytes:
        """The bytes to be sent now."""
        return b"" if self.connection is None else self.connection.take_outgoing()

    @property
    def outgoing_bytes(self) -> int:
        """The number of bytes that `take_outgoing` would return."""
        return 0 if self.connection is None else self.connection.outgoing_bytes

    def next_deadline(self) -> float | None:
        """The time at which `expire` has to be called, if nothing arrives before."""
        if self.connection is None:
            return None
        due = self.connection.next_deadline()
        if not self._is_awaited or self._states_until is None:
            return due
        return self._states_until if due is None else min(due, self._states_until)

    def expire(self, now: float) -> None:
        """Do what is due at `now`; look at `ending` then."""
        if self.connection is not None:
            self.connection.expire(now)
            self.ending = self.connection.ending
        if self._states_until is not None and now >= self._states_until:
            self._states_until = None
            self._request_more()

    # Commands ----------------------------------------------------------------------------------

    def subscribe(
        self,
        id: str,
        text: InterestText,
        owner: object = None,
    ) -> None:
        """Request a subscription, now and on every later connection."""
        asked = self.welcomes if self.open else 0
        self._request(self.subscriptions.add(id, text, owner, asked))

    def hold(self, id: str, text: InterestText, owner: object) -> Subscription:
        """Add a subscription, under a free id, that is not requested before `subscribe_many`.

        `unsubscribe_many` removes it, too.
        """
        return self.subscriptions.add(id, text, owner, HELD)

    def subscribe_many(self, held: deque[Subscription]) -> None:
        """Request several held subscriptions, as fast as the broker answers.

        The session empties the queue, so a caller that waits can see how far the session is.
        """
        self._bulk.put(held)
        self._request_more()

    def unsubscribe_many(self, ids: Sequence[str]) -> EntriesWithdrawn | None:
        """Withdraw several subscriptions; return the event of the first that were never requested.

        `advance` returns the events of the others.
        """
        self._bulk.withdraw(ids)
        return self._withdraw_more()

    @property
    def has_work(self) -> bool:
        """True if there is work that need not wait: call `advance`."""
        return self._bulk.has_work(is_open=self.open)

    def advance(self) -> Iterator[ClientEvent]:
        """The events of a few milliseconds of that work. Iterate to the end."""
        event = self._withdraw_more()
        if event is not None:
            yield event
        self._request_more()

    def unsubscribe(self, id: str) -> bool:
        """Withdraw a subscription; true if the broker will answer (else it was not requested)."""
        return self._withdraw(self.subscriptions, id)

    def change(self, id: str, text: InterestText) -> None:
        """Change the filter of a subscription, without a gap.

        The subscription was in force, and no other change of it is under way; `EntryChanged` or
        `EntryKept` reports the result.
        """
        entry = self.subscriptions.known(id)
        is_known = self.open and self._bulk.is_requested(entry) and not entry.is_leaving
        is_answered = not self._bulk.is_under_way(id)
        self._changes.begin(entry, text, is_known=is_known, is_answered=is_answered)

    def advertise(
        self,
        id: str,
        text: AdvertisedText,
        owner: object = None,
    ) -> None:
        """Request an advertisement, now and on every later connection."""
        self._request(self.advertisements.add(id, text, owner))

    def unadvertise(self, id: str) -> bool:
        """Withdraw an advertisement; true if the broker will answer (else it was not requested)."""
        return self._withdraw(self.advertisements, id)

    def consume(self, id: str, wanted: Wanted, owner: object = None) -> None:
        """Register a consumer of a durable subscription, now and on every later connection."""
        self._request(self.consuming.entries.add(id, wanted, owner))

    def leave(self, id: str) -> bool:
        """Withdraw a consumer; true if the broker will answer (else it was not requested)."""
        return self._withdraw(self.consuming.entries, id)

    def change_consumed(self, id: str, text: InterestText) -> None:
        """Change the filter of a consumer's durable subscription; as `change`."""
        self.consuming.change(id, text, is_open=self.open)

    def acknowledge_waiting(self) -> None:
        """Send the acknowledgements that are due."""
        if self.open and self.consuming.are_waiting:
            for request in self.consuming.requests():
                self._connection().send(request)

    def ask(self, request: DurablesRequest) -> None:
        """Send a request about the broker's durable subscriptions, on an open connection."""
        self._connection().send(request)

    def _request(self, entry: Entry[F, Any]) -> None:
        if self.open:
            self._connection().send(entry.kind.request(entry.id, entry.filter))

    def _withdraw(self, entries: ClientEntries[F, Any], id_: str) -> bool:
        entry = entries.known(id_)
        if entry.is_leaving:
            return True
        is_asked = entry.kind is not SUBSCRIPTION or self._bulk.is_requested(entry)
        if not (self.open and is_asked):
            self._withdrawn(entry)
            entries.remove(entry)
            return False
        entries.leave(entry)
        self._connection().send(entry.kind.withdrawal(id_))
        return True

    def read_clock(self) -> int | None:
        """The time that the clock shows, if there is a clock: a publication ages from then on."""
        return None if self.settings.clock is None else self.settings.clock.read()

    def publish(self, publication: bytes, born: int | None = None) -> int:
        """Publish; return the sequence number of the publication. The window must not be full.

        The publication existed already when the clock showed `born`; `None`: it is made now.
        """
        if not len(self.window):
            self._since = self.read_clock() if born is None else born
        sequence = self.window.add(publication)
        if self._keep is not None:
            self._keep(Published(publication))
        if self.open and not self._unanswered:
            connection = self._connection()
            if born is not None:
                connection.mark(born)
            connection.send(PublishRequest(sequence, publication))
        return sequence

    # Answers -----------------------------------------------------------------------------------

    def _interpret(
        self, message: Greeting | Message | Run, connection: Connection
    ) -> ClientEvent | None:
        if isinstance(message, DeliveryMessage):
            return self._delivery(message)
        if isinstance(message, AcceptedReply):
            self.window.answered(message.through)
            if self._keep is not None:
                self._keep(Answered(message.through))
            return message
        if isinstance(message, _OF_CONSUMERS) and message.id in self.consuming.entries:
            return self.consuming.interpret(message)
        if isinstance(message, _OF_NONE):
            return None
        if isinstance(message, DurablesReply):
            return message
        if isinstance(message, NeverNotice | SuppliedNotice | UnsuppliedNotice):
            return _notice(message)
        if isinstance(message, Welcome):
            self._welcomed(message, connection)
            return message
        if isinstance(message, SubscribedReply | UnsubscribedReply | SubscriptionRefused):
            self._bulk.answered(message.id)
            return self._subscription_event(message)
        if isinstance(message, AdvertisedReply | UnadvertisedReply | AdvertisementRefused):
            event = _answer(self.advertisements, message)
            self._answered(message.id, connection)
            return event
        if isinstance(message, PublicationRefused):
            if message.sequence > self.window.last:
                last = self.window.last
                raise FrameError(f"the broker refused publication {message.sequence} of {last}")
            self.window.refused(message.sequence)
            if self._keep is not None:
                self._keep(Refused(message.sequence))
            return message
        if isinstance(message, ReplayReply | ReplayRefused | CheckReply | FiltersReply):
            raise FrameError(f"the broker says {type(message).__name__}, which nobody has asked")
        raise InvariantError(f"a {type(message).__name__} is nothing a broker says to a client")

    def _welcomed(self, welcome: Welcome, connection: Connection) -> None:
        if welcome.received > self.window.last:
            raise FrameError(
                f"the broker knows publication {welcome.received} of this session, which has sent "
                f"{self.window.last}"
                + ("" if self._keep is None else "; the state is an older copy: begin a new file")
            )
        connection.welcomed()
        self.welcomes += 1
        for advertisement in self.advertisements:
            self._request(advertisement)
        self._bulk_bytes_max = min(welcome.frame_bytes_max, connection.frame_bytes_max) // 2
        self._bulk.begin(self.welcomes)
        self._changes.connected(self.subscriptions.get)
        self._is_awaited = welcome.remembers
        if self._keep is not None and self.welcomes == 1:
            self._states_until = self._now + RESTATE_S
        self._request_more()
        self._unanswered = {advertisement.id for advertisement in self.advertisements}
        self._resumed_after = welcome.received
        self.consuming.connected()
        for consumer in self.consuming.entries:
            self._request(consumer)
        if not self._unanswered:
            self._send_waiting(connection)

    def _answered(self, advertisement: str, connection: Connection) -> None:
        """Send the publications that waited for the last answer to an advertisement."""
        if advertisement in self._unanswered:
            self._unanswered.remove(advertisement)
            if not self._unanswered:
                self._send_waiting(connection)

    def _send_waiting(self, connection: Connection) -> None:
        for number, (sequence, publication) in enumerate(self.window.after(self._resumed_after)):
            if not number:
                connection.mark(self._since)
            connection.send(PublishRequest(sequence, publication))

    def _request_more(self) -> None:
        """Send the next bulk request, if there is room for one."""
        if not self.open:
            return
        request = self._bulk.request(self._bulk_bytes_max)
        if request is not None:
            self._connection().send(request)
        is_all = self._bulk.is_restated and self._states_until is None
        if self._is_awaited and is_all:
            self._is_awaited = False
            self._connection().send(AllStated())

    def _withdraw_more(self) -> EntriesWithdrawn | None:
        """Send the next bulk withdrawals; return the event of the entries that are gone at once."""
        gone, known = self._bulk.leave(is_open=self.open)
        for request in withdrawals(known, self._bulk_bytes_max):
            self._connection().send(request)
        for entry in gone:
            self._changes.forget(entry.id)
        return EntriesWithdrawn(tuple(gone)) if gone else None

    def _subscription_event(
        self, reply: SubscribedReply | UnsubscribedReply | SubscriptionRefused
    ) -> EntryEvent | None:
        """The event of an answer about a subscription that (still) exists, or about its change."""
        entry = self.subscriptions.get(reply.id)
        if entry is None:
            return None
        if isinstance(reply, SubscribedReply):
            return self._changes.answered(entry) or EntryConfirmed(entry)
        if isinstance(reply, SubscriptionRefused) and self._changes.refused(entry, reply.reason):
            return None
        self._changes.forget(entry.id)
        return _answer(self.subscriptions, reply)

    def _withdrawn(self, entry: Entry[Any, Any]) -> EntryWithdrawn:
        """The event of an entry that is gone without an answer; its change is dropped."""
        if entry.kind is SUBSCRIPTION:
            self._changes.forget(entry.id)
        else:
            self.consuming.withdrawn(entry.id)
        return EntryWithdrawn(entry)

    def _answered_many(
        self, reply: SubscribedManyReply | UnsubscribedManyReply
    ) -> Iterator[EntriesEvent | EntryEvent]:
        """The events of an answer about several subscriptions, for those that (still) exist."""
        self._bulk.answered(*reply.ids)
        found = [entry for entry in map(self.subscriptions.get, reply.ids) if entry is not None]
        if isinstance(reply, SubscribedManyReply):
            yield EntriesConfirmed(tuple(found))
            yield from filter(None, map(self._changes.answered, found))
            return
        for entry in found:
            self._changes.forget(entry.id)
            self.subscriptions.remove(entry)
        yield EntriesWithdrawn(tuple(found))

    def _delivery(self, message: DeliveryMessage) -> Delivery | None:
        if message.more:
            self._partial.extend(message.subscriptions)
            return None
        ids = message.subscriptions
        if self._partial:
            ids = (*self._partial, *ids)
            self._partial.clear()
        keeper = self._connection().timekeeper
        if keeper is None:
            return Delivery.of(message.publication, ids)
        return Delivery.of(message.publication, ids, keeper.born, keeper.clock)

    def _connection(self) -> Connection:
        if self.connection is None:
            raise ConnectionLostError("the client is not connected")
        return self.connection


def _notice(message: NeverNotice | SuppliedNotice | UnsuppliedNotice) -> NeverEvent | SupplyEvent:
    if isinstance(message, NeverNotice):
        return NeverEvent(message.id, message.reason)
    return SupplyEvent(message.ids, isinstance(message, SuppliedNotice))


def _answer(entries: ClientEntries[F, Any], reply: _EntryReply) -> EntryEvent | None:
    """The event of a reply; `None` if the entry does not exist (any more)."""
    entry = entries.get(reply.id)
    if entry is None:
        return None
    if isinstance(reply, SubscribedReply | AdvertisedReply):
        return EntryConfirmed(entry)
    entries.remove(entry)
    if isinstance(reply, SubscriptionRefused):
        return EntryRefused(entry, reply.reason, reply.cause)
    if isinstance(reply, AdvertisementRefused):
        return EntryRefused(entry, reply.reason)
    return EntryWithdrawn(entry)
