"""The messages of routers over a link. Links are FIFO and lose nothing while they are up.

Each message is one class, and travels as an array that begins with the `tag` of the class, which no
other message of a link has. Bounds of fields are checked in messages that arrive.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Sized
from dataclasses import dataclass, replace
from typing import Annotated, NamedTuple, TypeAlias, TypeVar

from msgspec import Meta, Struct

from sapwood.language.interests import Interests
from sapwood.limits import (
    DIGEST_BYTES_MAX,
    MESH_ROUTERS_MAX,
    SUBSCRIPTIONS_AT_ONCE_MAX,
    UPKEEP_NOTE_BYTES_MAX,
)
from sapwood.limits.bulk import REGISTERED_AT_ONCE_MAX
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

T = TypeVar("T")


class RoutingMessage(Struct, array_like=True, frozen=True, gc=False):
    """The base of all messages of routers: values, encoded as arrays."""


class Subscribe(RoutingMessage, frozen=True, tag=31):
    """The sender subscribes to publications that `filter` accepts.

    `key` identifies the subscription in the whole overlay and for all time (home router, its
    incarnation, a serial number); `Unsubscribe` and `Confirm` refer to it. `sending` is the
    sequence number of the sender's subscriptions, over all its links. A subscription whose own link
    went and returned is sent under the same key again, and only the number distinguishes a late
    `Confirm` from the new one.
    """

    key: str
    filter: Interest
    sending: Count


class Unsubscribe(RoutingMessage, frozen=True, tag=32):
    """The sender withdraws its subscription under `key` on this link."""

    key: str


class Replace(RoutingMessage, frozen=True, tag=45):
    """A `Subscribe` in the place of other subscriptions, each withdrawn as by an `Unsubscribe`.

    `replaced` has their keys, at least one. The message is carried out at once and travels on as
    one message. Examples: a merger that replaces its members, or the subscriptions that a cover
    leaves uncovered when it is withdrawn.
    """

    key: str
    filter: Interest
    sending: Count
    replaced: Annotated[tuple[str, ...], Meta(min_length=1)]


class Confirm(RoutingMessage, frozen=True, tag=33):
    """The subscription received over this link under `key` is in force from here on outwards.

    `sending` is the number that it came with.
    """

    key: str
    sending: Count


_Keys: TypeAlias = Annotated[tuple[str, ...], Meta(min_length=1, max_length=REGISTERED_AT_ONCE_MAX)]


class SubscribeMany(RoutingMessage, frozen=True, tag=52):
    """Several `Subscribe`s in one message: `keys[i]` with `filters[i]`, numbered from `sending` on.

    They are registered in this order; where one breaks a rule, those before it count.
    """

    keys: _Keys
    filters: Interests
    sending: Count

    def __post_init__(self) -> None:
        _check_paired(self.keys, self.filters)


class UnsubscribeMany(RoutingMessage, frozen=True, tag=53):
    """Several `Unsubscribe`s in one message, in this order."""

    keys: _Keys


class ConfirmMany(RoutingMessage, frozen=True, tag=54):
    """Several `Confirm`s in one message: `keys[i]` with `sendings[i]`."""

    keys: _Keys
    sendings: Annotated[tuple[Count, ...], Meta(min_length=1, max_length=REGISTERED_AT_ONCE_MAX)]

    def __post_init__(self) -> None:
        _check_paired(self.keys, self.sendings)


class Publish(RoutingMessage, frozen=True, tag=34):
    """A publication on its way.

    `origin` is the router that accepted it and `hops` the number of links it has crossed, this one
    included; both serve to detect an overlay that is not a tree. `digest` is written by a
    forwarding strategy for the next routers and empty where it has nothing to add: it is opaque to
    other strategies, and a router that does not know it passes it on as it came.
    """

    origin: Name
    hops: Count
    publication: Publication
    digest: Annotated[bytes, Meta(max_length=DIGEST_BYTES_MAX)] = b""


@dataclass(frozen=True, slots=True)
class PublishMany:
    """Several `Publish` that follow each other on a link, with one origin and one number of hops.

    It is no message by itself: its messages travel one by one. `digests` is empty where no
    publication has one. On one of many trees, `tree` is its source and its epoch, as in `OnTree`.
    """

    origin: str
    hops: int
    batch: Sequence[Publication]
    digests: Sequence[bytes] = ()
    tree: tuple[str, int] | None = None

    def messages(self) -> Iterator[Publish | OnTree]:
        """The single messages of the batch, in order."""
        for place, publication in enumerate(self.batch):
            digest = self.digests[place] if self.digests else b""
            message = Publish(self.origin, self.hops, publication, digest)
            yield message if self.tree is None else OnTree(*self.tree, message)

    def at(self, places: Sequence[int]) -> PublishMany:
        """The publications at some places, in that order, as a batch."""
        digests = [self.digests[place] for place in places] if self.digests else ()
        return replace(self, batch=take(self.batch, places), digests=digests)

    def part(self, first: int, last: int | None = None) -> PublishMany:
        """The publications from one place up to another, or to the end, as a batch."""
        return replace(self, batch=self.batch[first:last], digests=self.digests[first:last])


class Advertise(RoutingMessage, frozen=True, tag=36):
    """Behind the sender, publications may begin that `filter` accepts.

    `key` and `sending` as in `Subscribe`; advertisements are numbered on their own.
    """

    key: str
    filter: AdvertisedContent
    sending: Count


class Unadvertise(RoutingMessage, frozen=True, tag=37):
    """The sender withdraws its advertisement under `key` on this link."""

    key: str


class ConfirmAdvertisement(RoutingMessage, frozen=True, tag=38):
    """The advertisement received over this link under `key` is known from here on outwards.

    Every subscription from there that intersects it has been sent before. `sending` is the sequence
    number that it came with.
    """

    key: str
    sending: Count


class Update(RoutingMessage, frozen=True, tag=39):
    """The sender's subscriptions have changed, under protocols that count subscriptions.

    `number` identifies the change among those that began at the router with the identity `origin`;
    `operations`, at least one, are its effects on this link, carried out in order and at once.
    `sending` is the sequence number of the sender's updates, over all its links.
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
"""The messages about subscriptions: one by one, many at once, or as counts."""

