"""The phases of a connection, and every transition between them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from types import MappingProxyType
from typing import Final

from sapwood.errors import InvariantError


class Phase(Enum):
    """The phase of a connection.

    GREETING: the peer's first frame has not been answered (or has not come). AGREEING: a broker was
    welcomed for a link, and has not yet taken it into use. OPEN: messages flow. CLOSING: this end
    has sent its last message; bytes that still arrive are not read. CLOSED: over.
    """

    GREETING = "greeting"
    AGREEING = "agreeing"
    OPEN = "open"
    CLOSING = "closing"
    CLOSED = "closed"


class Trigger(Enum):
    """An event that changes the phase of a connection.

    WELCOMED: a client was welcomed, or this end was, and took it.
    OFFERED: a broker was welcomed for a link, which it may still decline.
    ESTABLISHED: it took the link into use.
    ENDED_HERE: this end refused, or said goodbye.
    ENDED_THERE: the peer refused, or said goodbye.
    LOST: the bytes stopped.
    """

    WELCOMED = "welcomed"
    OFFERED = "offered"
    ESTABLISHED = "established"
    ENDED_HERE = "ended here"
    ENDED_THERE = "ended there"
    LOST = "lost"


TRANSITIONS: Final[Mapping[tuple[Phase, Trigger], Phase]] = MappingProxyType(
    {
        (Phase.GREETING, Trigger.WELCOMED): Phase.OPEN,
        (Phase.GREETING, Trigger.OFFERED): Phase.AGREEING,
        (Phase.GREETING, Trigger.ENDED_HERE): Phase.CLOSING,
        (Phase.GREETING, Trigger.ENDED_THERE): Phase.CLOSED,
        (Phase.GREETING, Trigger.LOST): Phase.CLOSED,
        (Phase.AGREEING, Trigger.ESTABLISHED): Phase.OPEN,
        (Phase.AGREEING, Trigger.ENDED_HERE): Phase.CLOSING,
        (Phase.AGREEING, Trigger.ENDED_THERE): Phase.CLOSED,
        (Phase.AGREEING, Trigger.LOST): Phase.CLOSED,
        (Phase.OPEN, Trigger.ENDED_HERE): Phase.CLOSING,
        (Phase.OPEN, Trigger.ENDED_THERE): Phase.CLOSED,
        (Phase.OPEN, Trigger.LOST): Phase.CLOSED,
        (Phase.CLOSING, Trigger.LOST): Phase.CLOSED,
    }
)
"""All transitions; a trigger that has no line for a phase is a defect."""


def step(phase: Phase, trigger: Trigger) -> Phase:
    """The phase after `trigger`. Raises `InvariantError` where the table has no line."""
    after = TRANSITIONS.get((phase, trigger))
    if after is None:
        raise InvariantError(f"a connection that is {phase.value} cannot be {trigger.value}")
    return after
