"""The durable subscriptions of a broker: their connection to its store, router and clients.

Once a turn, before output is flushed, `end_turn` adds the deliveries to consumers to the output.
They are held back until the next commit is done, which has their rows. So no publication is
delivered before it is durable, and no acknowledgement is confirmed before it is.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from msgspec import structs

from sapwood.broker.brought import body_of, places_by_id, publication_count
from sapwood.broker.connections import Connections
from sapwood.broker.counters import Counters
from sapwood.broker.expiry import Expiry, has_outlived
from sapwood.broker.logs import Log
from sapwood.broker.looking import looked_at
from sapwood.broker.owned import owned
from sapwood.broker.withholding import Withholding, sees, shown
from sapwood.deadline_timer import DeadlineTimer
from sapwood.errors import FrameError, InputError
from sapwood.limits.durable import DURABLE_RECENT_BYTES, DURABLE_SCAN_PLACES
from sapwood.model.interest import Interest
from sapwood.routing.effects import Deliver, DeliverMany
from sapwood.routing.inputs import (
    AttachClient,
    ClientSubscribe,
    DetachClient,
    Input,
    Receive,
    ReceiveMany,
)
from sapwood.session.changes_together import WithdrawMany
from sapwood.session.client_session_at_broker import ClientSessionAtBroker
from sapwood.session.connection import shortened
from sapwood.session.durable.catching_up import Arrival
from sapwood.session.durable.clock import SteadyClock
from sapwood.session.durable.effects import (
    Acknowledged,
    Attach,
    Detach,
    Effect,
    Hand,
    Join,
    Leave,
    LogEvent,
    Refuse,
    ReportDropped,
    ToConsumer,
)
from sapwood.session.durable.restoring import latest
from sapwood.session.durable.rows import Kind, Row
from sapwood.session.durable.subscription import OVER
from sapwood.session.durable.subscriptions import (
    SUBSCRIPTION_ID,
    DurableSubscriptions,
    Making,
)
from sapwood.session.grants import Gate, Grant
from sapwood.store.reading import Stored
from sapwood.store.store import Store
from sapwood.wire.durable import (
    AcknowledgedReply,
    AcknowledgeRequest,
    DurableDeliveries,
    DurableNotice,
    DurableRequest,
    DurablesAction,
    DurablesReply,
    DurablesRequest,
    DurableState,
)
from sapwood.wire.interests import from_text, to_text
from sapwood.wire.messages import (
    Cause,
    SubscriptionRefused,
    UnsubscribedReply,
    UnsubscribeRequest,
)
from sapwood.wire.publications import encode_publication

WIDER: Final = (
    "the durable subscription has more than may be subscribed to under this identity; remove it, "
    "and make it again"
)
_NO_STORE: Final = "this broker keeps nothing; start it with --data"
_SPREAD: Final = 4
"""The factor of span to number from which places are read one by one."""


class Commits(Protocol):
    """The store's commits, as durable subscriptions use them."""

    def when_done(self, callback: Callable[[], None]) -> None:
        """Call a function when everything added so far is committed."""
        ...


class Keeping(Protocol):
    """An object with durable subscriptions."""

    durables: Durables


@dataclass(frozen=True, slots=True)
class Shell:
    """The broker, as its durable subscriptions call it.

    `handle` lets the router handle an input and carries out its effects. `flush` ends a turn: rows
    are stored, and output leaves behind them.
    """

    connections: Connections
    counters: Counters
    handle: Callable[[Input, float], object]
    flush: Callable[[], None]


