"""The branches of one router: how they begin, take over from one another, and end.

`sapwood.routing.membership.mesh.mesh` gives the invariants, and their reasons.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace

from sapwood.errors import InvariantError
from sapwood.limits import MESH_HELD_MAX
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.publication import Publication
from sapwood.overlay.spanning import SpanningTree
from sapwood.routing.core import RoutingCore
from sapwood.routing.effects import (
    Accepted,
    AcceptedMany,
    Advertised,
    BatchEffect,
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
from sapwood.routing.inputs import (
    AttachClient,
    ClientInput,
    ClientSubscribeMany,
    Drained,
    Input,
    LinkDown,
    LinkUp,
    Receive,
    ReceiveMany,
)
from sapwood.routing.membership.mesh.clients import Clients, Named
from sapwood.routing.membership.mesh.links import LinkMap
from sapwood.routing.membership.mesh.tree_router import BranchKey, Position, TreeRouter
from sapwood.routing.membership.mesh.tree_versions import Held, TreeVersions
from sapwood.routing.messages import (
    Announce,
    Carry,
    CircleMessage,
    Join,
    Leave,
    MeshMessage,
    OnPlane,
    OnTree,
    Ready,
    UpkeepMessage,
    Version,
)
from sapwood.routing.supply import SupplyWatch, TreeSides, side_of
from sapwood.routing.tables import CLIENTS


class TreeSet:
    """All branches of a router.

    `make_core` makes the core of a branch, for an incarnation of its own; a `watch` follows the
    advertisements on all branches. Where effects contain a `CloseLink`, its branch has forgotten
    the link, and no other one has.

    #: own is the branch that carries the publications of the router's clients
    #: trees[s].latest is there iff the parent there has joined the same version, and s was in reach
    #: at the last check; its basis is that of their messages. Older branches have a parent that
    #: is linked, unless they are at their source
    #: links are those that are up, each with the branches that the neighbor last joined, by source
    #: touched are the sources of which a branch may have become ready
    """

    def __init__(
        self,
        incarnation: int,
        make_core: Callable[[str], RoutingCore],
        clients: Clients,
        known: LinkMap,
        watch: SupplyWatch | None = None,
    ) -> None:
        self.name = known.own.router
        self.trees: dict[str, TreeVersions] = {}
        self.links: dict[str, dict[str, Join]] = {}
        self.clients = clients
        self.touched: dict[str, None] = {}
        #: the counts of branches that have ended
        self.counted: Counter[str] = Counter()
        self._incarnation = incarnation
        self._make_core = make_core
        self._map = known
        self._watch = watch
        self._epochs = 0
        alone = Announce(SpanningTree((self.name,)), Version(incarnation, 0), 0)
        self.trees[self.name] = TreeVersions(Position.of(self.name, alone))
        self._grow(self.name, 0.0)
        self.own = self.trees[self.name].branches[0]
        self.own.is_ready = self.own.carries = self.own.advertises = True

    def __iter__(self) -> Iterator[TreeRouter]:
        """All branches, those of one source in the order of their versions."""
        return (branch for trees in self.trees.values() for branch in tuple(trees.branches))

    # Trees -------------------------------------------------------------------------------------

    @property
    def is_growing(self) -> bool:
        """True if the own router has announced a tree that does not carry yet."""
        return self.own is not self.trees[self.name].latest

    def new_core(self, incarnation: str) -> RoutingCore:
        """An empty core like those of branches."""
        return self._make_core(incarnation)

    def next_announcement(self, tree: SpanningTree) -> Announce:
        """The announcement of another tree for the own router's publications."""
        incarnation, number = self.trees[self.name].place.announced.version
        return Announce(tree, Version(incarnation, number + 1), self.own.version.number)

    def adopt(self, announced: Announce, now: float) -> list[Effect]:
        """Adopt a later tree: the one that grew is given up, the one that carries goes on.

        The children receive the announcement. A router outside the tree need not know of it.
        """
        source = announced.tree.source
        place = Position.of(self.name, announced)
        trees = self.trees.get(source)
        if trees is None:
            trees = self.trees[source] = TreeVersions(place)
        trees.place = place
        effects = self._tell(place.children, announced)
        for branch in trees.superseded():
            effects.extend(self.end(branch))
        self._review(source)
        return [*effects, *self._grow(source, now)]

    def grow_all(self, now: float) -> list[Effect]:
        """Begin the branches that are possible now that other routers are in reach."""
        return [effect for source in self.trees for effect in self._grow(source, now)]

    def review(self, sources: frozenset[str]) -> None:
        """Check again which subscriptions are not in force for some sources."""
        for source in self.trees:
            if source in sources:
                self._review(source)

    def _basis(self, trees: TreeVersions) -> BranchKey | None:
        """The basis of a branch of the latest tree; `None` where there can be no branch."""
        place = trees.place
        version = place.announced.version
        if not place.is_inside:
            return None
        if place.parent is None:
            return BranchKey(version, None)
        joined = self.links.get(place.parent, {}).get(place.announced.tree.source)
        if joined is None or joined.version != version:
            return None
        return BranchKey(version, joined.epoch)

    def _grow(self, source: str, now: float) -> list[Effect]:
        """Begin a branch of the latest tree, or begin it afresh, or give it up, if it is time."""
        trees = self.trees[source]
        basis, branch = self._basis(trees), trees.latest
        effects: list[Effect] = []
        if branch is not None and branch.basis == basis:
            return effects
        if branch is not None:
            effects.extend(self.end(branch))
        if basis is not None and source in self._map.around:
            effects.extend(self._begin(trees, basis, now))
        return effects

    def _begin(self, trees: TreeVersions, basis: BranchKey, now: float) -> list[Effect]:
        self._epochs += 1
        # No key may come from two lives of a branch.
        core = self._make_core(f"{self._incarnation}-{self._epochs}")
        place = trees.place
        branch = TreeRouter(place, basis, self._epochs, core)
        trees.branches.append(branch)
        self._follow(branch)
        joined = Join(branch.source, basis.version, branch.epoch)
        # Before all messages of the new branch.
        effects: list[Effect] = [
            Send(neighbor, joined)
            for neighbor in (place.parent, *place.children)
            if neighbor in self.links and neighbor is not None
        ]
        if place.parent is not None and basis.parent_epoch is not None:
            branch.peers[place.parent] = basis.parent_epoch
            effects.extend(self.hand(branch, LinkUp(place.parent), now))
        for request in self.clients.requests():
            if isinstance(request, ClientSubscribeMany):
                for id_, wanted in request.subscriptions:
                    named = (request.client, id_)
                    branch.unconfirmed.add(named)
                    branch.missing[named] = wanted
                    if self.clients.relies_on(named):
                        branch.unconfirmed_here.add(named)
            else:
                effects.extend(self.hand(branch, request, now))
        effects.extend(self._catch_up(branch, now))
        self._review(branch.source)
        self.touched[branch.source] = None
        return effects

    def _catch_up(self, branch: TreeRouter, now: float) -> list[Effect]:
        """Hand a branch the next of the clients' subscriptions that it has not received."""
        requests = branch.take_missing(branch.core.protocol.at_once)
        effects = [effect for one in requests for effect in self.hand(branch, one, now)]
        self.touched[branch.source] = None
        return effects

    def ask(self, branch: TreeRouter, request: ClientInput, now: float) -> list[Effect]:
        """Carry out a client's request on one branch."""
        heard = branch.heard(request)
        return [] if heard is None else self.hand(branch, heard, now)

    def end(self, branch: TreeRouter) -> list[Effect]:
        """Give a branch up, notify the children, and release publications held for its sake."""
        trees = self.trees[branch.source]
        trees.branches.remove(branch)
        for sides in _sides_of(branch):
            sides.end()
        self.counted += Counter(branch.core.counters())
        effects = self._tell(branch.place.children, Leave(branch.source, branch.epoch))
        for publication, place in trees.release():
            deliveries = self.own.core.deliveries(publication)
            effects.extend(replace(one, place=place) for one in deliveries)
        if branch.source == self.name:
            for named in list(self.clients.unannounced):
                effects.extend(self._announced(named))
        self._review(branch.source)
        self.touched[branch.source] = None
        return effects

    def watch(self, watch: SupplyWatch) -> None:
        """Let a watch follow the advertisements on all trees, in the place of the one before."""
        self._watch = watch
        for branch in self:
            self._follow(branch)

    def advertised(self) -> dict[str, dict[str, AdvertisedContent]]:
        """The advertisements on all trees, by the sides of a watch."""
        sides = {
            side_of(branch.epoch, side): contents
            for branch in self
            for side, contents in branch.core.advertisements.entries.sides().items()
        }
        return {CLIENTS: {}, **sides}

    def _follow(self, branch: TreeRouter) -> None:
        if self._watch is not None:
            former = next(_sides_of(branch), None)
            sides = TreeSides(self._watch, branch.epoch)
            branch.core.advertisements.entries.exchange(former, sides)

    def _review(self, source: str) -> None:
        self.clients.review(source, self.trees[source].is_in_force)

    def _tell(self, neighbors: tuple[str, ...], message: MeshMessage) -> list[Effect]:
        return [Send(neighbor, message) for neighbor in neighbors if neighbor in self.links]

    # Inputs ------------------------------------------------------------------------------------

    def hand(self, branch: TreeRouter, request: Input, now: float) -> list[Effect]:
        """Let a branch's core take an input, and translate its effects into those of all trees."""
        effects: list[Effect] = []
        source = branch.source
        has_to_wait = self.trees[source].has_to_wait(branch)
        waiting: Publication | None = None
        for effect in branch.core.handle(request, now):
            match effect:
                case Send() | SendMany() | DeliverMany() | AcceptedMany() | Remaining():
                    effects.append(_on_tree(branch, effect))
                case Deliver(_, _, publication):
                    if has_to_wait:
                        waiting = publication
                    else:
                        effects.append(effect)
                case Subscribed(client, id_):
                    self._confirmed(branch, (client, id_))
                case SubscribedMany(client, ids):
                    for id_ in ids:
                        self._confirmed(branch, (client, id_))
                case Advertised(client, id_):
                    branch.advertised((client, id_))
                    self.touched[source] = None
                    effects.extend(self._announced((client, id_)))
                case CloseLink(neighbor):
                    branch.lose(neighbor)  # its core has forgotten the link already
                    effects.append(effect)
                case Accepted() | Refused() | Unsubscribed() | UnsubscribedMany() | Unadvertised():
                    if branch is self.own:
                        effects.append(effect)
                case Supply() | Persist() | Release() | Recall() | Connect() | Disconnect():
                    raise InvariantError(f"a core of a tree never says {type(effect).__name__}")
        if waiting is not None:
            place = request.place if isinstance(request, Receive) else None
            effects.extend(self._hold(branch, Held(waiting, place)))
        return effects

    def _confirmed(self, branch: TreeRouter, named: Named) -> None:
        branch.confirmed(named)
        self.touched[branch.source] = None
        if self.trees[branch.source].is_in_force(named):
            self.clients.confirmed(branch.source, named)

    def _announced(self, named: Named) -> list[Effect]:
        """Notify a client that an advertisement is in force, if it is so wherever it publishes."""
        if named not in self.clients.unannounced or any(
            named in branch.unadvertised for branch in self.trees[self.name].branches
        ):
            return []
        del self.clients.unannounced[named]
        return [Advertised(*named)]

    def _hold(self, branch: TreeRouter, held: Held) -> list[Effect]:
        """Hold a publication that overtook those of an older version; not without bound."""
        trees = self.trees[branch.source]
        trees.hold(branch.version, held)
        if len(trees.held) <= MESH_HELD_MAX:
            return []
        return [effect for older in trees.older() for effect in self.end(older)]

    # Links -------------------------------------------------------------------------------------

    def behind(self) -> set[str]:
        """The neighbors whose backlog is not sent yet on some tree."""
        found: set[str] = set()
        for trees in self.trees.values():
            for branch in trees.branches:
                behind = branch.core.behind()
                if behind:
                    found.update(behind)
                if branch.missing:
                    found.add(CLIENTS)
        return found

    def drained(self, drained: Drained, now: float) -> list[Effect]:
        """Send more to a neighbor with a backlog, on every tree where it has one.

        For `CLIENTS`: hand a new branch more of the clients' subscriptions.
        """
        behind = [branch for branch in self if drained.neighbor in branch.core.behind()]
        effects = [effect for branch in behind for effect in self.hand(branch, drained, now)]
        if drained.neighbor == CLIENTS:
            late = next((branch for branch in self if branch.missing), None)
            effects += [] if late is None else self._catch_up(late, now)
        return effects

    def known_below(self, neighbor: str) -> Iterator[Announce | Join]:
        """The messages that a neighbor whose link has come up needs to join this router."""
        for source, trees in self.trees.items():
            if neighbor in trees.place.children:
                yield trees.place.announced
                latest = trees.latest
                if latest is not None:
                    yield Join(source, latest.version, latest.epoch)

    def link_down(self, neighbor: str, now: float) -> list[Effect]:
        """Remove a link; branches with their parent there end, others lose a peer."""
        del self.links[neighbor]
        effects: list[Effect] = []
        for branch in self:
            if branch.place.parent == neighbor:
                effects.extend(self.end(branch))
            elif neighbor in branch.peers:
                branch.lose(neighbor)
                effects.extend(self.hand(branch, LinkDown(neighbor), now))
        return effects

    def disowned(self, neighbor: str) -> list[Effect]:
        """Handle a neighbor's report that the link to it is gone, before it is down here.

        Nothing comes from there any more, so publications of a later tree have nothing to wait for.
        """
        return [
            effect
            for branch in self
            if branch.place.parent == neighbor and branch is not self.trees[branch.source].latest
            for effect in self.end(branch)
        ]

    # Messages ----------------------------------------------------------------------------------

    def receive(
        self, neighbor: str, message: OnTree, now: float, place: int | None = None
    ) -> list[Effect]:
        """Handle a neighbor's message on a tree; `place` as in `Receive`."""
        trees = self.trees.get(message.source)
        for branch in () if trees is None else trees.branches:
            if branch.epoch == message.epoch and neighbor in branch.peers:
                return self.hand(branch, Receive(neighbor, message.message, place), now)
        return []  # of a tree that has ended

    def receive_many(self, arrived: ReceiveMany, now: float) -> list[Effect]:
        """Handle publications that come from a neighbor on a tree."""
        many = arrived.publications
        assert many.tree is not None, "what comes on a tree says on which"
        source, epoch = many.tree
        trees = self.trees.get(source)
        for branch in () if trees is None else trees.branches:
            if branch.epoch == epoch and arrived.neighbor in branch.peers:
                assert trees is not None, "a branch is one of its trees"
                if trees.has_to_wait(branch):  # the number of held ones is bounded
                    return [
                        effect
                        for one in arrived.messages()
                        if isinstance(one.message, OnTree)
                        for effect in self.receive(one.neighbor, one.message, now, one.place)
                    ]
                return self.hand(branch, arrived, now)
        return []  # of a tree that has ended

    def joined(self, neighbor: str, message: Join, now: float) -> list[Effect]:
        """Handle a neighbor's `Join`: it has begun a branch."""
        trees = self.trees.get(message.source)
        if trees is None:
            return []
        self.links[neighbor][message.source] = message
        effects = self._grow(message.source, now) if neighbor == trees.place.parent else []
        branch = trees.of(message.version)
        if (
            branch is None
            or neighbor not in branch.place.children
            or branch.peers.get(neighbor) == message.epoch
        ):
            return effects
        if neighbor in branch.peers:
            branch.lose(neighbor)
            effects.extend(self.hand(branch, LinkDown(neighbor), now))
        branch.peers[neighbor] = message.epoch
        effects.extend(self.hand(branch, LinkUp(neighbor, inbound=False), now))
        if branch.carries:
            effects.append(Send(neighbor, Carry(branch.source, branch.epoch)))
        return effects

    def left(self, neighbor: str, message: Leave) -> list[Effect]:
        """Handle a neighbor's `Leave`: it has given up a branch."""
        joined = self.links[neighbor].get(message.source)
        if joined is not None and joined.epoch == message.epoch:
            del self.links[neighbor][message.source]
        trees = self.trees.get(message.source)
        branch = None if trees is None else trees.below(neighbor, message.epoch)
        return [] if branch is None else self.end(branch)

    def ready(self, neighbor: str, message: Ready) -> None:
        """Handle a neighbor's `Ready`: below it nothing is owed on its branch."""
        trees = self.trees.get(message.source)
        branch = None if trees is None else trees.above(neighbor, message.epoch)
        if branch is not None:
            branch.ready.add(neighbor)
            self.touched[message.source] = None

    def carries(self, neighbor: str, message: Carry) -> list[Effect]:
        """Handle a neighbor's `Carry`: the source publishes on the tree of a branch from now on."""
        trees = self.trees.get(message.source)
        branch = None if trees is None else trees.below(neighbor, message.epoch)
        if branch is None or branch.carries:
            return []
        branch.carries = True
        self._review(message.source)
        return self.carry(branch)

    def carry(self, branch: TreeRouter) -> list[Effect]:
        """Send `Carry` to the children that have joined a branch: the source publishes there."""
        below = tuple(child for child in branch.place.children if child in branch.peers)
        return self._tell(below, Carry(branch.source, branch.epoch))

    def validate(self) -> None:
        """Check the relations above; raises `InvariantError`."""
        asked = {named for one in self.clients.requests() for named in _named(one)}
        advertised = {(one.client, one.advertisement) for one in self.clients.advertisements()}
        for source, trees in self.trees.items():
            trees.validate()
            basis, latest = self._basis(trees), trees.latest
            if latest is not None and latest.basis != basis:
                raise InvariantError(f"the branch of {source} is not of the latest tree")
            if latest is None and basis is not None and source in self._map.around:
                raise InvariantError(f"the branch of {source} is missing")
            for branch in trees.branches:
                self._validate_branch(branch, asked, advertised)
        self.clients.validate(
            lambda source, named: source in self.trees and self.trees[source].is_in_force(named)
        )
        if self.own not in self.trees[self.name].branches or not self.own.carries:
            raise InvariantError("what clients publish takes a tree that does not carry")

    def _validate_branch(
        self, branch: TreeRouter, asked: set[tuple[str, str | None]], advertised: set[Named]
    ) -> None:
        source, place = branch.source, branch.place
        if (place.parent is None) != (source == self.name):
            raise InvariantError(f"the branch of {source} hangs in the air")
        if place.parent is not None and place.parent not in branch.peers:
            raise InvariantError(f"the branch of {source} is not joined to its parent")
        if not branch.peers.keys() <= {place.parent, *place.children} & self.links.keys():
            raise InvariantError(f"the branch of {source} is linked to a stranger")
        entries = branch.core.subscriptions.entries
        known = {
            *((client, None) for client in entries.by_client),
            *(
                (entry.client, entry.id)
                for entry in entries.by_key.values()
                if entries.is_current(entry)
            ),
        }
        if not known.isdisjoint(branch.missing):
            raise InvariantError(f"on the tree of {source} something is missing that is there")
        known.update(branch.missing)
        if known != asked or not branch.unconfirmed <= asked:
            raise InvariantError(f"on the tree of {source} clients asked for something else")
        own = branch.core.advertisements.entries.by_key.values()
        if {(e.client, e.id) for e in own} != (advertised if branch.advertises else set()):
            raise InvariantError(f"on the tree of {source} clients advertise something else")


