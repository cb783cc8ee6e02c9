"""The handshake: how a connection becomes that of a client or of a neighbor."""

from __future__ import annotations

from typing import Protocol

from msgspec.structs import replace

from sapwood.broker.access.doorkeeper import Doorkeeper
from sapwood.broker.connections import Connections, client_of, link_of
from sapwood.broker.logs import Log
from sapwood.broker.settings import BrokerSettings
from sapwood.broker.tcp_connection import TcpConnection
from sapwood.errors import FrameError
from sapwood.limits import MESH_ROUTERS_MAX
from sapwood.routing.inputs import AttachClient, LinkUp
from sapwood.session.admission import (
    Identity,
    Refused,
    circle_reason,
    refuse_client,
    refuse_link,
    takes_link,
)
from sapwood.session.circles import Circles
from sapwood.session.client_session_at_broker import ClientSessionAtBroker
from sapwood.session.judging import Judge
from sapwood.session.ledger import SessionMemory
from sapwood.session.link_session import LinkSession
from sapwood.session.quotas import Account
from sapwood.wire.address import as_seen
from sapwood.wire.greetings import Credentials, Greeting, Hello, RefusalCode, Role, Welcome
from sapwood.wire.messages import GoodbyeCode, Message


class Earlier(Protocol):
    """The state of the broker from before its restart."""

    def received(self, client: str, session: str, acknowledged: int) -> int:
        """The last number received of the publications of a client's session."""
        ...

    def remembers(self, client: str, session: str) -> bool:
        """True if the entries that the session had requested are still in force."""
        ...


