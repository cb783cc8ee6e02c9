"""The effects of durable subscriptions: lists of these, to be carried out in order."""

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

    With `is_change` the client is attached already, and this filter replaces its former one.
    """

    owner: str
    filter: InterestText
    is_change: bool = False


@dataclass(frozen=True, slots=True)
class Detach:
    """Let the router detach a client of this name: the subscription no longer exists."""

    owner: str


@dataclass(frozen=True, slots=True)
class Join:
    """A consumer has joined, and the subscription is in force."""

    consumer: Consumer
    reply: DurableReply


@dataclass(frozen=True, slots=True)
class Hand:
    """Send publications to a consumer, which got others up to, and without, place `reached`."""

    consumer: Consumer
    parcels: Sequence[Parcel]
    reached: int = 0


@dataclass(frozen=True, slots=True)
class ReportDropped:
    """Inform a consumer of the publications that bounds have dropped, `dropped` in all so far."""

    consumer: Consumer
    dropped: int
    reason: str


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """Inform a consumer that its acknowledgements, up to this request, are stored."""

    consumer: Consumer
    serial: int


@dataclass(frozen=True, slots=True)
class Leave:
    """A consumer has left, at its own request."""

    consumer: Consumer


@dataclass(frozen=True, slots=True)
class Refuse:
    """Refuse a consumer, or remove it; because of its quota, where it `is_quota`."""

    consumer: Consumer
    reason: str
    is_quota: bool = False


@dataclass(frozen=True, slots=True)
class LogEvent:
    """Log an event of a durable subscription, and the number of publications it concerns."""

    name: str
    what: str
    reason: str = ""
    count: int = 0


ToConsumer: TypeAlias = Join | Hand | ReportDropped | Acknowledged | Leave | Refuse
"""An effect for one consumer."""

Effect: TypeAlias = Attach | Detach | LogEvent | ToConsumer
