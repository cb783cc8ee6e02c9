"""Two ends of a connection wired in memory."""

from __future__ import annotations

from typing import Any

from sapwood.limits import FRAME_BYTES_MAX
from sapwood.session.client_session import ClientEvent, ClientSession
from sapwood.session.client_session_at_broker import ClientSessionAtBroker
from sapwood.session.connection import Connection
from sapwood.session.ledger import SessionMemory
from sapwood.session.settings import ConnectionSettings
from sapwood.wire.codec import Decoder, append_message
from sapwood.wire.greetings import Greeting, Hello, Role, Welcome
from sapwood.wire.messages import Message
from tests.wire.items import one_by_one

SETTINGS = ConnectionSettings(greeting_s=2.0, keepalive_idle_s=10.0, keepalive_missed_max=2)


def accepting(now: float = 0.0) -> Connection:
    """A broker's end of a new connection."""
    return Connection(None, SETTINGS, now, name="r1")


def welcome(received: int = 0) -> Welcome:
    """The answer of the broker of these tests."""
    return Welcome(name="r1", session="b", received=received, frame_bytes_max=FRAME_BYTES_MAX)


def hello(role: Role = Role.CLIENT, name: str = "c1", session: str = "s1", **more: Any) -> Hello:
    """A greeting."""
    return Hello(role=role, name=name, session=session, **more)


def open_pair(role: Role = Role.CLIENT, now: float = 0.0) -> tuple[Connection, Connection]:
    """The end that connected and the end that accepted, both open."""
    dialed, accepted = Connection(role, SETTINGS, now), accepting(now)
    dialed.greet(hello(role))
    list(accepted.receive(dialed.take_outgoing(), now))
    accepted.welcome(welcome(), role)
    list(dialed.receive(accepted.take_outgoing(), now))
    dialed.welcomed()
    if role is Role.BROKER:
        accepted.established()
    return dialed, accepted


def framed(message: Message) -> bytes:
    """The frame of a message."""
    buffer = bytearray()
    append_message(buffer, message)
    return bytes(buffer)


def said(data: bytes, decoder: Decoder) -> list[Greeting | Message]:
    """The messages in bytes that one end sent."""
    found = list(one_by_one(decoder.feed(data)))
    assert decoder.error is None
    return found


class Home:
    """A broker's side of clients, without a router: it keeps sessions and answers greetings."""

    def __init__(self) -> None:
        self.memory = SessionMemory()

    def connect(
        self, session: ClientSession, now: float = 0.0
    ) -> tuple[ClientSessionAtBroker, list[ClientEvent]]:
        """Connect a client; what it hears in answer to its greeting."""
        session.connected(now)
        connection = accepting(now)
        (greeting,) = connection.receive(session.take_outgoing(), now)
        assert isinstance(greeting, Hello)
        ledger = self.memory.attach(greeting.name, greeting.session)
        connection.welcome(welcome(max(ledger.received, greeting.acknowledged)), Role.CLIENT)
        peer = ClientSessionAtBroker(
            greeting.name,
            connection,
            ledger,
            acknowledged=greeting.acknowledged,
        )
        peer.acknowledge()
        return peer, list(session.receive(connection.take_outgoing(), now))

    def lose(self, session: ClientSession, peer: ClientSessionAtBroker) -> list[ClientEvent]:
        """Cut the connection; what the client makes of it."""
        peer.connection.lost("cut")
        self.memory.detach(peer.name, forget=False)
        return list(session.lost("cut"))