class Handshake:
    """Carries out the decisions of `sapwood.session.admission` for one broker.

    Its methods return the input that attaches a client or a link to the router, if one came up.
    """

    def __init__(
        self,
        me: Identity,
        connections: Connections,
        memory: SessionMemory,
        log: Log,
        circles: Circles | None = None,
        *,
        judging: Judge | None = None,
        doorkeeper: Doorkeeper | None = None,
        credentials: Credentials | None = None,
    ) -> None:
        self.me = me
        self._doorkeeper = doorkeeper
        #: the credentials of this broker where it connects
        self._credentials = credentials
        #: given where the broker has a store
        self.earlier: Earlier | None = None
        self._circles = circles
        self.refusals = 0
        #: the reason why each name was last refused; forgotten when there are too many
        self._reasons: dict[str, str] = {}
        self._connections = connections
        self._memory = memory
        self._log = log
        self._judging = Judge() if judging is None else judging

    def take(self, credentials: Credentials | None, settings: BrokerSettings) -> None:
        """Use other credentials from now on, and judge subscriptions by these settings."""
        self._credentials = credentials
        self._judging.is_strict = settings.strict
        self._judging.cost_max = settings.filter_cost_max
        self._judging.declared = settings.declared

    def hello(self) -> Hello:
        """The greeting of this broker when it connects to another."""
        return Hello(
            role=Role.BROKER,
            name=self.me.name,
            session=self.me.session,
            routing=self.me.routing,
            frame_bytes_max=self.me.frame_bytes_max,
            credentials=self._credentials,
            listens=self.me.listens,
        )

    def greeted(
        self, tcp: TcpConnection, greeting: Greeting | Message
    ) -> AttachClient | LinkUp | None:
        """Answer a greeting."""
        if isinstance(greeting, Welcome):
            return self._welcomed(tcp, greeting)
        if not isinstance(greeting, Hello):
            raise FrameError(f"a {type(greeting).__name__} is no greeting")
        if self._doorkeeper is not None:
            decided = self._doorkeeper.decide(tcp, greeting)
            if isinstance(decided, Refused):
                self._refuse(tcp, greeting.name, decided)
                return None
            tcp.admitted = decided
            if decided is not None:
                greeting = replace(greeting, name=decided.name)
        if greeting.role is Role.CLIENT:
            return self._client(tcp, greeting)
        self._offer_link(tcp, greeting)
        return None

    def established(self, tcp: TcpConnection) -> LinkUp | None:
        """Take a link into use that this broker has offered."""
        name = link_of(tcp).name
        if name in self._connections.links:
            tcp.connection.say_goodbye(GoodbyeCode.ALREADY_LINKED, "the brokers are linked already")
            return None
        tcp.connection.established()
        del self._connections.offered[tcp]
        return self._up(tcp, name, dialed=False)

    def _client(self, tcp: TcpConnection, hello: Hello) -> AttachClient | None:
        connections = self._connections
        earlier = connections.clients.get(hello.name)
        present = None if earlier is None else client_of(earlier).ledger.session
        refused = refuse_client(hello, present)
        if tcp.is_datagram:
            reason = "over UDP brokers link; clients connect by TCP"
            refused = Refused(RefusalCode.SETTINGS, reason)
        if refused is not None:
            self._refuse(tcp, hello.name, refused)
            return None
        if earlier is not None:
            reason = "the client has connected again"
            earlier.connection.say_goodbye(GoodbyeCode.REPLACED, reason)
            earlier.flush()
        gate = None if tcp.admitted is None else tcp.admitted.gate
        usage = None if tcp.admitted is None else tcp.admitted.usage
        ledger = self._memory.attach(hello.name, hello.session)
        is_remembered = False
        if self.earlier is not None:
            earlier_life = self.earlier.received(hello.name, hello.session, hello.acknowledged)
            ledger.received = max(ledger.received, earlier_life)
            kept = hello.session + ("" if gate is None else gate.tag)
            is_remembered = self.earlier.remembers(hello.name, kept)
        received = max(ledger.received, hello.acknowledged)
        welcome = self._welcome(received, remembers=is_remembered)
        tcp.connection.welcome(welcome, Role.CLIENT)
        tcp.client = ClientSessionAtBroker(
            hello.name,
            tcp.connection,
            ledger,
            acknowledged=hello.acknowledged,
            judging=self._judging,
            is_remembered=is_remembered,
            gate=gate,
            account=None if usage is None else Account(usage),
        )
        connections.clients[hello.name] = tcp
        self._log.info("client connected", client=hello.name, address=tcp.address)
        return AttachClient(hello.name)

    def _offer_link(self, tcp: TcpConnection, hello: Hello) -> None:
        connections = self._connections
        refused = refuse_link(
            hello, self.me, connections.link_sessions(), connections.barred, self._circles
        )
        if refused is not None:
            self._refuse(tcp, hello.name, refused)
            return
        tcp.connection.welcome(replace(self._welcome(), listens=self.me.listens), Role.BROKER)
        tcp.link = _link_to(hello, tcp)
        connections.offered[tcp] = hello.name

    def _welcomed(self, tcp: TcpConnection, welcome: Welcome) -> LinkUp | None:
        connections = self._connections
        tcp.connection.welcomed()
        tcp.link = _link_to(welcome, tcp)
        if (welcome.name, welcome.session) in connections.barred:
            tcp.connection.say_goodbye(GoodbyeCode.BARRED, "this link was closed for good")
            return None
        if self._circles is not None and self._circles.reaches(welcome.name):
            reason = circle_reason(self.me.name, welcome.name)
            tcp.connection.say_goodbye(GoodbyeCode.CIRCLE, reason)
            return None
        if not takes_link(welcome, self.me, connections.links, connections.offered.values()):
            reason = "the brokers are linked already, or about to be"
            tcp.connection.say_goodbye(GoodbyeCode.ALREADY_LINKED, reason)
            return None
        for other in [other for other, name in connections.offered.items() if name == welcome.name]:
            reason = "the link in the other direction is kept"
            other.connection.say_goodbye(GoodbyeCode.ALREADY_LINKED, reason)
            other.flush()
        tcp.link.establish()
        return self._up(tcp, welcome.name, dialed=True)

    def _up(self, tcp: TcpConnection, name: str, *, dialed: bool) -> LinkUp:
        tcp.was_up = True
        tcp.connection.watch()
        self._connections.links[name] = tcp
        self._log.info("link up", neighbor=name, address=tcp.address)
        where = as_seen(link_of(tcp).listens, tcp.address)
        return LinkUp(name, dialed=dialed, is_lossy=tcp.is_datagram, address=where)

    def _welcome(self, received: int = 0, *, remembers: bool = False) -> Welcome:
        return Welcome(
            name=self.me.name,
            session=self.me.session,
            received=received,
            routing=self.me.routing,
            frame_bytes_max=self.me.frame_bytes_max,
            remembers=remembers,
        )

    def _refuse(self, tcp: TcpConnection, name: str, refused: Refused) -> None:
        self.refusals += 1
        # A peer that connects again is refused again, as a link that stands by is: that is no news.
        is_news = self._reasons.get(name) != refused.reason
        if len(self._reasons) >= MESH_ROUTERS_MAX:
            self._reasons.clear()
        self._reasons[name] = refused.reason
        is_news &= refused.code is not RefusalCode.CIRCLE
        log = self._log.warning if is_news else self._log.debug
        log("connection refused", name=name, address=tcp.address, reason=refused.reason)
        tcp.connection.refuse(refused.code, refused.reason)


def _link_to(greeting: Hello | Welcome, tcp: TcpConnection) -> LinkSession:
    """The session of a link to the broker that sent this greeting."""
    return LinkSession(
        greeting.name,
        greeting.session,
        tcp.connection,
        is_lossy=tcp.is_datagram,
        listens=greeting.listens,
    )
