"""Routing on one tree: a router's tables, what it sends to neighbors, and the way of publications.

Every change of the tables goes one way, `RoutingCore.apply`: the requests of clients, the messages
of neighbors, links that come and go. Its consequences follow at once (`Entries`): the entries sent
to each neighbor, confirmations, and the links that publications take. Publications change nothing.
A core is below membership (`sapwood.routing.membership`): its links are those of one tree.

Advertisements. Under a protocol that routes by them, a subscription is sent on a link only where an
advertisement that intersects it came over that link (`propagation/advertised.py`; as counts,
`propagation/xroute/wanted.py`), and clients may publish only what an advertisement of theirs
accepts that is *in force*. Advertisements travel to every router, except for those that others
cover (`propagation/promises.py`). One that comes over a link is answered first by the subscriptions
that it makes wanted there, then it travels on, and when every other link has confirmed it, or its
cover on that link, it is confirmed. `answering.py` argues why no publication is lost.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import assert_never

from sapwood.errors import InvariantError
from sapwood.limits import DIGEST_BYTES_MAX, HOPS_MAX
from sapwood.matching.engine_names import Engines
from sapwood.matching.publication_batch import take
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.routing.admitting import TOO_MANY, Admission, objection_to
from sapwood.routing.answering import Answering
from sapwood.routing.client_entries import ADVERTISEMENTS, cycle_reason, unexpected_message
from sapwood.routing.client_rows import ClientRows
from sapwood.routing.counting import Counting
from sapwood.routing.digests import as_sent
from sapwood.routing.effects import (
    Accepted,
    AcceptedMany,
    CloseLink,
    Deliver,
    DeliverMany,
    Effect,
    Refused,
    Remaining,
    Send,
    SendMany,
)
from sapwood.routing.forwarding.later import Later, following
from sapwood.routing.forwarding.protocol import (
    NO_DIGEST,
    Forwarding,
    Naming,
    PromisesFollower,
    Routed,
    clearing_of,
    numbered_by,
    types_of,
)
from sapwood.routing.holders import KeyBatch
from sapwood.routing.inputs import (
    AttachClient,
    Change,
    ClientAdvertise,
    ClientInput,
    ClientPublish,
    ClientPublishMany,
    ClientSubscribe,
    ClientSubscribeMany,
    ClientUnadvertise,
    ClientUnsubscribe,
    ClientUnsubscribeMany,
    Compare,
    DetachClient,
    Drained,
    Input,
    LinkDown,
    LinkUp,
    Measured,
    Recalled,
    Receive,
    ReceiveMany,
    Restored,
    Suspicion,
    Tick,
)
from sapwood.routing.messages import (
    Advertise,
    CircleMessage,
    ConfirmAdvertisement,
    MeshMessage,
    OnPlane,
    Publish,
    PublishMany,
    SubscriptionMessage,
    Unadvertise,
    UpkeepMessage,
)
from sapwood.routing.propagation.entries import EntryPropagation
from sapwood.routing.stating import statements_of
from sapwood.routing.strategies import Protocol
from sapwood.routing.tables import CLIENTS, ClientIds, LinkSubscription


class RoutingCore:
    """A router's part of one tree.

    `name` is unique in the overlay. `incarnation` is a number, or a text without dots, that no
    earlier core of a router of that name has had; it keeps the keys of subscriptions unique across
    restarts.

    A client that has advertised may publish only what its advertisements in force accept: one the
    record, one (the same or another) the document. One that has not may publish nothing under a
    protocol that routes by advertisements, and everything under any other; there, an advertisement
    is in force at once and travels nowhere.

    #: forwarding follows the entries of subscriptions, side by side
    #: where the protocol routes by advertisements, each link has those that came over it
    """

    def __init__(
        self, name: str, protocol: Protocol, engines: Engines, incarnation: int | str = 0
    ) -> None:
        self.name = name
        self.protocol = protocol
        self._engines = engines
        #: the client and id of each number that forwarding gives to a client's subscription
        self._rows = ClientRows()
        #: the number of filters whose engines were ready when forwarding was made last
        self.ready_made = 0
        self._admission = Admission(engines)
        self._answering = Answering()
        identity = f"{name}.{incarnation}"
        self.advertisements: EntryPropagation[AdvertisedContent] = EntryPropagation(
            ADVERTISEMENTS, identity, protocol.propagation.promises(identity)
        )
        self._types: PromisesFollower | None = None
        self._forward_by(protocol.make_forwarding(name, engines))
        self.subscriptions = protocol.propagation.make(identity, self.forwarding)

    def handle(self, input: Input, now: float) -> list[Effect]:
        """Take one input; see `Router.handle`."""
        match input:
            case Receive():  # publications, most often
                message = input.message
                if isinstance(message, Publish):
                    return self._receive_publication(input.neighbor, message, now)
                return self.apply(input)
            case ClientPublish(client, publication):
                return self._client_publish(client, publication, now)
            case ClientPublishMany():
                return self._client_publish_many(input, now)
            case ReceiveMany():
                return self._receive_many(input, now)
            case Tick() | Suspicion() | Measured() | Compare():
                return []
            case Restored() | Recalled():
                raise InvariantError("what is restored comes change by change")
            case _:
                return self.apply(input)

    def apply(self, change: Change) -> list[Effect]:
        """Apply a change to the tables, publications aside: the only way to change them.

        A client's name must be attached before it is used; a change of a link that is not up is
        ignored, since it crossed with the end of the link.
        """
        effects = self.subscriptions.settle(self._apply(change))
        if self._answering:
            done = self._answering.done(self.subscriptions.behind)
            effects += self.advertisements.unhold(done)
        self._renumber()
        return effects

    def _apply(self, change: Change) -> list[Effect]:
        match change:
            case Receive():
                return self._receive(change)
            case ClientSubscribe():
                return self._client_subscribe(change)
            case ClientUnsubscribe():
                return self._client_unsubscribe(change)
            case ClientSubscribeMany():
                return self._client_subscribe_many(change)
            case ClientUnsubscribeMany():
                return self._client_unsubscribe_many(change)
            case ClientAdvertise():
                return self._client_advertise(change)
            case ClientUnadvertise():
                return self._client_unadvertise(change)
            case AttachClient(client):
                self.subscriptions.attach(client)
                self.advertisements.attach(client)
                return []
            case DetachClient(client):
                self._admission.forget(client)
                left = self.subscriptions.detach(client, self.protocol.at_once)
                self._rows.disown(client)
                return [*left, *self.advertisements.detach(client)]
            case LinkUp(neighbor, inbound):
                return self._link_up(neighbor, inbound=inbound)
            case LinkDown(neighbor):
                return self._link_down(neighbor)
            case Drained(neighbor):
                return self._drained(neighbor)
            case ClientPublish():
                raise InvariantError("a publication changes nothing that is known")
            case _:
                assert_never(change)

    def refused(self, client: str, publications: Sequence[Publication]) -> Sequence[int]:
        """The places of the publications that would be refused: see `Router.refused`."""
        own = self.advertisements.own(client)
        if not own:
            return range(len(publications)) if self.protocol.clients_advertise else ()
        is_in_force = self.advertisements.confirmations.in_force
        in_force = [entry for entry in own.values() if is_in_force(entry.key)]
        return self._admission.refused(client, in_force, publications)

    def ids_of(self, client: str) -> ClientIds:
        """The ids of an attached client's subscriptions and advertisements."""
        return ClientIds(
            tuple(self.subscriptions.own(client)), tuple(self.advertisements.own(client))
        )

    def statements(self) -> Iterator[ClientInput]:
        """The inputs that restore its clients and their entries: see `Membership.statements`."""
        for client, own in self.subscriptions.entries.by_client.items():
            promised = self.advertisements.own(client).values()
            wanted = ((one.id, one.filter) for one in own.values())
            yield from statements_of(client, ((one.id, one.filter) for one in promised), wanted)

    def put_off(self) -> None:
        """Defer forwarding until after many changes, or until it is first needed."""
        self._forward_by(Later(self.caught_up))
        self.subscriptions.entries.follower = None

    def caught_up(self) -> Forwarding:
        """The forwarding, made now if it was deferred."""
        if isinstance(self.forwarding, Later):
            self._follow_afresh()
        return self.forwarding

    def rebuild(self) -> None:
        """Make forwarding and its numbers afresh from the entries: it decides as before."""
        if not isinstance(self.forwarding, Later):
            self._follow_afresh()

    def _forward_by(self, forwarding: Forwarding) -> None:
        self.forwarding = forwarding
        self._holders, self._clearing = numbered_by(forwarding), clearing_of(forwarding)
        former, self._types = self._types, types_of(forwarding)
        self.advertisements.entries.exchange(former, self._types)

    def _follow_afresh(self) -> None:
        make = partial(self.protocol.make_forwarding, self.name, self._engines)
        made, self.ready_made = following(make, self.subscriptions.entries, self.forwarding)
        self._forward_by(made)
        self._rows = ClientRows()
        self._renumber()

    def table_sizes(self) -> dict[str, int]:
        """The number of entries in each table: see `Router.table_sizes`."""
        known, advertised = self.subscriptions.entries, self.advertisements.entries
        return {
            "local": len(known.by_key) - sum(map(len, known.leaving)),
            "received": sum(len(received) for received in known.received.values()),
            "propagated": sum(len(link.propagated) for link in self.subscriptions.links.values()),
            "advertisements": len(advertised.by_key)
            + sum(len(received) for received in advertised.received.values()),
            "unconfirmed": self.subscriptions.unconfirmed + self.advertisements.unconfirmed,
        }

    def behind(self) -> Collection[str]:
        """The neighbors whose backlog is not sent yet: see `Router.behind`."""
        behind = self.subscriptions.behind
        if self._clearing is not None and self._clearing.has_left:
            return {*behind, CLIENTS}
        return behind

    def counters(self) -> dict[str, int]:
        """The counts since the core was made: see `Router.counters`."""
        counted = self.forwarding.counters() if isinstance(self.forwarding, Counting) else {}
        return {"digests_unread": self.forwarding.digests_unread, **counted}

    def received(self) -> Iterator[LinkSubscription]:
        """The subscriptions received over links."""
        for neighbor, received in self.subscriptions.entries.received.items():
            for key, entry in received.items():
                yield LinkSubscription(neighbor, key, entry.filter)

    def sent(self) -> Iterator[LinkSubscription]:
        """The subscriptions sent to neighbors."""
        for neighbor, key, wanted in self.subscriptions.sent():
            yield LinkSubscription(neighbor, key, wanted)

    def deliveries(self, publication: Publication) -> list[Deliver]:
        """The deliveries of a publication to this router's clients, as they are subscribed now."""
        return self._deliveries(publication, self.forwarding.matched(publication))

    def validate(self) -> None:
        """Check every relation between the tables; raises `InvariantError`."""
        subscriptions, advertisements = self.subscriptions.entries, self.advertisements.entries
        if list(subscriptions.received) != list(advertisements.received):
            raise InvariantError("links are up for subscriptions only, or for advertisements only")
        self.advertisements.validate()
        self.subscriptions.validate(
            {
                neighbor: {key: entry.filter for key, entry in received.items()}
                for neighbor, received in advertisements.received.items()
            }
        )
        self.forwarding.validate(subscriptions.sides())
        if self._types is not None:
            self._types.validate(advertisements.sides())
        if self._holders is not None:
            self._rows.validate(self._holders, subscriptions)

    # Clients -----------------------------------------------------------------------------------

    def _client_subscribe(self, request: ClientSubscribe) -> list[Effect]:
        spread, wanted = self.subscriptions, request.filter
        present = spread.own(request.client).get(request.subscription)
        if present is not None:
            return spread.repeated(present, wanted)
        entry = spread.register(request.client, request.subscription, wanted)
        return spread.announce(entry)

    def _client_unsubscribe(self, request: ClientUnsubscribe) -> list[Effect]:
        entry = self.subscriptions.own(request.client).get(request.subscription)
        if entry is None:
            return self.subscriptions.unknown(request.client, request.subscription)
        return self.subscriptions.release(entry)

    def _client_subscribe_many(self, request: ClientSubscribeMany) -> list[Effect]:
        own = self.subscriptions.own(request.client)
        fresh: dict[str, Interest] = {}
        repeats: list[str] = []
        effects: list[Effect] = []
        for id_, wanted in request.subscriptions:
            if id_ not in own and id_ not in fresh:
                fresh[id_] = wanted
            elif wanted == (fresh[id_] if id_ in fresh else own[id_].filter):
                repeats.append(id_)
            else:  # a change comes behind the earlier requests
                effects += self._subscribe(request.client, fresh, repeats)
                effects += self.subscriptions.change(own[id_], wanted)
        return effects + self._subscribe(request.client, fresh, repeats)

    def _subscribe(
        self, client: str, fresh: dict[str, Interest], repeats: list[str]
    ) -> list[Effect]:
        """Register `fresh` subscriptions, and answer the `repeats`; empties both."""
        spread = self.subscriptions
        entries = spread.register_many(client, list(fresh.items()))
        effects = spread.announce_many(entries, [*fresh.values()])
        for id_ in repeats:
            present = spread.own(client)[id_]
            effects.extend(spread.repeated(present, present.filter))
        fresh.clear()
        repeats.clear()
        return effects

    def _client_unsubscribe_many(self, request: ClientUnsubscribeMany) -> list[Effect]:
        spread = self.subscriptions
        own = spread.own(request.client)
        known = [id_ for id_ in dict.fromkeys(request.subscriptions) if id_ in own]
        effects = spread.release_many([own[id_] for id_ in known]) if known else []
        left = Counter(request.subscriptions)
        left.subtract(known)
        for id_ in left.elements():
            effects.extend(spread.unknown(request.client, id_))
        return effects

    def _client_advertise(self, request: ClientAdvertise) -> list[Effect]:
        spread = self.advertisements
        present = spread.own(request.client).get(request.advertisement)
        if present is not None:
            return spread.repeated(present, request.filter)
        entry = spread.register(request.client, request.advertisement, request.filter)
        return spread.announce(entry)

    def _client_unadvertise(self, request: ClientUnadvertise) -> list[Effect]:
        entry = self.advertisements.own(request.client).get(request.advertisement)
        if entry is None:
            return self.advertisements.unknown(request.client, request.advertisement)
        return self.advertisements.release(entry)

    def _client_publish(self, client: str, publication: Publication, now: float) -> list[Effect]:
        objection = self._objection(client, publication)
        if objection is not None:
            return [Refused(client, publication.id, objection)]
        routed = self.forwarding.route((publication,), None, (NO_DIGEST,), now)
        if publication.is_blind and not self._is_named(routed):
            return [Refused(client, publication.id, TOO_MANY)]
        effects = self._send_on(publication, routed, self.name, 0, None)
        effects.append(Accepted(client, publication.id))
        return effects

    def _objection(self, client: str, publication: Publication) -> str | None:
        """The reason why a client may not publish this (yet); `None` if it may."""
        own = self.advertisements.own(client).values()
        in_force = self.advertisements.confirmations.in_force
        return objection_to(publication, own, in_force, self.protocol)

    # Links -------------------------------------------------------------------------------------

    def _link_up(self, neighbor: str, *, inbound: bool) -> list[Effect]:
        """Add a link, and send the neighbor the first entries that it needs."""
        if neighbor in self.subscriptions.entries.received:
            raise InvariantError(f"the link to {neighbor!r} is up already")
        self.subscriptions.link_up(neighbor, is_told=inbound)
        self.advertisements.link_up(neighbor)
        at_once = self.protocol.at_once
        effects = self.subscriptions.replay(neighbor, at_once)
        # Advertisements are few, and publications come only from where they are known: at once.
        return [*effects, *self.advertisements.replay(neighbor, None)]

    def _drained(self, neighbor: str) -> list[Effect]:
        """Continue the backlog of a neighbor, or remove more entries of clients that have gone."""
        at_once = self.protocol.at_once
        if neighbor != CLIENTS or CLIENTS in self.subscriptions.behind:
            return self.subscriptions.drained(neighbor, at_once)
        if self._clearing is not None:
            self._clearing.clear(at_once)
        return []

    def _link_down(self, neighbor: str) -> list[Effect]:
        """Remove a link with all entries received over it, and withdraw them elsewhere."""
        if neighbor not in self.subscriptions.entries.received:
            return []
        self._answering.link_down(neighbor)
        effects = self.subscriptions.link_down(neighbor, self.protocol.at_once)
        return [*effects, *self.advertisements.link_down(neighbor)]

    def _close(self, neighbor: str, reason: str, *, for_good: bool = True) -> list[Effect]:
        return [*self._link_down(neighbor), CloseLink(neighbor, reason, for_good)]

    # Messages ----------------------------------------------------------------------------------

    def _receive(self, arrived: Receive) -> list[Effect]:
        neighbor, message = arrived.neighbor, arrived.message
        if neighbor not in self.subscriptions.entries.received:
            return []
        match message:
            case Advertise():
                return self._receive_advertisement(neighbor, message)
            case Unadvertise(key):
                return self._receive_unadvertisement(neighbor, key)
            case ConfirmAdvertisement(key, sending):
                return self.advertisements.confirmed(neighbor, ((key, sending),))
            case Publish():
                raise InvariantError("a publication changes nothing that is known")
            case _:
                if isinstance(message, MeshMessage | OnPlane | CircleMessage | UpkeepMessage):
                    return self._close(neighbor, unexpected_message(message))
                return self._hear(neighbor, message)

    def _hear(self, neighbor: str, message: SubscriptionMessage) -> list[Effect]:
        heard = self.subscriptions.on_message(neighbor, message)
        if heard.objection is None:
            return heard.effects
        return [*heard.effects, *self._close(neighbor, heard.objection, for_good=False)]

    def _receive_advertisement(self, neighbor: str, message: Advertise) -> list[Effect]:
        key, wanted = message.key, message.filter
        known = self.advertisements.known(key)
        if known is not None:
            reason = cycle_reason(f"advertisement {key}", known, neighbor)
            return self._close(neighbor, reason, for_good=False)
        # Before the confirmation, which may follow at once: see the module.
        effects = self.subscriptions.advertised(neighbor, key, wanted, self.protocol.at_once)
        if neighbor in self.subscriptions.behind:
            self.advertisements.confirmations.held.add(key)
            self._answering.begin(neighbor, key)
        spread = self.advertisements.receive(neighbor, key, wanted, message.sending)
        return [*effects, *spread]

    def _receive_unadvertisement(self, neighbor: str, key: str) -> list[Effect]:
        if key not in self.advertisements.entries.received[neighbor]:
            return []
        effects = self.advertisements.retract(neighbor, key)
        at_once = self.protocol.at_once
        return [*effects, *self.subscriptions.unadvertised(neighbor, key, at_once)]

    # Publications in batches -------------------------------------------------------------------

    def _client_publish_many(self, request: ClientPublishMany, now: float) -> list[Effect]:
        advertised = self.advertisements.own(request.client) or not self.protocol.clients_advertise
        assert advertised, "what is refused comes one by one"
        many = PublishMany(self.name, 0, request.publications)
        effects, routed = self._route_many(many, None, now)
        effects.append(AcceptedMany(request.client, request.publications[:routed]))
        if routed < len(request.publications):
            rest = request.publications[routed:]
            effects.append(Remaining(ClientPublishMany(request.client, rest)))
        return effects

    def _receive_many(self, arrived: ReceiveMany, now: float) -> list[Effect]:
        many, neighbor = arrived.publications, arrived.neighbor
        if many.origin == self.name or many.hops > HOPS_MAX:
            # The first one closes the link, and nothing else counts.
            first = Publish(many.origin, many.hops, many.batch[0])
            return self._receive_publication(neighbor, first, now)
        if neighbor not in self.subscriptions.entries.received:
            return []
        effects, routed = self._route_many(many, neighbor, now)
        if routed < len(many.batch):
            effects.append(Remaining(ReceiveMany(neighbor, many.part(routed))))
        return effects

    def _route_many(
        self, many: PublishMany, arrival: str | None, now: float
    ) -> tuple[list[Effect], int]:
        """The effects of a batch, and the number of its publications that are routed."""
        digests = many.digests or (NO_DIGEST,) * len(many.batch)
        keys, onward = self.forwarding.route(many.batch, arrival, digests, now)
        routed, batch = len(keys), many.batch
        assert routed, "of some publications one is routed at least"
        effects: list[Effect] = []
        if isinstance(keys, KeyBatch) and not self.subscriptions.entries.aside:
            if len(keys.slots):
                effects.append(DeliverMany(batch[:routed], keys, self._rows))
        else:
            for place, found in enumerate(keys):
                if found:
                    effects.extend(self._deliveries(batch[place], found))
        for neighbor, places, written in onward:
            assert neighbor != arrival, "a publication goes back to where it came from"
            sent = take(batch, places), as_sent(written)
            going = PublishMany(many.origin, many.hops + 1, *sent)
            effects.append(SendMany(neighbor, going))
        return effects, routed

    def _renumber(self) -> None:
        """Update the rows of clients' subscriptions whose numbers have changed."""
        if self._holders is not None and self._holders.renamed:
            self._rows.follow(self._holders, self.subscriptions.entries)

    # Publications ------------------------------------------------------------------------------

    def _receive_publication(self, neighbor: str, message: Publish, now: float) -> list[Effect]:
        if neighbor not in self.subscriptions.entries.received:
            return []
        if message.origin == self.name or message.hops > HOPS_MAX:
            what = f"publication {message.publication.id!r} of router {message.origin}"
            return self._close(neighbor, cycle_reason(what, "here", neighbor))
        publication = message.publication
        routed = self.forwarding.route((publication,), neighbor, (message.digest,), now)
        return self._send_on(publication, routed, message.origin, message.hops, neighbor)

    def _is_named(self, routed: Routed) -> bool:
        """True if all receivers of a publication beyond this router are named in its digests."""
        forwarding = self.forwarding
        assert isinstance(forwarding, Naming), "a strategy that names all can say whether it did"
        return all(forwarding.is_complete(one.digests[0]) for one in routed.onward)

    def _send_on(
        self, publication: Publication, routed: Routed, origin: str, hops: int, arrival: str | None
    ) -> list[Effect]:
        """Deliver to matching clients, and send on to the neighbors that the strategy has chosen.

        The part of a blind publication that must not leave this router is left out of messages.
        """
        keys, onward = routed
        beyond = publication.beyond()
        effects: list[Effect] = [*self._deliveries(publication, keys[0])] if keys[0] else []
        sent: Publish | None = None
        for neighbor, _, (digest,) in onward:
            assert neighbor != arrival, "a publication goes back to where it came from"
            if sent is None or sent.digest != digest:
                assert len(digest) <= DIGEST_BYTES_MAX, "a digest is longer than neighbors read"
                sent = Publish(origin, hops + 1, beyond, digest)
            effects.append(Send(neighbor, sent))
        return effects

    def _deliveries(self, publication: Publication, keys: Sequence[str]) -> list[Deliver]:
        """One effect for each client with one of the subscriptions, by client name; ids sorted."""
        found: dict[str, list[str]] = {}
        entries = self.subscriptions.entries
        for key in keys:
            entry = entries.by_key[key]
            if not (entries.leaving and entries.has_left(entry)):
                found.setdefault(entry.client, []).append(entry.id)
        return [
            Deliver(client, tuple(sorted(set(ids))), publication)
            for client, ids in sorted(found.items())
        ]
