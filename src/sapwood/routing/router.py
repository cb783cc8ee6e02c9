"""The router: one state machine with one door.

`Router.handle(input, now)` is all that changes it, and the list of effects it returns is all that
comes out. It owns no clock, no randomness and no socket; the simulator and the server drive the
same object.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sapwood.errors import InvariantError
from sapwood.limits import HOPS_MAX
from sapwood.matching.index import Index
from sapwood.model.filter import Filter
from sapwood.model.publication import Publication
from sapwood.routing.confirmation import Confirmations
from sapwood.routing.effects import (
    Accepted,
    CloseLink,
    Deliver,
    Effect,
    Refused,
    Send,
    Subscribed,
    Unsubscribed,
)
from sapwood.routing.inputs import (
    AttachClient,
    ClientPublish,
    ClientSubscribe,
    ClientUnsubscribe,
    DetachClient,
    Input,
    LinkDown,
    LinkUp,
    Receive,
)
from sapwood.routing.messages import Confirm, Publish, Subscribe, Unsubscribe
from sapwood.routing.propagation.protocol import Change, Propagation
from sapwood.routing.protocols import protocol as protocol_named
from sapwood.routing.tables import Clients, LocalSubscription, Received, Tables
from sapwood.routing.upkeep.protocol import Action


@dataclass(slots=True)
class Counters:
    """What a router has done since it began; plain counts."""

    publications: int = 0
    deliveries: int = 0


class Router:
    """A router of an overlay that is a tree.

    `name` is unique in the overlay. `incarnation` is a number that no earlier router of that name
    has had; it keeps the keys of subscriptions unique across restarts. `protocol` and `engine` are
    names from their catalogues.

    #: links.keys() == tables.received.keys(): the links that are up
    #: the candidates of links[n] are all known subscriptions that did not come from n
    """

    def __init__(
        self,
        name: str,
        protocol: str = "covering",
        engine: str = "counting",
        incarnation: int = 0,
    ) -> None:
        self.name = name
        self.protocol = protocol_named(protocol)
        self.counters = Counters()
        self.tables = Tables(Clients(Index(records=engine)))
        self.links: dict[str, Propagation] = {}
        self.confirmations = Confirmations()
        self._engine = engine
        self._incarnation = incarnation
        self._serial = 0
        self._sendings = 0
        self._upkeep = self.protocol.upkeep()

    def handle(self, input: Input, now: float) -> list[Effect]:  # noqa: A002 - the contract's word
        """Take one input at time `now` (seconds, any origin, never going back).

        Returns the effects, to be carried out in order. A client's name must be attached before it
        is used; what concerns a link that is not up is ignored, as it crossed with the end of the
        link.
        """
        match input:
            case Receive():
                return self._receive(input)
            case ClientPublish():
                self._require_client(input.client)
                effects = self._route(input.publication, self.name, 0, None)
                effects.append(Accepted(input.client, input.publication.id))
                return effects
            case ClientSubscribe():
                return self._client_subscribe(input)
            case ClientUnsubscribe():
                return self._client_unsubscribe(input)
            case AttachClient():
                if input.client in self.tables.clients.by_client:
                    raise InvariantError(f"client {input.client!r} is attached already")
                self.tables.clients.by_client[input.client] = {}
                return []
            case DetachClient():
                return self._detach(input.client)
            case LinkUp():
                return self._link_up(input.neighbor, now)
            case LinkDown():
                return self._link_down(input.neighbor, now)

    def next_deadline(self) -> float | None:
        """When `handle` wants to be called even without an input; `None` for never."""
        return self._upkeep.next_deadline()

    def table_sizes(self) -> dict[str, int]:
        """Entries in each table: for metrics.

        `local`: subscriptions of own clients; `received` and `propagated`: subscriptions known
        from, and told to, neighbors, over all links; `unconfirmed`: not yet in force.
        """
        return {
            "local": len(self.tables.clients.by_key),
            "received": sum(len(r.filters) for r in self.tables.received.values()),
            "propagated": sum(len(link.propagated) for link in self.links.values()),
            "unconfirmed": len(self.confirmations.awaited),
        }

    def validate(self) -> None:
        """Check every relation between the tables; raises `InvariantError`."""
        if list(self.links) != list(self.tables.received):
            raise InvariantError("links and received tables differ")
        self.tables.clients.validate()
        for neighbor, link in self.links.items():
            self.tables.received[neighbor].validate(neighbor)
            link.validate(dict(self.tables.candidates(neighbor)))
        self.confirmations.validate(self.links)

    # Clients -----------------------------------------------------------------------------------

    def _client_subscribe(self, request: ClientSubscribe) -> list[Effect]:
        own = self._require_client(request.client)
        present = own.get(request.subscription)
        if present is None:
            self._serial += 1
            key = f"{self.name}.{self._incarnation}.{self._serial}"
            entry = LocalSubscription(key, request.client, request.subscription, request.filter)
            self.tables.clients.add(entry)
            return self._propagate(key, request.filter, source=None)
        if present.filter != request.filter:
            reason = (
                f"subscription id {request.subscription!r} is taken by another filter of this "
                "client; unsubscribe it first or choose another id"
            )
            return [Refused(request.client, request.subscription, reason)]
        if self.confirmations.in_force(present.key):
            return [Subscribed(request.client, request.subscription)]
        return []  # the answer is on its way

    def _client_unsubscribe(self, request: ClientUnsubscribe) -> list[Effect]:
        entry = self._require_client(request.client).get(request.subscription)
        if entry is None:
            reason = f"this client has no subscription with id {request.subscription!r}"
            return [Refused(request.client, request.subscription, reason)]
        self.tables.clients.remove(entry)
        effects = self._withdraw(entry.key, source=None)
        return [*effects, Unsubscribed(request.client, request.subscription)]

    def _detach(self, client: str) -> list[Effect]:
        entries = list(self._require_client(client).values())
        for entry in entries:  # all of them first, so that nothing is announced to the client
            self.tables.clients.remove(entry)
        del self.tables.clients.by_client[client]
        return [effect for entry in entries for effect in self._withdraw(entry.key, source=None)]

    def _require_client(self, client: str) -> dict[str, LocalSubscription]:
        own = self.tables.clients.by_client.get(client)
        if own is None:
            raise InvariantError(f"client {client!r} is not attached")
        return own

    # Links -------------------------------------------------------------------------------------

    def _link_up(self, neighbor: str, now: float) -> list[Effect]:
        if neighbor in self.links:
            raise InvariantError(f"the link to {neighbor!r} is up already")
        self.links[neighbor] = link = self.protocol.propagation()
        self.tables.received[neighbor] = Received(Index(records=self._engine))
        self.confirmations.link_up(neighbor)
        effects: list[Effect] = []
        for action in self._upkeep.link_up(neighbor, now):
            assert action is Action.REPLAY, "there is nothing to forget on a new link"
            change = link.start(self.tables.candidates(neighbor))
            effects.extend(self._say(neighbor, change))
        return effects

    def _link_down(self, neighbor: str, now: float) -> list[Effect]:
        if neighbor not in self.links:
            return []
        effects: list[Effect] = []
        for action in self._upkeep.link_down(neighbor, now):
            assert action is Action.FORGET, "there is nobody to replay to"
            effects.extend(self._forget(neighbor))
        return effects

    def _forget(self, neighbor: str) -> list[Effect]:
        """Drop a link and all that came over it."""
        del self.links[neighbor]
        received = self.tables.received.pop(neighbor)
        effects = self._announce(self.confirmations.link_down(neighbor))
        for key in received.filters:
            effects.extend(self._withdraw(key, source=neighbor))
        return effects

    def _close(self, neighbor: str, reason: str) -> list[Effect]:
        return [*self._forget(neighbor), CloseLink(neighbor, reason)]

    # Messages ----------------------------------------------------------------------------------

    def _receive(self, arrived: Receive) -> list[Effect]:
        neighbor = arrived.neighbor
        received = self.tables.received.get(neighbor)
        if received is None:
            return []
        match arrived.message:
            case Publish() as message:
                return self._receive_publication(neighbor, message)
            case Subscribe(key, wanted, sending):
                source = self.tables.source_of(key)
                if source is not None or key in self.tables.clients.by_key:
                    return self._close(neighbor, _cycle(f"subscription {key}", source, neighbor))
                received.add(key, wanted, sending)
                return self._propagate(key, wanted, source=neighbor)
            case Unsubscribe(key):
                if key not in received.filters:
                    return []
                received.remove(key)
                return self._withdraw(key, source=neighbor)
            case Confirm(key, sending):
                return self._announce(self.confirmations.confirm(neighbor, key, sending))

    def _receive_publication(self, neighbor: str, message: Publish) -> list[Effect]:
        if message.origin == self.name or message.hops > HOPS_MAX:
            what = f"publication {message.publication.id!r} of router {message.origin}"
            return self._close(neighbor, _cycle(what, None, neighbor))
        return self._route(message.publication, message.origin, message.hops, neighbor)

    # What both have in common ------------------------------------------------------------------

    def _propagate(self, key: str, wanted: Filter, source: str | None) -> list[Effect]:
        """Tell all links but `source` of a new subscription, as far as they need to know."""
        effects: list[Effect] = []
        for neighbor, link in self.links.items():
            if neighbor != source:
                effects.extend(self._say(neighbor, link.add(key, wanted)))
                self.confirmations.expect(key, neighbor, link.representative(key))
        if self.confirmations.in_force(key):
            effects.extend(self._announce([key]))
        return effects

    def _withdraw(self, key: str, source: str | None) -> list[Effect]:
        """Tell all links but `source` that a subscription is gone."""
        self.confirmations.discard(key)
        effects: list[Effect] = []
        for neighbor, link in self.links.items():
            if neighbor != source:
                effects.extend(self._say(neighbor, link.remove(key)))
        return effects

    def _say(self, neighbor: str, change: Change) -> list[Effect]:
        """Turn a change of what a link is told into messages."""
        link = self.links[neighbor]
        effects: list[Effect] = []
        for key in change.propagate:
            self._sendings += 1
            self.confirmations.sent[neighbor][key] = self._sendings
            effects.append(Send(neighbor, Subscribe(key, link.propagated[key], self._sendings)))
        for key in change.withdraw:
            effects.append(Send(neighbor, Unsubscribe(key)))
            settled = self.confirmations.withdraw(neighbor, key, link.representative)
            effects.extend(self._announce(settled))
        return effects

    def _announce(self, keys: Iterable[str]) -> list[Effect]:
        """Say of subscriptions that they are in force, to whoever they came from."""
        effects: list[Effect] = []
        for key in keys:
            entry = self.tables.clients.by_key.get(key)
            if entry is not None:
                effects.append(Subscribed(entry.client, entry.subscription))
                continue
            source = self.tables.source_of(key)
            if source is not None:
                sending = self.tables.received[source].sendings[key]
                effects.append(Send(source, Confirm(key, sending)))
        return effects

    def _route(
        self, publication: Publication, origin: str, hops: int, arrival: str | None
    ) -> list[Effect]:
        """Deliver to matching clients, forward over the links that the protocol chooses."""
        self.counters.publications += 1
        matched = self.tables.clients.match(publication)
        effects: list[Effect] = [Deliver(client, ids, publication) for client, ids in matched]
        self.counters.deliveries += sum(len(ids) for _, ids in matched)
        onward = self.protocol.forwarding(publication, arrival, self.tables)
        if onward:
            message = Publish(origin, hops + 1, publication)
            effects.extend(Send(neighbor, message) for neighbor in onward)
        return effects


def _cycle(what: str, source: str | None, neighbor: str) -> str:
    known = f"over the link to {source}" if source is not None else "here"
    return (
        f"{what} was known {known} before it came over the link to {neighbor}: the overlay has a "
        "cycle, and in this version it must be a tree; remove one link"
    )
