"""The effects of a router: the list that `Router.handle` returns, to be carried out in order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from sapwood.model.publication import Publication
from sapwood.routing.client_rows import ClientRows
from sapwood.routing.holders import KeyBatch
from sapwood.routing.inputs import BatchInput, Record
from sapwood.routing.messages import Message, PublishMany


@dataclass(frozen=True, slots=True)
class Send:
    """Put a message on the link to a neighbor.

    The state it reports is at most `age_ns` old by now: 0 where it is the router's own, `None`
    where its age is not known. Ages of publications are those of the publications.
    """

    neighbor: str
    message: Message
    age_ns: int | None = field(default=0, compare=False)


@dataclass(frozen=True, slots=True)
class Deliver:
    """Hand a publication to a client, once, with the ids of all its subscriptions that match.

    `subscriptions` is sorted and never empty. `place` is set for a publication that was held back:
    the place of its record, which an earlier input has persisted.
    """

    client: str
    subscriptions: tuple[str, ...]
    publication: Publication
    place: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Subscribed:
    """A client's subscription is in force: every router it must reach has confirmed."""

    client: str
    subscription: str


@dataclass(frozen=True, slots=True)
class Unsubscribed:
    """A client's subscription is withdrawn: nothing is delivered for it any more."""

    client: str
    subscription: str


@dataclass(frozen=True, slots=True)
class SubscribedMany:
    """Several subscriptions of a client are in force, as by a `Subscribed` each; two at least."""

    client: str
    subscriptions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class UnsubscribedMany:
    """Several subscriptions of a client are withdrawn, as by an `Unsubscribed` each."""

    client: str
    subscriptions: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Advertised:
    """A client's advertisement is in force: the client may publish what it accepts.

    Every router has received it, and every subscription that was in force before and intersects
    it is registered at each router between the two.
    """

    client: str
    advertisement: str


@dataclass(frozen=True, slots=True)
class Unadvertised:
    """A client's advertisement is withdrawn: it allows no publication any more."""

    client: str
    advertisement: str


@dataclass(frozen=True, slots=True)
class Supply:
    """Clients have begun to advertise what subscriptions of a client accept, or have ceased to.

    The ids are in the order in which the router found out. It is sent of subscriptions in force,
    and of those that come into force before it is sent; until then, the client has to assume that
    there is supply.
    """

    client: str
    subscriptions: tuple[str, ...]
    is_there: bool


@dataclass(frozen=True, slots=True)
class Accepted:
    """A client's publication is accepted: from here on the overlay is responsible for it."""

    client: str
    publication: str


@dataclass(frozen=True, slots=True)
class Refused:
    """A client's request was refused, and changed nothing.

    `subject` is the id of the subscription, advertisement or publication; `reason` is a sentence
    for a person.
    """

    client: str
    subject: str
    reason: str


@dataclass(frozen=True, slots=True)
class CloseLink:
    """Take the link to a neighbor down: the neighbor broke a rule of routing.

    The router has forgotten the link already, as after `LinkDown`. The link stays down `for_good`,
    unless the neighbor may not be to blame: links that come up at the same moment can form a
    circle.
    """

    neighbor: str
    reason: str
    for_good: bool = field(default=True, compare=False)


@dataclass(frozen=True, slots=True)
class Persist:
    """Write a record to a store that survives a crash, before any effect that stands behind it.

    `Restored` brings the records back. The records and deliveries of one input are written as a
    whole or not at all, and so are those of its `Remaining`. Effects of later inputs do not
    overtake effects that wait for the write.
    """

    record: Record


@dataclass(frozen=True, slots=True)
class Release:
    """Routing no longer needs the publications that were persisted at places before this one.

    The publications that a router persists have the places 0, 1, 2 and so on, in their order; those
    of a batch have one each (`records.publications_in`).
    """

    before: int


@dataclass(frozen=True, slots=True)
class Recall:
    """Read the publications at these places again; `inputs.Recalled` brings them."""

    places: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Connect:
    """Keep a link to a router from now on; `LinkUp` reports when it is up.

    `address` is where the router listens, in the terms of the shell; empty where the name is
    enough.
    """

    neighbor: str
    address: str = ""


@dataclass(frozen=True, slots=True)
class Disconnect:
    """Give up the link to a router that `Connect` requested; `LinkDown` reports when it is gone."""

    neighbor: str


@dataclass(frozen=True, slots=True)
class SendMany:
    """Several `Send` to one neighbor that follow each other, as one effect."""

    neighbor: str
    publications: PublishMany


@dataclass(frozen=True, slots=True)
class DeliverMany:
    """The `Deliver` effects of a batch, to all clients.

    `keys` are those of the subscriptions that accept each publication, and `rows` maps each to its
    client and id. Both are the router's own: they are to be carried out, or expanded by `each`,
    before the next input.
    """

    batch: Sequence[Publication]
    keys: KeyBatch
    rows: ClientRows

    def each(self, first: int = 0) -> Iterator[Deliver]:
        """The single effects, publication by publication, those of each by client name.

        Publications before the place `first` are left out.
        """
        rows = self.rows
        for place in range(first, len(self.keys)):
            found: dict[str, list[str]] = {}
            for number in self.keys.numbers(place):
                found.setdefault(rows.client(number), []).append(rows.id(number))
            found.pop("", None)  # of clients that have gone
            for client, ids in sorted(found.items()):
                yield Deliver(client, tuple(sorted(ids)), self.batch[place])


@dataclass(frozen=True, slots=True)
class AcceptedMany:
    """Several `Accepted` for one client, one for each of `publications`, in their order.

    They are the oldest of a `ClientPublishMany` that have no answer yet.
    """

    client: str
    publications: Sequence[Publication]


@dataclass(frozen=True, slots=True)
class Remaining:
    """Hand this in next, after all effects before it: the rest of a batch that has many matches.

    This bounds the memory that the matches of a batch take at a time.
    """

    input: BatchInput


BatchEffect: TypeAlias = SendMany | DeliverMany | AcceptedMany | Remaining
"""The effects that only a `BatchInput` has, beside other effects."""

Effect: TypeAlias = (
    Send
    | Deliver
    | Subscribed
    | Unsubscribed
    | SubscribedMany
    | UnsubscribedMany
    | Advertised
    | Unadvertised
    | Supply
    | Accepted
    | Refused
    | CloseLink
    | Persist
    | Release
    | Recall
    | Connect
    | Disconnect
    | BatchEffect
)
