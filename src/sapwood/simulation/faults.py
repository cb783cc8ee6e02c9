"""Faults: links that fail and return, routers that crash and return, written down or drawn.

Beside them, routers that join and leave for good, and links that are added and removed.

::

    [[link]]
    between = ["r1", "r2"]
    down = 1.0                  # seconds from the first publication
    up = 2.0                    # left out: down until the end

    [[router]]
    name = "r3"
    down = 1.5
    up = 2.5

    [[router]]
    name = "r4"
    down = 1.5
    up = 2.5
    tail = "torn"               # the rest of what it has not written: "lost", "torn", "whole"
    steps = 3                   # it goes down while it writes, after this many steps from `down` on

    [[router]]
    name = "r9"
    joins = 1.0                 # it was not there before
    links = ["r1", "r3"]        # to whom it is linked then; can be left out
    latency = 0.02              # of these links; 0.01 where it is left out
    leaves = 4.0                # left out: it stays; without `joins`: it was there before

    [[link]]
    between = ["r1", "r5"]
    added = 1.0                 # it was not there before
    latency = 0.02              # 0.01 where it is left out
    removed = 3.0               # left out: it stays; without `added`: it was there before

    [[suspicion]]               # a failure detector that errs
    router = "r3"
    of = "r1"                   # a neighbor, alive or not
    at = 1.0
    seconds = 5.0               # the time it lasts, whatever messages come

    [[corruption]]              # tables that are not what they should be: `corruption`
    router = "r3"
    at = 2.0
    kinds = ["drop", "insert"]
    share = 0.5

    [[channel]]                 # what links do to messages: see `channels`
    loss = 0.05

    [[clock]]                   # clocks that drift, jump or stop: see `clocks`
    drift = "drawn"

    [[tampering]]               # messages in flight: see `sapwood.simulation.tampering`
    [[timer]]                   # and timers

    [[recipe]]                  # faults drawn with the seed
    name = "swizzle"            # or "flapping", "crashes"
    start = 3.0
    seconds = 2.0
    share = 0.5                 # of the links or routers
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from types import MappingProxyType
from typing import Final, TypeAlias, TypeVar

from sapwood.errors import InputError, UnknownNameError
from sapwood.overlay.fields import Fields
from sapwood.overlay.topology import LINK_LATENCY_DEFAULT_S, Overlay
from sapwood.simulation.channels import ChannelFault, decode_channel
from sapwood.simulation.clocks import ClockFault, decode_clock
from sapwood.simulation.corruption import decode_corruption
from sapwood.simulation.scenario import (
    Action,
    AddLink,
    AddRouter,
    CorruptTables,
    CrashRouter,
    FailLink,
    Places,
    RemoveLink,
    RemoveRouter,
    ReturnLink,
    ReturnRouter,
    Suspect,
)
from sapwood.simulation.stored import Tail
from sapwood.simulation.tampering import Timed, decode_tampering, decode_timer

T = TypeVar("T")

_FLAPS: Final = 5
"""The number of times that a flapping link goes down and comes up again."""


@dataclass(frozen=True, slots=True)
class LinkFault:
    """A link is down from `down_s` until `up_s`; `None`: to the end."""

    a: str
    b: str
    down_s: float
    up_s: float | None = None

    def actions(self) -> list[tuple[float, Action]]:
        """The actions, each with its time in seconds."""
        _check_order(f"link {self.a}-{self.b}", self.down_s, self.up_s)
        down: list[tuple[float, Action]] = [(self.down_s, FailLink(self.a, self.b))]
        return down if self.up_s is None else [*down, (self.up_s, ReturnLink(self.a, self.b))]


@dataclass(frozen=True, slots=True)
class RouterFault:
    """A router is down from `down_s` until `up_s`; `None`: to the end.

    `tail` and `steps` as in `CrashRouter`.
    """

    router: str
    down_s: float
    up_s: float | None = None
    tail: Tail = Tail.LOST
    steps: int | None = None

    def actions(self) -> list[tuple[float, Action]]:
        """The actions, each with its time in seconds."""
        _check_order(f"router {self.router}", self.down_s, self.up_s)
        crash = CrashRouter(self.router, self.tail, self.steps)
        down: list[tuple[float, Action]] = [(self.down_s, crash)]
        return down if self.up_s is None else [*down, (self.up_s, ReturnRouter(self.router))]


@dataclass(frozen=True, slots=True)
class LinkChange:
    """A link is added at `added_s` (`None`: it is there) and removed at `removed_s` (`None`: not).

    `latency_s` is that of a link that is added.
    """

    a: str
    b: str
    added_s: float | None = None
    removed_s: float | None = None
    latency_s: float = LINK_LATENCY_DEFAULT_S

    def actions(self) -> list[tuple[float, Action]]:
        """The actions, each with its time in seconds."""
        _check_life(f"link {self.a}-{self.b}", "added", self.added_s, "removed", self.removed_s)
        timed: list[tuple[float, Action]] = []
        if self.added_s is not None:
            timed.append((self.added_s, AddLink(self.a, self.b, self.latency_s)))
        if self.removed_s is not None:
            timed.append((self.removed_s, RemoveLink(self.a, self.b)))
        return timed


@dataclass(frozen=True, slots=True)
class RouterChange:
    """A router joins at `joins_s` (`None`: it is there) and leaves at `leaves_s` (`None`: not).

    One that joins is linked to `neighbors`, with a latency of `latency_s` each.
    """

    router: str
    joins_s: float | None = None
    leaves_s: float | None = None
    neighbors: tuple[str, ...] = ()
    latency_s: float = LINK_LATENCY_DEFAULT_S

    def actions(self) -> list[tuple[float, Action]]:
        """The actions, each with its time in seconds."""
        _check_life(f"router {self.router}", "joins", self.joins_s, "leaves", self.leaves_s)
        timed: list[tuple[float, Action]] = []
        if self.joins_s is not None:
            timed.append((self.joins_s, AddRouter(self.router)))
            links = (AddLink(self.router, other, self.latency_s) for other in self.neighbors)
            timed.extend((self.joins_s, link) for link in links)
        if self.leaves_s is not None:
            timed.append((self.leaves_s, RemoveRouter(self.router)))
        return timed


@dataclass(frozen=True, slots=True)
class SuspicionFault:
    """A router suspects a neighbor from `at_s` on for `seconds`, whatever messages come."""

    router: str
    neighbor: str
    at_s: float
    seconds: float

    def actions(self) -> list[tuple[float, Action]]:
        """The actions, each with its time in seconds."""
        return [(self.at_s, Suspect(self.router, self.neighbor, self.seconds))]


@dataclass(frozen=True, slots=True)
class CorruptionFault:
    """The tables of a router are changed at `at_s`."""

    at_s: float
    action: CorruptTables

    def actions(self) -> list[tuple[float, Action]]:
        """The actions, each with its time in seconds."""
        return [(self.at_s, self.action)]


Fault: TypeAlias = LinkFault | RouterFault
Written: TypeAlias = (
    Fault
    | LinkChange
    | RouterChange
    | SuspicionFault
    | CorruptionFault
    | ChannelFault
    | ClockFault
    | Timed
)


@dataclass(frozen=True, slots=True)
class Window:
    """The window of a recipe: a time, and a share of the links or routers."""

    start_s: float
    seconds: float
    share: float

    def moment(self, part: float) -> float:
        """The time at which a part (0 to 1) of the window has passed."""
        return self.start_s + part * self.seconds


Recipe: TypeAlias = Callable[[Overlay, Window, Random], list[Fault]]


def swizzle(topology: Overlay, window: Window, generator: Random) -> list[Fault]:
    """Links go down one by one, and return in another order.

    FoundationDB's swizzle-clogging: of all its recipes the one that found most.
    """
    chosen = _share(list(topology.links), window, generator)
    back = generator.sample(range(len(chosen)), len(chosen))
    slots = 2 * len(chosen)
    return [
        LinkFault(
            link.a,
            link.b,
            window.moment(number / slots),
            window.moment((len(chosen) + back[number] + 1) / slots),
        )
        for number, link in enumerate(chosen)
    ]


def flapping(topology: Overlay, window: Window, generator: Random) -> list[Fault]:
    """Faults by which a share of the links goes down and comes up again and again."""
    faults: list[Fault] = []
    for link in _share(list(topology.links), window, generator):
        times = sorted(generator.random() for _ in range(2 * _FLAPS))
        faults.extend(
            LinkFault(link.a, link.b, window.moment(down), window.moment(up))
            for down, up in zip(times[::2], times[1::2], strict=True)
            if down < up
        )
    return faults


def crashes(topology: Overlay, window: Window, generator: Random) -> list[Fault]:
    """Faults by which a share of the routers crashes once each and returns."""
    faults: list[Fault] = []
    for router in _share(list(topology.routers), window, generator):
        down, up = sorted((generator.random(), generator.random()))
        if down < up:
            faults.append(RouterFault(router, window.moment(down), window.moment(up)))
    return faults


RECIPES: Final[Mapping[str, Recipe]] = MappingProxyType(
    {"swizzle": swizzle, "flapping": flapping, "crashes": crashes}
)
"""Ways to draw faults, by name."""


def decode_faults(document: object, topology: Overlay, seed: int) -> list[tuple[float, Action]]:
    """The actions that a decoded TOML document describes, with their times, in order.

    A drawn fault does not strike a router or a link that has gone, or has yet to come. Raises
    `InputError` (or one of its kinds) naming the entry that is wrong.
    """
    fields = Fields("the faults", document, _TABLES)
    written: list[tuple[str, Written]] = []
    drawn: list[Fault] = []
    for number, entry in enumerate(fields.tables("link"), 1):
        place = f"link fault {number}"
        written.append((place, _decode_link(place, entry)))
    for number, entry in enumerate(fields.tables("router"), 1):
        place = f"router fault {number}"
        written.append((place, _decode_router(place, entry)))
    for number, entry in enumerate(fields.tables("suspicion"), 1):
        place = f"suspicion {number}"
        written.append((place, _decode_suspicion(place, entry)))
    for word, decode in _OTHERS.items():
        for number, entry in enumerate(fields.tables(word), 1):
            place = f"{word} {number}"
            written.append((place, decode(place, entry)))
    for number, entry in enumerate(fields.tables("recipe"), 1):
        generator = Random(f"{seed}/faults/{number}")  # noqa: S311 - reproducible on purpose
        drawn.extend(_draw(f"recipe {number}", entry, topology, generator))
    for number, entry in enumerate(fields.tables("corruption"), 1):
        place = f"corruption {number}"
        at_s, action = decode_corruption(place, entry, seed + number)
        written.append((place, CorruptionFault(at_s, action)))
    return _in_order(written, drawn, topology)


_OTHERS: Final[Mapping[str, Callable[[str, object], Written]]] = MappingProxyType(
    {
        "channel": decode_channel,
        "clock": decode_clock,
        "tampering": decode_tampering,
        "timer": decode_timer,
    }
)
"""Faults that have files of their own, and what reads their entries."""

_TABLES: Final = ("link", "router", "suspicion", "corruption", *_OTHERS, "recipe")


def _in_order(
    written: list[tuple[str, Written]],
    drawn: list[Fault],
    topology: Overlay,
) -> list[tuple[float, Action]]:
    """The actions in the order of time; drawn ones only where their router or link exists."""
    timed = [(*timed, place) for place, fault in written for timed in fault.actions()]
    timed.extend((*timed, "") for fault in drawn for timed in fault.actions())
    timed.sort(key=lambda one: one[0])
    places = Places(topology)
    actions: list[tuple[float, Action]] = []
    for time, action, place in timed:
        try:
            places.check(action)
        except InputError as error:
            if place:
                raise InputError(f"{place}: {error}") from error
        else:
            actions.append((time, action))
    return actions


def _decode_link(place: str, entry: object) -> LinkFault | LinkChange:
    known = ("between", "down", "up", "added", "removed", "latency")
    fields = Fields(place, entry, known)
    a, b = fields.pair("between")
    if "added" not in fields and "removed" not in fields:
        return LinkFault(a, b, fields.number("down"), _moment(fields, "up"))
    _refuse(fields, ("down", "up"), "in the entry of a link that is added or removed")
    times = _moment(fields, "added"), _moment(fields, "removed")
    return LinkChange(a, b, *times, fields.number("latency", LINK_LATENCY_DEFAULT_S))


def _decode_router(place: str, entry: object) -> RouterFault | RouterChange:
    known = ("name", "down", "up", "tail", "steps", "joins", "leaves", "links", "latency")
    fields = Fields(place, entry, known)
    router = fields.text("name")
    if "joins" not in fields and "leaves" not in fields:
        steps = fields.integer("steps") if "steps" in fields else None
        up = _moment(fields, "up")
        return RouterFault(router, fields.number("down"), up, tail_of(fields), steps)
    of_faults = ("down", "up", "tail", "steps")
    _refuse(fields, of_faults, "in the entry of a router that joins or leaves")
    if "joins" not in fields:
        _refuse(fields, ("links", "latency"), "where a router does not join")
    times = _moment(fields, "joins"), _moment(fields, "leaves")
    neighbors = fields.texts("links") if "links" in fields else ()
    latency_s = fields.number("latency", LINK_LATENCY_DEFAULT_S)
    return RouterChange(router, *times, neighbors, latency_s)


def tail_of(fields: Fields) -> Tail:
    """The unwritten part that a crash leaves, from the `tail` of an entry: nothing, by default."""
    known = {tail.value: tail for tail in Tail}
    word = fields.text("tail") if "tail" in fields else Tail.LOST.value
    if word not in known:
        raise UnknownNameError("tail", word, known)
    return known[word]


def _decode_suspicion(place: str, entry: object) -> SuspicionFault:
    fields = Fields(place, entry, ("router", "of", "at", "seconds"))
    times = fields.number("at"), fields.number("seconds")
    return SuspicionFault(fields.text("router"), fields.text("of"), *times)


def _draw(place: str, entry: object, topology: Overlay, generator: Random) -> list[Fault]:
    fields = Fields(place, entry, ("name", "start", "seconds", "share"))
    name = fields.text("name")
    if name not in RECIPES:
        raise UnknownNameError("recipe", name, RECIPES)
    share = fields.number("share", 0.5, what="a share from 0 to 1")
    if share > 1:
        raise fields.error("share", "a share from 0 to 1", share)
    window = Window(fields.number("start"), fields.number("seconds"), share)
    return RECIPES[name](topology, window, generator)


def _moment(fields: Fields, key: str) -> float | None:
    return fields.number(key) if key in fields else None


def _refuse(fields: Fields, keys: tuple[str, ...], where: str) -> None:
    for key in keys:
        if key in fields:
            raise InputError(f"{fields.place}: `{key}` says nothing {where}; leave it out")


def _share(items: list[T], window: Window, generator: Random) -> list[T]:
    """A share of the items in random order: at least one, if there are any and it is not 0."""
    count = max(1, round(window.share * len(items))) if window.share and items else 0
    return generator.sample(items, count)


def _check_order(what: str, down_s: float, up_s: float | None) -> None:
    if up_s is not None and up_s <= down_s:
        raise InputError(f"{what} is down at {down_s:g} s; it cannot be up before, at {up_s:g} s")


def _check_life(
    what: str, begins: str, begin_s: float | None, ends: str, end_s: float | None
) -> None:
    if begin_s is not None and end_s is not None and end_s <= begin_s:
        raise InputError(f"{what}: `{ends}`, {end_s:g} s, comes after `{begins}`, {begin_s:g} s")
