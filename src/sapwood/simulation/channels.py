"""Channels: how links treat messages beside their latency: lose, repeat, reorder, delay, pause.

In a file of faults::

    [[channel]]
    between = ["r1", "r2"]      # left out: every link
    loss = 0.05                 # shares of the messages: lost,
    duplication = 0.01          # twice,
    reordering = 0.1            # not kept behind those before it
    delay = "pareto"            # beside the latency; or "uniform", "exponential"
    scale = 0.002               # seconds: the longest, the mean, where the tail begins
    longest = 1.0               # no delay is longer; 1.0 where it is left out
    pause = 0.0005              # seconds, at most, until a router sends its messages
    start = 1.0                 # from the first publication on
    stop = 3.0                  # left out: to the end

Between these times a link follows the last entry about it. Messages of links that lose,
repeat or reorder are datagrams: only some protocols allow that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import log
from types import MappingProxyType
from typing import Final

from sapwood.errors import InputError, UnknownNameError
from sapwood.overlay.fields import Fields

LONGEST_DEFAULT_S: Final = 1.0
"""The longest delay of a message in seconds, where an entry does not state another."""

PARETO_SHAPE: Final = 1.2
"""The tail of round trips on the Internet: a mean, and hardly a variance."""

DELAYS: Final[Mapping[str, Callable[[float, float], float]]] = MappingProxyType(
    {
        "none": lambda _scale, _part: 0.0,
        "uniform": lambda scale, part: scale * part,
        "exponential": lambda scale, part: -scale * log(1.0 - part),
        "pareto": lambda scale, part: scale * ((1.0 - part) ** (-1.0 / PARETO_SHAPE) - 1.0),
    }
)
"""Distributions of delays by name: a scale and a number from 0 up to 1 to seconds."""


@dataclass(frozen=True, slots=True)
class Channel:
    """The treatment of messages on a link; shares are from 0 to 1, times in seconds."""

    loss: float = 0.0
    duplication: float = 0.0
    reordering: float = 0.0
    delay: str = "none"
    scale_s: float = 0.0
    longest_s: float = LONGEST_DEFAULT_S
    pause_s: float = 0.0

    def __post_init__(self) -> None:
        for name in ("loss", "duplication", "reordering"):
            share = getattr(self, name)
            if not 0 <= share <= 1:
                raise InputError(f"the {name} of a channel is a share from 0 to 1, not {share!r}")
        if self.delay not in DELAYS:
            raise UnknownNameError("distribution of delays", self.delay, DELAYS)

    @property
    def is_datagram(self) -> bool:
        """True if it may lose, repeat or reorder messages."""
        return bool(self.loss or self.duplication or self.reordering)

    @property
    def extra_max_s(self) -> float:
        """The most seconds that it adds to a latency."""
        return self.pause_s + (0.0 if self.delay == "none" else self.longest_s)

    def draw_delay(self, draw: Callable[[], float]) -> float:
        """Seconds that a message takes beside the latency."""
        if self.delay == "none":
            return 0.0
        return min(DELAYS[self.delay](self.scale_s, draw()), self.longest_s)


CALM: Final = Channel()
"""Nothing happens to messages."""


@dataclass(frozen=True, slots=True)
class SetChannel:
    """From now on the link between two routers, or every link, is such a channel."""

    channel: Channel
    between: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class ChannelFault:
    """A link, or every link, is such a channel from one time to another, or to the end."""

    channel: Channel
    between: tuple[str, str] | None = None
    start_s: float = 0.0
    stop_s: float | None = None

    def actions(self) -> list[tuple[float, SetChannel]]:
        """The actions, each with its time in seconds."""
        begins = (self.start_s, SetChannel(self.channel, self.between))
        if self.stop_s is None:
            return [begins]
        if self.stop_s <= self.start_s:
            raise InputError(
                f"a channel that starts at {self.start_s:g} s cannot stop at {self.stop_s:g} s"
            )
        return [begins, (self.stop_s, SetChannel(CALM, self.between))]


class Channels:
    """The present channel of each link of a network.

    #: _of has both directions of each link that was set by itself since all were set
    """

    __slots__ = ("_every", "_of", "extra_max_s", "is_calm")

    def __init__(self) -> None:
        self._every = CALM
        self._of: dict[tuple[str, str], Channel] = {}
        #: of all that ever were
        self.extra_max_s = 0.0
        self.is_calm = True

    def of(self, a: str, b: str) -> Channel:
        """The channel of the link between two routers."""
        return self._of.get((a, b), self._every)

    def set(self, change: SetChannel) -> None:
        """Let a link, or all, be another channel."""
        channel = change.channel
        self.extra_max_s = max(self.extra_max_s, channel.extra_max_s)
        if change.between is None:
            self._every = channel
            self._of.clear()
        else:
            a, b = change.between
            self._of[a, b] = self._of[b, a] = channel
        self.is_calm = self._every == CALM and all(one == CALM for one in self._of.values())

    @property
    def has_datagrams(self) -> bool:
        """True if some link may lose, repeat or reorder messages at present."""
        return self._every.is_datagram or any(one.is_datagram for one in self._of.values())


_NUMBERS: Final = ("loss", "duplication", "reordering", "scale", "longest", "pause")
_KNOWN: Final = ("between", "delay", *_NUMBERS)


def channel_of(fields: Fields) -> Channel:
    """The channel that an entry describes."""
    shares = {key: fields.number(key, 0.0, what="a share") for key in _NUMBERS[:3]}
    return Channel(
        **shares,
        delay=fields.text("delay", "none"),
        scale_s=fields.number("scale", 0.0),
        longest_s=fields.number("longest", LONGEST_DEFAULT_S),
        pause_s=fields.number("pause", 0.0),
    )


def decode_channel(place: str, entry: object) -> ChannelFault:
    """A `[[channel]]` of a file of faults."""
    fields = Fields(place, entry, (*_KNOWN, "start", "stop"))
    return ChannelFault(
        channel_of(fields),
        fields.pair("between") if "between" in fields else None,
        fields.number("start", 0.0),
        fields.number("stop") if "stop" in fields else None,
    )


def decode_set_channel(fields: Fields) -> SetChannel:
    """The action of a scenario's step."""
    between = fields.pair("between") if "between" in fields else None
    return SetChannel(channel_of(fields), between)


def encode_set_channel(change: SetChannel) -> dict[str, object]:
    """The JSON object that `decode_set_channel` reads."""
    channel = change.channel
    said: dict[str, object] = {
        "loss": channel.loss,
        "duplication": channel.duplication,
        "reordering": channel.reordering,
        "delay": channel.delay,
        "scale": channel.scale_s,
        "longest": channel.longest_s,
        "pause": channel.pause_s,
    }
    if change.between is not None:
        said["between"] = list(change.between)
    return {"do": "set-channel", **said}


SET_CHANNEL: Final = _KNOWN
"""The fields of a step that sets one."""
