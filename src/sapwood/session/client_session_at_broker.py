"""The broker's end of a client session: requests to router inputs, effects to replies."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sapwood.errors import FrameError, InputError, InvariantError, LimitError
from sapwood.limits import FRAME_OVERHEAD_BYTES
from sapwood.model.publication import Publication
from sapwood.routing.inputs import (
    ClientAdvertise,
    ClientPublish,
    ClientPublishMany,
    ClientSubscribe,
    ClientUnadvertise,
    ClientUnsubscribe,
    Input,
)
from sapwood.session.connection import Connection, shortened
from sapwood.session.ledger import PublisherLedger
from sapwood.wire.greetings import Greeting
from sapwood.wire.interests import advertised_from_text, from_text
from sapwood.wire.messages import (
    AcceptedReply,
    AdvertisedReply,
    AdvertisementRefused,
    AdvertiseRequest,
    Message,
    PublicationRefused,
    PublishRequest,
    SubscribedReply,
    SubscribeRequest,
    SubscriptionRefused,
    UnadvertisedReply,
    UnadvertiseRequest,
    UnsubscribedReply,
    UnsubscribeRequest,
)
from sapwood.wire.publications import decode_publication, encode_publication
from sapwood.wire.runs import RequestRun

T = TypeVar("T")


class ClientSessionAtBroker:
    """The session of one connected client.

    `interpret` turns a request into at most one input for the router; the other methods send the
    replies. Acknowledgements are cumulative: they are put among
    the bytes to be sent when these are taken.

    #: _acknowledged <= ledger.through
    """

    __slots__ = ("_acknowledged", "connection", "ledger", "name")

    def __init__(
        self,
        name: str,
        connection: Connection,
        ledger: PublisherLedger,
        *,
        acknowledged: int,
    ) -> None:
        self.name = name
        self.connection = connection
        self.ledger = ledger
        #: the last publication up to which an acknowledgement was sent
        self._acknowledged = acknowledged
        for sequence, reason in ledger.resume(acknowledged):
            connection.send(PublicationRefused(sequence, reason))

    # Requests ----------------------------------------------------------------------------------

    def interpret(self, message: Greeting | Message) -> Input | None:
        """The router's input in a message; `None` where the client is answered from here.

        Raises `FrameError` for what a client must not say.
        """
        if isinstance(message, PublishRequest):
            return self._publish(message)
        if isinstance(message, SubscribeRequest):
            interest = self._read(
                message.id, lambda: from_text(message.filter), SubscriptionRefused
            )
            return None if interest is None else ClientSubscribe(self.name, message.id, interest)
        if isinstance(message, UnsubscribeRequest):
            return ClientUnsubscribe(self.name, message.id)
        if isinstance(message, AdvertiseRequest):
            advertised = self._read(
                message.id, lambda: advertised_from_text(message.filter), AdvertisementRefused
            )
            return (
                None if advertised is None else ClientAdvertise(self.name, message.id, advertised)
            )
        if isinstance(message, UnadvertiseRequest):
            return ClientUnadvertise(self.name, message.id)
        raise FrameError(f"a {type(message).__name__} is nothing a client says")

    def admit(self, run: RequestRun) -> ClientPublishMany | None:
        """The router's input in publications that follow each other, without those it has had.

        `None` where they are to be interpreted one by one.
        """
        known = self.ledger.admit_many(run.sequence, len(run.batch))
        if known is None:
            return None
        batch = run.batch[known:]
        if len(batch):
            self.ledger.pass_on_many(run.sequence + known, batch)
        return ClientPublishMany(self.name, batch)

    def _publish(self, request: PublishRequest) -> ClientPublish | None:
        if not self.ledger.admit(request.sequence):
            return None
        body = request.publication
        try:
            bound = self.connection.frame_bytes_max - FRAME_OVERHEAD_BYTES
            if len(body) > bound:
                raise LimitError("FRAME_BYTES_MAX", bound, len(body), "the size of a publication")
            publication = decode_publication(body)
        except InputError as error:
            self._refuse_publication(request.sequence, str(error))
            return None
        self.ledger.pass_on(request.sequence, publication.id)
        return ClientPublish(self.name, publication)

    def _read(
        self,
        id_: str,
        read: Callable[[], T],
        refusal: type[SubscriptionRefused | AdvertisementRefused],
    ) -> T | None:
        """The filter of a request, parsed; a request that cannot be parsed is refused here."""
        try:
            return read()
        except InputError as error:
            self.connection.send(refusal(id_, shortened(str(error))))
            return None

    # Replies -----------------------------------------------------------------------------------

    def deliver(self, subscriptions: tuple[str, ...], publication: Publication) -> None:
        """Send a publication that matches these subscriptions of the client."""
        body = publication.encoded or encode_publication(publication)
        self.connection.send_delivery(subscriptions, body)

    def subscribed(self, subscription: str) -> None:
        """Confirm that a subscription is in force."""
        self.connection.send(SubscribedReply(subscription))

    def unsubscribed(self, subscription: str) -> None:
        """Confirm that a subscription is withdrawn."""
        self.connection.send(UnsubscribedReply(subscription))

    def advertised(self, advertisement: str) -> None:
        """Confirm that an advertisement is in force."""
        self.connection.send(AdvertisedReply(advertisement))

    def unadvertised(self, advertisement: str) -> None:
        """Confirm that an advertisement is withdrawn."""
        self.connection.send(UnadvertisedReply(advertisement))

    def refused(self, request: Input, reason: str) -> None:
        """Refuse a request, as the router did."""
        match request:
            case ClientPublish(_, publication):
                self._refuse_publication(self.ledger.settle(publication.id), reason)
            case ClientSubscribe(_, subscription, _) | ClientUnsubscribe(_, subscription):
                self.connection.send(SubscriptionRefused(subscription, shortened(reason)))
            case ClientAdvertise(_, advertisement, _) | ClientUnadvertise(_, advertisement):
                self.connection.send(AdvertisementRefused(advertisement, shortened(reason)))
            case _:
                raise InvariantError(f"nothing a client asked for: {request!r}")

    def _refuse_publication(self, sequence: int, reason: str) -> None:
        reason = shortened(reason)
        self.ledger.refuse(sequence, reason)
        self.connection.send(PublicationRefused(sequence, reason))

    def acknowledge(self) -> None:
        """Acknowledge the publications that are answered since the last acknowledgement."""
        through = self.ledger.through
        if through > self._acknowledged and self.connection.open:
            self._acknowledged = through
            self.connection.send(AcceptedReply(through))
