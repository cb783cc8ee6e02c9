"""Faults: links that fail and return, routers that crash and return, written down or drawn.

::

    [[link]]
    between = ["r1", "r2"]
    down = 1.0                  # seconds from the first publication
    up = 2.0                    # left out: down until the end

    [[router]]
    name = "r3"
    down = 1.5
    up = 2.5

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
from sapwood.overlay.topology import Overlay
from sapwood.simulation.scenario import Action, CrashRouter, FailLink, ReturnLink, ReturnRouter

T = TypeVar("T")

_FLAPS: Final = 5
"""How often a flapping link goes down and comes up again."""


@dataclass(frozen=True, slots=True)
class LinkFault:
    """A link is down from `down_s` until `up_s`; `None`: to the end."""

    a: str
    b: str
    down_s: float
    up_s: float | None = None

    def actions(self) -> list[tuple[float, Action]]:
        """What happens when."""
        _check_order(f"link {self.a}-{self.b}", self.down_s, self.up_s)
        down: list[tuple[float, Action]] = [(self.down_s, FailLink(self.a, self.b))]
        return down if self.up_s is None else [*down, (self.up_s, ReturnLink(self.a, self.b))]


@dataclass(frozen=True, slots=True)
class RouterFault:
    """A router is down from `down_s` until `up_s`; `None`: to the end."""

    router: str
    down_s: float
    up_s: float | None = None

    def actions(self) -> list[tuple[float, Action]]:
        """What happens when."""
        _check_order(f"router {self.router}", self.down_s, self.up_s)
        down: list[tuple[float, Action]] = [(self.down_s, CrashRouter(self.router))]
        return down if self.up_s is None else [*down, (self.up_s, ReturnRouter(self.router))]


Fault: TypeAlias = LinkFault | RouterFault


@dataclass(frozen=True, slots=True)
class Window:
    """When and where a recipe may strike: a time, and a share of the links or routers."""

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
    """Some links go down and come up again and again."""
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
    """Some routers crash once each and return."""
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
    """What happens when, in the order of time, as a decoded TOML document describes it.

    Raises `InputError` (or one of its kinds) naming the entry that is wrong.
    """
    fields = Fields("the faults", document, ("link", "router", "recipe"))
    faults: list[Fault] = []
    for number, entry in enumerate(fields.tables("link"), 1):
        faults.append(_decode_link(f"link fault {number}", entry, topology))
    for number, entry in enumerate(fields.tables("router"), 1):
        faults.append(_decode_router(f"router fault {number}", entry, topology))
    for number, entry in enumerate(fields.tables("recipe"), 1):
        generator = Random(f"{seed}/faults/{number}")  # noqa: S311 - reproducible on purpose
        faults.extend(_draw(f"recipe {number}", entry, topology, generator))
    return sorted((timed for fault in faults for timed in fault.actions()), key=lambda t: t[0])


def _decode_link(place: str, entry: object, topology: Overlay) -> LinkFault:
    fields = Fields(place, entry, ("between", "down", "up"))
    a, b = fields.pair("between")
    try:
        topology.link(a, b)
    except InputError as error:
        raise InputError(f"{place}: {error}") from error
    return LinkFault(a, b, fields.number("down"), _up(fields))


def _decode_router(place: str, entry: object, topology: Overlay) -> RouterFault:
    fields = Fields(place, entry, ("name", "down", "up"))
    router = topology.known(fields.text("name"))
    return RouterFault(router, fields.number("down"), _up(fields))


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


def _up(fields: Fields) -> float | None:
    return fields.number("up") if "up" in fields else None


def _share(items: list[T], window: Window, generator: Random) -> list[T]:
    """A share of the items in random order: at least one, if there are any and a share is asked."""
    count = max(1, round(window.share * len(items))) if window.share and items else 0
    return generator.sample(items, count)


def _check_order(what: str, down_s: float, up_s: float | None) -> None:
    if up_s is not None and up_s <= down_s:
        raise InputError(f"{what} is down at {down_s:g} s; it cannot be up before, at {up_s:g} s")
