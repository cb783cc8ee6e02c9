"""What enters a router: the only arguments `Router.handle` takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from sapwood.model.interest import Interest
from sapwood.model.promise import Promise
from sapwood.model.publication import Publication
from sapwood.routing.messages import Message


@dataclass(frozen=True, slots=True)
class AttachClient:
    """A client has come to its home router. Its name is unique among the router's clients."""

    client: str


@dataclass(frozen=True, slots=True)
class DetachClient:
    """A client has left; its subscriptions and advertisements go with it."""

    client: str


@dataclass(frozen=True, slots=True)
class ClientSubscribe:
    """A client subscribes under an id of its own choice (unique per client).

    The same id with an equal filter again is answered as the first time and changes nothing;
    with another filter it is refused.
    """

    client: str
    subscription: str
    filter: Interest


@dataclass(frozen=True, slots=True)
class ClientUnsubscribe:
    """A client withdraws one of its subscriptions."""

    client: str
    subscription: str


@dataclass(frozen=True, slots=True)
class ClientAdvertise:
    """A client says what it will publish, under an id of its own choice (unique per client).

    Repeated ids are treated as those of subscriptions.
    """

    client: str
    advertisement: str
    filter: Promise


@dataclass(frozen=True, slots=True)
class ClientUnadvertise:
    """A client withdraws one of its advertisements."""

    client: str
    advertisement: str


@dataclass(frozen=True, slots=True)
class ClientPublish:
    """A client publishes.

    Refused where the client's advertisements do not allow it: see `Router`.
    """

    client: str
    publication: Publication


ClientInput: TypeAlias = (
    AttachClient
    | DetachClient
    | ClientSubscribe
    | ClientUnsubscribe
    | ClientAdvertise
    | ClientUnadvertise
    | ClientPublish
)
"""What clients ask for, and that they come and go."""


@dataclass(frozen=True, slots=True)
class LinkUp:
    """The link to a neighbor carries messages from now on (first time or again).

    Where publications never come from there (not `inbound`), the neighbor is told of no
    subscription.
    """

    neighbor: str
    inbound: bool = True


@dataclass(frozen=True, slots=True)
class LinkDown:
    """The link to a neighbor is gone, with everything that was on it."""

    neighbor: str


@dataclass(frozen=True, slots=True)
class Receive:
    """A message from a neighbor."""

    neighbor: str
    message: Message


@dataclass(frozen=True, slots=True)
class Tick:
    """The time that next_deadline asked for has come."""


Input: TypeAlias = ClientInput | LinkUp | LinkDown | Receive | Tick
