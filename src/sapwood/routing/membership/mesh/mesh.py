"""Links that may form circles: a tree for each source of publications.

Every router floods the links that it uses (`Neighbors`), so each knows all links, finds the tree
with the fewest links from itself to all others, and announces it along the tree itself, under a
growing number (`Announce`), at the times of `sapwood.routing.membership.mesh.pace`. A router that
comes to use a link receives the trees on which it is below. The publications that a router accepts
take its tree. On each tree every router runs a `RoutingCore` of any protocol, whose links are those
of the tree (a *branch*); its clients subscribe on all trees, and advertise and publish on the
router's own. A subscription is sent to the parent only, as no publication comes from anywhere else;
it is in force when all trees in reach have confirmed.

A branch belongs to one version of one tree, and grows from the source: a router joins its parent
when that has joined its own (`Join`), begins with empty tables, and receives again the entries of
its clients and its children. The source goes on publishing on the version that *carries* until the
latest is in force at all routers on it, and then changes over, once:

1. Every router reports to its parent (`Ready`) when all its children have, all that its clients
   believe in force is confirmed on the latest tree, and it has no branch left that is older than
   the carrying one. Later requests are believed in force only when they are so on both.
2. When all children of the source have reported, it puts its clients' advertisements on the latest
   tree, and waits until all of those that clients believe in force are so there.
3. It publishes there. Before the first publication goes `Carry`, and on the old tree, behind the
   last, `Leave`, at which every router gives that up and passes it on.

A version that is announced while another one grows takes its place: `Announce` names the version
that carries, and all between the two are given up. A router has three branches of a source at most:

* a branch never sees a circle, whatever routers believe of the links meanwhile: all that announce
  to have joined a version have the same tree in mind, and that is a tree however it is written
  (`SpanningTree`);
* no publication comes to a router twice, and those of one router come in their order: each takes
  one version, on whose tree there is one way, and one that comes on a later version is held, and
  kept from clients (not from neighbors), until the older branch has ended. Where that is joined to
  its parent, it ends: the parent leaves (`Leave`) or the link goes down, and a branch without a
  parent is given up, and its children are notified. Only the latest version is ever begun, so no
  router goes back to an older one;
* nothing waits for ever: every awaited message is on its way on a link, or the link is gone; then
  the latest tree is given up at the source when it receives news of that, or a pause later, or that
  link is joined anew;
* a subscription is confirmed by the branch of a source only over all the way to that source, as
  the router has no branch, and waits, until all on the way have joined. It is confirmed on the
  carrying tree too; a router without a branch there waits for `Carry`. The client is notified when
  all trees reach all in reach, too. A better one may follow: it takes over when all is in force.

So as long as the links of a publication's way on the carrying tree are up, nothing is missed,
whatever else comes or goes. Routers that the carrying tree has lost with a link, or with a router,
it does not get back: a publication on it reaches those that are still joined to it, and the others
are reached again when the next version is in force. Changing over earlier would reach some of them
earlier, and miss some of those that are still reached. Messages on a link that fails are lost. One
for a branch has the number under which the receiver began it, and is dropped if that has ended.

The price: tables for each source, twice while a tree changes. The state of a subscription lies on
the way to each, so that all of it is as many entries as there are routers, times the mean way (on
a single tree: as there are routers).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial

from sapwood.errors import InvariantError
from sapwood.limits import MESH_HOLD_S
from sapwood.matching.engine_names import Engines
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.overlay.disjoint import FindTree
from sapwood.overlay.spanning import SpanningTree, fewest_links
from sapwood.routing.client_entries import unexpected_message
from sapwood.routing.core import RoutingCore
from sapwood.routing.effects import CloseLink, Effect, Send
from sapwood.routing.inputs import (
    AttachClient,
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
from sapwood.routing.membership.mesh.changeover import advance
from sapwood.routing.membership.mesh.clients import Clients
from sapwood.routing.membership.mesh.links import LinkMap, objection_to
from sapwood.routing.membership.mesh.pace import HeldLinks, Pace, kept_s
from sapwood.routing.membership.mesh.tree_set import TreeSet
from sapwood.routing.membership.protocol import OnOneTree
from sapwood.routing.messages import (
    Announce,
    Carry,
    Join,
    Leave,
    MeshMessage,
    Neighbors,
    OnTree,
    Ready,
)
from sapwood.routing.stating import statements_of
from sapwood.routing.strategies import Protocol
from sapwood.routing.supply import SupplyWatch
from sapwood.routing.tables import ClientIds, LinkSubscription


class Mesh:
    """The neighbors of a router in an overlay whose links may form circles, source by source.

    `incarnation` is greater than that of any earlier router of the same name. `find` finds the tree
    of a source; all routers find the same. Where it routes by advertisements and `is_watched`,
    clients are notified which of their subscriptions have an advertisement.
    `hold_s`: the seconds for which links that return are held, and trees that reach all are kept
    (`pace`); with 0 every change is followed at once, as always where routing is restored
    (`kept_s`).
    """

    def __init__(
        self,
        name: str,
        protocol: Protocol,
        engines: Engines,
        incarnation: int = 0,
        find: FindTree = fewest_links,
        *,
        is_watched: bool = True,
        hold_s: float = MESH_HOLD_S,
    ) -> None:
        self.name = name
        self.protocol = protocol
        self.map = LinkMap(name, incarnation, find)
        self.clients = Clients()
        self.clients.reach(self.map.around)
        make_core = partial(RoutingCore, name, protocol, engines)
        self._supply: SupplyWatch | None = None
        if is_watched and protocol.clients_advertise:
            self._supply = SupplyWatch(self._filter_of)
        self.forest = TreeSet(incarnation, make_core, self.clients, self.map, self._supply)
        #: true if all trees are as they have to be; `None` where links or trees have changed since
        self._is_current: bool | None = None
        hold_s = kept_s(hold_s, persists=protocol.persists)
        self._held, self._pace = HeldLinks(hold_s), Pace(hold_s)

    def handle(self, input: Input, now: float) -> list[Effect]:
        """Take one input at time `now`; see `Router.handle`."""
        supply = self._supply
        if supply is None:
            return self._handle(input, now)
        changing: list[Effect] = []
        match input:
            case DetachClient(client):
                supply.left(client)
            case ClientSubscribe(client, id_, wanted):
                changing += supply.changing(client, ((id_, wanted),))
            case ClientSubscribeMany(client, subscriptions):
                changing += supply.changing(client, subscriptions)
        return [*changing, *supply.said(self._handle(input, now))]

    def _handle(self, input: Input, now: float) -> list[Effect]:
        match input:
            case Receive():
                effects = [*self._begun(input, now), *self._receive(input, now)]
            case ReceiveMany():
                effects = [*self._begun(input, now), *self._receive_many(input, now)]
            case LinkUp(neighbor):
                effects = self._link_up(neighbor, now)
            case LinkDown(neighbor, for_good):
                effects = self._link_down(neighbor, now, for_good=for_good)
            case Drained():
                effects = self.forest.drained(input, now)
            case Tick():
                effects = self._tick(now)
            case Suspicion() | Measured() | Compare():
                return []
            case Restored() | Recalled():
                raise InvariantError("what is restored comes change by change")
            case _:
                effects = self._client(input, now)
        effects = self._close_all(effects, now)
        effects.extend(advance(self.forest, now))
        if self.clients.in_force and self._is_settled():
            effects.extend(self.clients.take_in_force())
        return effects

    def refused(self, client: str, publications: Sequence[Publication]) -> Sequence[int]:
        """The places of the publications that would be refused, by the own branch that carries."""
        return self.forest.own.core.refused(client, publications)

    def ids_of(self, client: str) -> ClientIds:
        """The ids of an attached client's subscriptions and advertisements."""
        return self.forest.own.core.ids_of(client)

    def statements(self) -> Iterator[ClientInput]:
        """The inputs that restore its clients and their entries: see `Membership.statements`."""
        for client in self.clients.names:
            asked = self.clients.of(client)
            yield from statements_of(
                client, asked.advertisements.items(), asked.subscriptions.items()
            )

    def next_deadline(self) -> float | None:
        """The time at which the next link is due to be used, or the own tree may change."""
        due = (self._held.deadline, self._pace.deadline)
        return min((at for at in due if at is not None), default=None)

    @property
    def is_tree(self) -> bool:
        """False: links may form circles."""
        return False

    @property
    def finds(self) -> tuple[FindTree, ...]:
        """One function: there is one tree for each source."""
        return (self.map.find,)

    def has_link(self, neighbor: str) -> bool:
        """True if the link to a neighbor is up: it is in use, or held."""
        return neighbor in self.forest.links or neighbor in self._held

    def behind(self) -> Collection[str]:
        """The neighbors whose backlog is not sent yet, on whatever tree."""
        return self.forest.behind()

    def neighbors(self, source: str | None = None) -> tuple[str, ...]:
        """The neighbors on a source's oldest tree that has not drained; it brings publications."""
        if source is None:
            return tuple(self.forest.links)
        trees = self.forest.trees.get(source)
        return () if trees is None or not trees.branches else tuple(trees.branches[0].peers)

    def cores(self, source: str) -> tuple[OnOneTree | None, ...]:
        """The core of the branch that carries, or of the oldest that has not drained."""
        if source == self.name:
            return (self.forest.own.core,)
        trees = self.forest.trees.get(source)
        return (None if trees is None or not trees.branches else trees.branches[0].core,)

    def tells_over(self) -> frozenset[str] | None:
        """The neighbors on a tree that all routers in reach agree on."""
        return self.map.shared

    def table_sizes(self) -> dict[str, int]:
        """The number of entries in each table, over all trees: see `Router.table_sizes`."""
        sizes: dict[str, int] = {}
        for branch in self.forest:
            for table, size in branch.core.table_sizes().items():
                sizes[table] = sizes.get(table, 0) + size
        sizes["held"] = sum(len(trees.held) for trees in self.forest.trees.values())
        return sizes

    def counters(self) -> dict[str, int]:
        """The counts of all trees, former ones included: see `Router.counters`."""
        counted = Counter(self.forest.counted)
        for branch in self.forest:
            counted.update(branch.core.counters())
        return dict(counted)

    def received(self) -> Iterator[LinkSubscription]:
        """The subscriptions received over links, on all trees."""
        for branch in self.forest:
            for heard in branch.core.received():
                yield heard._replace(source=branch.source)

    def sent(self) -> Iterator[LinkSubscription]:
        """The subscriptions sent to neighbors, on all trees."""
        for branch in self.forest:
            for told in branch.core.sent():
                yield told._replace(source=branch.source)

    def rebuild(self) -> None:
        """Make what follows from other state afresh: it decides as before."""
        if self._supply is not None:
            self._supply = SupplyWatch(self._filter_of)
            self.forest.watch(self._supply)
            self._supply.said(())
            for client in self.clients.names:
                own = self.clients.of(client).subscriptions
                in_force = [id_ for id_ in own if (client, id_) not in self.clients.awaited]
                self._supply.take(client, in_force)

    def _filter_of(self, client: str, id_: str) -> Interest:
        return self.clients.of(client).subscriptions[id_]

    def validate(self) -> None:
        """Check every relation between the tables, on all trees; raises `InvariantError`."""
        self.map.validate()
        self.forest.validate()
        if self._supply is not None:
            self._supply.validate(self.forest.advertised())
        if set(self.map.own.neighbors) != self.forest.links.keys():
            raise InvariantError("the links in use are not those that everybody is told of")
        if any(neighbor in self.forest.links for neighbor in self._held):
            raise InvariantError("a link is held, and in use")
        if self._is_current not in (None, self._serve_all()):
            raise InvariantError("whether all trees are as they have to be is not known afresh")

    # Clients -----------------------------------------------------------------------------------

    def _client(self, request: ClientInput | ClientPublishMany, now: float) -> list[Effect]:
        """Carry out a client's request: on the own trees only, or on all."""
        match request:
            case ClientPublish() | ClientPublishMany():
                return self.forest.hand(self.forest.own, request, now)
            case ClientSubscribe():
                return self._subscribe(request, now)
            case ClientSubscribeMany():
                return self._subscribe_many(request, now)
            case ClientUnsubscribeMany():
                return self._unsubscribe_many(request, now)
            case ClientAdvertise():
                return self._advertise(request, now)
            case ClientUnadvertise(client, id_):
                if id_ in self.clients.of(client).advertisements:
                    self.clients.unadvertise(client, id_)
                return self._on_own(request, now)
            case ClientUnsubscribe(client, id_):
                if id_ not in self.clients.of(client).subscriptions:
                    return self._answer(request, now)
                self.clients.unsubscribe(client, id_)
            case AttachClient(client):
                self.clients.attach(client)
            case DetachClient(client):
                self.clients.detach(client)
        return self._on_all(request, now)

    def _subscribe(self, request: ClientSubscribe, now: float) -> list[Effect]:
        client, id_ = request.client, request.subscription
        present = self.clients.of(client).subscriptions.get(id_)
        if present != request.filter:  # there is none, or it is to be changed
            self.clients.subscribe(request)
            return self._on_all(request, now)
        if (client, id_) in self.clients.awaited:
            return []  # the answer is on its way
        return self._answer(request, now)

    def _subscribe_many(self, request: ClientSubscribeMany, now: float) -> list[Effect]:
        client, own = request.client, self.clients.of(request.client).subscriptions
        fresh: dict[str, Interest] = {}
        repeats: list[ClientSubscribe] = []
        for id_, wanted in request.subscriptions:
            if id_ in own or id_ in fresh:
                repeats.append(ClientSubscribe(client, id_, wanted))
            else:
                fresh[id_] = wanted
        effects: list[Effect] = []
        if fresh:
            request = ClientSubscribeMany(client, tuple(fresh.items()))
            self.clients.subscribe(request)
            effects = self._on_all(request, now)
        for repeat in repeats:
            effects.extend(self._subscribe(repeat, now))
        return effects

    def _unsubscribe_many(self, request: ClientUnsubscribeMany, now: float) -> list[Effect]:
        client, own = request.client, self.clients.of(request.client).subscriptions
        known = [id_ for id_ in dict.fromkeys(request.subscriptions) if id_ in own]
        for id_ in known:
            self.clients.unsubscribe(client, id_)
        effects: list[Effect] = []
        if known:
            effects = self._on_all(ClientUnsubscribeMany(client, tuple(known)), now)
        unknown = Counter(request.subscriptions)
        unknown.subtract(known)
        for id_ in unknown.elements():
            effects.extend(self._answer(ClientUnsubscribe(client, id_), now))
        return effects

    def _advertise(self, request: ClientAdvertise, now: float) -> list[Effect]:
        client, id_ = request.client, request.advertisement
        present = self.clients.of(client).advertisements.get(id_)
        if present is None:
            self.clients.advertise(request)
            return self._on_own(request, now)
        if present == request.filter and (client, id_) in self.clients.unannounced:
            return []  # the answer is on its way
        return self._answer(request, now)

    def _on_own(self, request: ClientAdvertise | ClientUnadvertise, now: float) -> list[Effect]:
        """Carry out a client's request on the own trees where its advertisements count already."""
        forest, named = self.forest, (request.client, request.advertisement)
        branches = [one for one in forest.trees[self.name].branches if one.advertises]
        for branch in branches:
            if isinstance(request, ClientAdvertise):
                branch.unadvertised.add(named)
            else:
                branch.advertised(named)
                forest.touched[self.name] = None
        return [effect for branch in branches for effect in forest.hand(branch, request, now)]

    def _on_all(self, request: ClientInput, now: float) -> list[Effect]:
        """Carry out a client's request on all trees."""
        # First on all, then the answers: what one branch confirms at once, others may still owe.
        branches, effects = list(self.forest), []
        for branch in branches:
            match request:
                case ClientSubscribe(client, id_):
                    branch.unconfirmed.add((client, id_))
                case ClientSubscribeMany(client, subscriptions):
                    branch.unconfirmed.update((client, id_) for id_, _ in subscriptions)
                case ClientUnsubscribe(client, id_):
                    branch.confirmed((client, id_))
                    self.forest.touched[branch.source] = None
                case ClientUnsubscribeMany(client, ids):
                    for id_ in ids:
                        branch.confirmed((client, id_))
                    self.forest.touched[branch.source] = None
                case DetachClient(client):
                    branch.forget(client)
                    self.forest.touched[branch.source] = None
        for branch in branches:
            effects.extend(self.forest.ask(branch, request, now))
        return effects

    def _answer(self, request: ClientInput, now: float) -> list[Effect]:
        """Answer a request that changes nothing: the core of any tree can."""
        return self.forest.own.core.handle(request, now)

    # Links -------------------------------------------------------------------------------------

    def _link_up(self, neighbor: str, now: float) -> list[Effect]:
        if self.has_link(neighbor):
            raise InvariantError(f"the link to {neighbor!r} is up already")
        if self._held.came_up(neighbor, now) and neighbor in self.map.around:
            return []
        return self._use((neighbor,), now)

    def _use(self, neighbors: Iterable[str], now: float) -> list[Effect]:
        """Route on links from now on, and announce them to all routers."""
        effects: list[Effect] = []
        for neighbor in neighbors:
            self._held.release(neighbor)
            self.forest.links[neighbor] = {}
            known: list[MeshMessage] = [said for said in self.map if said is not self.map.own]
            known.extend(self.forest.known_below(neighbor))
            effects.extend(Send(neighbor, message) for message in known)
        return [*effects, *self._tell_links(now)]

    def _begun(self, arrived: Receive | ReceiveMany, now: float) -> list[Effect]:
        """Use a link that is held if the neighbor uses it."""
        held = arrived.neighbor in self._held
        return self._use((arrived.neighbor,), now) if held else []

    def _link_down(self, neighbor: str, now: float, *, for_good: bool = False) -> list[Effect]:
        self._held.went_down(neighbor, for_good=for_good)
        if neighbor not in self.forest.links:
            return []
        effects = self.forest.link_down(neighbor, now)
        return [*effects, *self._tell_links(now)]

    def _tick(self, now: float) -> list[Effect]:
        """Use the links that are due; change the own tree, if it is time."""
        due = self._held.due(now)
        return self._use(due, now) if due else self._change_tree(now)

    def _close_all(self, effects: list[Effect], now: float) -> list[Effect]:
        """Take down the links that are to be closed, after what is still sent over them."""
        closing = {e.neighbor: e for e in effects if isinstance(e, CloseLink)}
        if not closing:
            return effects
        effects = [effect for effect in effects if not isinstance(effect, CloseLink)]
        for neighbor, effect in closing.items():
            effects.extend(self._link_down(neighbor, now))
            effects.append(effect)
        return effects

    def _tell_links(self, now: float) -> list[Effect]:
        """Announce the links in use here to all routers."""
        effects = self._flood(self.map.say(self.forest.links))
        return [*effects, *self._follow(now)]

    def _flood(self, message: MeshMessage, source: str | None = None) -> list[Effect]:
        """Pass a message on to all neighbors but the one that it came from."""
        return [Send(neighbor, message) for neighbor in self.forest.links if neighbor != source]

    def _follow(self, now: float) -> list[Effect]:
        """Follow a change of the known links."""
        self._pace.changed(now)
        effects = self._change_tree(now)
        self.forest.review(self.clients.reach(self.map.around))
        effects.extend(self.forest.grow_all(now))
        needed = [neighbor for neighbor in self._held if neighbor not in self.map.around]
        return [*effects, *self._use(needed, now)] if needed else effects

    def _change_tree(self, now: float) -> list[Effect]:
        """Announce the tree that is the best by now, if it is another one, and time for it."""
        self._is_current = None  # since links have changed, or are about to have another tree
        current = self.forest.trees[self.name].place.announced.tree
        tree = self.map.find(self.name, self.map.around)
        self._pace.rest()
        if tree == current or not self._may_change(current, now):
            return []
        announced = self.forest.next_announcement(tree)
        return self.forest.adopt(announced, now)

    def _may_change(self, current: SpanningTree, now: float) -> bool:
        """True if it is time to announce another tree than the current one.

        While the overlay comes up, or a router, every step would be announced if a tree that has
        lost nothing were not kept until the view is settled.
        """
        is_whole = self.map.is_whole(current)
        if is_whole and not self.map.is_settled:
            return False
        # A tree that grows can carry only as a whole.
        if self.map.serves(current) and (is_whole or not self.forest.is_growing):
            return self._pace.may_improve(now)
        return self._pace.may_extend(now) if is_whole else self._pace.may_repair(now)

    def _is_settled(self) -> bool:
        """True if all trees reach all in reach, and no news of links is on its way, as seen here.

        Better trees may follow: they take over when all is in force there that clients rely on.
        """
        if self._is_current is None:
            self._is_current = self._serve_all()
        return self._is_current

    def _serve_all(self) -> bool:
        """True if the view of the links is settled, and the tree of each source reaches all."""
        trees = self.forest.trees
        return self.map.is_settled and all(
            source in trees and self.map.serves(trees[source].place.announced.tree)
            for source in self.map.around
        )

    # Messages ----------------------------------------------------------------------------------

    def _receive(self, arrived: Receive, now: float) -> list[Effect]:
        neighbor, message = arrived.neighbor, arrived.message
        if neighbor not in self.forest.links:
            return []
        match message:
            case OnTree():
                return self.forest.receive(neighbor, message, now, arrived.place)
            case Neighbors():
                return self._learn(neighbor, message, now)
            case Announce():
                return self._adopt(neighbor, message, now)
            case Join():
                return self.forest.joined(neighbor, message, now)
            case Leave():
                return self.forest.left(neighbor, message)
            case Ready():
                self.forest.ready(neighbor, message)
                return []
            case Carry():
                return self.forest.carries(neighbor, message)
            case _:
                return [CloseLink(neighbor, unexpected_message(message))]

    def _receive_many(self, arrived: ReceiveMany, now: float) -> list[Effect]:
        if arrived.neighbor not in self.forest.links:
            return []
        if arrived.publications.tree is None:  # the first one closes the link
            return self._receive(next(arrived.messages()), now)
        return self.forest.receive_many(arrived, now)

    def _learn(self, neighbor: str, message: Neighbors, now: float) -> list[Effect]:
        own, router = self.map.own.version, message.router
        is_later = router == self.name and message.version > own
        objection = objection_to(router, self.map, is_later=is_later)
        if objection is not None:
            return [CloseLink(neighbor, objection)]
        was_linked = self.map.claims(router, self.name)
        if router == self.name or not self.map.take(message):
            return []
        effects = self._flood(message, neighbor)
        if was_linked and not self.map.claims(router, self.name):
            effects.extend(self.forest.disowned(router))
        return [*effects, *self._follow(now)]

    def _adopt(self, neighbor: str, message: Announce, now: float) -> list[Effect]:
        source, trees = message.tree.source, self.forest.trees
        own = trees[self.name].place.announced.version
        is_later = source == self.name and message.version > own
        objection = objection_to(source, trees, is_later=is_later)
        if objection is not None:
            return [CloseLink(neighbor, objection)]
        if source in trees and trees[source].place.announced.version >= message.version:
            return []
        self._is_current = None
        return self.forest.adopt(message, now)
