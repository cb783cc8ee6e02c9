"""What durable subscriptions ask for: lists of these, to be carried out in order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sapwood.session.durable.mailbox import Consumer, Parcel
from sapwood.wire.durable import DurableReply
from sapwood.wire.interests import InterestText


@dataclass(frozen=True, slots=True)
class Attach:
    """Let the router attach a client of this name, which subscribes to the filter.

    Where it `is_change`, the client is there, and wants this filter in the place of another.
    """

    owner: str
    filter: InterestText
    is_change: bool = False


@dataclass(frozen=True, slots=True)
class Detach:
    """Let the router detach a client of this name: the subscription is no more."""

    owner: str


@dataclass(frozen=True, slots=True)
class Join:
    """A consumer is there, and the subscription is in force."""

    consumer: Consumer
    reply: DurableReply


@dataclass(frozen=True, slots=True)
class Hand:
    """Hand publications to a consumer, who has had others up to, and without, a place `reached`."""

    consumer: Consumer
    parcels: Sequence[Parcel]
    reached: int = 0


@dataclass(frozen=True, slots=True)
class Tell:
    """Tell a consumer that the bounds have let publications go: so many so far."""

    consumer: Consumer
    dropped: int
    reason: str


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """Tell a consumer that what it has acknowledged, up to this request, is kept."""

    consumer: Consumer
    serial: int


@dataclass(frozen=True, slots=True)
class Leave:
    """A consumer is not there any more, as it asked for."""

    consumer: Consumer


@dataclass(frozen=True, slots=True)
class Turn:
    """A consumer is turned away, or out; for its quota, where it `is_quota`."""

    consumer: Consumer
    reason: str
    is_quota: bool = False


@dataclass(frozen=True, slots=True)
class Say:
    """Say in the log what happened to a durable subscription, and to how many publications."""

    name: str
    what: str
    reason: str = ""
    count: int = 0


Effect: TypeAlias = Attach | Detach | Join | Hand | Tell | Acknowledged | Leave | Turn | Say
