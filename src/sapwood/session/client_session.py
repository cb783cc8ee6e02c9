"""The client's own side: one session, across all the connections it takes.

What is wanted (subscriptions), promised (advertisements) and owed (unacknowledged publications)
lives here and not in a connection, so that a new connection begins by asking and sending it again.
Publications wait then until the advertisements that may allow them are in force again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeAlias, TypeVar

from sapwood.errors import (
    ConnectionLostError,
    FrameError,
    InputError,
    InvariantError,
    PeerError,
)
from sapwood.model.publication import Publication
from sapwood.session.connection import Connection, Ending
from sapwood.session.ledger import Unacknowledged
from sapwood.session.phases import Phase
from sapwood.session.settings import ConnectionSettings
from sapwood.wire.greetings import Greeting, Hello, Role, Welcome
from sapwood.wire.interests import InterestText, PromiseText
from sapwood.wire.messages import (
    AcceptedReply,
    AdvertisedReply,
    AdvertisementRefused,
    AdvertiseRequest,
    GoodbyeCode,
    Message,
    PublicationRefused,
    PublishRequest,
    ReplayRefused,
    ReplayReply,
    SubscribedReply,
    SubscribeRequest,
    SubscriptionRefused,
    UnadvertisedReply,
    UnadvertiseRequest,
    UnsubscribedReply,
    UnsubscribeRequest,
)
from sapwood.wire.messages import (
    Delivery as DeliveryMessage,
)
from sapwood.wire.publications import decode_body


@dataclass(frozen=True, slots=True)
class Delivery:
    """A publication that matched, as it was published.

    `attributes` is empty and `has_record` false where it carries a document alone, `document` is
    `None` where it carries none. `subscriptions` are the ids of the client's subscriptions that
    match, sorted.
    """

    id: str
    attributes: Mapping[str, Any]
    subscriptions: tuple[str, ...]
    document: bytes | None = None
    has_record: bool = True

    def publication(self) -> Publication:
        """The publication as a value of the model, which has the flat view that filters see."""
        return Publication(self.id, self.attributes if self.has_record else None, self.document)


ClientEvent: TypeAlias = (
    Welcome
    | Delivery
    | AcceptedReply
    | PublicationRefused
    | SubscribedReply
    | UnsubscribedReply
    | SubscriptionRefused
    | AdvertisedReply
    | UnadvertisedReply
    | AdvertisementRefused
)
"""What a client hears of: the broker's messages, deliveries in a form for applications."""


T = TypeVar("T")


@dataclass(slots=True)
class _Wanted(Generic[T]):
    """A subscription or an advertisement of the session.

    `text` is the filter's; `leaving` once it was withdrawn and the broker has not said so yet.
    """

    text: T
    leaving: bool = False


