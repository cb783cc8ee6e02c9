"""What of durable subscriptions is kept: rows, each under a kind, a name and a number.

::

    kind           name          number             value
    subscription   name          0                  what it is: generation, filter, policy
    state          name          0                  how far it has come
    put            name          the first number   places, sizes and times of what came together
    settled        name          a chunk            runs of numbers that are acknowledged or let go
    seen           (none)        0                  the place and the time up to which all have seen

Worked example: the mailbox of "alerts" got the places 70, 71 and 75 in one commit, then 80; then
number 2, place 71, was acknowledged (chunks of 4,096 numbers, so numbers 1 to 4,096 are chunk 0)::

    put      alerts  1   [[70, 71, 75], [120, 90, 100], [5.0, 5.0, 5.0]]
    put      alerts  4   [[80], [110], [6.5]]
    settled  alerts  0   [2, 2]

A row that is put again takes the place of the earlier one, and one without a value is deleted.
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
    """What a row is of."""

    SUBSCRIPTION = "subscription"
    STATE = "state"
    PUT = "put"
    SETTLED = "settled"
    SEEN = "seen"


class Row(NamedTuple):
    """A row to be kept under the first three, or deleted where there is no value.

    `end` is the place after the last one that the value speaks of, 0 for none: where a journal has
    lost its end, rows of publications that are gone with it are to go.
    """

    kind: Kind
    name: str
    number: int
    value: bytes | None
    end: int = 0


class SubscriptionValue(Struct, array_like=True, frozen=True):
    """What a durable subscription is."""

    generation: str
    filter: InterestText
    policy: Policy
    #: it was in force once
    confirmed: bool
    #: the identity that has made it, whose quota it is on; empty where nobody has to say
    maker: str = ""


class StateValue(Struct, array_like=True, frozen=True):
    """How far a durable subscription has come.

    `last` is the last number, `dropped` counts what bounds have let go, `seen` is the time at which
    a consumer was there last. The journal was looked at from `start` up to, and without, `cursor`,
    and is to be looked at further where it is `catching_up`; `earlier` are the places that earlier
    lives have looked at, as (first, end).
    """

    last: int
    dropped: int
    seen: float
    start: int
    cursor: int
    catching_up: bool
    earlier: tuple[tuple[int, int], ...] = ()


class SeenValue(Struct, array_like=True, frozen=True):
    """Up to, and without, this place mailboxes have seen all, and this was the time of ages."""

    place: int
    time: float


class PutValue(Struct, array_like=True, frozen=True):
    """Publications that came together."""

    places: Numbers
    sizes: Numbers
    times: tuple[float, ...]


def encoded(value: Struct | tuple[int, ...]) -> bytes:
    """The value of a row."""
    return msgspec.msgpack.encode(value)


def decoded(row: Row, kind: type[T]) -> T:
    """The value of a row as a value of a kind. Raises `FileFormatError`."""
    try:
        return msgspec.msgpack.decode(row.value or b"", type=kind)
    except msgspec.DecodeError as error:
        where = f"durable subscription {row.name!r}, row {row.kind} {row.number}"
        raise FileFormatError(where, f"is damaged: {error}") from None
