"""Messages: every frame after the greeting, as tagged arrays, one union a direction.

A publication travels as the bytes its publisher made (`Raw`): a hop reads them once, to match,
and sends the same bytes on. Filters travel as canonical text.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, TypeAlias

from msgspec import Meta, Raw, Struct

from sapwood.limits import MESH_ROUTERS_MAX
from sapwood.wire.greetings import Count, Id, Name, Reason
from sapwood.wire.interests import InterestText, PromiseText

Sequence: TypeAlias = Annotated[int, Meta(ge=1)]
"""The number of a publication in its client's session, counted from 1 without gaps."""


class GoodbyeCode(StrEnum):
    """Why a connection ends, for programs; the reason beside it is for people."""

    DONE = "done"
    SHUTDOWN = "shutdown"
    SILENT = "silent"
    SLOW_CONSUMER = "slow consumer"
    REPLACED = "replaced"
    ALREADY_LINKED = "already linked"
    BARRED = "barred"
    PROTOCOL = "protocol"

    @property
    def final(self) -> bool:
        """Whether connecting again is pointless as long as both ends run."""
        return self is GoodbyeCode.BARRED


# Both ways ---------------------------------------------------------------------------------------


class Ping(Struct, array_like=True, frozen=True, tag=1, gc=False):
    """Are you there? Answered by `Pong`."""


class Pong(Struct, array_like=True, frozen=True, tag=2, gc=False):
    """Yes."""


class Goodbye(Struct, array_like=True, frozen=True, tag=3, gc=False):
    """The sender ends the connection; nothing follows this frame."""

    code: GoodbyeCode
    reason: Reason


# Client to broker --------------------------------------------------------------------------------


class SubscribeRequest(Struct, array_like=True, frozen=True, tag=10, gc=False):
    """The client subscribes under an id of its own; answered by a reply or a refusal."""

    id: Id
    filter: InterestText


class UnsubscribeRequest(Struct, array_like=True, frozen=True, tag=11, gc=False):
    """The client withdraws a subscription."""

    id: Id


class PublishRequest(Struct, array_like=True, frozen=True, tag=12, gc=False):
    """The client publishes; answered by a cumulative `AcceptedReply` or by a refusal."""

    sequence: Sequence
    publication: Raw


class AdvertiseRequest(Struct, array_like=True, frozen=True, tag=13, gc=False):
    """The client says what it will publish, under an id of its own."""

    id: Id
    filter: PromiseText


class UnadvertiseRequest(Struct, array_like=True, frozen=True, tag=14, gc=False):
    """The client withdraws an advertisement."""

    id: Id


class ReplayRequest(Struct, array_like=True, frozen=True, tag=15, gc=False):
    """The client reads the broker's journal; answered by one `ReplayReply` or `ReplayRefused`.

    `start` is the offset of the first publication, `end` that after the last one. With a filter
    only those come that it accepts.
    """

    start: Count
    end: Count
    filter: InterestText | None = None


# Broker to client --------------------------------------------------------------------------------


class SubscribedReply(Struct, array_like=True, frozen=True, tag=20, gc=False):
    """The subscription is in force in the whole overlay."""

    id: Id


class UnsubscribedReply(Struct, array_like=True, frozen=True, tag=21, gc=False):
    """The subscription is withdrawn; no delivery for it follows."""

    id: Id


class SubscriptionRefused(Struct, array_like=True, frozen=True, tag=22, gc=False):
    """What was asked about a subscription was not done."""

    id: Id
    reason: Reason


class AdvertisedReply(Struct, array_like=True, frozen=True, tag=26, gc=False):
    """The advertisement is in force: the client may publish what it accepts."""

    id: Id


class UnadvertisedReply(Struct, array_like=True, frozen=True, tag=27, gc=False):
    """The advertisement is withdrawn."""

    id: Id


class AdvertisementRefused(Struct, array_like=True, frozen=True, tag=28, gc=False):
    """What was asked about an advertisement was not done."""

    id: Id
    reason: Reason


class AcceptedReply(Struct, array_like=True, frozen=True, tag=23, gc=False):
    """All publications up to this one are accepted, but for those refused before."""

    through: Sequence


class PublicationRefused(Struct, array_like=True, frozen=True, tag=24, gc=False):
    """A publication was not accepted; sent before the `AcceptedReply` that passes it."""

    sequence: Sequence
    reason: Reason


class Delivery(Struct, array_like=True, frozen=True, tag=25):
    """A publication and the client's subscriptions that match it.

    Where the ids are too many for one frame, all frames but the last have `more` set, and only
    the last carries the publication.
    """

    subscriptions: tuple[str, ...]
    publication: Raw
    more: bool = False


class ReplayReply(Struct, array_like=True, frozen=True, tag=29, gc=False):
    """What a journal holds: a part of what was asked for, from its start.

    `lines` are lines of the journal (`store.segments`), `through` the offset from which to ask for
    the rest. `first` is the offset of the oldest publication that is kept, `end` the next one's.
    """

    through: Count
    first: Count
    end: Count
    lines: tuple[bytes, ...]


class ReplayRefused(Struct, array_like=True, frozen=True, tag=19, gc=False):
    """Nothing is read from the journal."""

    reason: Reason


# Broker to broker --------------------------------------------------------------------------------


class LinkEstablished(Struct, array_like=True, frozen=True, tag=30, gc=False):
    """The broker that connected takes the link into use; the link is up for both from here on."""


class LinkSubscribe(Struct, array_like=True, frozen=True, tag=31, gc=False):
    """`routing.messages.Subscribe`."""

    key: str
    filter: InterestText
    sending: Count