TreeMessage: TypeAlias = (
    SubscriptionMessage | Publish | Advertise | Unadvertise | ConfirmAdvertisement
)
"""The messages of routers on a tree."""


class Version(NamedTuple):
    """Orders a router's statements of one subject: its incarnation, and a growing number."""

    incarnation: Count
    number: Count


class Neighbors(RoutingMessage, frozen=True, tag=41):
    """The links that a router reports of itself; flooded to all routers of a mesh."""

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

    No message of that tree follows, and all that were sent before have come.
    """

    source: Name
    epoch: Count


class Ready(RoutingMessage, frozen=True, tag=47):
    """In that `epoch` of its tree of a source the sender, with all below it, lacks nothing.

    All of them have joined, and every subscription that clients there believe in force is in force
    on this tree as well. Sent to the parent, once.
    """

    source: Name
    epoch: Count


class Carry(RoutingMessage, frozen=True, tag=48):
    """The source publishes on this tree, which the sender began in that `epoch`; sent to children.

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
"""The messages about links and trees, which are not sent on a tree."""

MeshMessage: TypeAlias = TreeNews | OnTree
"""The messages of routers whose links may form circles."""


class OnPlane(RoutingMessage, frozen=True, tag=57):
    """A message of one of several meshes, each of which every publication takes, with its number.

    For a publication, `number` is its place among those that its source has accepted, from 1 on.
    Beside the first `Carry` of a branch it is the number of the first publication there, 0 where
    the receiver joins later than that; beside a further `Carry`, the number of the last publication
    that comes before it.
    """

    plane: Annotated[Count, Meta(lt=REDUNDANT_PATHS_MAX)]
    number: Count
    message: MeshMessage


_Addresses: TypeAlias = Annotated[
    tuple[Annotated[str, Meta(max_length=ADDRESS_CHARS_MAX)], ...], Meta(max_length=CONTACTS_MAX)
]


class Contacts(RoutingMessage, frozen=True, tag=90):
    """Routers that the sender has links to, and that may matter to the receiver on the circle.

    A `periodic` message is repeated for ever. `addresses` are where the routers listen, as in
    `LinkUp`; empty where no shell needs them.
    """

    routers: Annotated[tuple[Name, ...], Meta(max_length=CONTACTS_MAX)]
    periodic: bool = False
    addresses: _Addresses = ()


_Range: TypeAlias = Annotated[str, Meta(max_length=IDENTIFIER_DIGITS_MAX, pattern="^[0-9a-f]*$")]

_Path: TypeAlias = Annotated[tuple[Name, ...], Meta(min_length=1, max_length=SEEK_HOPS_MAX)]


class Seek(RoutingMessage, frozen=True, tag=91):
    """The first router of the path asks for a router in a range; the others passed it on."""

    range: _Range
    path: _Path

    @property
    def periodic(self) -> bool:
        """True: it is repeated for ever, as long as a slot is empty."""
        return True


