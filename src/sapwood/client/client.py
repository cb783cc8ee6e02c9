"""The asyncio client."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeVar, Unpack, overload

from sapwood.client.asked import advertisement_requests, subscription_requests
from sapwood.client.connecting import Connector
from sapwood.client.durable import Bounds, Consumers, DurableSubscription, Durably, is_consumer
from sapwood.client.freshness import Freshness, Live
from sapwood.client.groups import Items, SubscriptionGroup, texts
from sapwood.client.moving import moved
from sapwood.client.publishing import Names, Publisher
from sapwood.client.publishing_client import PublishingClient
from sapwood.client.replies import Inbox, answering, time_left
from sapwood.client.requests import looked_at
from sapwood.client.subscription import ClientSubscription, Deliveries, DeliveryQueues
from sapwood.client.typed import RecordType, TypedDurableSubscription, TypedSubscription
from sapwood.errors import ConnectionLostError, DuplicateIdError, InputError
from sapwood.language.written import given_advertised, given_interest
from sapwood.limits import DELIVERIES_WAITING_MAX, GOODBYE_S
from sapwood.local_clock import local_clock
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.interest import Interest
from sapwood.session.client_entries import SUBSCRIPTION, EntriesEvent, EntryEvent
from sapwood.session.client_session import ClientEvent, ClientSession, NeverEvent, SupplyEvent
from sapwood.session.delivery import Delivery
from sapwood.session.durable.consuming import CONSUMER_EVENTS
from sapwood.session.settings import ConnectionSettings, TlsFiles, with_access
from sapwood.store.client_state import ClientStateFile
from sapwood.wire.address import Address, parse_address
from sapwood.wire.durable import DurablesAction, DurablesReply, DurableState
from sapwood.wire.greetings import Welcome
from sapwood.wire.interests import advertised_to_text, to_text
from sapwood.wire.messages import AcceptedReply, PublicationRefused
from sapwood.wire.names import check_id, check_name

_LOG: Final = logging.getLogger("sapwood.client")

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
) -> Client:
    """A client of the broker at `address` (`host:port`), to be used with `async with`.

    A broker with access control gets a `user` with its `password`, or a `token`, or the certificate
    of `tls`. With `tls://` before the address the connection is encrypted, and the broker's
    certificate checked: by `tls.ca`, or by the certificates that the system trusts.

    `name` is unique among the broker's clients; without one, a random name is used. A client that
    may `reconnect` does so whenever the connection is lost: it subscribes and advertises again, and
    when its advertisements are in force again it sends its unacknowledged publications again, which
    the broker does not accept twice; publications of others meanwhile are not delivered. It tries
    for `reconnect_s` seconds, or for ever.

    With a `state`, a file, the client is the same one when it is started again, its name included:
    its unanswered publications are sent again and accepted once (`published` is the number of
    publications it has been given so far), and deliveries of durable subscriptions that it had
    acknowledged are not seen again. Raises `InputError`, `FileFormatError` or
    `EnvironmentMissingError` for a file that cannot be used.

    Entering raises `ConnectionLostError` where no broker answers, and `HandshakeError` where a
    broker refuses the client.
    """
    return Client(
        parse_address(address),
        name,
        reconnect_s=reconnect_s if reconnect else 0.0,
        settings=with_access(settings or ConnectionSettings(), user, password, token, tls),
        state=state,
    )


class Client(PublishingClient):
    """One client of a broker. Made by `connect`.

    All methods belong to the event loop in which the client was entered.
    """

    _loop: asyncio.AbstractEventLoop
    _ready: asyncio.Future[None]

    def __init__(
        self,
        address: Address,
        name: str | None,
        *,
        reconnect_s: float | None,
        settings: ConnectionSettings,
        state: str | Path | None = None,
    ) -> None:
        new_name = f"client-{secrets.token_hex(4)}"
        self.name = check_name("client", new_name if name is None else name)
        if settings.clock is None:
            settings = replace(settings, clock=local_clock())
        session, runs = secrets.token_hex(8), 0
        self._state: ClientStateFile | None = None
        if state is None:
            self._session = ClientSession(self.name, session, settings)
        else:
            file = self._state = ClientStateFile(
                Path(state), name, new_name=new_name, session=session
            )
            self.name, runs = file.state.name, file.state.runs
            self._session = ClientSession(
                self.name, file.state.session, settings, file.state, file.keep
            )
        self._connector = Connector(
            address, self._session, self._received, self._look_round, reconnect_s
        )
        self._names = Names()
        self._publisher = Publisher(self._session, self._names, self._connector.flush, runs)
        self._consumers = Consumers(self._session, self._connector.flush)
        self._subscriptions = subscription_requests(self._session, self._publisher.flush)
        self._advertisements = advertisement_requests(self._session, self._publisher.flush)
        self._queues = DeliveryQueues(self._subscriptions)
        #: the subscription to replies, after the first request
        self._inbox: asyncio.Task[Inbox] | None = None
        self._task: asyncio.Task[None] | None = None
        #: the tasks that pass on deliveries of durable subscriptions that move here
        self._moves: set[asyncio.Task[None]] = set()
        self._closed = False
        self._failure: Exception | None = None
        #: there is a later connection, on which some subscriptions are not in force yet
        self._is_returning = False

    # Life --------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        if self._task is not None:
            raise InputError("a client can be entered once; connect again for another session")
        self._loop = asyncio.get_running_loop()
        self._ready = self._loop.create_future()
        self._task = asyncio.create_task(self._run(), name=f"client {self.name}")
        try:
            await self._ready
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Send a goodbye and close the connection; iterators end after the deliveries that wait.

        Publications that are not answered yet may or may not be accepted; `flush` first.
        """
        if self._task is None:
            if self._state is not None:
                self._state.close()
            return
        self._closed = True
        if self._connector.connected:
            self._connector.close()
            await asyncio.wait((self._task,), timeout=GOODBYE_S)
        ending = (self._task, *self._moves)
        for task in ending:
            task.cancel()
        await asyncio.wait(ending)
        self._end(ConnectionLostError("the client was closed"), None)
        if self._state is not None:
            self._state.close()

    @property
    def published(self) -> int:
        """The number of publications passed to this client, by all its runs with one state.

        Each of them is accepted once, or refused. A publisher that reads its publications from a
        source continues there after that number.
        """
        return self._session.window.last

    @property
    def reconnections(self) -> int:
        """The number of times that the connection was lost and made again."""
        return max(0, self._session.welcomes - 1)

    # Subscriptions -----------------------------------------------------------------------------

    @overload
    async def subscribe(
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
    ) -> TypedDurableSubscription[T]: ...

    @overload
    async def subscribe(
        self,
        filter: str | Interest | None = None,
        id: str | None = None,
        *,
        durable: str,
        waiting_max: int = DELIVERIES_WAITING_MAX,
        moved_from: str | None = None,
        dialect: str | None = None,
        **bounds: Unpack[Bounds],
    ) -> DurableSubscription: ...

    @overload
    async def subscribe(
        self, filter: str | Interest, id: str | None = None, *, type: type[T], **how: Unpack[Live]
    ) -> TypedSubscription[T]: ...

    @overload
    async def subscribe(
        self, filter: str | Interest, id: str | None = None, **how: Unpack[Live]
    ) -> ClientSubscription: ...

    async def subscribe(
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
        """Subscribe; returns when the subscription is in force in the whole overlay.

        `filter` is a text (of a `dialect` as in docs/dialects.md, if one is named), or a result of
        `sapwood.parse_filter` or `sapwood.parse_xpath`. The result is an asynchronous iterator of
        `Delivery`, in which at most `waiting_max` wait; one more, and the subscription is withdrawn
        and its iterator ends with a `LimitError`. Its `change` gives it another filter. `id` must
        be new to this client, or is `s1`, `s2`, ....

        With a `type` (a dataclass, a `msgspec.Struct`) each delivery has a `value`, its record as
        an object of it (or an `UnfitDeliveryError`), and the filter is checked against the type.

        A delivery that may be older than `max_age` when it is taken is `late`: with `"mark"` its
        `timely` is false, with `"drop"` it is skipped and counted (`late` of the iterator). With a
        durable name `max_age` is a bound of the mailbox instead.

        With a `durable` name the subscription outlives its client: matching publications wait at
        the broker, and every client that subscribes under the name is a consumer. Each publication
        goes to one of them, which acknowledges it (`DurableDelivery.acknowledge`), or else it is
        delivered again, `acknowledge_within` seconds later or when the consumer has gone. At most
        `window` deliveries are with this one unacknowledged. `max_count`, `max_bytes` and `max_age`
        bound the mailbox; where it is full the `overflow` goes, `"oldest"` or `"newest"`. A
        publication delivered `max_attempts` times (0: without end) and never acknowledged is
        dropped, or goes to the durable subscription `dead_letter`. No filter means the name's own.

        `since` begins in the broker's journal: with `"all"`, at a time (a `datetime`, or ISO 8601),
        or after an id; live publications follow, without a gap or a repetition. An existing durable
        name continues where it is. With `replay="last"` the journal gives, for each value of the
        attributes `by`, the last publication alone. A name at another broker moves here with
        `moved_from`, its address: the publications there are delivered first, then it is removed.

        Raises `FilterSyntaxError` or `LimitError` for a filter that cannot be used, and
        `InputError` for a value that is no filter, and with the broker's reason where it refuses.
        """
        self._check_usable()
        record_type = None if type is None else RecordType(type)
        interest = None if filter is None else given_interest(filter, dialect)
        if moved_from is not None:
            return await self._move(moved_from, interest, id, durably, type)
        if record_type is not None and interest is not None:
            record_type.check(interest, stacklevel=2)
        freshness = Freshness.of(durably, late)
        wanted = Durably(**durably)
        taken = self._subscriptions
        name = self._new_id() if id is None else check_id("subscription", id)
        if wanted.is_asked_for:
            if name in taken:
                raise DuplicateIdError("subscription", name)
            return await self._consumers.subscribe(name, interest, wanted, waiting_max, record_type)
        if interest is None:
            raise InputError("a filter is needed where no durable name is given")
        if name in self._consumers.requests:
            raise DuplicateIdError("subscription", name)
        subscription = ClientSubscription(name, interest, waiting_max, **freshness._asdict())
        subscription.change_by(taken)
        subscription.record_type = record_type
        await taken.add(name, to_text(interest), subscription)
        return subscription

    async def _move(
        self,
        address: str,
        filter: object,
        id: str | None,
        durably: dict[str, Any],
        type_: type[Any] | None,
    ) -> DurableSubscription:
        name, window = durably.pop("durable", None), durably.pop("window", None)
        if name is None or filter is not None or durably:
            raise InputError("what moves has a durable name, and takes its filter and bounds along")
        subscribing: Any = self.subscribe
        here = partial(subscribing, id=id, durable=name, window=window, type=type_)
        old_home = connect(address, settings=self._session.settings)
        await old_home.__aenter__()
        try:
            is_new = all(one.name != name for one in await self.durables())
            subscription, work = await moved(name, window, old_home, here, is_new=is_new)
        except BaseException:
            await old_home.close()
            raise
        task = asyncio.create_task(work, name=f"client {self.name} moves {name}")
        self._moves.add(task)
        task.add_done_callback(self._moves.discard)
        return subscription

    def _new_id(self) -> str:
        """An id that is new to subscriptions and consumers."""
        while (name := self._names.new("s", self._subscriptions)) in self._consumers.requests:
            pass
        return name

    async def durables(self) -> list[DurableState]:
        """The durable subscriptions of the broker, by name."""
        self._check_usable()
        return await self._consumers.listed()

    async def durable(self, name: str) -> DurableState:
        """One durable subscription. Raises `InputError` where there is none of this name."""
        self._check_usable()
        return (await self._consumers.ask(DurablesAction.SHOW, name)).durables[0]

    async def remove_durable(self, name: str) -> None:
        """Remove a durable subscription, and its waiting publications. Raises `InputError`."""
        self._check_usable()
        await self._consumers.ask(DurablesAction.REMOVE, name)

    async def subscribe_many(
        self,
        items: Items,
        *,
        waiting_max: int = DELIVERIES_WAITING_MAX,
        progress: Callable[[int], None] | None = None,
    ) -> SubscriptionGroup:
        """Subscribe to many filters at once; returns when each is in force or refused.

        `items` are filters as `subscribe` takes them, pairs of an id and a filter, or a mapping of
        ids to filters. The result is one asynchronous iterator over the deliveries of all of them,
        each publication once; `waiting_max` as in `subscribe`. Its `refused` has the broker's
        reason for each refused filter: the others are in force all the same.

        A million of them take half a minute, and no other task waits for all of that: `items` are
        read, requested and answered some thousands at a time, and the event loop is free in
        between. `progress` is called again and again with the number of filters that the broker has
        answered so far.

        Raises `InputError` and `LimitError` for a value that is no filter, or too long, before any
        is requested, and `DuplicateIdError`; what `items` or `progress` raise, when all are
        withdrawn again.
        """
        self._check_usable()
        taken = self._subscriptions
        wanted = texts(items, lambda: self._names.new("s", taken))
        group = SubscriptionGroup(waiting_max)
        await taken.add_many(wanted, group.request, progress)
        return group

    async def unsubscribe(
        self,
        subscription: ClientSubscription
        | TypedSubscription[Any]
        | TypedDurableSubscription[Any]
        | SubscriptionGroup
        | str,
    ) -> None:
        """Withdraw a subscription, or a group; returns when no further delivery will come for it.

        A durable one stays, and this client is its consumer no more: its unacknowledged
        publications go to other consumers (`remove_durable` removes it).

        Its iterator ends after the deliveries that wait. Raises `UnknownIdError`.
        """
        self._check_usable()
        if isinstance(subscription, SubscriptionGroup):
            await self._subscriptions.remove_many(subscription.ids)
            return
        if not isinstance(subscription, ClientSubscription | str):
            kind = type(subscription).__name__
            raise InputError(f"withdraw what subscribe returned, or its id, not {kind}")
        name = subscription if isinstance(subscription, str) else subscription.id
        if name in self._consumers.requests:
            await self._consumers.requests.remove(name)
            return
        await self._subscriptions.remove(name)

    def deliveries(self, *, waiting_max: int = DELIVERIES_WAITING_MAX) -> Deliveries:
        """One iterator for all subscriptions: each publication once, with all that it matches.

        From this call on the iterators of the subscriptions get no deliveries any more. Ends like
        the iterator of a subscription.
        """
        self._check_usable()
        return self._queues.merged(waiting_max)

    # Requests ----------------------------------------------------------------------------------

    async def request(
        self, record: Mapping[str, Any], *, timeout: float, payload: bytes | None = None
    ) -> Delivery:
        """Publish a record as a request; returns the first reply.

        A client that gets it replies with `reply`. The record gets two more attributes,
        `request.from` and `request.number`, and its time to live (`ttl`) is the `timeout`. The
        subscription to replies is in force in the whole overlay before the first request is sent.

        Raises `TimeoutError` where no reply came in `timeout` seconds, and as `publish`.
        """
        self._check_usable()
        try:
            async with asyncio.timeout(timeout):
                inbox = await self._replies()
                number, asking = inbox.asking(record)
                inbox.expect(number)
                try:
                    await self.publish(asking, payload=payload, ttl=timeout)
                    return await inbox.reply_to(number)
                finally:
                    inbox.forget(number)
        except TimeoutError:
            raise TimeoutError(f"no reply came within {timeout} s") from None

    async def reply(
        self, request: Delivery, record: Mapping[str, Any], *, payload: bytes | None = None
    ) -> str:
        """Publish a reply to a delivery that is a request (`request`); returns its id.

        The reply lives as long as the requester waits, as far as that is known. Raises `InputError`
        for a delivery that is no request, and as `publish`.
        """
        self._check_usable()
        answer = answering(request, record)
        return await self.publish(answer, payload=payload, ttl=time_left(request))

    async def _replies(self) -> Inbox:
        """The inbox, once its subscription is in force."""
        if self._inbox is None or (self._inbox.done() and self._inbox.exception() is not None):
            self._inbox = asyncio.create_task(self._open_inbox())
            self._inbox.add_done_callback(looked_at)
        return await asyncio.shield(self._inbox)

    async def _open_inbox(self) -> Inbox:
        token = secrets.token_hex(8)
        inbox = Inbox(f"replies.{token}", f"{self.name}/{token}")
        self._queues.inbox = inbox
        await self._subscriptions.add(inbox.id, to_text(inbox.filter), inbox)
        return inbox

    # Advertisements ----------------------------------------------------------------------------

    async def advertise(
        self,
        filter: str | AdvertisedContent,
        id: str | None = None,
    ) -> str:
        """Advertise future publications; returns the advertisement's id when it is in force.

        `filter` may also be a result of `sapwood.parse_advertisement`, or made of a DTD: the paths
        of future documents. From then on the client may publish what one of its advertisements
        accepts, and nothing else, until it has withdrawn the last. Under a protocol that routes by
        advertisements, a client has to advertise before it publishes. `id` must be new among the
        client's advertisements; without one, `a1`, `a2`, ... are used.

        Raises as `subscribe`.
        """
        self._check_usable()
        advertised = given_advertised(filter)
        taken = self._advertisements
        name = self._names.new("a", taken) if id is None else check_id("advertisement", id)
        await taken.add(name, advertised_to_text(advertised), advertised)
        return name

    async def unadvertise(self, id: str) -> None:
        """Withdraw an advertisement; returns when it is. Raises `UnknownIdError`.

        Publications that were accepted before are delivered all the same.
        """
        self._check_usable()
        await self._advertisements.remove(id)

    # Inside ------------------------------------------------------------------------------------

    def _check_usable(self) -> None:
        if self._failure is not None:
            raise self._failure
        if self._task is None or self._closed:
            raise ConnectionLostError("the client is not connected; use it inside `async with`")

    def _received(self, event: ClientEvent) -> None:
        """Pass an event of the session to the queue, answer or request that it concerns."""
        if isinstance(event, Delivery):
            self._queues.delivered(event)
        elif isinstance(event, AcceptedReply):
            self._publisher.answers.through(event.through)
        elif isinstance(event, PublicationRefused):
            self._publisher.answers.refused(event.sequence, event.reason)
        elif isinstance(event, CONSUMER_EVENTS):
            self._consumers.received(event)
        elif isinstance(event, DurablesReply):
            self._consumers.replied(event)
        elif isinstance(event, EntryEvent):
            if is_consumer(event.entry):
                self._consumers.answered(event)
            elif event.entry.kind is SUBSCRIPTION:
                self._subscriptions.answered(event)
            else:
                self._advertisements.answered(event)
        elif isinstance(event, EntriesEvent):
            self._subscriptions.answered_many(event)
        elif isinstance(event, SupplyEvent | NeverEvent):
            self._queues.told(event)
        elif isinstance(event, Welcome):
            self._publisher.frame_bytes_max = event.frame_bytes_max
            self._queues.returned()
            self._consumers.lost(ConnectionLostError("the connection was lost; ask again"))
            self._is_returning = self._ready.done()
            if not self._ready.done():
                self._ready.set_result(None)
        self._look_round()

    def _look_round(self) -> None:
        """Check whether all entries are in force again on the new connection."""
        if self._is_returning and self._session.has_resubscribed:
            self._is_returning = False
            self._say_returned()

    def _say_returned(self) -> None:
        """Log that all entries are in force again, after the log of the lost connection."""
        count = len(self._subscriptions)
        said = f"connected to {self._connector.address} again"
        if count:
            said += (
                f", and what it has subscribed to ({count:,}) is in force again; what was "
                "published meanwhile was not delivered"
            )
        _LOG.warning("client %s: %s", self.name, said)

    async def _run(self) -> None:
        try:
            await self._connector.run()
        except Exception as error:  # noqa: BLE001 - any error has to reach the calls that wait
            self._failure = error
            self._end(error, error)

    def _end(self, error: Exception, iterators: Exception | None) -> None:
        """End all waiting calls with an error, and iterators with `iterators`."""
        if not self._ready.done():
            self._ready.set_exception(error)
        self._publisher.answers.fail(error)
        self._subscriptions.fail(error)
        self._advertisements.fail(error)
        self._queues.end(iterators)
        self._consumers.fail(error, iterators)
