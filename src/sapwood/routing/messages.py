"""What routers say to each other over a link. Links are FIFO and lose nothing while they are up.

Each message is one class, and what travels is the message itself: an array that begins with the
`tag` of the class, which no other message of a link has. Bounds of fields hold for what arrives.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Sized
from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple, TypeAlias

from msgspec import Meta, Struct

from sapwood.language.interests import Interests
from sapwood.limits import (
    DIGEST_BYTES_MAX,
    MESH_ROUTERS_MAX,
    SUBSCRIPTIONS_AT_ONCE_MAX,
    UPKEEP_NOTE_BYTES_MAX,
)
from sapwood.limits.failures import REDUNDANT_PATHS_MAX
from sapwood.limits.structured import (
    ADDRESS_CHARS_MAX,
    CONTACTS_MAX,
    IDENTIFIER_DIGITS_MAX,
    SEEK_HOPS_MAX,
)
from sapwood.matching.publication_batch import take
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.fields import Count, Name
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.overlay.spanning import SpanningTree
from sapwood.routing.propagation.xroute.triples import Operation


class RoutingMessage(Struct, array_like=True, frozen=True, gc=False):
    """What all messages of routers have in common: they are values, and arrays when they travel."""


class Subscribe(RoutingMessage, frozen=True, tag=31):
    """The sender wants publications that `filter` accepts.

    `key` identifies the subscription in the whole overlay and for all time (home router, its
    incarnation, a serial number); it is what `Unsubscribe` and `Confirm` refer to. `sending` counts
    what the sender has subscribed to on any link. A subscription whose own link went and returned
    is sent under the same key again, and only the number tells a late `Confirm` from the new one.
    """

    key: str
    filter: Interest
    sending: Count


class Unsubscribe(RoutingMessage, frozen=True, tag=32):
    """The sender no longer wants what it subscribed to under `key` on this link."""

    key: str


class Replace(RoutingMessage, frozen=True, tag=45):
    """A `Subscribe` in the place of others, which are withdrawn as by an `Unsubscribe` each.

    `replaced` has their keys, at least one. It is carried out at once and travels on as one
    message: so does a merger that comes for its members, or what a cover leaves when it goes.
    """

    key: str
    filter: Interest
    sending: Count
    replaced: Annotated[tuple[str, ...], Meta(min_length=1)]


class Confirm(RoutingMessage, frozen=True, tag=33):
    """The subscription that came over this link under `key` is in force from here on outwards.

    `sending` is the number that it came with.
    """

    key: str
    sending: Count


_Keys: TypeAlias = Annotated[
    tuple[str, ...], Meta(min_length=1, max_length=SUBSCRIPTIONS_AT_ONCE_MAX)
]


class SubscribeMany(RoutingMessage, frozen=True, tag=52):
    """Several `Subscribe`s at once: `keys[i]` with `filters[i]`, numbered from `sending` on.

    They are taken in in this order; where one breaks a rule, those before it count.
    """

    keys: _Keys
    filters: Interests
    sending: Count

    def __post_init__(self) -> None:
        _check_paired(self.keys, self.filters)


class UnsubscribeMany(RoutingMessage, frozen=True, tag=53):
    """Several `Unsubscribe`s at once, in this order."""

    keys: _Keys


class ConfirmMany(RoutingMessage, frozen=True, tag=54):
    """Several `Confirm`s at once: `keys[i]` with `sendings[i]`."""

    keys: _Keys
    sendings: Annotated[tuple[Count, ...], Meta(min_length=1, max_length=SUBSCRIPTIONS_AT_ONCE_MAX)]

    def __post_init__(self) -> None:
        _check_paired(self.keys, self.sendings)


class Publish(RoutingMessage, frozen=True, tag=34):
    """A publication on its way.

    `origin` is the router that accepted it and `hops` the number of links it has crossed, this one
    included; both serve to notice an overlay that is not a tree. `digest` is what a forwarding
    strategy has written for the next routers, empty where it has nothing to say: it is opaque to
    everybody else, and a router that does not know it passes it on as it came.
    """

    origin: Name
    hops: Count
    publication: Publication
    digest: Annotated[bytes, Meta(max_length=DIGEST_BYTES_MAX)] = b""


@dataclass(frozen=True, slots=True)
class PublishMany:
    """Several `Publish` that follow each other on a link, with one origin and one number of hops.

    No message by itself: what travels are the messages that it is, one by one. `digests` is empty
    where no publication has one. On one of many trees, `tree` is its source and its epoch, as in
    `OnTree`.
    """

    origin: str
    hops: int
    batch: Sequence[Publication]
    digests: Sequence[bytes] = ()
    tree: tuple[str, int] | None = None

    def messages(self) -> Iterator[Publish | OnTree]:
        """The messages that it is, in order."""
        for place, publication in enumerate(self.batch):
            digest = self.digests[place] if self.digests else b""
            message = Publish(self.origin, self.hops, publication, digest)
            yield message if self.tree is None else OnTree(*self.tree, message)

    def at(self, places: Sequence[int]) -> PublishMany:
        """Those at some places, in that order."""
        digests = [self.digests[place] for place in places] if self.digests else ()
        return replace(self, batch=take(self.batch, places), digests=digests)

    def part(self, first: int, last: int | None = None) -> PublishMany:
        """Those from one place up to another, or to the end."""
        return replace(self, batch=self.batch[first:last], digests=self.digests[first:last])


class Advertise(RoutingMessage, frozen=True, tag=36):
    """Behind the sender, publications may begin that `filter` accepts.

    `key` and `sending` as in `Subscribe`; advertisements are numbered on their own.
    """

    key: str
    filter: AdvertisedContent
    sending: Count


class Unadvertise(RoutingMessage, frozen=True, tag=37):
    """What was advertised under `key` on this link is so no longer."""

    key: str


class ConfirmAdvertisement(RoutingMessage, frozen=True, tag=38):
    """The advertisement that came over this link under `key` is known from here on outwards.

    Every subscription from there that it intersects has been sent before. `sending` is the number
    that it came with.
    """

    key: str
    sending: Count


class Update(RoutingMessage, frozen=True, tag=39):
    """What the sender wants has changed, under protocols that count subscriptions.

    The change is `number` of those that began at the router with the identity `origin`;
    `operations`, at least one, say what it comes to here, and are carried out in order and at once.
    `sending` counts what the sender has sent of these on any link.
    """

    origin: str
    number: Count
    sending: Count
    operations: Annotated[tuple[Operation, ...], Meta(min_length=1)]


class ConfirmUpdate(RoutingMessage, frozen=True, tag=40):
    """The update that came over this link under `sending` is counted from here on outwards."""

    sending: Count


SubscriptionMessage: TypeAlias = (
    Subscribe
    | Replace
    | Unsubscribe
    | Confirm
    | SubscribeMany
    | UnsubscribeMany
    | ConfirmMany
    | Update
    | ConfirmUpdate
)
"""What is said of subscriptions: one by one, many at once, or as counts."""

TreeMessage: TypeAlias = (
    SubscriptionMessage | Publish | Advertise | Unadvertise | ConfirmAdvertisement
)
"""What routers say to each other on a tree."""


class Version(NamedTuple):
    """Orders what one router says of one thing: its incarnation, and a number that grows in it."""

    incarnation: Count
    number: Count


class Neighbors(RoutingMessage, frozen=True, tag=41):
    """The links that a router has, as it says itself; flooded to all routers of a mesh."""

    router: Name
    version: Version
    neighbors: Annotated[tuple[Name, ...], Meta(max_length=MESH_ROUTERS_MAX)]


class Announce(RoutingMessage, frozen=True, tag=42):
    """The publications of the tree's source are to take this tree; flooded to all routers.

    Until it is in force they take the version with the number `carrying`, of the same incarnation;
    none between that and this one will ever carry any.
    """

    tree: SpanningTree
    version: Version
    carrying: Count


class Join(RoutingMessage, frozen=True, tag=43):
    """The sender routes on the tree of a source that has this version.

    `epoch` tells apart all trees that the sender has ever begun to route on; `OnTree` repeats it.
    """

    source: Name
    version: Version
    epoch: Count


class Leave(RoutingMessage, frozen=True, tag=46):
    """The sender has given up the tree of a source that it began in that `epoch`.

    Nothing comes from there any more, and what did come was all.
    """

    source: Name
    epoch: Count


class Ready(RoutingMessage, frozen=True, tag=47):
    """In that `epoch` of its tree of a source the sender, with all below it, lacks nothing.

    All of them have joined, and every subscription that clients there believe in force is in force
    on this tree as well. Told to the parent, once.
    """

    source: Name
    epoch: Count


class Carry(RoutingMessage, frozen=True, tag=48):
    """The source publishes on this tree, which the sender began in that `epoch`; told to children.

    Its publications come after it.
    """

    source: Name
    epoch: Count


class OnTree(RoutingMessage, frozen=True, tag=44):
    """A message of one tree, to the receiver as long as it is in that `epoch` of the tree."""

    source: Name
    epoch: Count
    message: TreeMessage


TreeNews: TypeAlias = Neighbors | Announce | Join | Leave | Ready | Carry
"""What routers say of links and of trees, not on these."""

MeshMessage: TypeAlias = TreeNews | OnTree
"""What routers say to each other where links form circles."""


class OnPlane(RoutingMessage, frozen=True, tag=57):
    """A message of one of several meshes that every publication takes, by the mesh's number.

    `number` counts, for a publication, those that its source has accepted, from 1 on. Beside the
    first `Carry` of a branch it is that of the first publication there, 0 where the receiver joins
    later than that; beside a further one, that of the last publication that comes before it.
    """

    plane: Annotated[Count, Meta(lt=REDUNDANT_PATHS_MAX)]
    number: Count
    message: MeshMessage


_Addresses: TypeAlias = Annotated[
    tuple[Annotated[str, Meta(max_length=ADDRESS_CHARS_MAX)], ...], Meta(max_length=CONTACTS_MAX)
]


class Contacts(RoutingMessage, frozen=True, tag=90):
    """Routers that the sender has links to, and that may matter to the receiver on the circle.

    A `periodic` one is said for ever. `addresses` are where they listen, as `LinkUp` has it; empty
    where no shell needs them.
    """

    routers: Annotated[tuple[Name, ...], Meta(max_length=CONTACTS_MAX)]
    periodic: bool = False
    addresses: _Addresses = ()


_Range: TypeAlias = Annotated[str, Meta(max_length=IDENTIFIER_DIGITS_MAX, pattern="^[0-9a-f]*$")]

_Path: TypeAlias = Annotated[tuple[Name, ...], Meta(min_length=1, max_length=SEEK_HOPS_MAX)]


class Seek(RoutingMessage, frozen=True, tag=91):
    """The first router of the path wants to know somebody in a range; the others passed it on."""

    range: _Range
    path: _Path

    @property
    def periodic(self) -> bool:
        """It is said for ever, as long as a slot is empty."""
        return True


class Found(RoutingMessage, frozen=True, tag=92):
    """Who was found by a `Seek`, on the way back; nobody, where the range is empty."""

    range: _Range
    path: _Path
    routers: Annotated[tuple[Name, ...], Meta(max_length=CONTACTS_MAX)]
    addresses: _Addresses = ()

    @property
    def periodic(self) -> bool:
        """As the question."""
        return True


class Task(NamedTuple):
    """One broadcast by delegation: where it began, in which life of that router, and a number."""

    origin: Name
    life: Count
    number: Count


class RangeSubscribe(RoutingMessage, frozen=True, tag=93):
    """SUBSCRIPTION: somebody in the range `subscriber`, as the receiver sees it, wants something.

    To be told to all in `range`, which the receiver is in; if it `is_redirected`, whoever is nearer
    hands it on. Ranges of fewer than `reach` digits around the subscriber are not told, as somebody
    whom they know stands for it.
    """

    task: Task
    range: _Range
    is_redirected: bool
    subscriber: _Range
    key: str
    filter: Interest
    reach: Count


class RangeCancel(RoutingMessage, frozen=True, tag=94):
    """CANCEL: what somebody in the range `subscriber` wanted under a key is wanted no more.

    Who relied on it has told others before `RangeReached` answers this.
    """

    task: Task
    range: _Range
    is_redirected: bool
    subscriber: _Range
    key: str


class RangeReached(RoutingMessage, frozen=True, tag=95):
    """All in a range that the sender was to look after have what the task was about."""

    task: Task
    range: _Range


class RangePull(RoutingMessage, frozen=True, tag=96):
    """The sender knows what `digest` is made of, of a range that the receiver is in.

    If that is not what there should be, the receiver says so.
    """

    range: _Range
    digest: Annotated[bytes, Meta(max_length=16)]
    periodic: bool


class Known(NamedTuple):
    """The key of something that is wanted in a range, and its reach."""

    key: str
    reach: Count


class RangeEntries(RoutingMessage, frozen=True, tag=97):
    """What somebody in a range knows to be wanted there; in parts, up to the last."""

    range: _Range
    entries: Annotated[tuple[Known, ...], Meta(max_length=SUBSCRIPTIONS_AT_ONCE_MAX)]
    filters: Interests
    is_last: bool

    def __post_init__(self) -> None:
        _check_paired(self.entries, self.filters)


CircleMessage: TypeAlias = (
    Contacts | Seek | Found | RangeSubscribe | RangeCancel | RangeReached | RangePull | RangeEntries
)
"""What routers say to each other that have places on a circle."""


RouterMessage: TypeAlias = TreeMessage | MeshMessage | OnPlane | CircleMessage
"""What routers say to each other, upkeep aside."""


class UpkeepNote(RoutingMessage, frozen=True, tag=50):
    """What an upkeep strategy says to that of a neighbor, opaque to everybody else.

    A `periodic` one is said for ever, as a heartbeat is or the renewal of a lease: whoever waits
    until nothing is under way does not wait for it.
    """

    note: Annotated[bytes, Meta(max_length=UPKEEP_NOTE_BYTES_MAX)]
    periodic: bool = False


class Stamped(RoutingMessage, frozen=True, tag=51):
    """A message with what an upkeep strategy says beside it to that of a neighbor.

    `stamp` may be a number, or a time; it is opaque to everybody else. The message may be a note of
    another strategy.
    """

    stamp: Annotated[bytes, Meta(max_length=UPKEEP_NOTE_BYTES_MAX)]
    message: RouterMessage | UpkeepNote


UpkeepMessage: TypeAlias = UpkeepNote | Stamped
"""What upkeep strategies say to each other; taken off before anything is routed."""

Message: TypeAlias = RouterMessage | UpkeepMessage


def _check_paired(keys: Sized, beside: Sized) -> None:
    """Refuse columns of different lengths, where they arrive as well (`ValueError`, to msgspec)."""
    if len(keys) != len(beside):
        raise ValueError(f"{len(keys)} keys came with {len(beside)} of what belongs to them")


def carried(message: Message) -> Message:
    """What a message says, on whatever tree it travels and whatever is stamped on it."""
    if isinstance(message, Stamped):
        message = message.message
    if isinstance(message, OnPlane):
        message = message.message
    return message.message if isinstance(message, OnTree) else message


def counted(message: Message) -> tuple[type[Message], int]:
    """As which kind a message counts, and as how many: several at once are what they hold.

    So figures can be compared with those of the works, whose routers say everything one by one.
    """
    match carried(message):
        case SubscribeMany(keys):
            return Subscribe, len(keys)
        case UnsubscribeMany(keys):
            return Unsubscribe, len(keys)
        case ConfirmMany(keys):
            return Confirm, len(keys)
        case single:
            return type(single), 1
