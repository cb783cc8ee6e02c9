"""The stored form of durable subscriptions: rows, each under a kind, a name and a number.

::

   kind           name          number             value
   subscription   name          0                  its definition: generation, filter, policy
   state          name          0                  its progress
   put            name          the first number   places, sizes and times of one commit
   settled        name          a chunk            runs of numbers that are acknowledged or dropped
   seen           (none)        0                  the place and the time up to which all is there

Worked example: the mailbox of "alerts" got the places 70, 71 and 75 in one commit, then 80; then
number 2, place 71, was acknowledged (chunks of 4,096 numbers, so numbers 1 to 4,096 are chunk 0)::

   put      alerts  1   [[70, 71, 75], [120, 90, 100], [5.0, 5.0, 5.0]]
   put      alerts  4   [[80], [110], [6.5]]
   settled  alerts  0   [2, 2]

A row that is written again replaces the earlier one, and one without a value is deleted.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple, TypeVar

import msgspec
from msgspec import Struct

from sapwood.errors import FileFormatError
from sapwood.wire.durable import Numbers, Policy
from sapwood.wire.interests import InterestText

T = TypeVar("T")


class Kind(StrEnum):
    """The kind of a row."""

    SUBSCRIPTION = "subscription"
    STATE = "state"
    PUT = "put"
    SETTLED = "settled"
    SEEN = "seen"


class Row(NamedTuple):
    """A row to be stored under its kind, name and number, or deleted where it has no value.

    `end` is the place after the last one in the value, 0 for none: where a journal has lost its
    end, the rows of the publications lost with it are dropped.
    """

    kind: Kind
    name: str
    number: int
    value: bytes | None
    end: int = 0


class SubscriptionValue(Struct, array_like=True, frozen=True):
    """The definition of a durable subscription."""

    generation: str
    filter: InterestText
    policy: Policy
    #: the subscription was in force at least once
    confirmed: bool
    #: the identity that made the subscription, whose quota it counts for; empty without identities
    maker: str = ""


class StateValue(Struct, array_like=True, frozen=True):
    """The progress of a durable subscription.

    `last` is the last number, `dropped` the number of publications that bounds have dropped, `seen`
    the time at which a consumer was last present. The journal was scanned from `start` up to, and
    without, `cursor`, and is to be scanned further where it is `catching_up`; `earlier` are the
    places scanned before the broker's last start, as (first, end).
    """

    last: int
    dropped: int
    seen: float
    start: int
    cursor: int
    catching_up: bool
    earlier: tuple[tuple[int, int], ...] = ()


class SeenValue(Struct, array_like=True, frozen=True):
    """The place up to, and without, which mailboxes are complete, and the time of ages then."""

    place: int
    time: float


class PutValue(Struct, array_like=True, frozen=True):
    """Publications that were put in one commit."""

    places: Numbers
    sizes: Numbers
    times: tuple[float, ...]


def encoded(value: Struct | tuple[int, ...]) -> bytes:
    """The bytes of a value."""
    return msgspec.msgpack.encode(value)


def decoded(row: Row, kind: type[T]) -> T:
    """The value of a row, decoded as a kind. Raises `FileFormatError`."""
    try:
        return msgspec.msgpack.decode(row.value or b"", type=kind)
    except msgspec.DecodeError as error:
        where = f"durable subscription {row.name!r}, row {row.kind} {row.number}"
        raise FileFormatError(where, f"is damaged: {error}") from None
