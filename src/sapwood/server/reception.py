"""Greetings: from "somebody connected" to "this client" or "this neighbor"."""

from __future__ import annotations

from sapwood.errors import FrameError
from sapwood.routing.inputs import AttachClient, LinkUp
from sapwood.server.logs import Log
from sapwood.server.peer import Peer
from sapwood.server.roster import Roster, client_of, link_of
from sapwood.session.admission import (
    Identity,
    Refused,
    refuse_client,
    refuse_link,
    takes_link,
)
from sapwood.session.client_peer import ClientPeer
from sapwood.session.ledger import SessionMemory
from sapwood.session.link_peer import LinkPeer
from sapwood.wire.greetings import Greeting, Hello, Role, Welcome
from sapwood.wire.messages import GoodbyeCode, Message


class Reception:
    """Carries out the decisions of `sapwood.session.admission` for one broker.

    Its methods return the input that tells the router of a newcomer, if one came in.
    """

    def __init__(
        self,
        me: Identity,
        roster: Roster,
        memory: SessionMemory,
        log: Log,
    ) -> None:
        self.me = me
        self.refusals = 0
        self._roster = roster
        self._memory = memory
        self._log = log

    def hello(self) -> Hello:
        """The greeting of this broker when it connects to another."""
        return Hello(
            role=Role.BROKER,
            name=self.me.name,
            session=self.me.session,
            routing=self.me.routing,
            frame_bytes_max=self.me.frame_bytes_max,
        )

    def greeted(self, peer: Peer, greeting: Greeting | Message) -> AttachClient | LinkUp | None:
        """Answer the peer's greeting."""
        if isinstance(greeting, Welcome):
            return self._welcomed(peer, greeting)
        if not isinstance(greeting, Hello):
            raise FrameError(f"a {type(greeting).__name__} is no greeting")
        if greeting.role is Role.CLIENT:
            return self._client(peer, greeting)
        self._offer_link(peer, greeting)
        return None

    def established(self, peer: Peer) -> LinkUp | None:
        """A broker takes the link into use that it was offered."""
        name = link_of(peer).name
        if name in self._roster.links:
            peer.connection.say_goodbye(
                GoodbyeCode.ALREADY_LINKED, "the brokers are linked already"
            )
            return None
        peer.connection.established()
        del self._roster.offered[peer]
        return self._up(peer, name)

    def _client(self, peer: Peer, hello: Hello) -> AttachClient | None:
        roster = self._roster
        earlier = roster.clients.get(hello.name)
        present = None if earlier is None else client_of(earlier).ledger.session
        refused = refuse_client(hello, present)
        if refused is not None:
            self._refuse(peer, hello.name, refused)
            return None
        if earlier is not None:
            reason = "the client has connected again"
            earlier.connection.say_goodbye(GoodbyeCode.REPLACED, reason)
            earlier.flush()
        ledger = self._memory.attach(hello.name, hello.session)
        welcome = self._welcome(received=max(ledger.received, hello.acknowledged))
        peer.connection.welcome(welcome, Role.CLIENT)
        peer.client = ClientPeer(
            hello.name,
            peer.connection,
            ledger,
            acknowledged=hello.acknowledged,
            frame_bytes_max=self.me.frame_bytes_max,
        )
        roster.clients[hello.name] = peer
        self._log.info("client connected", client=hello.name, address=peer.address)
        return AttachClient(hello.name)

    def _offer_link(self, peer: Peer, hello: Hello) -> None:
        roster = self._roster
        refused = refuse_link(hello, self.me, roster.link_sessions(), roster.barred)
        if refused is not None:
            self._refuse(peer, hello.name, refused)
            return
        peer.connection.welcome(self._welcome(), Role.BROKER)
        peer.link = LinkPeer(hello.name, hello.session, peer.connection)
        roster.offered[peer] = hello.name

    def _welcomed(self, peer: Peer, welcome: Welcome) -> LinkUp | None:
        roster = self._roster
        peer.connection.welcomed()
        peer.link = LinkPeer(welcome.name, welcome.session, peer.connection)
        if (welcome.name, welcome.session) in roster.barred:
            peer.connection.say_goodbye(GoodbyeCode.BARRED, "this link was closed for good")
            return None
        if not takes_link(welcome, self.me, roster.links, roster.offered.values()):
            reason = "the brokers are linked already, or about to be"
            peer.connection.say_goodbye(GoodbyeCode.ALREADY_LINKED, reason)
            return None
        for other in [other for other, name in roster.offered.items() if name == welcome.name]:
            reason = "the link in the other direction is kept"
            other.connection.say_goodbye(GoodbyeCode.ALREADY_LINKED, reason)
            other.flush()
        peer.link.establish()
        return self._up(peer, welcome.name)

    def _up(self, peer: Peer, name: str) -> LinkUp:
        peer.was_up = True
        self._roster.links[name] = peer
        self._log.info("link up", neighbor=name, address=peer.address)
        return LinkUp(name)

    def _welcome(self, received: int = 0) -> Welcome:
        return Welcome(
            name=self.me.name,
            session=self.me.session,
            received=received,
            routing=self.me.routing,
            frame_bytes_max=self.me.frame_bytes_max,
        )

    def _refuse(self, peer: Peer, name: str, refused: Refused) -> None:
        self.refusals += 1
        self._log.warning(
            "connection refused", name=name, address=peer.address, reason=refused.reason
        )
        peer.connection.refuse(refused.code, refused.reason)