class Found(RoutingMessage, frozen=True, tag=92):
    """The routers found by a `Seek`, on the way back; none, where the range is empty."""

    range: _Range
    path: _Path
    routers: Annotated[tuple[Name, ...], Meta(max_length=CONTACTS_MAX)]
    addresses: _Addresses = ()

    @property
    def periodic(self) -> bool:
        """True, as for `Seek`."""
        return True


class Task(NamedTuple):
    """One broadcast by delegation: the router where it began, that router's life, and a number."""

    origin: Name
    life: Count
    number: Count


class RangeSubscribe(RoutingMessage, frozen=True, tag=93):
    """SUBSCRIPTION: a router in the range `subscriber`, as the receiver sees it, subscribes.

    It is to reach all routers in `range`, which the receiver is in; if it `is_redirected`, a router
    nearer to the range passes it on. Ranges of fewer than `reach` digits around the subscriber are
    left out, since another subscriber that their routers know stands for it.
    """

    task: Task
    range: _Range
    is_redirected: bool
    subscriber: _Range
    key: str
    filter: Interest
    reach: Count


class RangeCancel(RoutingMessage, frozen=True, tag=94):
    """CANCEL: a router in the range `subscriber` withdraws the subscription under a key.

    Subscriptions that relied on it have been sent further before `RangeReached` answers this.
    """

    task: Task
    range: _Range
    is_redirected: bool
    subscriber: _Range
    key: str


class RangeReached(RoutingMessage, frozen=True, tag=95):
    """All routers in a range delegated to the sender have carried out the task."""

    task: Task
    range: _Range


class RangePull(RoutingMessage, frozen=True, tag=96):
    """A comparison: `digest` is that of the sender's entries of a range of the receiver's.

    If the receiver's entries have another digest, it answers with them.
    """

    range: _Range
    digest: Annotated[bytes, Meta(max_length=16)]
    periodic: bool


class Known(NamedTuple):
    """The key of a subscription of a range, and its reach."""

    key: str
    reach: Count


class RangeEntries(RoutingMessage, frozen=True, tag=97):
    """The subscriptions of a range as a router in it has them; in parts, up to the last."""

    range: _Range
    entries: Annotated[tuple[Known, ...], Meta(max_length=SUBSCRIPTIONS_AT_ONCE_MAX)]
    filters: Interests
    is_last: bool

    def __post_init__(self) -> None:
        _check_paired(self.entries, self.filters)


CircleMessage: TypeAlias = (
    Contacts | Seek | Found | RangeSubscribe | RangeCancel | RangeReached | RangePull | RangeEntries
)
"""The messages of routers that have places on a circle."""


RouterMessage: TypeAlias = TreeMessage | MeshMessage | OnPlane | CircleMessage
"""The messages of routers, upkeep aside."""


class UpkeepNote(RoutingMessage, frozen=True, tag=50):
    """A note of an upkeep strategy to that of a neighbor, opaque to every other part.

    A `periodic` note is repeated for ever, as a heartbeat or the renewal of a lease is: a caller
    that waits until no message is under way does not wait for it.
    """

    note: Annotated[bytes, Meta(max_length=UPKEEP_NOTE_BYTES_MAX)]
    periodic: bool = False


class Stamped(RoutingMessage, frozen=True, tag=51):
    """A message with a stamp that an upkeep strategy adds for that of a neighbor.

    `stamp` may be a number, or a time; it is opaque to every other part. The message may be a note
    of another strategy.
    """

    stamp: Annotated[bytes, Meta(max_length=UPKEEP_NOTE_BYTES_MAX)]
    message: RouterMessage | UpkeepNote


UpkeepMessage: TypeAlias = UpkeepNote | Stamped
"""The messages of upkeep strategies; taken off before anything is routed."""

Message: TypeAlias = RouterMessage | UpkeepMessage


def _check_paired(keys: Sized, beside: Sized) -> None:
    """Refuse columns of different lengths, where they arrive as well (`ValueError`, to msgspec)."""
    if len(keys) != len(beside):
        raise ValueError(f"{len(keys)} keys came with {len(beside)} of what belongs to them")


def portions(items: Sequence[T], most: int) -> Iterator[tuple[T, ...]]:
    """The items in order, split into as many parts as messages are needed."""
    for start in range(0, len(items), most):
        yield tuple(items[start : start + most])


def carried(message: Message) -> Message:
    """The message inside all wrappers: without its stamp, its plane and its tree."""
    if isinstance(message, Stamped):
        message = message.message
    if isinstance(message, OnPlane):
        message = message.message
    return message.message if isinstance(message, OnTree) else message


def counted(message: Message) -> tuple[type[Message], int]:
    """The kind as which a message counts, and the number of messages that it holds.

    A message for several counts as those it holds, so that figures can be compared with those of
    the works, whose routers send everything one by one.
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