class Durables:
    """The durable subscriptions of one broker with a store.

    With `persists` the router's upkeep adds all publications to the store; else those from
    neighbors are added here, where an owner gets one.

    #: _recent has every publication that an owner got and that is not committed; _order its places
    """

    def __init__(
        self,
        store: Store,
        commits: Commits,
        shell: Shell,
        log: Log,
        *,
        persists: bool,
    ) -> None:
        self._store = store
        self._commits = commits
        self._connections = shell.connections
        self._counters = shell.counters
        self._handle = shell.handle
        self._flush = shell.flush
        self._log = log
        self._persists = persists
        self._loop = asyncio.get_running_loop()
        self._timer = DeadlineTimer(self._loop.call_at, self._tick)
        self._subscriptions = DurableSubscriptions()
        store.holders.append(self._subscriptions.holds)
        store.adders.append(self._add_rows)
        self._recent: dict[int, bytes] = {}
        self._order: deque[int] = deque()
        self._recent_bytes = 0
        #: the input whose publications are delivered, the place of the first one, and the places by
        #: id
        self._input: Input | None = None
        self._by_id: dict[str, int] | None = None
        #: the filters with which the journal is scanned, by owner
        self._filters: dict[str, Interest] = {}
        self._is_looking = False
        self._withholding = Withholding(store)

    # Life --------------------------------------------------------------------------------------

    def start(self) -> None:
        """Restore the stored subscriptions: the router gets their owners again."""
        rows = [
            Row(kind, name, number, value)
            for kind in Kind
            for name, number, value in self._store.rows(kind)
        ]
        now = self._loop.time()
        self._clock = SteadyClock(time.time(), now, latest(rows))
        effects = self._subscriptions.restore(rows, self._store.next_place, self._time())
        self._carry_out(effects)
        self._arm()

    def stop(self) -> None:
        """Stop the timer and the scans."""
        self._timer.stop()
        self._is_looking = True

    def _time(self) -> float:
        return self._clock.time(self._loop.time())

    def _tick(self) -> None:
        now = self._loop.time()
        self._carry_out(self._subscriptions.tick(now, self._time()))
        self._arm()
        self._flush()

    def _arm(self) -> None:
        self._timer.set(self._subscriptions.next_deadline())

    def end_turn(self) -> None:
        """Add due rows to the store, and due deliveries to the output."""
        subscriptions, store = self._subscriptions, self._store
        if not len(subscriptions) and not subscriptions.is_changed:
            return
        self._carry_out(subscriptions.settle(self._loop.time()))
        if not store.is_pending:  # else rows are added when that is committed
            self._add_rows()
        self._forget()
        self._arm()
        self._look_soon()

    def _add_rows(self) -> None:
        """Add the changed rows to the store."""
        subscriptions, store = self._subscriptions, self._store
        if not len(subscriptions) and not subscriptions.is_changed:
            return
        for row in subscriptions.rows(store.next_place, self._time()):
            if row.value is None:
                store.delete(row.kind, row.name, row.number)
            else:
                store.put(row.kind, row.name, row.number, row.value)

    # Clients -----------------------------------------------------------------------------------

    def received(
        self,
        client: ClientSessionAtBroker,
        message: DurableRequest | AcknowledgeRequest | DurablesRequest,
    ) -> None:
        """Handle a client's message about durable subscriptions.

        Raises `FrameError` for a message that it must not send.
        """
        match message:
            case DurableRequest():
                self._open(client, message)
            case AcknowledgeRequest():
                try:
                    self._subscriptions.acknowledge(client.name, message)
                except InputError as error:
                    raise FrameError(f"an acknowledgement for {message.id!r}: {error}") from None
            case DurablesRequest():
                self._asked(client, message)

    def leave(self, client: ClientSessionAtBroker, id_: str) -> bool:
        """Withdraw a client's consumer of this id; true if it was one."""
        effects = self._subscriptions.leave(client.name, id_, self._time())
        if effects is None:
            return False
        self._carry_out(effects)
        return True

    def gone(self, client: str) -> None:
        """Remove the consumers of a client that is gone."""
        self._carry_out(self._subscriptions.gone(client, self._time()))

    def _open(self, client: ClientSessionAtBroker, request: DurableRequest) -> None:
        if client.gate is not None and (why := self._denied(client.gate.grant, request)):
            client.connection.send(SubscriptionRefused(request.id, shortened(why), Cause.GRANT))
            return
        interest = client.filter_of(request)
        if request.filter is not None:
            if interest is None:
                return
            request = _canonical(request, interest)
        try:
            quota = client.quota
            making = Making(
                self._withholding.start(request.since, client.gate),
                self._store.next_place,
                _generation(),
                client.identity,
                quota.durables,
                quota.durable_bytes,
            )
        except InputError as error:
            client.connection.send(SubscriptionRefused(request.id, shortened(str(error))))
            return
        self._carry_out(self._subscriptions.open(client.name, request, making, self._time()))

    def _denied(self, grant: Grant, request: DurableRequest) -> str | None:
        """The reason why a grant forbids a request for a durable subscription, or `None`."""
        for name in (request.name, request.policy.dead_letter or ""):
            if not grant.names(name):
                return f"no durable subscription may be named {name} under this identity"
        present = self._subscriptions.filter_of(request.name) if request.name else None
        if present is not None and not grant.covers(from_text(present)):
            return WIDER
        return None

    def _asked(self, client: ClientSessionAtBroker, request: DurablesRequest) -> None:
        subscriptions, name = self._subscriptions, request.name
        names = _any_name if client.gate is None else client.gate.grant.names
        try:
            if request.action is not DurablesAction.LIST and not names(name):
                raise InputError(f"there is no durable subscription {name!r} here")
            match request.action:
                case DurablesAction.LIST:
                    reply = subscriptions.listed(name, self._time(), names)
                case DurablesAction.SHOW:
                    reply = DurablesReply((subscriptions.show(name, self._time()),))
                case DurablesAction.REMOVE:
                    reply = DurablesReply((subscriptions.show(name, self._time()),))
                    self._carry_out(subscriptions.remove(name))
        except InputError as error:
            reply = DurablesReply(refusal=shortened(str(error)))
        client.connection.send(shown(reply, client.gate))

    def listed(self, after: str) -> DurablesReply:
        """The states of durable subscriptions after a name, as many as one reply has."""
        return self._subscriptions.listed(after, self._time(), _any_name)

    def state(self, owner: str) -> DurableState | None:
        """The state of an owner's mailbox, if it has one."""
        return self._subscriptions.state(owner, self._time())

    # What the router says (`sapwood.broker.effect_runner.Owners`) -------------------------------

    def subscribed(self, owner: str) -> None:
        """Take in that the subscription of an owner is in force."""
        self._carry_out(self._subscriptions.confirmed(owner))

    def refused(self, owner: str, reason: str) -> None:
        """Take in that the subscription of an owner is refused."""
        # The router is within an input: the owner is detached after it.
        self._loop.call_soon(self._refused, owner, reason)

    def _refused(self, owner: str, reason: str) -> None:
        self._carry_out(self._subscriptions.refused(owner, reason))
        self._flush()

    def deliver(self, effect: Deliver, request: Input, age_s: float) -> None:
        """Put a publication of this age that the router delivers to an owner."""
        place = effect.place
        if place is None:
            first = self._first_place(request)
            if self._by_id is None:
                self._by_id = places_by_id(request)
            place = first + self._by_id.get(effect.publication.id, 0)
        encoded = effect.publication.encoded or encode_publication(effect.publication)
        self._arrived(effect.client, [(place, encoded, age_s)])

    def deliver_many(self, effect: DeliverMany, request: Input, expiry: Expiry) -> None:
        """Put the publications of a batch for owners, except those whose time to live is over."""
        found = owned(effect) if len(self._subscriptions) else {}
        if not found:
            return
        first, batch = self._first_place(request), effect.batch
        over, ages_s = expiry.are_over(batch), expiry.ages_s(batch)
        for owner, places in found.items():
            there = places if over is None else [at for at in places if not over[at]]
            self._counters.expired += len(places) - len(there)
            self._arrived(owner, [(first + at, body_of(batch, at), ages_s[at]) for at in there])

    def _arrived(self, owner: str, publications: Iterable[tuple[int, bytes, float]]) -> None:
        arrivals = []
        for place, encoded, age_s in publications:
            if place not in self._recent:
                self._recent[place] = encoded
                self._order.append(place)
                self._recent_bytes += len(encoded)
            arrivals.append(Arrival(place, len(encoded), age_s))
        self._carry_out(self._subscriptions.delivered(owner, arrivals, self._time()))

    def _first_place(self, request: Input) -> int:
        """The place of the first publication of an input, which is in the store."""
        if request is not self._input:
            self._input = request
            if not self._persists and isinstance(request, Receive | ReceiveMany):
                self._store.add(request)
            self._by_id = None
        return self._store.places.stop - publication_count(request)

    # Effects -----------------------------------------------------------------------------------

    def _carry_out(self, effects: Iterable[Effect]) -> None:
        for effect in effects:
            match effect:
                case Attach(owner, filter_, is_change):
                    interest = self._filters[owner] = from_text(filter_)
                    now = self._loop.time()
                    if not is_change:
                        self._handle(AttachClient(owner), now)
                    self._handle(ClientSubscribe(owner, SUBSCRIPTION_ID, interest), now)
                case Detach(owner):
                    del self._filters[owner]
                    self._handle(DetachClient(owner), self._loop.time())
                case LogEvent():
                    self._write(effect)
                case _:
                    self._send(effect)

    def _write(self, event: LogEvent) -> None:
        level = self._log.info
        if event.reason:
            level = self._log.warning
            self._counters.durable_dropped += event.count
        level(
            f"durable subscription: {event.what}",
            name=event.name,
            **({"reason": event.reason} if event.reason else {}),
            **({"publications": event.count} if event.count else {}),
        )

    def _send(self, effect: ToConsumer) -> None:
        client, id_ = effect.consumer
        session = self._connections.to_client(client)
        if session is None:
            return
        send = session.connection.send
        match effect:
            case Join(_, reply):
                send(reply)
            case Hand():
                self._hand(effect, session)
            case ReportDropped(_, dropped, reason):
                send(DurableNotice(id_, dropped, shortened(reason)))
            case Acknowledged(_, serial):
                send(AcknowledgedReply(id_, serial))
            case Leave():
                send(UnsubscribedReply(id_))
            case Refuse(_, reason, is_quota):
                cause = Cause.QUOTA if is_quota else Cause.REQUEST
                send(SubscriptionRefused(id_, shortened(reason), cause))

    def _hand(self, hand: Hand, session: ClientSessionAtBroker) -> None:
        """Send publications to a consumer; drop those that are lost, or whose time is over.

        The consumer may not see all of them where another consumer has narrowed the filter since,
        or where they were given up elsewhere. Then it is removed.
        """
        found, now = self._read([parcel.place for parcel in hand.parcels]), self._time()
        if not self._may_have(hand, session.gate, found):
            turned = self._subscriptions.turn_away(hand.consumer, WIDER, now)
            self._loop.call_soon(self._later, turned)
            return
        lost = [parcel.number for parcel in hand.parcels if parcel.place not in found]
        kept = [parcel for parcel in hand.parcels if parcel.place in found]
        over = {p.number for p in kept if has_outlived(found[p.place], now - p.time)}
        there = [parcel for parcel in kept if parcel.number not in over]
        if there:
            places = (parcel.place for parcel in there)
            session.connection.send(
                DurableDeliveries(
                    hand.consumer[1],
                    tuple(parcel.number for parcel in there),
                    tuple(parcel.attempt for parcel in there),
                    self._withholding.told(places, hand.reached, session.gate),
                    tuple(found[parcel.place] for parcel in there),
                )
            )
        self._counters.deliveries += len(there)
        self._counters.expired += len(over)
        if lost:
            self._carry_out(self._subscriptions.not_handed(hand.consumer, lost))
        if over:
            self._carry_out(self._subscriptions.not_handed(hand.consumer, over, OVER))

    def _may_have(self, hand: Hand, gate: Gate | None, found: Mapping[int, bytes]) -> bool:
        """True if a consumer may see every publication that it is to be sent.

        A subscription without a name has no other consumer: its filter was narrowed.
        """
        if gate is None or gate.grant.sees_all or not self._subscriptions.is_named(hand.consumer):
            return True
        return all(sees(gate.grant, encoded) for encoded in found.values())

    def _later(self, effects: Sequence[Effect]) -> None:
        self._carry_out(effects)
        self._flush()

    def _read(self, places: Sequence[int]) -> dict[int, bytes]:
        """The publications at these places, as far as they are there."""
        recent = self._recent
        found = {place: recent[place] for place in places if place in recent}
        missing = sorted(set(places).difference(found))
        if missing:
            first = self._store.bounds[0]
            kept = [place for place in missing if place >= first]
            found.update((one.place, one.encoded) for one in self._stored(kept))
        return found

    def _stored(self, places: list[int]) -> Iterable[Stored]:
        if not places:
            return ()
        if places[-1] - places[0] >= _SPREAD * len(places):
            return self._store.read_places(places)
        wanted = set(places)
        read = self._store.read(places[0], places[-1] + 1)
        return (one for one in read if one.place in wanted)

    def _forget(self) -> None:
        """Drop publications that can be read again, the oldest first, beyond a bound."""
        order, done = self._order, self._store.done
        while self._recent_bytes > DURABLE_RECENT_BYTES and order[0] < done:
            self._recent_bytes -= len(self._recent.pop(order.popleft()))

    # The journal -------------------------------------------------------------------------------

    def _look_soon(self) -> None:
        """Schedule a scan of the journal for one that catches up, in a turn of its own."""
        look = None if self._is_looking else self._subscriptions.looks()
        if look is None:
            return
        self._is_looking = True
        if look.first < self._store.done:
            self._look_next()
        else:
            self._commits.when_done(self._look_next)

    def _look_next(self) -> None:
        self._loop.call_soon(self._look)

    def _look(self) -> None:
        """Scan a part of the journal: for half a turn, a few publications at least."""
        self._is_looking = False
        look = self._subscriptions.looks()
        if look is None:
            return
        first = self._store.bounds[0]
        if look.first < first:
            self._carry_out(self._subscriptions.not_kept_before(first, self._time()))
        else:
            end = min(look.before, look.first + DURABLE_SCAN_PLACES, self._store.done)
            interest, read = self._filters[look.owner], self._store.read(look.first, end)
            found, through, expired = looked_at(look, end, read, interest, self._time())
            self._counters.expired += expired
            self._carry_out(self._subscriptions.looked(look.owner, found, through, self._time()))
        self._flush()


