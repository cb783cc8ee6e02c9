"""The router of an overlay whose links may form circles: a tree for each source of publications.

Every router floods which links it has (`Neighbors`), so each knows all links, finds the tree with
the fewest links from itself to all others, and floods that under a number that grows (`Announce`).
The publications that it accepts take its tree. On each tree every router runs an ordinary `Router`
of whatever protocol, whose links are those of the tree (a *branch*); its clients subscribe on all
trees, and advertise and publish on the router's own. A subscription is told to the parent only,
as no publication comes from anywhere else; it is in force when all trees in reach have confirmed.

A branch belongs to one version of one tree. Whoever hears of a newer version gives up the old
branch at once, and a new one grows from the source: a router joins its parent when that has joined
its own, begins with empty tables, and hears again what its clients and its children want. Thus

* a branch never sees a circle, whatever routers believe of the links meanwhile: all that say they
  have joined a version have the same tree in mind, and that is a tree however it is written
  (`SpanningTree`);
* no publication comes to a router twice, and those of one router come in their order: each takes
  one version, on whose tree there is one way, and no router goes back to an older version;
* a subscription is confirmed by the branch of a source only over all the way to that source, as
  the router has no branch, and waits, until all on the way have joined. The client hears of it
  when no newer tree is to be expected, either.

What is on its way while a tree changes may be lost, as on a link that fails. A message for a branch
carries the number under which the receiver began it, and is dropped where that branch is no more.

The price: tables for each source. The state of a subscription lies on the way to each, so that all
of it is as many entries as there are routers, times the mean way (on a single tree: as there are
routers).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sapwood.errors import InvariantError
from sapwood.limits import MESH_ROUTERS_MAX
from sapwood.matching.choice import Engines
from sapwood.overlay.spanning import SpanningTree, fewest_links
from sapwood.routing.effects import (
    Accepted,
    Advertised,
    CloseLink,
    Deliver,
    Effect,
    Refused,
    Send,
    Subscribed,
    Unadvertised,
    Unsubscribed,
)
from sapwood.routing.inputs import (
    AttachClient,
    ClientAdvertise,
    ClientInput,
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
from sapwood.routing.mesh.branch import Basis, Branch, Place
from sapwood.routing.mesh.clients import Clients
from sapwood.routing.mesh.links import LinkMap
from sapwood.routing.messages import (
    Announce,
    Join,
    MeshMessage,
    Neighbors,
    OnTree,
    Version,
)
from sapwood.routing.protocols import Protocol
from sapwood.routing.protocols import protocol as protocol_named
from sapwood.routing.router import DEFAULT_ENGINES, Router
from sapwood.routing.statements import stranger
from sapwood.routing.tables import ReceivedSubscription


class MeshRouter:
    """A router of an overlay whose links may form circles; used as `Router` is.

    `incarnation` is greater than that of any earlier router of the same name.

    #: branches[s] is there iff the tree of s is known, s is in reach, and the parent there has
    #: joined the same version; its basis is what they said
    #: links are those that are up, each with what the neighbor last joined, by source
    #: places[s] is where this router stands in the latest tree that s has announced
    """

    def __init__(
        self,
        name: str,
        protocol: str | Protocol = "mesh+covering",
        engines: Engines = DEFAULT_ENGINES,
        incarnation: int = 0,
    ) -> None:
        self.name = name
        self.protocol = protocol_named(protocol) if isinstance(protocol, str) else protocol
        self.map = LinkMap(name, incarnation)
        self.clients = Clients()
        self.branches: dict[str, Branch] = {}
        self.places: dict[str, Place] = {}
        self.links: dict[str, dict[str, Join]] = {}
        self._engines = engines
        self._incarnation = incarnation
        self._lives = 0
        #: whether all trees are as they have to be; `None` where what is known has changed since
        self._is_current: bool | None = None
        self.clients.reach(self.map.around)
        self._keep(Announce(SpanningTree((name,)), Version(incarnation, 0)))
        self._grow(name, 0.0)

    def handle(self, input: Input, now: float) -> list[Effect]:  # noqa: A002 - the contract's word
        """Take one input at time `now`; see `Router.handle`."""
        match input:
            case Receive():
                effects = self._receive(input, now)
            case LinkUp(neighbor):
                effects = self._link_up(neighbor, now)
            case LinkDown(neighbor):
                effects = self._link_down(neighbor, now)
            case _:
                effects = self._client(input, now)
        if self.clients.in_force and self._is_settled():
            effects.extend(Subscribed(*named) for named in self.clients.take_in_force())
        return effects

    def next_deadline(self) -> float | None:
        """When `handle` wants to be called even without an input; `None` for never."""
        deadlines = (branch.router.next_deadline() for branch in self.branches.values())
        return min((at for at in deadlines if at is not None), default=None)

    def table_sizes(self) -> dict[str, int]:
        """Entries in each table, over all trees: see `Router.table_sizes`."""
        sizes: dict[str, int] = {}
        for branch in self.branches.values():
            for table, size in branch.router.table_sizes().items():
                sizes[table] = sizes.get(table, 0) + size
        return sizes

    def received(self) -> Iterator[ReceivedSubscription]:
        """The subscriptions that came over links, on all trees, for checks."""
        for source, branch in self.branches.items():
            for heard in branch.router.received():
                yield heard._replace(source=source)

    def validate(self) -> None:
        """Check every relation between the tables, on all trees; raises `InvariantError`."""
        self.map.validate()
        self.clients.validate()
        asked = set(map(_named, self.clients.requests(advertisements=False)))
        for source, branch in self.branches.items():
            branch.router.validate()
            if branch.basis != self._basis(source):
                raise InvariantError(f"the branch of {source} is not of the latest tree")
            if branch.peers.keys() != branch.router.tables.received.keys():
                raise InvariantError(f"the branch of {source} has other links than peers")
            place = self.places[source]
            if not branch.peers.keys() <= {place.parent, *place.children} & self.links.keys():
                raise InvariantError(f"the branch of {source} is linked to a stranger")
            entries = branch.router.subscriptions.entries
            known = {
                *((client, None) for client in entries.by_client),
                *((entry.client, entry.id) for entry in entries.by_key.values()),
            }
            if known != asked:
                raise InvariantError(f"on the tree of {source} clients asked for something else")
        for source in self.places:
            if (self._basis(source) is None) != (source not in self.branches):
                raise InvariantError(f"the branch of {source} is missing, or there is no tree")

    # Clients -----------------------------------------------------------------------------------

    def _client(self, request: ClientInput, now: float) -> list[Effect]:
        """What a client asks for: of the own tree only, or of all."""
        match request:
            case ClientPublish():
                return self._on_own(request, now)
            case ClientSubscribe():
                return self._subscribe(request, now)
            case ClientAdvertise():
                return self._advertise(request, now)
            case ClientUnadvertise(client, id_):
                if id_ in self.clients.of(client).advertisements:
                    self.clients.unadvertise(client, id_)
                return self._on_own(request, now)
            case ClientUnsubscribe(client, id_):
                if id_ not in self.clients.of(client).subscriptions:
                    return self._on_own(request, now)
                self.clients.unsubscribe(client, id_)
            case AttachClient(client):
                self.clients.attach(client)
            case DetachClient(client):
                self.clients.detach(client)
        return self._on_all(request, now)

    def _subscribe(self, request: ClientSubscribe, now: float) -> list[Effect]:
        client, id_ = request.client, request.subscription
        present = self.clients.of(client).subscriptions.get(id_)
        if present is None:
            self.clients.subscribe(request)
            return self._on_all(request, now)
        if present == request.filter and (client, id_) in self.clients.awaited:
            return []  # the answer is on its way
        return self.branches[self.name].router.handle(request, now)

    def _advertise(self, request: ClientAdvertise, now: float) -> list[Effect]:
        present = self.clients.of(request.client).advertisements.get(request.advertisement)
        if present is None:
            self.clients.advertise(request)
            return self._on_own(request, now)
        return self.branches[self.name].router.handle(request, now)

    def _on_own(self, request: Input, now: float) -> list[Effect]:
        return self._hand(self.branches[self.name], request, now)

    def _on_all(self, request: Input, now: float) -> list[Effect]:
        effects: list[Effect] = []
        for branch in tuple(self.branches.values()):
            effects.extend(self._hand(branch, request, now))
        return effects

    # Links -------------------------------------------------------------------------------------

    def _link_up(self, neighbor: str, now: float) -> list[Effect]:
        if neighbor in self.links:
            raise InvariantError(f"the link to {neighbor!r} is up already")
        self.links[neighbor] = {}
        known: list[MeshMessage] = [said for said in self.map if said is not self.map.own]
        known.extend(place.announced for place in self.places.values())
        known.extend(
            Join(source, branch.basis.version, branch.life)
            for source, branch in self.branches.items()
            if neighbor in self.places[source].children
        )
        effects: list[Effect] = [Send(neighbor, message) for message in known]
        return [*effects, *self._tell_links(now)]

    def _link_down(self, neighbor: str, now: float) -> list[Effect]:
        if neighbor not in self.links:
            return []
        del self.links[neighbor]
        effects: list[Effect] = []
        for source, branch in tuple(self.branches.items()):
            if self.places[source].parent == neighbor:
                effects.extend(self._grow(source, now))
            elif neighbor in branch.peers:
                del branch.peers[neighbor]
                effects.extend(self._hand(branch, LinkDown(neighbor), now))
        return [*effects, *self._tell_links(now)]

    def _close(self, neighbor: str, reason: str, now: float) -> list[Effect]:
        if neighbor not in self.links:
            return []
        return [*self._link_down(neighbor, now), CloseLink(neighbor, reason)]

    def _tell_links(self, now: float) -> list[Effect]:
        """Tell everybody which links are up here."""
        effects = self._flood(self.map.say(self.links))
        return [*effects, *self._follow(now)]

    def _flood(self, message: MeshMessage, source: str | None = None) -> list[Effect]:
        """Pass something on to all neighbors but the one that it came from."""
        return [Send(neighbor, message) for neighbor in self.links if neighbor != source]

    def _follow(self, now: float) -> list[Effect]:
        """Follow a change of what is known of links."""
        self._is_current = None
        effects: list[Effect] = []
        announced = self.places[self.name].announced
        tree = self.map.best_tree(announced.tree)
        if tree != announced.tree:
            version = Version(self._incarnation, announced.version.number + 1)
            message = Announce(tree, version)
            self._keep(message)
            effects.extend(self._flood(message))
        self.clients.reach(self.map.around)
        for source in self.places:
            effects.extend(self._grow(source, now))
        return effects

    # Trees -------------------------------------------------------------------------------------

    def _is_settled(self) -> bool:
        """Whether no news of links or trees is to be expected, as far as can be seen from here.

        Everybody knows which tree each router in reach announces when it knows the same links.
        """
        around = self.map.around
        if self._is_current is None:
            self._is_current = self.map.is_settled and all(
                source in self.places
                and self.places[source].announced.tree == fewest_links(source, around)
                for source in around
            )
        return self._is_current

    def _keep(self, announced: Announce) -> None:
        self._is_current = None
        self.places[announced.tree.source] = Place.of(self.name, announced)

    def _basis(self, source: str) -> Basis | None:
        """What a branch must depend on; `None` where there can be none."""
        place = self.places[source]
        if source not in self.map.around or not place.is_inside:
            return None
        version = place.announced.version
        if place.parent is None:
            return Basis(version, None)
        joined = self.links.get(place.parent, {}).get(source)
        if joined is None or joined.version != version:
            return None
        return Basis(version, joined.life)

    def _grow(self, source: str, now: float) -> list[Effect]:
        """Begin a branch, or begin it afresh, or give it up, if it is time."""
        basis, branch = self._basis(source), self.branches.get(source)
        if branch is not None and branch.basis == basis:
            return []
        if branch is not None:
            del self.branches[source]
            self.clients.start_over(source)
        return [] if basis is None else self._begin(source, basis, now)

    def _begin(self, source: str, basis: Basis, now: float) -> list[Effect]:
        self._lives += 1
        life = f"{self._incarnation}-{self._lives}"  # no key may come from two lives of a branch
        router = Router(self.name, self.protocol, self._engines, life)
        branch = self.branches[source] = Branch(source, basis, self._lives, router)
        place = self.places[source]
        joined = Join(source, basis.version, branch.life)
        # Before all that the new branch has to say.
        effects: list[Effect] = [
            Send(neighbor, joined)
            for neighbor in (place.parent, *place.children)
            if neighbor in self.links and neighbor is not None
        ]
        if place.parent is not None and basis.parent_life is not None:
            branch.peers[place.parent] = basis.parent_life
            effects.extend(self._hand(branch, LinkUp(place.parent), now))
        for request in self.clients.requests(advertisements=source == self.name):
            effects.extend(self._hand(branch, request, now))
        return effects

    def _hand(self, branch: Branch, request: Input, now: float) -> list[Effect]:
        """Let the router of a branch handle an input, and make what it says that of all trees."""
        effects: list[Effect] = []
        is_own = branch.source == self.name
        for effect in branch.router.handle(request, now):
            match effect:
                case Send(neighbor, message):
                    assert not isinstance(message, MeshMessage), "a tree has no trees"
                    on_tree = OnTree(branch.source, branch.peers[neighbor], message)
                    effects.append(Send(neighbor, on_tree))
                case Deliver():
                    effects.append(effect)
                case Subscribed(client, id_):
                    self.clients.confirmed(branch.source, (client, id_))
                case Advertised(client, id_):
                    if (client, id_) in self.clients.unannounced:
                        self.clients.unannounced.remove((client, id_))
                        effects.append(effect)
                case CloseLink(neighbor, reason):
                    del branch.peers[neighbor]  # its router has forgotten the link already
                    effects.extend(self._close(neighbor, reason, now))
                case Accepted() | Refused() | Unsubscribed() | Unadvertised():
                    if is_own:
                        effects.append(effect)
        return effects

    # Messages ----------------------------------------------------------------------------------

    def _receive(self, arrived: Receive, now: float) -> list[Effect]:
        neighbor, message = arrived.neighbor, arrived.message
        if neighbor not in self.links:
            return []
        match message:
            case OnTree():
                return self._receive_on_tree(neighbor, message, now)
            case Neighbors():
                return self._learn(neighbor, message, now)
            case Announce():
                return self._adopt(neighbor, message, now)
            case Join():
                return self._joined(neighbor, message, now)
            case _:
                return self._close(neighbor, stranger(message), now)

    def _receive_on_tree(self, neighbor: str, message: OnTree, now: float) -> list[Effect]:
        branch = self.branches.get(message.source)
        if branch is None or branch.life != message.life or neighbor not in branch.peers:
            return []  # of a tree that is no more
        return self._hand(branch, Receive(neighbor, message.message), now)

    def _learn(self, neighbor: str, message: Neighbors, now: float) -> list[Effect]:
        own = self.map.own.version
        objection = self._objection(message.router, message.version, own, self.map)
        if objection is not None:
            return self._close(neighbor, objection, now)
        if message.router == self.name or not self.map.take(message):
            return []
        return [*self._flood(message, neighbor), *self._follow(now)]

    def _adopt(self, neighbor: str, message: Announce, now: float) -> list[Effect]:
        source = message.tree.source
        known = self.places.get(source)
        own = self.places[self.name].announced.version
        objection = self._objection(source, message.version, own, self.places)
        if objection is not None:
            return self._close(neighbor, objection, now)
        if known is not None and known.announced.version >= message.version:
            return []
        self._keep(message)
        return [*self._flood(message, neighbor), *self._grow(source, now)]

    def _objection(
        self, name: str, version: Version, own: Version, known: LinkMap | Mapping[str, Place]
    ) -> str | None:
        """The reason to close a link over which something came of a router, if there is any."""
        if name == self.name and version > own:
            return (
                f"the overlay knows a later router {name!r}: give each router its own name, and "
                "see that the clock of this machine did not go back"
            )
        if name not in known and len(known) >= MESH_ROUTERS_MAX:
            return (
                f"the overlay has more than {MESH_ROUTERS_MAX} routers, which is the most where "
                "links may form circles"
            )
        return None

    def _joined(self, neighbor: str, message: Join, now: float) -> list[Effect]:
        place = self.places.get(message.source)
        if place is None:
            return []
        self.links[neighbor][message.source] = message
        if neighbor == place.parent:
            return self._grow(message.source, now)
        branch = self.branches.get(message.source)
        if (
            branch is None
            or neighbor not in place.children
            or message.version != branch.basis.version
            or branch.peers.get(neighbor) == message.life
        ):
            return []
        effects: list[Effect] = []
        if neighbor in branch.peers:
            effects.extend(self._hand(branch, LinkDown(neighbor), now))
        branch.peers[neighbor] = message.life
        return [*effects, *self._hand(branch, LinkUp(neighbor, inbound=False), now)]


def _named(request: ClientInput) -> tuple[str, str | None]:
    """The client that asks, and the id of its subscription."""
    return request.client, request.subscription if isinstance(request, ClientSubscribe) else None
