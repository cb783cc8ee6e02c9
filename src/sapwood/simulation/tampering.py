"""Faults of messages in flight, and of timers, which a self-healing router has to survive.

In a file of faults::

    [[tampering]]
    between = ["r1", "r2"]      # left out: every link
    start = 1.0                 # from the first publication on
    seconds = 2.0               # the time it lasts
    share = 0.3                 # of the messages; 1.0 where it is left out
    how = "drop"                # or "alter": other keys, filters, numbers and bytes in notes

    [[timer]]
    router = "r3"
    start = 1.0
    seconds = 30.0              # its deadlines pass unnoticed for this time

Publications are dropped and never altered: what a client sent is what others get, or nothing.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from enum import Enum
from random import Random
from typing import Final

import msgspec

from sapwood.errors import InputError, UnknownNameError
from sapwood.model.interest import Interest
from sapwood.overlay.fields import Fields
from sapwood.routing.messages import (
    Advertise,
    Message,
    OnPlane,
    OnTree,
    Publish,
    Replace,
    Stamped,
    Subscribe,
    UpkeepNote,
    carried,
)
from sapwood.simulation.network import Arrival

_SEEN_MAX: Final = 64
"""Keys and filters of earlier messages that altered ones are given."""


class How(Enum):
    """The fate of a message that is tampered with."""

    DROP = "drop"
    ALTER = "alter"


@dataclass(frozen=True, slots=True)
class Tamper:
    """From now on, for some seconds, a share of the messages of a link, or of each, is tampered."""

    seconds: float
    between: tuple[str, str] | None = None
    share: float = 1.0
    how: How = How.DROP

    def __post_init__(self) -> None:
        if not 0 <= self.share <= 1:
            raise InputError(f"a share of messages is from 0 to 1, not {self.share!r}")


@dataclass(frozen=True, slots=True)
class StallTimer:
    """From now on, for `seconds`, a router gets no `Tick` when its deadlines have come."""

    router: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Timed:
    """A fault of a file, and when it begins."""

    action: Tamper | StallTimer
    start_s: float

    def actions(self) -> list[tuple[float, Tamper | StallTimer]]:
        """The action, with its time in seconds."""
        return [(self.start_s, self.action)]


class Tampering:
    """The present faults of messages and timers.

    #: _tampers holds those that may not be over, and _stalled the routers, with the times they end
    """

    __slots__ = ("_generator", "_seen_filters", "_seen_keys", "_stalled", "_tampers")

    def __init__(self, seed: int) -> None:
        self._generator = Random(f"{seed}/tampering")  # noqa: S311 - reproducible on purpose
        self._tampers: list[tuple[float, Tamper]] = []
        self._stalled: dict[str, float] = {}
        self._seen_keys: deque[str] = deque(("r1.0.1",), _SEEN_MAX)
        self._seen_filters: deque[Interest] = deque(maxlen=_SEEN_MAX)

    def begin(self, fault: Tamper | StallTimer, now: float) -> None:
        """Let a fault begin."""
        if isinstance(fault, StallTimer):
            until = max(now + fault.seconds, self._stalled.get(fault.router, now))
            self._stalled[fault.router] = until
        else:
            self._tampers.append((now + fault.seconds, fault))

    def end(self) -> None:
        """End all faults."""
        self._tampers.clear()
        self._stalled.clear()

    def is_over(self, now: float) -> bool:
        """True if no fault is left."""
        self._tampers = [one for one in self._tampers if one[0] > now]
        return not self._tampers and all(until <= now for until in self._stalled.values())

    def noticed(self, router: str, at: float) -> float:
        """The time at which a router gets the `Tick` of a deadline."""
        return max(at, self._stalled.get(router, at))

    def passed(self, arrival: Arrival, now: float) -> Message | None:
        """The message that arrives: the one that was sent, another one, or `None`."""
        message, ends = arrival.message, {arrival.source, arrival.target}
        if self.is_over(now):
            return message
        self._see(message)
        for _, tamper in self._tampers:
            if tamper.between is not None and set(tamper.between) != ends:
                continue
            if self._generator.random() >= tamper.share:
                continue
            if tamper.how is How.DROP:
                return None
            message = self._altered(message)
        return message

    def _see(self, message: Message) -> None:
        said = carried(message)
        if isinstance(said, Subscribe | Replace | Advertise):
            self._seen_keys.append(said.key)
            if isinstance(said.filter, Interest):
                self._seen_filters.append(said.filter)

    def _altered(self, message: Message) -> Message:
        """An altered message of the same class; a publication stays as it is."""
        draw = self._generator
        match message:
            case UpkeepNote(note):
                return msgspec.structs.replace(message, note=self._flipped(note))
            case Stamped(stamp, inner):
                if isinstance(carried(inner), Publish) or draw.random() < 0.5:
                    return msgspec.structs.replace(message, stamp=self._flipped(stamp))
                return msgspec.structs.replace(message, message=self._altered(inner))
            case OnTree(message=inner) | OnPlane(message=inner):
                return msgspec.structs.replace(message, message=self._altered(inner))
            case _:
                pass
        fields = [name for name in ("key", "filter", "sending") if hasattr(message, name)]
        if not fields:
            return message
        match draw.choice(fields):
            case "key":
                return msgspec.structs.replace(message, key=draw.choice(self._seen_keys))
            case "sending":
                return msgspec.structs.replace(message, sending=draw.randrange(1, 100))
            case _ if self._seen_filters:
                return msgspec.structs.replace(message, filter=draw.choice(self._seen_filters))
            case _:
                return message

    def _flipped(self, text: bytes) -> bytes:
        """The bytes with one of them changed."""
        if not text:
            return text
        at = self._generator.randrange(len(text))
        return text[:at] + bytes((text[at] ^ self._generator.randrange(1, 256),)) + text[at + 1 :]


def decode_tampering(place: str, entry: object) -> Timed:
    """A `[[tampering]]` of a file of faults."""
    fields = Fields(place, entry, (*TAMPER, "start"))
    return Timed(tamper_of(fields), fields.number("start", 0.0))


def decode_timer(place: str, entry: object) -> Timed:
    """A `[[timer]]` of a file of faults."""
    fields = Fields(place, entry, (*STALL_TIMER, "start"))
    return Timed(stall_of(fields), fields.number("start", 0.0))


TAMPER: Final = ("between", "seconds", "share", "how")
"""The fields of a step that tampers with messages."""

STALL_TIMER: Final = ("router", "seconds")
"""The fields of a step that stalls a timer."""


def tamper_of(fields: Fields) -> Tamper:
    """The action of a scenario's step."""
    known = {how.value: how for how in How}
    word = fields.text("how") if "how" in fields else How.DROP.value
    if word not in known:
        raise UnknownNameError("way to tamper with messages", word, known)
    between = fields.pair("between") if "between" in fields else None
    share = fields.number("share", 1.0, what="a share from 0 to 1")
    if share > 1:
        raise fields.error("share", "a share from 0 to 1", share)
    return Tamper(fields.number("seconds"), between, share, known[word])


