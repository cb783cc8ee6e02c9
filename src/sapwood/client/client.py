"""The asyncio client."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import AsyncIterable, Iterable, Mapping
from dataclasses import replace
from types import TracebackType
from typing import Final, Self

from sapwood.client.connecting import Connector
from sapwood.client.publishing import Answers, Content, PublishBatch, Published, Sink
from sapwood.client.statements import Statements
from sapwood.client.subscription import ClientSubscription, Deliveries
from sapwood.errors import (
    ConnectionLostError,
    DuplicateIdError,
    InputError,
    UnknownIdError,
)
from sapwood.language import parse_filter
from sapwood.limits import (
    DELIVERIES_WAITING_MAX,
    FRAME_BYTES_MAX,
    GOODBYE_S,
)
from sapwood.model.interest import Interest
from sapwood.model.promise import Promise
from sapwood.model.publication import Publication
from sapwood.session.client_session import ClientEvent, ClientSession, Delivery
from sapwood.session.settings import ConnectionSettings
from sapwood.wire.address import Address, parse_address
from sapwood.wire.greetings import Welcome
from sapwood.wire.interests import promise_to_text, to_text
from sapwood.wire.messages import (
    AcceptedReply,
    AdvertisedReply,
    AdvertisementRefused,
    PublicationRefused,
    SubscribedReply,
    SubscriptionRefused,
    UnadvertisedReply,
    UnsubscribedReply,
)
from sapwood.wire.names import check_id, check_name
from sapwood.wire.publications import encode_publication

FLUSH_BYTES: Final = 65_536
"""Publications are handed to the transport when so many bytes have come together."""

_LOG: Final = logging.getLogger("sapwood.client")


def connect(
    address: str = "127.0.0.1",
    name: str | None = None,
    *,
    reconnect: bool = True,
    reconnect_s: float | None = None,
    settings: ConnectionSettings | None = None,
) -> Client:
    """A client of the broker at `address` (`host:port`), to be used with `async with`.

    `name` is unique among the broker's clients; without one, a random name is used. A client that
    may `reconnect` does so whenever the connection is lost: it subscribes and advertises again, and
    when its advertisements are in force again it sends its unacknowledged publications again, which
    the broker does not accept twice; what was published while it was away is not delivered. It
    tries for `reconnect_s` seconds, or for ever.

    Entering raises `ConnectionLostError` where no broker answers, and `HandshakeError` where one
    does not take the client.
    """
    return Client(
        parse_address(address),
        name,
        reconnect_s=reconnect_s if reconnect else 0.0,
        settings=settings or ConnectionSettings(),
    )


class Client:
    """One client of a broker. Made by `connect`.

    All methods belong to the event loop in which the client was entered.

    #: the ids of _subscriptions are those that the session wants or is withdrawing; and so are
    #: those of _advertisements
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
    ) -> None:
        self.name = check_name("client", f"client-{secrets.token_hex(4)}" if name is None else name)
        self._session = ClientSession(self.name, secrets.token_hex(8), settings)
        self._connector = Connector(address, self._session, self._heard, reconnect_s)
        self._answers = Answers()
        self._subscriptions: dict[str, ClientSubscription] = {}
        self._advertisements: dict[str, Promise] = {}
        self._subscribing = Statements("subscription")
        self._advertising = Statements("advertisement")
        self._merged: Deliveries | None = None
        self._task: asyncio.Task[None] | None = None
        self._flush_scheduled = False
        self._closed = False
        self._failure: Exception | None = None
        self._frame_bytes_max = FRAME_BYTES_MAX
        self._serial = 0

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
        """Say goodbye and close the connection; iterators end when they have handed out the rest.

        Publications that are not answered yet may or may not be accepted; `flush` first.
        """
        if self._task is None:
            return
        self._closed = True
        if self._connector.connected:
            self._connector.close()
            await asyncio.wait((self._task,), timeout=GOODBYE_S)
        self._task.cancel()
        await asyncio.wait((self._task,))
        self._end(ConnectionLostError("the client was closed"), None)

    @property
    def reconnections(self) -> int:
        """How often the connection was lost and made again."""
        return max(0, self._session.welcomes - 1)

    # Subscriptions -----------------------------------------------------------------------------

    async def subscribe(
        self,
        filter: str | Interest,  # noqa: A002 - the field's word
        id: str | None = None,  # noqa: A002 - the contract's word
        *,
        waiting_max: int = DELIVERIES_WAITING_MAX,
    ) -> ClientSubscription:
        """Subscribe; returns when the subscription is in force in the whole overlay.

        `filter` is the text of a record filter, or what `sapwood.parse_filter` and
        `sapwood.parse_xpath` return.
        The result is an asynchronous iterator of `Delivery`. At most `waiting_max` deliveries wait
        in it; one more, and the subscription is withdrawn and its iterator ends with a
        `LimitError`. `id` must be new to this client; without one, `s1`, `s2`, ... are used.

        Raises `FilterSyntaxError` or `LimitError` for a filter that cannot be used, and
        `InputError` with the broker's reason where it refuses.
        """
        self._check_usable()
        wanted = parse_filter(filter) if isinstance(filter, str) else filter
        text = to_text(wanted)
        name = (
            self._new_id("s", self._subscriptions) if id is None else check_id("subscription", id)
        )
        if name in self._subscriptions:
            raise DuplicateIdError("subscription", name)
        subscription = self._subscriptions[name] = ClientSubscription(name, wanted, waiting_max)
        self._session.subscribe(name, text)
        self._flush()
        try:
            await self._subscribing.in_force(name)
        except asyncio.CancelledError:
            if name in self._subscriptions:
                self._withdraw(name)
            raise
        return subscription

    async def unsubscribe(self, subscription: ClientSubscription | str) -> None:
        """Withdraw a subscription; returns when nothing more will be delivered for it.

        Its iterator ends when it has handed out what waits. Raises `UnknownIdError`.
        """
        self._check_usable()
        name = subscription if isinstance(subscription, str) else subscription.id
        if name not in self._subscriptions:
            raise UnknownIdError("subscription", name)
        answer, is_new = self._subscribing.begin_withdrawal(name)
        if is_new:
            self._withdraw(name)
        await asyncio.shield(answer)

    def deliveries(self, *, waiting_max: int = DELIVERIES_WAITING_MAX) -> Deliveries:
        """One iterator for all subscriptions: each publication once, with all that it matches.

        From this call on the iterators of the subscriptions get nothing any more. Ends like the
        iterator of a subscription.
        """
        self._check_usable()
        if self._merged is None or self._merged.ended:
            self._merged = Deliveries("for all subscriptions", waiting_max)
        return self._merged

    # Advertisements ----------------------------------------------------------------------------

    async def advertise(
        self,
        filter: str | Promise,  # noqa: A002 - the field's word
        id: str | None = None,  # noqa: A002 - the contract's word
    ) -> str:
        """Say what this client will publish; returns the advertisement's id when it is in force.

        `filter` may also be what `sapwood.parse_advertisement` returns, or is made of a DTD: the
        paths that documents will have. From then on the client may publish what one of its
        advertisements accepts, and nothing else, until it has withdrawn the last. Under a protocol
        that routes by advertisements, a client has to advertise before it publishes. `id` must be
        new among the client's advertisements; without one, `a1`, `a2`, ... are used.

        Raises as `subscribe`.
        """
        self._check_usable()
        promised = parse_filter(filter) if isinstance(filter, str) else filter
        text = promise_to_text(promised)
        taken = self._advertisements
        name = self._new_id("a", taken) if id is None else check_id("advertisement", id)
        if name in taken:
            raise DuplicateIdError("advertisement", name)
        self._advertisements[name] = promised
        self._session.advertise(name, text)
        self._flush()
        try:
            await self._advertising.in_force(name)
        except asyncio.CancelledError:
            if name in self._advertisements:
                self._take_back(name)
            raise
        return name

    async def unadvertise(self, id: str) -> None:  # noqa: A002 - the contract's word
        """Withdraw an advertisement; returns when it is. Raises `UnknownIdError`.

        Publications that were accepted before are delivered all the same.
        """
        self._check_usable()
        if id not in self._advertisements:
            raise UnknownIdError("advertisement", id)
        answer, is_new = self._advertising.begin_withdrawal(id)
        if is_new:
            self._take_back(id)
        await asyncio.shield(answer)

    # Publications ------------------------------------------------------------------------------

    async def publish(
        self,
        content: Content,
        id: str | None = None,  # noqa: A002 - the contract's word
    ) -> str:
        """Publish a record or a document; returns the id when the broker has accepted it.

        A publication with both is published as a `Publication`. Raises `InvalidValueError` or
        `LimitError` for attributes that cannot be published, and `InputError` with the broker's
        reason where it refuses, for instance a document that is not well-formed.
        """
        self._check_usable()
        answer: asyncio.Future[None] = self._loop.create_future()
        publication_id = await self._put(content, id, answer)
        await answer
        return publication_id

    async def publish_many(
        self,
        publications: Iterable[Content] | AsyncIterable[Content],
    ) -> Published:
        """Publish one after the other without waiting for each; returns when all are answered.

        What is no `Publication` gets an id of the client's making. At most
        `limits.UNACKNOWLEDGED_MAX` are under way at a time. Raises like `publish` for attributes
        that cannot be published, those before being published; what the broker refuses is told in
        the result.
        """
        batch = self.batch()
        if isinstance(publications, AsyncIterable):
            async for one in publications:
                await batch.publish((one,))
        else:
            await batch.publish(publications)
        return await batch.finish()

    def batch(self) -> PublishBatch:
        """Many publications that come bit by bit; what `publish_many` is made of."""
        return PublishBatch(self._put, self.flush)

    async def flush(self) -> None:
        """Return when all publications so far are answered."""
        self._check_usable()
        self._flush()
        await self._answers.all_answered()

    # Inside: sending ---------------------------------------------------------------------------

    def _publication(self, given: Content, id_: str | None) -> Publication:
        if isinstance(given, Publication):
            return given if id_ is None else replace(given, id=id_)
        if id_ is None:
            self._serial += 1
            id_ = f"{self.name}.{self._session.session}.{self._serial}"
        if isinstance(given, bytes):
            return Publication(id_, document=given)
        return Publication(id_, given)

    async def _put(self, given: Content, id_: str | None, sink: Sink) -> str:
        """Send a publication as soon as there is room for it; returns its id."""
        self._check_usable()
        publication = self._publication(given, id_)
        body = encode_publication(publication, self._frame_bytes_max)
        while self._session.window.full:
            self._flush()
            await self._answers.progress()
        self._session.publish(body)
        self._answers.sent(publication.id, sink)
        if self._session.outgoing_bytes >= FLUSH_BYTES:
            self._flush()
        elif not self._flush_scheduled:
            self._flush_scheduled = True
            self._loop.call_soon(self._flush)
        return publication.id

    def _withdraw(self, name: str) -> None:
        if not self._session.unsubscribe(name):
            self._withdrawn(name)
        self._flush()

    def _take_back(self, name: str) -> None:
        if not self._session.unadvertise(name):
            self._taken_back(name)
        self._flush()

    def _flush(self) -> None:
        self._flush_scheduled = False
        self._connector.flush()

    def _new_id(self, prefix: str, taken: Mapping[str, object]) -> str:
        while True:
            self._serial += 1
            if (name := f"{prefix}{self._serial}") not in taken:
                return name

    def _check_usable(self) -> None:
        if self._failure is not None:
            raise self._failure
        if self._task is None or self._closed:
            raise ConnectionLostError("the client is not connected; use it inside `async with`")

    # Inside: receiving -------------------------------------------------------------------------

    def _heard(self, event: ClientEvent) -> None:
        """The broker says something."""
        if isinstance(event, Delivery):
            self._delivered(event)
        elif isinstance(event, AcceptedReply):
            self._answers.through(event.through)
        elif isinstance(event, PublicationRefused):
            self._answers.refused(event.sequence, event.reason)
        elif isinstance(event, SubscribedReply):
            self._subscribing.stated(event.id)
        elif isinstance(event, UnsubscribedReply):
            self._withdrawn(event.id)
        elif isinstance(event, SubscriptionRefused):
            self._subscription_refused(event)
        elif isinstance(event, AdvertisedReply):
            self._advertising.stated(event.id)
        elif isinstance(event, UnadvertisedReply):
            self._taken_back(event.id)
        elif isinstance(event, AdvertisementRefused):
            self._advertisements.pop(event.id, None)
            self._advertising.refused(event.id, event.reason)
        elif isinstance(event, Welcome):
            self._frame_bytes_max = event.frame_bytes_max
            if not self._ready.done():
                self._ready.set_result(None)

    def _delivered(self, delivery: Delivery) -> None:
        if self._merged is not None:
            self._merged.put(delivery)
            return
        for name in delivery.subscriptions:
            subscription = self._subscriptions.get(name)
            if subscription is not None and not subscription.put(delivery):
                _LOG.warning("subscription %r ended: too many deliveries wait", name)
                self._withdraw(name)

    def _subscription_refused(self, event: SubscriptionRefused) -> None:
        error = self._subscribing.refused(event.id, event.reason)
        subscription = self._subscriptions.pop(event.id, None)
        if subscription is not None:
            subscription.end(error)

    def _withdrawn(self, name: str) -> None:
        subscription = self._subscriptions.pop(name, None)
        if subscription is not None:
            subscription.end()
        self._subscribing.withdrawn(name)

    def _taken_back(self, name: str) -> None:
        self._advertisements.pop(name, None)
        self._advertising.withdrawn(name)

    # Inside: the end ---------------------------------------------------------------------------

    async def _run(self) -> None:
        try:
            await self._connector.run()
        except Exception as error:  # noqa: BLE001 - whatever it is, those who wait must hear of it
            self._failure = error
            self._end(error, error)

    def _end(self, error: Exception, iterators: Exception | None) -> None:
        """All who wait get the error; iterators end with `iterators`."""
        if not self._ready.done():
            self._ready.set_exception(error)
        self._answers.fail(error)
        self._subscribing.fail(error)
        self._advertising.fail(error)
        for queue in (*self._subscriptions.values(), self._merged):
            if queue is not None:
                queue.end(iterators)
