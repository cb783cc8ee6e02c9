"""Messages about durable subscriptions, between clients and brokers, and the values in them.

::

   client                                     broker
   DurableRequest(id, name, filter, ...)  ->  owner attached, filter in force
                                          <-  DurableReply(id, ...), or SubscriptionRefused
                                          <-  DurableDeliveries(id, numbers, ...)
   AcknowledgeRequest(id, serial, runs)   ->
                                          <-  AcknowledgedReply(id, serial), once it is durable
                                          <-  DurableNotice(id, dropped, reason), after drops
   UnsubscribeRequest(id)                 ->  the consumer goes, the durable subscription stays
                                          <-  UnsubscribedReply(id)

A delivery of a mailbox has a *number*, counted from 1 without gaps in each mailbox; numbers are
acknowledged. Runs of numbers travel as pairs of a first and a last one: 3, 4, 5 and 9 are `(3, 5,
9, 9)`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, Final, TypeAlias

from msgspec import Meta, Struct

from sapwood.limits import ATTRIBUTE_NAME_CHARS_MAX, NAME_CHARS_MAX
from sapwood.limits.durable import (
    ACKNOWLEDGE_RUNS_MAX,
    DURABLE_WINDOW_MAX,
    DURABLES_LISTED_MAX,
    LAST_BY_MAX,
)
from sapwood.model.fields import Count, Id, Name
from sapwood.wire.greetings import Reason
from sapwood.wire.interests import InterestText

Numbers: TypeAlias = tuple[Count, ...]

SEALED_FIRST: Final = 1 << 62
"""Places from here on are sealed: a subscription can continue there, and they have no order."""

PLACE_NOW: Final = SEALED_FIRST - 1
"""A place behind all that a journal has: a subscription begins with the next publication."""

_Attribute: TypeAlias = Annotated[str, Meta(min_length=1, max_length=ATTRIBUTE_NAME_CHARS_MAX)]


class Overflow(StrEnum):
    """The publication that is dropped when a mailbox is full, by number or by bytes."""

    OLDEST = "oldest"
    """The oldest one waiting makes room for the new one."""
    NEWEST = "newest"
    """The new one is not accepted."""


class Policy(Struct, array_like=True, frozen=True):
    """The bounds of a mailbox; `None` leaves the present bound, or is the default.

    `count_max` publications of `bytes_max` bytes wait at most, each for `age_max_s` seconds (0 for
    ever). A publication that is not acknowledged `acknowledge_s` seconds after its delivery is
    delivered again, `attempts_max` times in all (0: without end). Then it is dropped, or goes to
    the mailbox of the durable subscription `dead_letter` ("": none).
    """

    count_max: Annotated[int, Meta(ge=1)] | None = None
    bytes_max: Annotated[int, Meta(ge=1)] | None = None
    age_max_s: Annotated[float, Meta(ge=0)] | None = None
    overflow: Overflow | None = None
    acknowledge_s: Annotated[float, Meta(gt=0)] | None = None
    attempts_max: Count | None = None
    dead_letter: Annotated[str, Meta(max_length=NAME_CHARS_MAX)] | None = None


class SinceTime(Struct, array_like=True, frozen=True, tag="time"):
    """From the first publication that was accepted at or after a time, in seconds since 1970."""

    time: float


class SinceId(Struct, array_like=True, frozen=True, tag="id"):
    """After the publication of this id."""

    id: Id


class SincePlace(Struct, array_like=True, frozen=True, tag="place"):
    """From a place in the journal; publications no longer stored are left out. 0 is all.

    A client with sealed places sends one of them plus one: the place after it.
    """

    place: Count


Since: TypeAlias = SinceTime | SinceId | SincePlace
"""The place in the journal at which a subscription begins."""


# Client to broker --------------------------------------------------------------------------------


class DurableRequest(Struct, array_like=True, frozen=True, tag=61, gc=False):
    """A consumer joins a durable subscription, which is made if it does not exist.

    `id` is the client's own for this consumer. Without a name the subscription is the consumer's
    own, begins `since`, and ends with the connection. Without a filter the existing subscription is
    meant. At most `window` deliveries are with the consumer unacknowledged. Where it `is_change`,
    the subscription gets the filter, whichever it had, and the consumer may have joined already.
    With attributes `last_by`, only the last publication in the journal is delivered for each value
    of these.
    """

    id: Id
    name: Annotated[str, Meta(max_length=NAME_CHARS_MAX)]
    filter: InterestText | None = None
    since: Since | None = None
    policy: Policy = Policy()
    window: Annotated[int, Meta(ge=1, le=DURABLE_WINDOW_MAX)] = 1
    is_change: bool = False
    last_by: Annotated[tuple[_Attribute, ...], Meta(max_length=LAST_BY_MAX)] = ()


class AcknowledgeRequest(Struct, array_like=True, frozen=True, tag=62, gc=False):
    """The consumer acknowledges deliveries, in runs of numbers; requests are counted."""

    id: Id
    serial: Count
    runs: Annotated[Numbers, Meta(min_length=2, max_length=ACKNOWLEDGE_RUNS_MAX)]

    def __post_init__(self) -> None:
        runs = self.runs
        if len(runs) % 2:
            raise ValueError("a run of numbers has a first and a last one")
        if any(first > last for first, last in zip(runs[::2], runs[1::2], strict=True)):
            raise ValueError("a run of numbers ends before it begins")


class DurablesAction(StrEnum):
    """A request about the durable subscriptions of a broker."""

    LIST = "list"
    SHOW = "show"
    REMOVE = "remove"


class DurablesRequest(Struct, array_like=True, frozen=True, tag=63, gc=False):
    """One of the actions; answered by a `DurablesReply`. A list begins after `name`."""

    action: DurablesAction
    name: Annotated[str, Meta(max_length=NAME_CHARS_MAX)] = ""


# Broker to client --------------------------------------------------------------------------------


class DurableReply(Struct, array_like=True, frozen=True, tag=64, gc=False):
    """The consumer has joined a durable subscription, which is in force in the whole overlay.

    `generation` distinguishes the subscription from an earlier one of the same name: numbers begin
    again with it. `dropped` is the number of publications that its bounds have dropped so far. Sent
    again when the subscription has another filter, and that is in force; with `is_change` to the
    consumers that have requested it.
    """

    id: Id
    name: str
    generation: Name
    filter: InterestText
    dropped: Count = 0
    is_change: bool = False


class DurableDeliveries(Struct, array_like=True, frozen=True, tag=65, gc=False):
    """Publications from a mailbox, in columns.

    `attempts` is 1 for a publication that was certainly never delivered before. `places` are those
    in the broker's journal, or sealed ones (`session.sealed_places`), each of which is behind all
    before.
    """

    id: Id
    numbers: Numbers
    attempts: Numbers
    places: Numbers
    publications: tuple[bytes, ...]


class DurableNotice(Struct, array_like=True, frozen=True, tag=66, gc=False):
    """The bounds of a mailbox have dropped publications: `dropped` in all so far."""

    id: Id
    dropped: Count
    reason: Reason


class AcknowledgedReply(Struct, array_like=True, frozen=True, tag=67, gc=False):
    """The acknowledgements up to the request of this serial are durable."""

    id: Id
    serial: Count


class DurableState(Struct, array_like=True, frozen=True):
    """One durable subscription, to be shown.

    `waiting` publications of `bytes` bytes are in its mailbox, `out` of them with `consumers`
    consumers. `oldest_s` is the age of the oldest one. `last_seen_s` is the time without a
    consumer; 0 while there is one.
    """

    name: str
    generation: str
    filter: InterestText
    policy: Policy
    waiting: Count
    bytes: Count
    out: Count
    consumers: tuple[str, ...]
    dropped: Count
    oldest_s: float
    last_seen_s: float
    state: str
    #: the number of the oldest publication that waits, and of the last one that came
    first: Count = 0
    last: Count = 0


class DurablesReply(Struct, array_like=True, frozen=True, tag=68, gc=False):
    """The answer to a `DurablesRequest`: subscriptions, or a reason. `more` follow in a list."""

    durables: Annotated[tuple[DurableState, ...], Meta(max_length=DURABLES_LISTED_MAX)] = ()
    refusal: Reason = ""
    more: bool = False


def durable_members(state: DurableState) -> dict[str, Any]:
    """A durable subscription as a JSON object."""
    text = state.filter
    language = {"filter": text} if isinstance(text, str) else {"xpath": text.text}
    policy = state.policy
    return {
        "name": state.name,
        **language,
        "state": state.state,
        "waiting": state.waiting,
        "bytes": state.bytes,
        "oldest_s": round(state.oldest_s, 3),
        "out": state.out,
        "consumers": list(state.consumers),
        "unread_s": round(state.last_seen_s, 3),
        "dropped": state.dropped,
        "max_count": policy.count_max,
        "max_bytes": policy.bytes_max,
        "max_age_s": policy.age_max_s,
        "overflow": policy.overflow,
        "acknowledge_within_s": policy.acknowledge_s,
        "max_attempts": policy.attempts_max,
        "dead_letter": policy.dead_letter,
    }