def stall_of(fields: Fields) -> StallTimer:
    """The action of a scenario's step."""
    return StallTimer(fields.text("router"), fields.number("seconds"))


def encode_tampering(fault: Tamper | StallTimer) -> dict[str, object]:
    """The JSON object that `tamper_of` and `stall_of` read, with its `do`."""
    if isinstance(fault, StallTimer):
        return {"do": "stall-timer", "router": fault.router, "seconds": fault.seconds}
    said: dict[str, object] = {"do": "tamper", "seconds": fault.seconds, "how": fault.how.value}
    if fault.between is not None:
        said["between"] = list(fault.between)
    return said if fault.share == 1.0 else {**said, "share": fault.share}


def draw_tampering(
    generator: Random, routers: tuple[str, ...], links: tuple[tuple[str, str], ...], seconds: float
) -> list[tuple[float, Tamper | StallTimer]]:
    """Up to three faults of a round of a swarm, each for a part of it."""
    drawn: list[tuple[float, Tamper | StallTimer]] = []
    for _ in range(generator.choice((0, 1, 2, 3))):
        begin, end = sorted((generator.random() * seconds, generator.random() * seconds))
        if generator.random() < 0.2:
            fault: Tamper | StallTimer = StallTimer(generator.choice(routers), end - begin)
        else:
            between = generator.choice((None, *links))
            share = generator.choice((0.1, 0.5, 1.0))
            fault = Tamper(end - begin, between, share, generator.choice(tuple(How)))
        drawn.append((begin, fault))
    return drawn