class ClientSession:
    """One run of a client under its name.

    `session` tells it from other runs under the same name. Commands may be given at any time: what
    cannot be sent now is sent when a broker has welcomed the client.

    #: connection is None iff the client is between two connections
    #: _unanswered holds the advertisements that this connection began with, until they are
    #: answered; while there are some, no publication is sent
    """

    def __init__(self, name: str, session: str, settings: ConnectionSettings) -> None:
        self.name = name
        self.session = session
        self.settings = settings
        self.window = Unacknowledged()
        self.connection: Connection | None = None
        #: why the last connection ended
        self.ending: Ending | None = None
        #: how often a broker has welcomed the client
        self.welcomes = 0
        self._wanted: dict[str, _Wanted[InterestText]] = {}
        self._promised: dict[str, _Wanted[PromiseText]] = {}
        self._unanswered: set[str] = set()
        #: the last publication that the broker knew of when this connection began
        self._resumed_after = 0
        #: the ids of a delivery whose last frame has not come
        self._partial: list[str] = []

    @property
    def open(self) -> bool:
        """Whether messages reach the broker now."""
        return self.connection is not None and self.connection.phase is Phase.OPEN

    # Connections -------------------------------------------------------------------------------

    def connected(self, now: float) -> None:
        """Bytes can flow: greet the broker."""
        if self.connection is not None:
            raise InvariantError("the client is connected already")
        self.connection = Connection(Role.CLIENT, self.settings, now)
        self.connection.greet(
            Hello(
                role=Role.CLIENT,
                name=self.name,
                session=self.session,
                acknowledged=self.window.acknowledged,
            )
        )

    def receive(self, data: bytes, now: float) -> Iterator[ClientEvent]:
        """What the broker says, in order. To be iterated to its end; look at `ending` then."""
        connection = self._connection()
        try:
            for message in connection.receive(data, now):
                event = self._interpret(message, connection)
                if event is not None:
                    yield event
        except PeerError as error:
            connection.fault(error)
        self.ending = connection.ending

    def lost(self, reason: str) -> Iterator[ClientEvent]:
        """The bytes stopped. What was to be withdrawn is withdrawn with the connection."""
        connection = self._connection()
        connection.lost(reason)
        self.ending = connection.ending
        self.connection = None
        self._partial.clear()
        self._unanswered.clear()
        for id_ in _drop_leaving(self._wanted):
            yield UnsubscribedReply(id_)
        for id_ in _drop_leaving(self._promised):
            yield UnadvertisedReply(id_)

    def say_goodbye(self, reason: str) -> None:
        """End the session for good, if a connection is there to say so."""
        if self.connection is not None:
            self.connection.say_goodbye(GoodbyeCode.DONE, reason)

    def take_outgoing(self) -> bytes:
        """The bytes to be sent now."""
        return b"" if self.connection is None else self.connection.take_outgoing()

    @property
    def outgoing_bytes(self) -> int:
        """How many bytes `take_outgoing` would give."""
        return 0 if self.connection is None else self.connection.outgoing_bytes

    def next_deadline(self) -> float | None:
        """When `expire` has to be called, if nothing arrives before."""
        return None if self.connection is None else self.connection.next_deadline()

    def expire(self, now: float) -> None:
        """Do what is due at `now`; look at `ending` then."""
        if self.connection is not None:
            self.connection.expire(now)
            self.ending = self.connection.ending

    # Commands ----------------------------------------------------------------------------------

    def subscribe(self, id: str, text: InterestText) -> None:  # noqa: A002 - the contract's word
        """Ask for a subscription, now and on every later connection."""
        if id in self._wanted:
            raise InvariantError(f"subscription {id!r} is there already")
        self._wanted[id] = _Wanted(text)
        if self.open:
            self._connection().send(SubscribeRequest(id, text))

    def unsubscribe(self, id: str) -> bool:  # noqa: A002 - the contract's word
        """Withdraw a subscription; whether the broker will answer (else it never knew of it)."""
        wanted = self._wanted[id]
        if wanted.leaving:
            return True
        if not self.open:
            del self._wanted[id]
            return False
        wanted.leaving = True
        self._connection().send(UnsubscribeRequest(id))
        return True

    def advertise(self, id: str, text: PromiseText) -> None:  # noqa: A002 - the contract's word
        """Ask for an advertisement, now and on every later connection."""
        if id in self._promised:
            raise InvariantError(f"advertisement {id!r} is there already")
        self._promised[id] = _Wanted(text)
        if self.open:
            self._connection().send(AdvertiseRequest(id, text))

    def unadvertise(self, id: str) -> bool:  # noqa: A002 - the contract's word
        """Withdraw an advertisement; whether the broker will answer (else it never knew of it)."""
        promised = self._promised[id]
        if promised.leaving:
            return True
        if not self.open:
            del self._promised[id]
            return False
        promised.leaving = True
        self._connection().send(UnadvertiseRequest(id))
        return True

    def publish(self, publication: bytes) -> int:
        """Publish; returns the number of the publication. The window must not be full."""
        sequence = self.window.add(publication)
        if self.open and not self._unanswered:
            self._connection().send(PublishRequest(sequence, publication))
        return sequence

    # Answers -----------------------------------------------------------------------------------

    def _interpret(self, message: Greeting | Message, connection: Connection) -> ClientEvent | None:
        if isinstance(message, DeliveryMessage):
            return self._delivery(message)
        if isinstance(message, AcceptedReply):
            self.window.answered(message.through)
            return message
        if isinstance(message, Welcome):
            self._welcomed(message, connection)
            return message
        if isinstance(message, UnsubscribedReply | SubscriptionRefused):
            self._wanted.pop(message.id, None)
            return message
        if isinstance(message, AdvertisedReply | UnadvertisedReply | AdvertisementRefused):
            if not isinstance(message, AdvertisedReply):
                self._promised.pop(message.id, None)
            self._answered(message.id, connection)
            return message
        if isinstance(message, PublicationRefused):
            if message.sequence > self.window.last:
                last = self.window.last
                raise FrameError(f"the broker refused publication {message.sequence} of {last}")
            return message
        if isinstance(message, SubscribedReply):
            return message
        if isinstance(message, ReplayReply | ReplayRefused):
            raise FrameError("the broker answers from its journal, which nobody has asked")
        raise InvariantError(f"a {type(message).__name__} is nothing a broker says to a client")

    def _welcomed(self, welcome: Welcome, connection: Connection) -> None:
        if welcome.received > self.window.last:
            raise FrameError(
                f"the broker knows publication {welcome.received} of this session, which has sent "
                f"{self.window.last}"
            )
        connection.welcomed()
        self.welcomes += 1
        for id_, promised in self._promised.items():
            connection.send(AdvertiseRequest(id_, promised.text))
        for id_, wanted in self._wanted.items():
            connection.send(SubscribeRequest(id_, wanted.text))
        self._unanswered = set(self._promised)
        self._resumed_after = welcome.received
        if not self._unanswered:
            self._send_waiting(connection)

    def _answered(self, advertisement: str, connection: Connection) -> None:
        """What waited for the last answer to an advertisement can be sent."""
        if advertisement in self._unanswered:
            self._unanswered.remove(advertisement)
            if not self._unanswered:
                self._send_waiting(connection)

    def _send_waiting(self, connection: Connection) -> None:
        for sequence, publication in self.window.after(self._resumed_after):
            connection.send(PublishRequest(sequence, publication))

    def _delivery(self, message: DeliveryMessage) -> Delivery | None:
        if message.more:
            self._partial.extend(message.subscriptions)
            return None
        ids = message.subscriptions
        if self._partial:
            ids = (*self._partial, *ids)
            self._partial.clear()
        try:
            body = decode_body(message.publication)
        except InputError as error:
            raise FrameError(f"a delivery holds no publication: {error}") from error
        if body.attributes is None:
            return Delivery(body.id, {}, ids, body.document, has_record=False)
        return Delivery(body.id, body.attributes, ids, body.document)

    def _connection(self) -> Connection:
        if self.connection is None:
            raise ConnectionLostError("the client is not connected")
        return self.connection


def _drop_leaving(stated: dict[str, _Wanted[Any]]) -> list[str]:
    """Forget what was to be withdrawn; returns the ids."""
    ids = [id_ for id_, one in stated.items() if one.leaving]
    for id_ in ids:
        del stated[id_]
    return ids
