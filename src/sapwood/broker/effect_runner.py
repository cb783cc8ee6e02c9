"""The effects of a router, carried out by a broker: messages, links, the journal."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Protocol

import numpy as np

from sapwood.broker.connections import Connections, link_of
from sapwood.broker.counters import Counters
from sapwood.broker.debug_log import DebugLog
from sapwood.broker.dialing import Dialers
from sapwood.broker.expiry import Expiry
from sapwood.broker.hits import Hits
from sapwood.broker.keeping import Keeper
from sapwood.broker.logs import Log
from sapwood.broker.storing import Storing
from sapwood.broker.tracing import Tracing
from sapwood.errors import InvariantError
from sapwood.limits import COMPOSED_BYTES
from sapwood.matching.publication_batch import PublicationBatch, oldest
from sapwood.routing.effects import (
    Accepted,
    AcceptedMany,
    Advertised,
    CloseLink,
    Connect,
    Deliver,
    DeliverMany,
    Disconnect,
    Effect,
    Persist,
    Recall,
    Refused,
    Release,
    Remaining,
    Send,
    SendMany,
    Subscribed,
    SubscribedMany,
    Supply,
    Unadvertised,
    Unsubscribed,
    UnsubscribedMany,
)
from sapwood.routing.inputs import BatchInput, Input
from sapwood.routing.messages import Publish, carried
from sapwood.session.durable.subscriptions import is_owner
from sapwood.session.settings import ConnectionSettings
from sapwood.wire.composer import Composer
from sapwood.wire.messages import GoodbyeCode


class Owners(Protocol):
    """The durable subscriptions, as they receive the effects for their owners."""

    def deliver(self, effect: Deliver, request: Input, age_s: float) -> None:
        """An owner gets a publication of an input; its age counts if it has a time to live."""
        ...

    def deliver_many(self, effect: DeliverMany, request: Input, expiry: Expiry) -> None:
        """Owners, among others, get the publications of a batch whose time is not over."""
        ...

    def subscribed(self, owner: str) -> None:
        """The subscription of an owner is in force."""
        ...

    def refused(self, owner: str, reason: str) -> None:
        """The subscription of an owner is refused."""
        ...


class EffectRunner:
    """Carries out the effects of one router.

    No bytes are sent yet: `Connections` remembers which connections got output.
    """

    def __init__(
        self,
        connections: Connections,
        dialers: Dialers,
        counters: Counters,
        log: Log,
        *,
        storing: Storing | None,
        handle: Callable[[Input], None],
        takes: Callable[[str, int], bool],
        connecting: ConnectionSettings,
        tracing: Tracing | None = None,
    ) -> None:
        self._connections = connections
        self._storing = storing
        self._keeper: Keeper | None = None if storing is None else storing.keeper
        self._owners: Owners | None = None if storing is None else storing.durables
        #: hands in an input that no peer has sent
        self._handle = handle
        self._tracing = tracing
        #: returns whether a client may get a number of bytes at once
        self._takes = takes
        self._dialers = dialers
        self._counters = counters
        self._log = log
        self._debug_log = DebugLog.of(log)
        #: the input whose effects are being carried out, for the effects that refer to it
        self._request: Input | None = None
        #: the neighbors to which its effects have sent messages
        self.told: set[str] = set()
        #: the rest of the input, to be handed in next
        self._remaining: BatchInput | None = None
        self._composer = Composer()
        #: counts the matches of subscriptions, while the console shows them
        self.hits: Hits | None = None
        self._frame_bytes_max = connecting.frame_bytes_max
        self._expiry = Expiry(connecting.clock)
        #: true if both ends of a link count its messages
        self._counts = storing is not None and storing.persists
        self._runners: dict[type[Effect], Callable[..., None]] = {
            Deliver: self._deliver,
            Send: self._send,
            Accepted: self._accepted,
            Subscribed: self._subscribed,
            Unsubscribed: self._unsubscribed,
            SubscribedMany: self._subscribed_many,
            UnsubscribedMany: self._unsubscribed_many,
            Advertised: self._advertised,
            Unadvertised: self._unadvertised,
            Supply: self._supplied,
            Refused: self._refused,
            CloseLink: self._close_link,
            Connect: self._connect,
            Disconnect: self._disconnect,
            Persist: self._persist,
            Release: self._release,
            Recall: self._recall_places,
            DeliverMany: self._deliver_many,
            SendMany: self._send_many,
            AcceptedMany: self._accepted_many,
            Remaining: self._remain,
        }

    def look_again(self) -> None:
        """Check whether inputs and effects are logged, as the log's level may have changed."""
        self._debug_log = DebugLog.of(self._log)

    def run(self, effects: Iterable[Effect], request: Input) -> BatchInput | None:
        """Carry out the effects of an input, in order; return the rest of the input."""
        self._request, self._remaining = request, None
        self.told.clear()
        if self._debug_log is not None:
            effects = tuple(effects)
            self._debug_log.handled(request, effects)
        for effect in effects:
            self._runners[type(effect)](effect)
        return self._remaining

    def _deliver(self, effect: Deliver) -> None:
        if self.hits is not None:
            self.hits.count(effect)
        self._hand_over(effect)

    def _hand_over(self, effect: Deliver) -> None:
        """Deliver a publication to a client or a mailbox, unless its time is over."""
        publication, age_s = effect.publication, 0.0
        if publication.envelope is not None:
            if self._expiry.is_over(publication):
                self._counters.expired += 1
                return
            age_s = self._expiry.age_s(publication)
            if self._tracing is not None:
                self._tracing.delivered(effect, is_kept=is_owner(effect.client))
        if self._owners is not None and is_owner(effect.client):
            self._owners.deliver(effect, self._asked(), age_s)
        else:
            self._deliver_to_client(effect)

    def _deliver_to_client(self, effect: Deliver) -> None:
        client = self._connections.to_client(effect.client)
        if client is not None:
            self._counters.deliveries += 1
            client.deliver(effect.subscriptions, effect.publication)

    def _deliver_many(self, effect: DeliverMany) -> None:
        if self.hits is not None:
            self.hits.count_many(effect)
        if self._owners is not None:
            self._owners.deliver_many(effect, self._asked(), self._expiry)
        if self._expiry.are_over(effect.batch) is not None:
            self._deliver_each(effect, 0)
            return
        place, count, born = 0, len(effect.keys), oldest(effect.batch)
        while place < count:
            composed = self._composer.deliveries(
                effect, place, self._frame_bytes_max, COMPOSED_BYTES
            )
            if composed is None:
                self._deliver_each(effect, place)
                return
            for name, frames, deliveries in composed.by_client(self._takes):
                client = self._connections.to_client(name)
                if client is not None:
                    self._counters.deliveries += deliveries
                    client.delivered += deliveries
                    client.connection.mark(born)
                    client.connection.send_frames(frames)
            place = composed.end

    def _deliver_each(self, effect: DeliverMany, first: int) -> None:
        """Deliver a batch to clients, one by one, from a place on."""
        for one in effect.each(first):
            if not is_owner(one.client):  # owners have got theirs
                self._hand_over(one)

    def _send_many(self, effect: SendMany) -> None:
        self.told.add(effect.neighbor)
        link = self._connections.to_link(effect.neighbor)
        if link is None:
            return
        many = effect.publications
        if not isinstance(many.batch, PublicationBatch):
            self._expiry.tell(many.batch)
        over = None if self._counts or many.tree is not None else self._expiry.are_over(many.batch)
        if over is not None:
            self._counters.expired += int(over.sum())
            many = many.at(np.flatnonzero(~over).tolist())
        if len(many.batch):
            link.send_many(many)

    def _accepted_many(self, effect: AcceptedMany) -> None:
        count = len(effect.publications)
        self._counters.publications += count
        self._connections.settle_many(effect.client, count)

    def _remain(self, effect: Remaining) -> None:
        self._remaining = effect.input

    def _send(self, effect: Send) -> None:
        self.told.add(effect.neighbor)
        link = self._connections.to_link(effect.neighbor)
        if link is None:
            return
        inner = carried(effect.message)
        # A counted or numbered message, or one on a tree, has to arrive, even if its time is over.
        is_over = isinstance(inner, Publish) and self._expiry.is_over(inner.publication)
        if is_over and inner is effect.message and not self._counts:
            self._counters.expired += 1
            return
        if self._tracing is not None and isinstance(inner, Publish):
            self._tracing.forwarded(effect.neighbor, inner.publication, inner.hops)
        link.send(effect.message, effect.age_ns)

    def _accepted(self, effect: Accepted) -> None:
        self._counters.publications += 1
        self._connections.settle(effect.client, effect.publication)

    def _asked(self) -> Input:
        """The input whose effects are being carried out."""
        if self._request is None:
            raise InvariantError("the router delivers what nobody published")
        return self._request

    def _subscribed(self, effect: Subscribed) -> None:
        if self._owners is not None and is_owner(effect.client):
            self._owners.subscribed(effect.client)
            return
        client = self._connections.to_client(effect.client)
        if client is not None:
            client.subscribed(effect.subscription)

    def _unsubscribed(self, effect: Unsubscribed) -> None:
        client = self._connections.to_client(effect.client)
        if client is not None:
            client.unsubscribed(effect.subscription)

    def _subscribed_many(self, effect: SubscribedMany) -> None:
        client = self._connections.to_client(effect.client)
        if client is not None:
            client.subscribed_many(effect.subscriptions)

    def _unsubscribed_many(self, effect: UnsubscribedMany) -> None:
        client = self._connections.to_client(effect.client)
        if client is not None:
            client.unsubscribed_many(effect.subscriptions)

    def _advertised(self, effect: Advertised) -> None:
        client = self._connections.to_client(effect.client)
        if client is not None:
            client.advertised(effect.advertisement)

    def _unadvertised(self, effect: Unadvertised) -> None:
        client = self._connections.to_client(effect.client)
        if client is not None:
            client.unadvertised(effect.advertisement)

    def _supplied(self, effect: Supply) -> None:
        client = self._connections.to_client(effect.client)
        if client is not None:
            client.supplied(effect.subscriptions, is_there=effect.is_there)

    def _refused(self, effect: Refused) -> None:
        if self._keeper is not None:
            self._keeper.refused(self._request)
        if self._owners is not None and is_owner(effect.client):
            self._owners.refused(effect.client, effect.reason)
            return
        client = self._connections.to_client(effect.client)
        if client is not None:
            if self._request is None:
                raise InvariantError("the router refuses what nobody asked for")
            client.refused(self._request, effect.reason, effect.subject)

    def _close_link(self, effect: CloseLink) -> None:
        tcp = self._connections.links.get(effect.neighbor)
        if tcp is None:
            return
        if not effect.for_good:
            self._log.warning("circle", neighbor=effect.neighbor, reason=effect.reason)
            self._connections.end(tcp, GoodbyeCode.CIRCLE, effect.reason)
            return
        self._connections.barred.add((effect.neighbor, link_of(tcp).session))
        self._log.error("link closed for good", neighbor=effect.neighbor, reason=effect.reason)
        self._connections.end(tcp, GoodbyeCode.BARRED, effect.reason)

    def _connect(self, effect: Connect) -> None:
        self._dialers.ask(effect.neighbor, effect.address)

    def _disconnect(self, effect: Disconnect) -> None:
        self._dialers.release(effect.neighbor)

    def _persist(self, effect: Persist) -> None:
        self._kept().persist(effect.record)

    def _release(self, effect: Release) -> None:
        self._kept().store.release(effect.before)

    def _recall_places(self, effect: Recall) -> None:
        if self._storing is None:
            raise InvariantError("a broker without a store is to read what it has kept")
        self._storing.recall(effect.places, self._handle)

    def _kept(self) -> Keeper:
        if self._keeper is None:
            raise InvariantError("a broker without a store is to keep what survives a crash")
        return self._keeper
