"""The router: one state machine with one door.

`Router.handle(input, now)` is all that changes it, and the list of effects it returns is all that
comes out. It owns no clock, no randomness and no socket; the simulator and the server drive the
same object.

Advertisements. Under a protocol that routes by them, a subscription is sent on a link only where
an advertisement came over that link that intersects it (`propagation/advertised.py`), and clients
may publish only what an advertisement of theirs accepts that is *in force*. Advertisements travel
to every router. One that comes over a link is answered first by the subscriptions that it makes
wanted there, then it travels on, and when every other link has confirmed it, it is confirmed.
Why nothing is lost, for a publication p that was accepted under an advertisement A in force, and a
subscription S that was in force before and accepts p:

1. Call the routers from A's home to that of S r0 ... rk. As soon as r(i) knows A, from r(i-1), and
   S, or a subscription that stands for it, from beyond, it has sent one that stands for S to
   r(i-1), for A intersects all that accept p; and it keeps one there, as a change is said before
   what it replaces is withdrawn.
2. Where S (or what stands for it) was at r(i) when A came, the answer precedes the confirmation of
   A on the same FIFO link; and r(i-1) confirms only after it. So where A found S at rk, r0 has the
   last confirmation of A only after every router on the way has what stands for S.
3. Where S came to r(i) later than A, it waits until what stands for it is confirmed by r(i-1). If
   that one, too, came to r(i-1) later than A, the same holds there, and so on as far as r0; if
   not, step 2 holds from r(i-1) on. So S is in force only after every router on the way has what
   stands for it, or A is in force only then.

A withdrawal of A follows p on every link, and what it makes unwanted is withdrawn after it was
read; so a publication that was accepted before is delivered.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from sapwood.errors import InvariantError
from sapwood.limits import HOPS_MAX
from sapwood.matching.choice import Engines
from sapwood.model.promise import Promise
from sapwood.model.publication import Publication
from sapwood.routing.effects import Accepted, CloseLink, Deliver, Effect, Refused, Send
from sapwood.routing.inputs import (
    AttachClient,
    ClientAdvertise,
    ClientPublish,
    ClientSubscribe,
    ClientUnadvertise,
    ClientUnsubscribe,
    DetachClient,
    Input,
    LinkDown,
    LinkUp,
    Receive,
)
from sapwood.routing.messages import (
    Advertise,
    Announce,
    Carry,
    ConfirmAdvertisement,
    Join,
    Leave,
    Neighbors,
    OnTree,
    Publish,
    Ready,
    SubscriptionMessage,
    Unadvertise,
)
from sapwood.routing.propagation.advertised import Advertised
from sapwood.routing.propagation.flooding import Flooding
from sapwood.routing.propagation.simple import Simple
from sapwood.routing.protocols import Protocol
from sapwood.routing.protocols import protocol as protocol_named
from sapwood.routing.sided_index import CLIENTS, SidedIndex
from sapwood.routing.spread import Spread
from sapwood.routing.statements import ADVERTISEMENTS, cycle, stranger
from sapwood.routing.tables import ReceivedSubscription, check_index
from sapwood.routing.upkeep.protocol import Action

DEFAULT_ENGINES: Final = Engines("counting")
"""Engines that are cheap to change."""


class Router:
    """A router of an overlay that is a tree.

    `name` is unique in the overlay. `incarnation` is a number, or a text without dots, that no
    earlier router of that name has had; it keeps the keys of subscriptions unique across restarts.
    `protocol` and `engines` are names from their catalogues, or the protocol itself.

    A client that has advertised may publish only what its advertisements in force accept: one the
    record, one (the same or another) the document. One that has not may publish nothing under a
    protocol that routes by advertisements, and everything under any other; there, an advertisement
    is in force at once and travels nowhere.

    #: the index holds exactly the entries of subscriptions, side by side
    #: where the protocol routes by advertisements, each link knows those that came over it
    """

    def __init__(
        self,
        name: str,
        protocol: str | Protocol = "covering",
        engines: Engines = DEFAULT_ENGINES,
        incarnation: int | str = 0,
    ) -> None:
        self.name = name
        self.protocol = protocol_named(protocol) if isinstance(protocol, str) else protocol
        self.index = SidedIndex(engines)
        identity = f"{name}.{incarnation}"
        self.subscriptions = self.protocol.spread(identity)
        self.advertisements: Spread[Promise] = Spread(
            ADVERTISEMENTS,
            identity,
            Simple[Promise] if self.protocol.advertised else Flooding[Promise],
        )
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
            case ClientPublish(client, publication):
                return self._client_publish(client, publication)
            case ClientSubscribe():
                return self._client_subscribe(input)
            case ClientUnsubscribe():
                return self._client_unsubscribe(input)
            case ClientAdvertise():
                return self._client_advertise(input)
            case ClientUnadvertise():
                return self._client_unadvertise(input)
            case AttachClient(client):
                self.subscriptions.attach(client)
                self.advertisements.attach(client)
                return []
            case DetachClient(client):
                return self._detach(client)
            case LinkUp(neighbor, inbound):
                return self._link_up(neighbor, now, inbound=inbound)
            case LinkDown(neighbor):
                return self._link_down(neighbor, now)

    def next_deadline(self) -> float | None:
        """When `handle` wants to be called even without an input; `None` for never."""
        return self._upkeep.next_deadline()

    def table_sizes(self) -> dict[str, int]:
        """Entries in each table: for metrics.

        `local`: subscriptions of own clients; `received` and `propagated`: subscriptions known
        from, and told to, neighbors, over all links; `advertisements`: those of own clients and
        those known from neighbors; `unconfirmed`: what of all these is not yet in force.
        """
        known, advertised = self.subscriptions.entries, self.advertisements.entries
        return {
            "local": len(known.by_key),
            "received": sum(len(received) for received in known.received.values()),
            "propagated": sum(len(link.propagated) for link in self.subscriptions.links.values()),
            "advertisements": len(advertised.by_key)
            + sum(len(received) for received in advertised.received.values()),
            "unconfirmed": self.subscriptions.unconfirmed + self.advertisements.unconfirmed,
        }

    def received(self) -> Iterator[ReceivedSubscription]:
        """The subscriptions that came over links, for checks."""
        for neighbor, received in self.subscriptions.entries.received.items():
            for key, entry in received.items():
                yield ReceivedSubscription(neighbor, key, entry.filter)

    def deliveries(self, publication: Publication) -> list[Deliver]:
        """What the router's clients have to have of a publication, as they are subscribed now."""
        return self._deliveries(publication, self.index.match_clients(publication))

    def validate(self) -> None:
        """Check every relation between the tables; raises `InvariantError`."""
        self.subscriptions.validate()
        self.advertisements.validate()
        check_index(self.index, self.subscriptions.entries)
        for neighbor, link in self.subscriptions.links.items():
            received = self.advertisements.entries.received.get(neighbor)
            if received is None:
                raise InvariantError(f"link {neighbor} is up for subscriptions only")
            heard = {key: entry.filter for key, entry in received.items()}
            if isinstance(link, Advertised) and link.advertisements != heard:
                raise InvariantError(
                    f"link {neighbor} knows other advertisements than came over it"
                )

    # Clients -----------------------------------------------------------------------------------

    def _client_subscribe(self, request: ClientSubscribe) -> list[Effect]:
        spread, wanted = self.subscriptions, request.filter
        present = spread.own(request.client).get(request.subscription)
        if present is not None:
            return spread.repeated(present, wanted)
        entry = spread.register(request.client, request.subscription, wanted)
        self.index.add(CLIENTS, entry.key, wanted)
        return spread.tell(entry)

    def _client_unsubscribe(self, request: ClientUnsubscribe) -> list[Effect]:
        entry = self.subscriptions.own(request.client).get(request.subscription)
        if entry is None:
            return self.subscriptions.unknown(request.client, request.subscription)
        self.index.remove(CLIENTS, entry.key)
        return self.subscriptions.release(entry)

    def _client_advertise(self, request: ClientAdvertise) -> list[Effect]:
        spread = self.advertisements
        present = spread.own(request.client).get(request.advertisement)
        if present is not None:
            return spread.repeated(present, request.filter)
        entry = spread.register(request.client, request.advertisement, request.filter)
        return spread.tell(entry)

    def _client_unadvertise(self, request: ClientUnadvertise) -> list[Effect]:
        entry = self.advertisements.own(request.client).get(request.advertisement)
        if entry is None:
            return self.advertisements.unknown(request.client, request.advertisement)
        return self.advertisements.release(entry)

    def _client_publish(self, client: str, publication: Publication) -> list[Effect]:
        objection = self._objection(client, publication)
        if objection is not None:
            return [Refused(client, publication.id, objection)]
        effects = self._route(publication, self.name, 0, None)
        return [*effects, Accepted(client, publication.id)]

    def _objection(self, client: str, publication: Publication) -> str | None:
        """Why a client may not publish this (yet); `None` if it may."""
        own = self.advertisements.own(client).values()
        if not own:
            if not self.protocol.advertised:
                return None
            return (
                f"under protocol {self.protocol.name!r} clients advertise what they will publish: "
                "advertise a filter that accepts the publication first"
            )
        for part in publication.parts():
            accepting = [entry for entry in own if entry.filter.matches(part)]
            if not accepting:
                return (
                    "none of the client's advertisements accepts the publication: advertise a "
                    "filter that does first"
                )
            if not any(map(self.advertisements.confirmations.in_force, (e.key for e in accepting))):
                return (
                    f"advertisement {accepting[0].id!r} is not in force yet: publish when the "
                    "broker has answered it"
                )
        return None

    def _detach(self, client: str) -> list[Effect]:
        for entry in self.subscriptions.own(client).values():
            self.index.remove(CLIENTS, entry.key)
        return [*self.subscriptions.detach(client), *self.advertisements.detach(client)]

    # Links -------------------------------------------------------------------------------------

    def _link_up(self, neighbor: str, now: float, *, inbound: bool) -> list[Effect]:
        if neighbor in self.index:
            raise InvariantError(f"the link to {neighbor!r} is up already")
        self.index.add_side(neighbor)
        spreads = (self.subscriptions, self.advertisements)
        self.subscriptions.link_up(neighbor, is_told=inbound)
        self.advertisements.link_up(neighbor)
        effects: list[Effect] = []
        for action in self._upkeep.link_up(neighbor, now):
            assert action is Action.REPLAY, "there is nothing to forget on a new link"
            effects.extend(effect for spread in spreads for effect in spread.replay(neighbor))
        return effects

    def _link_down(self, neighbor: str, now: float) -> list[Effect]:
        if neighbor not in self.index:
            return []
        effects: list[Effect] = []
        for action in self._upkeep.link_down(neighbor, now):
            assert action is Action.FORGET, "there is nobody to replay to"
            effects.extend(self._forget(neighbor))
        return effects

    def _forget(self, neighbor: str) -> list[Effect]:
        """Drop a link and all that came over it."""
        self.index.remove_side(neighbor)
        effects = self.subscriptions.link_down(neighbor)
        return [*effects, *self.advertisements.link_down(neighbor)]

    def _close(self, neighbor: str, reason: str) -> list[Effect]:
        return [*self._forget(neighbor), CloseLink(neighbor, reason)]

    # Messages ----------------------------------------------------------------------------------

    def _receive(self, arrived: Receive) -> list[Effect]:
        neighbor = arrived.neighbor
        if neighbor not in self.index:
            return []
        match arrived.message:
            case Publish() as message:
                return self._receive_publication(neighbor, message)
            case Advertise() as message:
                return self._receive_advertisement(neighbor, message)
            case Unadvertise(key):
                return self._receive_unadvertisement(neighbor, key)
            case ConfirmAdvertisement(key, sending):
                return self.advertisements.confirmed(neighbor, key, sending)
            case (
                Neighbors() | Announce() | Join() | Leave() | Ready() | Carry() | OnTree()
            ) as message:
                return self._close(neighbor, stranger(message))
            case message:
                return self._hear(neighbor, message)

    def _hear(self, neighbor: str, message: SubscriptionMessage) -> list[Effect]:
        """Let the subscriptions, and the side of the link, follow what a neighbor says of them."""
        heard = self.subscriptions.hear(neighbor, message)
        for key in heard.left:
            self.index.remove(neighbor, key)
        for key, wanted in heard.entered:
            self.index.add(neighbor, key, wanted)
        if heard.objection is None:
            return heard.effects
        return [*heard.effects, *self._close(neighbor, heard.objection)]

    def _receive_advertisement(self, neighbor: str, message: Advertise) -> list[Effect]:
        key, wanted = message.key, message.filter
        known = self.advertisements.known(key)
        if known is not None:
            return self._close(neighbor, cycle(f"advertisement {key}", known, neighbor))
        # Before the confirmation, which may follow at once: see the module.
        effects = self.subscriptions.advertised(neighbor, key, wanted)
        spread = self.advertisements.receive(neighbor, key, wanted, message.sending)
        return [*effects, *spread]

    def _receive_unadvertisement(self, neighbor: str, key: str) -> list[Effect]:
        if key not in self.advertisements.entries.received[neighbor]:
            return []
        effects = self.advertisements.retract(neighbor, key)
        return [*effects, *self.subscriptions.unadvertised(neighbor, key)]

    def _receive_publication(self, neighbor: str, message: Publish) -> list[Effect]:
        if message.origin == self.name or message.hops > HOPS_MAX:
            what = f"publication {message.publication.id!r} of router {message.origin}"
            return self._close(neighbor, cycle(what, "here", neighbor))
        return self._route(message.publication, message.origin, message.hops, neighbor)

    def _route(
        self, publication: Publication, origin: str, hops: int, arrival: str | None
    ) -> list[Effect]:
        """Deliver to matching clients, forward over the links that the protocol chooses."""
        keys, onward = self.protocol.forwarding(publication, arrival, self.index)
        effects: list[Effect] = [*self._deliveries(publication, keys)]
        if onward:
            message = Publish(origin, hops + 1, publication)
            effects.extend(Send(neighbor, message) for neighbor in onward)
        return effects

    def _deliveries(self, publication: Publication, keys: Iterable[str]) -> list[Deliver]:
        """For each client that has one of the keys, by name, the sorted ids of its own."""
        found: dict[str, list[str]] = {}
        for key in keys:
            entry = self.subscriptions.entries.by_key[key]
            found.setdefault(entry.client, []).append(entry.id)
        return [
            Deliver(client, tuple(sorted(ids)), publication)
            for client, ids in sorted(found.items())
        ]
