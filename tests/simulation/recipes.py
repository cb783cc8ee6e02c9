"""Scenarios with a name: situations that go wrong in systems like this one, each made on purpose.

The list follows what FoundationDB and Jepsen found to be most telling.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random

from sapwood.language import parse_filter
from sapwood.model.publication import Publication
from sapwood.overlay.shapes import parse_topology
from sapwood.overlay.topology import Link, Overlay, Topology
from sapwood.simulation.faults import RECIPES, Window
from sapwood.simulation.history import ClientName, SubscriptionName
from sapwood.simulation.network import NOMINAL, Timing
from sapwood.simulation.scenario import (
    Action,
    CrashRouter,
    FailLink,
    PublishAction,
    ReturnLink,
    ReturnRouter,
    Scenario,
    Step,
    SubscribeAction,
    UnsubscribeAction,
    Until,
    WaitAction,
    timed_steps,
)

LINE = parse_topology("line:5", Random(0).randrange)
CONFIRMED = Step(WaitAction(Until.CONFIRMED))
QUIET = Step(WaitAction(Until.QUIET))
UNEVEN = Timing(jitter=3.0, notice_s=0.02)

WIDE = SubscriptionName("r1", "ann", "wide")
NARROW = SubscriptionName("r1", "bob", "narrow")
FAR = SubscriptionName("r5", "eve", "far")


def subscribe(name: SubscriptionName, wanted: str) -> Action:
    return SubscribeAction(name, parse_filter(wanted))


def traffic(*homes: str, count: int = 200, every_s: float = 0.0005) -> list[tuple[float, Action]]:
    """A dense stream of publications, from each home in turn."""
    return [
        (
            number * every_s,
            PublishAction(
                ClientName(homes[number % len(homes)], "publisher"),
                Publication(f"p{number}", {"x": number % 8}),
            ),
        )
        for number in range(count)
    ]


def during_traffic(
    name: str,
    happening: list[tuple[float, Action]],
    *,
    topology: Overlay = LINE,
    timing: Timing = NOMINAL,
    before: tuple[Action, ...] = (),
) -> Scenario:
    """Everybody subscribes; something happens while publications stream; all comes to rest."""
    known = (subscribe(WIDE, "x >= 1"), subscribe(NARROW, "x >= 3"), subscribe(FAR, "x >= 2"))
    steps = [Step(action) for action in (*before, *known)]
    steps += [CONFIRMED, QUIET, *timed_steps([*traffic("r5", "r1", "r3"), *happening]), QUIET]
    last = PublishAction(ClientName("r3", "publisher"), Publication("last", {"x": 7}))
    return Scenario(name, topology, (*steps, Step(last)), seed=1, timing=timing)


def uncover_under_traffic(timing: Timing = UNEVEN) -> Scenario:
    """The subscription that covered another is withdrawn: no publication may fall in between."""
    back_and_forth: list[tuple[float, Action]] = []
    for number in range(5):
        at = 0.02 * number
        back_and_forth += [(at, UnsubscribeAction(WIDE)), (at + 0.01, subscribe(WIDE, "x >= 1"))]
    return during_traffic("uncover under traffic", back_and_forth, timing=timing)


def partition_during_subscribe() -> Scenario:
    """A link fails while subscriptions, and then their withdrawals, are on it."""
    new = SubscriptionName("r2", "ann", "new")
    happening: list[tuple[float, Action]] = [
        (0.000, subscribe(new, "x >= 0")),
        (0.005, FailLink("r3", "r4")),
        (0.030, ReturnLink("r3", "r4")),
        (0.060, UnsubscribeAction(new)),
        (0.065, FailLink("r2", "r3")),
        (0.066, ReturnLink("r2", "r3")),
    ]
    return during_traffic("partition during subscribe", happening, timing=UNEVEN)


def flapping_link() -> Scenario:
    """A link goes down and comes up faster than state can travel over it."""
    happening: list[tuple[float, Action]] = []
    for number in range(15):
        at = 0.006 * number
        happening += [(at, FailLink("r2", "r3")), (at + 0.003, ReturnLink("r2", "r3"))]
    return during_traffic("flapping link", happening)


def swizzle() -> Scenario:
    """Links go down one by one and return in another order."""
    faults = RECIPES["swizzle"](LINE, Window(0.0, 0.1, 1.0), Random(1))
    timed = [event for fault in faults for event in fault.actions()]
    return during_traffic("swizzle", timed, timing=UNEVEN)


def crash_between_accept_and_forward() -> Scenario:
    """A router crashes in the very moment in which it accepted a publication."""
    happening: list[tuple[float, Action]] = [
        (0.0, PublishAction(ClientName("r3", "eve"), Publication("doomed", {"x": 5}))),
        (0.0, CrashRouter("r3")),
        (0.05, ReturnRouter("r3")),
    ]
    return during_traffic("crash between accept and forward", happening)


def two_crashes_on_one_path() -> Scenario:
    """Two routers on the way are down at overlapping times."""
    happening: list[tuple[float, Action]] = [
        (0.010, CrashRouter("r2")),
        (0.020, CrashRouter("r4")),
        (0.030, ReturnRouter("r2")),
        (0.050, ReturnRouter("r4")),
        (0.055, CrashRouter("r2")),
        (0.070, ReturnRouter("r2")),
    ]
    return during_traffic("two crashes on one path", happening, timing=UNEVEN)


def slow_router() -> Scenario:
    """One router is a hundred times farther away than all others."""
    links = tuple(Link(k.a, k.b, 1.0 if "r3" in (k.a, k.b) else 0.01) for k in LINE.links)
    happening: list[tuple[float, Action]] = [
        (0.02, UnsubscribeAction(WIDE)),
        (0.04, subscribe(WIDE, "x >= 1")),
        (0.05, FailLink("r4", "r5")),
        (0.06, ReturnLink("r4", "r5")),
    ]
    return during_traffic("slow router", happening, topology=Topology(LINE.routers, links))


def home_crash() -> Scenario:
    """The home router of subscribers crashes twice; they come back and subscribe again."""
    happening: list[tuple[float, Action]] = []
    for at in (0.01, 0.06):
        happening += [(at, CrashRouter("r1")), (at + 0.02, ReturnRouter("r1"))]
    return during_traffic("home crash", happening, timing=UNEVEN)


NAMED: tuple[Callable[[], Scenario], ...] = (
    uncover_under_traffic,
    partition_during_subscribe,
    flapping_link,
    swizzle,
    crash_between_accept_and_forward,
    two_crashes_on_one_path,
    slow_router,
    home_crash,
)
