"""One router's part of one version of one source's tree: a core of its own, and its links."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby, islice
from typing import NamedTuple

from sapwood.errors import InvariantError
from sapwood.model.interest import Interest
from sapwood.overlay.spanning import SpanningTree
from sapwood.routing.core import RoutingCore
from sapwood.routing.inputs import (
    ClientInput,
    ClientSubscribe,
    ClientSubscribeMany,
    ClientUnsubscribe,
    ClientUnsubscribeMany,
)
from sapwood.routing.membership.mesh.clients import Named
from sapwood.routing.messages import Announce, Version


@dataclass(frozen=True, slots=True)
class Position:
    """The place of a router in an announced tree; at the source, and outside, without parent."""

    announced: Announce
    is_inside: bool
    parent: str | None
    children: tuple[str, ...]

    @classmethod
    def of(cls, router: str, announced: Announce) -> Position:
        """The place of a router in a tree."""
        tree: SpanningTree = announced.tree
        parent: str | None = None
        children: list[str] = []
        for above, below in tree.links():
            if below == router:
                parent = above
            if above == router:
                children.append(below)
        return cls(announced, parent is not None or tree.source == router, parent, tuple(children))


class BranchKey(NamedTuple):
    """The basis of a branch: when it changes the branch is begun afresh."""

    version: Version
    #: the epoch of the parent's branch that it is joined to; `None` at the source
    parent_epoch: int | None


@dataclass(slots=True, eq=False)
class TreeRouter:
    """A core that routes the publications of one source, on one version of its tree.

    #: the links of the core are the peers
    #: peers are the parent, and the children that have joined; each with its epoch
    #: unconfirmed are the subscriptions of own clients that are not in force on this tree
    #: unconfirmed_here are those of them that clients believe in force: the source may not come
    #: here before they are
    #: missing are those of unconfirmed that the core has yet to receive, with their filters
    #: ready are the peers that have reported that below them nothing is owed; all are children
    #: is_ready: that has been reported to the parent for this branch; at the source, it carries
    #: carries: the source has begun to publish here
    #: advertises, at the source: clients' advertisements are here as well, as all below is ready
    #: unadvertised are those of them not in force here; unconfirmed_ads are the ones of these
    #: that clients believe in force
    """

    place: Position
    basis: BranchKey
    epoch: int
    core: RoutingCore
    peers: dict[str, int] = field(default_factory=dict)
    unconfirmed: set[Named] = field(default_factory=set)
    unconfirmed_here: set[Named] = field(default_factory=set)
    missing: dict[Named, Interest] = field(default_factory=dict)
    ready: set[str] = field(default_factory=set)
    is_ready: bool = False
    carries: bool = False
    advertises: bool = False
    unadvertised: set[Named] = field(default_factory=set)
    unconfirmed_ads: set[Named] = field(default_factory=set)

    @property
    def source(self) -> str:
        """The source whose publications it routes."""
        return self.place.announced.tree.source

    @property
    def version(self) -> Version:
        """The version of the tree."""
        return self.basis.version

    @property
    def is_whole(self) -> bool:
        """True if here and below all have joined, and no subscription is owed."""
        is_owed = self.unconfirmed_here or self.missing
        return not is_owed and self.ready.issuperset(self.place.children)

    def take_missing(self, count: int) -> Iterator[ClientSubscribeMany]:
        """Take up to `count` missing subscriptions, as requests for the core, in their order."""
        some = [*islice(self.missing.items(), count)]
        for client, own in groupby(some, key=lambda one: one[0][0]):
            yield ClientSubscribeMany(client, tuple((id_, wanted) for (_, id_), wanted in own))
        for named, _ in some:
            del self.missing[named]

    def heard(self, request: ClientInput) -> ClientInput | None:
        """The part of a request that the core has to receive; it cannot withdraw what it never had.

        Missing subscriptions that are requested anew go to it at once.
        """
        missing = self.missing
        if not missing:  # as a rule
            return request
        match request:
            case ClientSubscribe(client, id_):
                missing.pop((client, id_), None)
            case ClientSubscribeMany(client, subscriptions):
                for id_, _ in subscriptions:
                    missing.pop((client, id_), None)
            case ClientUnsubscribe(client, id_):
                return request if missing.pop((client, id_), None) is None else None
            case ClientUnsubscribeMany(client, ids):
                left = tuple(id_ for id_ in ids if missing.pop((client, id_), None) is None)
                return ClientUnsubscribeMany(client, left) if left else None
        return request

    def lose(self, neighbor: str) -> None:
        """Remove a peer."""
        del self.peers[neighbor]
        self.ready.discard(neighbor)

    def confirmed(self, named: Named) -> None:
        """Note that a subscription is in force here, or withdrawn."""
        self.unconfirmed.discard(named)
        self.unconfirmed_here.discard(named)

    def advertised(self, named: Named) -> None:
        """Note that an advertisement is in force here, or withdrawn."""
        self.unadvertised.discard(named)
        self.unconfirmed_ads.discard(named)

    def forget(self, client: str) -> None:
        """Forget a client that has left."""
        for named in [named for named in self.missing if named[0] == client]:
            del self.missing[named]
        subscriptions = (self.unconfirmed, self.unconfirmed_here)
        for kept in (*subscriptions, self.unadvertised, self.unconfirmed_ads):
            kept.difference_update([named for named in kept if named[0] == client])

    def validate(self) -> None:
        """Check the relations above; raises `InvariantError`."""
        self.core.validate()
        if self.peers.keys() != self.core.subscriptions.entries.received.keys():
            raise InvariantError(f"the branch of {self.source} has other links than peers")
        if not self.ready <= self.peers.keys() & set(self.place.children):
            raise InvariantError(f"on the tree of {self.source} a stranger is ready")
        if not self.missing.keys() <= self.unconfirmed:
            raise InvariantError(f"on the tree of {self.source} something is in force unheard of")
        if not (
            self.unconfirmed_here <= self.unconfirmed and self.unconfirmed_ads <= self.unadvertised
        ):
            raise InvariantError(f"on the tree of {self.source} something is owed that is in force")
        if self.unadvertised and not self.advertises:
            raise InvariantError(f"on the tree of {self.source} nothing is advertised yet")
