"""Messages: every frame after the greeting, as tagged arrays, one union a direction.

This module has the messages between clients and brokers, and those of brokers about a link;
`sapwood.wire.durable` has those about durable subscriptions. Messages of routers travel as they are
defined in `sapwood.routing.messages`.

A publication travels as the bytes its publisher made: a hop parses them once, to match, and sends
the same bytes on. Filters travel as canonical text (`sapwood.wire.hooks`).
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

from sapwood.limits import SUBSCRIBE_MANY_MAX
from sapwood.model.fields import Count, Id, Name
from sapwood.routing import messages as routing
from sapwood.timing.link_bounds import Reading, Stamp
from sapwood.wire.durable import (
    AcknowledgedReply,
    AcknowledgeRequest,
    DurableDeliveries,
    DurableNotice,
    DurableReply,
    DurableRequest,
    DurablesReply,
    DurablesRequest,
)
from sapwood.wire.explaining import ExplainReply, ExplainRequest
from sapwood.wire.greetings import Reason
from sapwood.wire.interests import AdvertisedText, InterestText
from sapwood.wire.status import StatusReply, StatusRequest

Sequence: TypeAlias = Annotated[int, Meta(ge=1)]
"""The number of a publication in its client's session, counted from 1 without gaps."""


_Ids: TypeAlias = Annotated[tuple[Id, ...], Meta(min_length=1, max_length=SUBSCRIBE_MANY_MAX)]


class GoodbyeCode(StrEnum):
    """The cause of a connection's end, for programs; the reason beside it is for people."""

    DONE = "done"
    SHUTDOWN = "shutdown"
    SILENT = "silent"
    SLOW_CONSUMER = "slow consumer"
    REPLACED = "replaced"
    ALREADY_LINKED = "already linked"
    BARRED = "barred"
    PROTOCOL = "protocol"
    CIRCLE = "circle"
    DENIED = "denied"

    @property
    def final(self) -> bool:
        """True if connecting again is pointless as long as both ends run."""
        return self is GoodbyeCode.BARRED


class Cause(StrEnum):
    """The cause of a refusal, for programs; the reason beside it is for people."""

    REQUEST = "request"
    """The request is impossible, for any client."""
    GRANT = "grant"
    """The identity has no grant for it."""
    QUOTA = "quota"
    """The identity has used up its quota, for now."""


# Both ways ---------------------------------------------------------------------------------------


class Ping(Struct, array_like=True, frozen=True, tag=1, gc=False):
    """A request for a sign of life; answered by `Pong`."""


class Pong(Struct, array_like=True, frozen=True, tag=2, gc=False):
    """The answer to a `Ping`."""


class Goodbye(Struct, array_like=True, frozen=True, tag=3, gc=False):
    """The sender ends the connection; nothing follows this frame."""

    code: GoodbyeCode
    reason: Reason


class Born(Struct, array_like=True, frozen=True, tag=73, gc=False):
    """The messages after this one in the write were not made before the sender's clock showed this.

    `None` where nothing is known. It replaces the age in the write's `Stamp`.
    """

    born: Reading | None


# Client to broker --------------------------------------------------------------------------------


class SubscribeRequest(Struct, array_like=True, frozen=True, tag=10, gc=False):
    """The client subscribes under an id of its own; answered by a reply or a refusal."""

    id: Id
    filter: InterestText


class SubscribeManyRequest(Struct, array_like=True, frozen=True, tag=16, gc=False):
    """The client subscribes to several filters: `ids[i]` to `filters[i]`, in this order.

    Each is answered as by a request of its own; subscriptions that come into force together may be
    confirmed together. The filters are parsed one by one: one that is no filter is refused, and the
    others are not.
    """

    ids: _Ids
    filters: Annotated[tuple[InterestText, ...], Meta(min_length=1, max_length=SUBSCRIBE_MANY_MAX)]

    def __post_init__(self) -> None:
        if len(self.ids) != len(self.filters):
            raise ValueError(f"{len(self.ids)} ids came with {len(self.filters)} filters")


class UnsubscribeManyRequest(Struct, array_like=True, frozen=True, tag=17, gc=False):
    """The client withdraws several subscriptions, in this order; answered as one by one."""

    ids: _Ids


class UnsubscribeRequest(Struct, array_like=True, frozen=True, tag=11, gc=False):
    """The client withdraws a subscription."""

    id: Id


