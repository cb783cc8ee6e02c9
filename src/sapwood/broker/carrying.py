"""Carrying out what the router says: effects to messages for those they concern."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from sapwood.broker.counters import Counters
from sapwood.broker.keeping import Keeping
from sapwood.broker.linking import Linking
from sapwood.broker.logs import Log
from sapwood.broker.roster import Roster, client_of, link_of
from sapwood.errors import InvariantError
from sapwood.routing.effects import (
    Accepted,
    Advertised,
    CloseLink,
    Connect,
    Deliver,
    Disconnect,
    Effect,
    Persist,
    Refused,
    Send,
    Subscribed,
    Unadvertised,
    Unsubscribed,
)
from sapwood.routing.inputs import Input
from sapwood.session.client_peer import ClientPeer
from sapwood.wire.messages import GoodbyeCode


class Carrying:
    """Does what effects say, for one broker.

    Nothing is sent yet: those who got something are in the roster's `touched`.
    """

    def __init__(
        self,
        roster: Roster,
        keeping: Keeping,
        linking: Linking,
        counters: Counters,
        log: Log,
    ) -> None:
        self._roster = roster
        self._keeping = keeping
        self._linking = linking
        self._counters = counters
        self._log = log
        #: what the router is working on, for the effects that refer to it
        self._request: Input | None = None
        self._carry_out: dict[type[Effect], Callable[..., None]] = {
            Deliver: self._deliver,
            Send: self._send,
            Accepted: self._accepted,
            Subscribed: self._subscribed,
            Unsubscribed: self._unsubscribed,
            Advertised: self._advertised,
            Unadvertised: self._unadvertised,
            Refused: self._refused,
            CloseLink: self._close_link,
            Connect: self._connect,
            Disconnect: self._disconnect,
            Persist: self._persist,
        }

    def carry_out(self, effects: Iterable[Effect], request: Input) -> None:
        """Do what came of a request, in order."""
        self._request = request
        for effect in effects:
            self._carry_out[type(effect)](effect)

    def _deliver(self, effect: Deliver) -> None:
        client = self._client(effect.client)
        if client is not None:
            self._counters.deliveries += 1
            client.deliver(effect.subscriptions, effect.publication)

    def _send(self, effect: Send) -> None:
        peer = self._roster.links.get(effect.neighbor)
        if peer is not None and peer.connection.open:
            link_of(peer).send(effect.message)
            self._roster.touched[peer] = None

    def _accepted(self, effect: Accepted) -> None:
        self._counters.publications += 1
        peer = self._roster.clients.get(effect.client)
        if peer is not None:
            client_of(peer).ledger.settle(effect.publication)
            self._roster.touched[peer] = None

    def _subscribed(self, effect: Subscribed) -> None:
        client = self._client(effect.client)
        if client is not None:
            client.subscribed(effect.subscription)

    def _unsubscribed(self, effect: Unsubscribed) -> None:
        client = self._client(effect.client)
        if client is not None:
            client.unsubscribed(effect.subscription)

    def _advertised(self, effect: Advertised) -> None:
        client = self._client(effect.client)
        if client is not None:
            client.advertised(effect.advertisement)

    def _unadvertised(self, effect: Unadvertised) -> None:
        client = self._client(effect.client)
        if client is not None:
            client.unadvertised(effect.advertisement)

    def _refused(self, effect: Refused) -> None:
        self._keeping.refused(self._request)
        client = self._client(effect.client)
        if client is not None:
            if self._request is None:
                raise InvariantError("the router refuses what nobody asked for")
            client.refused(self._request, effect.reason)

    def _close_link(self, effect: CloseLink) -> None:
        peer = self._roster.links.get(effect.neighbor)
        if peer is None:
            return
        self._roster.barred.add((effect.neighbor, link_of(peer).session))
        self._log.error("link closed for good", neighbor=effect.neighbor, reason=effect.reason)
        peer.connection.say_goodbye(GoodbyeCode.BARRED, effect.reason)
        self._roster.touched[peer] = None

    def _connect(self, effect: Connect) -> None:
        self._linking.ask(effect.neighbor, effect.address)

    def _disconnect(self, effect: Disconnect) -> None:
        self._linking.release(effect.neighbor)

    def _persist(self, effect: Persist) -> None:
        raise InvariantError(
            f"a broker without a store is to keep a {type(effect.record).__name__}"
        )

    def _client(self, name: str) -> ClientPeer | None:
        """A client that can be told something, which will be sent."""
        peer = self._roster.clients.get(name)
        if peer is None or not peer.connection.open:
            return None
        self._roster.touched[peer] = None
        return client_of(peer)