def about_durables(keeping: Keeping | None, client: ClientSessionAtBroker, message: object) -> bool:
    """Handle a message if it is about durable subscriptions; true if it is.

    The ids of durable ones are taken out of a `WithdrawMany`. Raises `FrameError` for a message
    that a client must not send.
    """
    durables = None if keeping is None else keeping.durables
    if isinstance(message, UnsubscribeRequest):
        return durables is not None and durables.leave(client, message.id)
    if isinstance(message, WithdrawMany):
        if durables is not None:
            message.ids = [id_ for id_ in message.ids if not durables.leave(client, id_)]
        return not message.ids
    if not isinstance(message, DurableRequest | AcknowledgeRequest | DurablesRequest):
        return False
    if durables is None:
        _refuse(client, message)
    else:
        durables.received(client, message)
    return True


def _refuse(
    client: ClientSessionAtBroker, message: DurableRequest | AcknowledgeRequest | DurablesRequest
) -> None:
    """Refuse a client's message about durable subscriptions at a broker without a store.

    Raises `FrameError` for an acknowledgement: no delivery could have come from here.
    """
    match message:
        case DurableRequest(id_):
            client.connection.send(SubscriptionRefused(id_, _NO_STORE))
        case DurablesRequest():
            client.connection.send(DurablesReply(refusal=_NO_STORE))
        case AcknowledgeRequest(id_):
            raise FrameError(f"an acknowledgement for {id_!r}: {_NO_STORE}")


def _any_name(_: str) -> bool:
    return True


def _canonical(request: DurableRequest, interest: Interest) -> DurableRequest:
    """The request with its filter in canonical form."""
    return structs.replace(request, filter=to_text(interest))


def _generation() -> str:
    return secrets.token_hex(8)