class AllStated(Struct, array_like=True, frozen=True, tag=18, gc=False):
    """The client has requested all its entries again; earlier ones not among them end.

    It is sent once on a connection, where the broker remembers the client's entries.
    """


class PublishRequest(Struct, array_like=True, frozen=True, tag=12, gc=False):
    """The client publishes; answered by a cumulative `AcceptedReply` or by a refusal."""

    sequence: Sequence
    publication: bytes


class AdvertiseRequest(Struct, array_like=True, frozen=True, tag=13, gc=False):
    """A client advertises the publications it will send, under an id of its own."""

    id: Id
    filter: AdvertisedText


class UnadvertiseRequest(Struct, array_like=True, frozen=True, tag=14, gc=False):
    """The client withdraws an advertisement."""

    id: Id


class ReplayRequest(Struct, array_like=True, frozen=True, tag=15, gc=False):
    """The client reads the broker's journal; answered by one `ReplayReply` or `ReplayRefused`.

    `start` is the offset of the first publication, `end` that after the last one. With a filter the
    reply has only those that it accepts.
    """

    start: Count
    end: Count
    filter: InterestText | None = None


class CheckRequest(Struct, array_like=True, frozen=True, tag=81, gc=False):
    """A request to compare the broker's tables with its neighbors'; answered by one `CheckReply`.

    With `compare`, they are compared anew first; the result is in a later answer.
    """

    compare: bool = False


class FiltersRequest(Struct, array_like=True, frozen=True, tag=83, gc=False):
    """A request for the record filters a broker knows, from one on; one `FiltersReply`."""

    first: Count = 0


# Broker to client --------------------------------------------------------------------------------


class SubscribedReply(Struct, array_like=True, frozen=True, tag=20, gc=False):
    """The subscription is in force in the whole overlay."""

    id: Id


class SubscribedManyReply(Struct, array_like=True, frozen=True, tag=55, gc=False):
    """The subscriptions are in force in the whole overlay."""

    ids: tuple[Id, ...]


class UnsubscribedManyReply(Struct, array_like=True, frozen=True, tag=56, gc=False):
    """The subscriptions are withdrawn; no delivery for them follows."""

    ids: tuple[Id, ...]


class SuppliedNotice(Struct, array_like=True, frozen=True, tag=86, gc=False):
    """An advertisement intersects these subscriptions again."""

    ids: tuple[Id, ...]


class UnsuppliedNotice(Struct, array_like=True, frozen=True, tag=87, gc=False):
    """No advertisement intersects these subscriptions, which are in force nevertheless."""

    ids: tuple[Id, ...]


AboutIds: TypeAlias = (
    SubscribedManyReply | UnsubscribedManyReply | SuppliedNotice | UnsuppliedNotice
)
"""The messages about several subscriptions at once."""


class NeverNotice(Struct, array_like=True, frozen=True, tag=88, gc=False):
    """No publication can match the subscription; it is accepted nevertheless, as the reply says."""

    id: Id
    reason: Reason


class UnsubscribedReply(Struct, array_like=True, frozen=True, tag=21, gc=False):
    """The subscription is withdrawn; no delivery for it follows."""

    id: Id


class SubscriptionRefused(Struct, array_like=True, frozen=True, tag=22, gc=False):
    """A request about a subscription is refused."""

    id: Id
    reason: Reason
    cause: Cause = Cause.REQUEST


class AdvertisedReply(Struct, array_like=True, frozen=True, tag=26, gc=False):
    """The advertisement is in force: the client may publish what it accepts."""

    id: Id


class UnadvertisedReply(Struct, array_like=True, frozen=True, tag=27, gc=False):
    """The advertisement is withdrawn."""

    id: Id


class AdvertisementRefused(Struct, array_like=True, frozen=True, tag=28, gc=False):
    """A request about an advertisement is refused."""

    id: Id
    reason: Reason


class AcceptedReply(Struct, array_like=True, frozen=True, tag=23, gc=False):
    """All publications up to this one are accepted, except the refused ones."""

    through: Sequence


class PublicationRefused(Struct, array_like=True, frozen=True, tag=24, gc=False):
    """A publication was refused; sent before the `AcceptedReply` that passes it.

    Where a rate was exceeded, there may be room again in `after_s` seconds.
    """

    sequence: Sequence
    reason: Reason
    cause: Cause = Cause.REQUEST
    after_s: Annotated[float, Meta(ge=0)] = 0.0