def _sides_of(branch: TreeRouter) -> Iterator[TreeSides]:
    """The followers that pass a branch's advertisements to a watch, if there are any."""
    following = branch.core.advertisements.entries.followers
    return (one for one in following if isinstance(one, TreeSides))


def _on_tree(branch: TreeRouter, effect: Send | BatchEffect) -> Send | BatchEffect:
    """An effect marked with the tree of its branch, where neighbors need that."""
    match effect:
        case Send(neighbor, message, age_ns):
            assert not isinstance(message, MeshMessage | OnPlane | CircleMessage | UpkeepMessage), (
                "a tree has no trees"
            )
            sent = OnTree(branch.source, branch.peers[neighbor], message)
            return Send(neighbor, sent, age_ns)
        case SendMany(neighbor, many):
            tree = (branch.source, branch.peers[neighbor])
            return SendMany(neighbor, replace(many, tree=tree))
        case Remaining(ReceiveMany(neighbor, many)):
            tree = (branch.source, branch.epoch)
            return Remaining(ReceiveMany(neighbor, replace(many, tree=tree)))
        case _:
            return effect


def _named(request: AttachClient | ClientSubscribeMany) -> list[tuple[str, str | None]]:
    """The client of a request, or the ids of its subscriptions."""
    if isinstance(request, AttachClient):
        return [(request.client, None)]
    return [(request.client, id_) for id_, _ in request.subscriptions]
