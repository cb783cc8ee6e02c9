"""What routers say to each other over a link. Links are FIFO and lose nothing while they are up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from sapwood.model.interest import Interest
from sapwood.model.promise import Promise
from sapwood.model.publication import Publication
from sapwood.overlay.spanning import SpanningTree
from sapwood.routing.propagation.xroute.triples import Operation


@dataclass(frozen=True, slots=True)
class Subscribe:
    """The sender wants publications that `filter` accepts.

    `key` identifies the subscription in the whole overlay and for all time (home router, its
    incarnation, a serial number); it is what `Unsubscribe` and `Confirm` refer to. `sending` counts
    what the sender has subscribed to on any link. A subscription whose own link went and returned
    is sent under the same key again, and only the number tells a late `Confirm` from the new one.
    """

    key: str
    filter: Interest
    sending: int


@dataclass(frozen=True, slots=True)
class Unsubscribe:
    """The sender no longer wants what it subscribed to under `key` on this link."""

    key: str


@dataclass(frozen=True, slots=True)
class Replace:
    """A `Subscribe` in the place of others, which are withdrawn as by an `Unsubscribe` each.

    `replaced` has their keys, at least one. It is carried out at once and travels on as one
    message: so does a merger that comes for its members, or what a cover leaves when it goes.
    """

    key: str
    filter: Interest
    sending: int
    replaced: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Confirm:
    """The subscription that came over this link under `key` is in force from here on outwards.

    `sending` is the number that it came with.
    """

    key: str
    sending: int


@dataclass(frozen=True, slots=True)
class Publish:
    """A publication on its way.

    `origin` is the router that accepted it and `hops` the number of links it has crossed, this one
    included; both serve to notice an overlay that is not a tree.
    """

    origin: str
    hops: int
    publication: Publication


@dataclass(frozen=True, slots=True)
class Advertise:
    """Behind the sender, publications may begin that `filter` accepts.

    `key` and `sending` as in `Subscribe`; advertisements are numbered on their own.
    """

    key: str
    filter: Promise
    sending: int


@dataclass(frozen=True, slots=True)
class Unadvertise:
    """What was advertised under `key` on this link is so no longer."""

    key: str


@dataclass(frozen=True, slots=True)
class ConfirmAdvertisement:
    """The advertisement that came over this link under `key` is known from here on outwards.

    Every subscription from there that it intersects has been sent before. `sending` is the number
    that it came with.
    """

    key: str
    sending: int


@dataclass(frozen=True, slots=True)
class Update:
    """What the sender wants has changed, under protocols that count subscriptions.

    The change is `number` of those that began at the router with the identity `origin`;
    `operations`, at least one, say what it comes to here, and are carried out in order and at once.
    `sending` counts what the sender has sent of these on any link.
    """

    origin: str
    number: int
    sending: int
    operations: tuple[Operation, ...]


@dataclass(frozen=True, slots=True)
class ConfirmUpdate:
    """The update that came over this link under `sending` is counted from here on outwards."""

    sending: int


SubscriptionMessage: TypeAlias = (
    Subscribe | Replace | Unsubscribe | Confirm | Update | ConfirmUpdate
)
"""What is said of subscriptions: one by one, or as counts."""

TreeMessage: TypeAlias = (
    SubscriptionMessage | Publish | Advertise | Unadvertise | ConfirmAdvertisement
)
"""What routers say to each other on a tree."""


class Version(NamedTuple):
    """Orders what one router says of one thing: its incarnation, and a number that grows in it."""

    incarnation: int
    number: int


@dataclass(frozen=True, slots=True)
class Neighbors:
    """The links that a router has, as it says itself; flooded to all routers of a mesh."""

    router: str
    version: Version
    neighbors: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Announce:
    """The publications of the tree's source are to take this tree; flooded to all routers.

    Until it is in force they take the version with the number `carrying`, of the same incarnation;
    none between that and this one will ever carry any.
    """

    tree: SpanningTree
    version: Version
    carrying: int


@dataclass(frozen=True, slots=True)
class Join:
    """The sender routes on the tree of a source that has this version.

    `life` tells apart all trees that the sender has ever begun to route on; `OnTree` repeats it.
    """

    source: str
    version: Version
    life: int


@dataclass(frozen=True, slots=True)
class Leave:
    """The sender has given up the tree of a source that it began in that `life`.

    Nothing comes from there any more, and what did come was all.
    """

    source: str
    life: int


@dataclass(frozen=True, slots=True)
class Ready:
    """In that `life` of its tree of a source the sender, with all below it, lacks nothing.

    All of them have joined, and every subscription that clients there believe in force is in force
    on this tree as well. Told to the parent, once.
    """

    source: str
    life: int


@dataclass(frozen=True, slots=True)
class Carry:
    """The source publishes on this tree, which the sender began in that `life`; told to children.

    Its publications come after it.
    """

    source: str
    life: int


@dataclass(frozen=True, slots=True)
class OnTree:
    """A message of one tree, to the receiver as long as it is in that `life` of the tree."""

    source: str
    life: int
    message: TreeMessage


TreeNews: TypeAlias = Neighbors | Announce | Join | Leave | Ready | Carry
"""What routers say of links and of trees, not on these."""

MeshMessage: TypeAlias = TreeNews | OnTree
"""What routers say to each other where links form circles."""

Message: TypeAlias = TreeMessage | MeshMessage


def carried(message: Message) -> Message:
    """What a message says, on whatever tree it travels."""
    return message.message if isinstance(message, OnTree) else message