class Delivery(Struct, array_like=True, frozen=True, tag=25):
    """A publication and the client's subscriptions that match it.

    Where the ids are too many for one frame, all frames but the last have `more` set, and only
    the last carries the publication.
    """

    subscriptions: tuple[str, ...]
    publication: bytes
    more: bool = False


class ReplayReply(Struct, array_like=True, frozen=True, tag=29, gc=False):
    """Lines of a journal: a part of the requested range, from its start.

    `lines` are lines of the journal (`store.segments`), `through` the offset from which to request
    the rest. `first` is the offset of the oldest publication that is stored, `end` the next one's.
    """

    through: Count
    first: Count
    end: Count
    lines: tuple[bytes, ...]


class ReplayRefused(Struct, array_like=True, frozen=True, tag=19, gc=False):
    """The journal is not read, for this reason."""

    reason: Reason


class EdgeState(Struct, array_like=True, frozen=True, gc=False):
    """The state of the `holder`'s copy of the entries that the `sender` has sent to it.

    In the last of `rounds` comparisons, `wrong` entries did not agree, among the `entries` sent or
    beside them.
    """

    sender: Name
    holder: Name
    rounds: Count
    wrong: Count
    entries: Count


class CheckReply(Struct, array_like=True, frozen=True, tag=82, gc=False):
    """The edges between the broker and its neighbors, both ways; `None` where none is compared."""

    broker: Name
    routing: str
    edges: tuple[EdgeState, ...] | None


class FiltersReply(Struct, array_like=True, frozen=True, tag=84, gc=False):
    """Filters that a broker has received from neighbors or sent to them: as bytes, or as text.

    Neither their clients nor their links are named. `following` is the number of the first filter
    that is not in this reply, and `None` where there is none.
    """

    packed: tuple[bytes, ...]
    texts: tuple[str, ...]
    following: Count | None = None


# Broker to broker --------------------------------------------------------------------------------


class LinkEstablished(Struct, array_like=True, frozen=True, tag=30, gc=False):
    """The broker that connected takes the link into use; the link is up for both from here on."""


class LinkCongestion(Struct, array_like=True, frozen=True, tag=35, gc=False):
    """Publications pile up beyond the sender (or no longer do): hold publishers back."""

    congested: bool


class LinkState(Struct, array_like=True, frozen=True, tag=60):
    """The neighbors of a broker; the message with the latest number holds (`session.circles`)."""

    broker: Name
    number: Count
    neighbors: tuple[Name, ...]


class Part(Struct, array_like=True, frozen=True, tag=49, gc=False):
    """A part of a message of routers that is longer than a frame.

    The parts of one message follow each other, and all but the last have `more` set; their `data`,
    in order, are the message as it stands alone in a frame.
    """

    data: Annotated[bytes, Meta(min_length=1)]
    more: bool = False


ClientMessage: TypeAlias = (
    PublishRequest
    | SubscribeRequest
    | UnsubscribeRequest
    | SubscribeManyRequest
    | UnsubscribeManyRequest
    | AdvertiseRequest
    | UnadvertiseRequest
    | AllStated
    | ReplayRequest
    | CheckRequest
    | FiltersRequest
    | StatusRequest
    | ExplainRequest
    | DurableRequest
    | AcknowledgeRequest
    | DurablesRequest
    | Stamp
    | Born
    | Ping
    | Pong
    | Goodbye
)
"""The messages that a client may send once it is welcome."""

BrokerMessage: TypeAlias = (
    Delivery
    | AcceptedReply
    | PublicationRefused
    | SubscribedReply
    | UnsubscribedReply
    | AboutIds
    | NeverNotice
    | SubscriptionRefused
    | AdvertisedReply
    | UnadvertisedReply
    | AdvertisementRefused
    | ReplayReply
    | ReplayRefused
    | CheckReply
    | FiltersReply
    | StatusReply
    | ExplainReply
    | DurableReply
    | DurableDeliveries
    | DurableNotice
    | AcknowledgedReply
    | DurablesReply
    | Stamp
    | Born
    | Ping
    | Pong
    | Goodbye
)
"""The messages that a broker may send to a client it has welcomed."""

LinkMessage: TypeAlias = (
    routing.Message
    | Part
    | LinkCongestion
    | LinkState
    | LinkEstablished
    | Stamp
    | Born
    | Ping
    | Pong
    | Goodbye
)
"""The messages between two brokers once the link is agreed."""

Message: TypeAlias = ClientMessage | BrokerMessage | LinkMessage