class LinkUnsubscribe(Struct, array_like=True, frozen=True, tag=32, gc=False):
    """`routing.messages.Unsubscribe`."""

    key: str


class LinkConfirm(Struct, array_like=True, frozen=True, tag=33, gc=False):
    """`routing.messages.Confirm`."""

    key: str
    sending: Count


class LinkPublish(Struct, array_like=True, frozen=True, tag=34, gc=False):
    """`routing.messages.Publish`."""

    origin: Name
    hops: Count
    publication: Raw


class LinkCongestion(Struct, array_like=True, frozen=True, tag=35, gc=False):
    """Beyond the sender, publications pile up (or no longer do): hold publishers back."""

    congested: bool


class LinkAdvertise(Struct, array_like=True, frozen=True, tag=36, gc=False):
    """`routing.messages.Advertise`."""

    key: str
    filter: PromiseText
    sending: Count


class LinkUnadvertise(Struct, array_like=True, frozen=True, tag=37, gc=False):
    """`routing.messages.Unadvertise`."""

    key: str


class LinkConfirmAdvertisement(Struct, array_like=True, frozen=True, tag=38, gc=False):
    """`routing.messages.ConfirmAdvertisement`."""

    key: str
    sending: Count


TripleText: TypeAlias = tuple[InterestText, int, int, bool]
"""`Triple` of XRoute: a filter, its instances, what it hides; whether an operation begins with it.
"""


class LinkUpdate(Struct, array_like=True, frozen=True, tag=39, gc=False):
    """`routing.messages.Update`.

    Where the triples are too many for one frame, all frames but the last have `more` set.
    """

    origin: str
    number: Count
    sending: Count
    triples: Annotated[tuple[TripleText, ...], Meta(min_length=1)]
    more: bool = False


class LinkReplace(Struct, array_like=True, frozen=True, tag=45, gc=False):
    """`routing.messages.Replace`."""

    key: str
    filter: InterestText
    sending: Count
    replaced: Annotated[tuple[str, ...], Meta(min_length=1)]


class LinkConfirmUpdate(Struct, array_like=True, frozen=True, tag=40, gc=False):
    """`routing.messages.ConfirmUpdate`."""

    sending: Count


class LinkNeighbors(Struct, array_like=True, frozen=True, tag=41, gc=False):
    """`routing.messages.Neighbors`."""

    router: Name
    incarnation: Count
    number: Count
    neighbors: Annotated[tuple[Name, ...], Meta(max_length=MESH_ROUTERS_MAX)]


class LinkAnnounce(Struct, array_like=True, frozen=True, tag=42, gc=False):
    """`routing.messages.Announce`; `routers` and `parents` are those of the tree."""

    incarnation: Count
    number: Count
    carrying: Count
    routers: Annotated[tuple[Name, ...], Meta(min_length=1, max_length=MESH_ROUTERS_MAX)]
    parents: Annotated[tuple[Count, ...], Meta(max_length=MESH_ROUTERS_MAX)]


class LinkJoin(Struct, array_like=True, frozen=True, tag=43, gc=False):
    """`routing.messages.Join`."""

    source: Name
    incarnation: Count
    number: Count
    life: Count


class LinkLeave(Struct, array_like=True, frozen=True, tag=46, gc=False):
    """`routing.messages.Leave`."""

    source: Name
    life: Count


class LinkReady(Struct, array_like=True, frozen=True, tag=47, gc=False):
    """`routing.messages.Ready`."""

    source: Name
    life: Count


class LinkCarry(Struct, array_like=True, frozen=True, tag=48, gc=False):
    """`routing.messages.Carry`."""

    source: Name
    life: Count


TreeLinkMessage: TypeAlias = (
    LinkPublish
    | LinkSubscribe
    | LinkReplace
    | LinkUnsubscribe
    | LinkConfirm
    | LinkAdvertise
    | LinkUnadvertise
    | LinkConfirmAdvertisement
    | LinkUpdate
    | LinkConfirmUpdate
)
"""What concerns one tree: the only one, or one of many."""


class LinkOnTree(Struct, array_like=True, frozen=True, tag=44, gc=False):
    """`routing.messages.OnTree`."""

    source: Name
    life: Count
    message: TreeLinkMessage


LinkTreeNews: TypeAlias = (
    LinkNeighbors | LinkAnnounce | LinkJoin | LinkLeave | LinkReady | LinkCarry
)
"""`routing.messages.TreeNews`."""

MeshLinkMessage: TypeAlias = LinkOnTree | LinkTreeNews
"""What is said where links form circles."""

ClientMessage: TypeAlias = (
    PublishRequest
    | SubscribeRequest
    | UnsubscribeRequest
    | AdvertiseRequest
    | UnadvertiseRequest
    | ReplayRequest
    | Ping
    | Pong
    | Goodbye
)
"""What a client may send once it is welcome."""

BrokerMessage: TypeAlias = (
    Delivery
    | AcceptedReply
    | PublicationRefused
    | SubscribedReply
    | UnsubscribedReply
    | SubscriptionRefused
    | AdvertisedReply
    | UnadvertisedReply
    | AdvertisementRefused
    | ReplayReply
    | ReplayRefused
    | Ping
    | Pong
    | Goodbye
)
"""What a broker may send to a client it has welcomed."""

LinkMessage: TypeAlias = (
    TreeLinkMessage | MeshLinkMessage | LinkCongestion | LinkEstablished | Ping | Pong | Goodbye
)
"""What two brokers say to each other once the link is agreed."""

Message: TypeAlias = ClientMessage | BrokerMessage | LinkMessage
