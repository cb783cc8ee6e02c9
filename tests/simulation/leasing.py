"""Overlays under leases, whose tables are put wrong, and what must be so again after the bound."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import pairwise
from typing import Any

from sapwood.language import parse_filter
from sapwood.limits.leases import LEASE_EXTENSION_MAX_S
from sapwood.overlay.topology import Link, Topology
from sapwood.routing.inputs import Receive
from sapwood.routing.messages import Subscribe, Unsubscribe
from sapwood.routing.protocols import protocol
from sapwood.routing.router import Router
from sapwood.routing.upkeep.leases.extension import Conservative, Extension
from sapwood.routing.upkeep.leases.leases import Leases
from sapwood.routing.upkeep.leases.terms import Terms
from sapwood.simulation.divergence import divergences
from sapwood.simulation.examination import PROBES, findings, judge_world
from sapwood.simulation.machine import MakeRouter
from sapwood.simulation.network import Timing
from sapwood.simulation.scenario import Scenario
from sapwood.simulation.simulator import router_maker, simulate
from sapwood.simulation.world import World
from tests.routing.wiring import core_of
from tests.simulation.helpers import publish, subscribe

MakeLeases = Callable[[Any, Terms], Leases]


def leasing(
    name: str = "covering+leases", terms: Terms | None = None, make: MakeLeases = Leases
) -> MakeRouter:
    """Routers under a protocol with leases, on other terms or with other leases than usual."""
    chosen = protocol(name)
    agreed = Terms() if terms is None else terms
    upkeep = replace(chosen.upkeep, make=lambda router: make(router, agreed))
    return router_maker(replace(chosen, upkeep=upkeep))


def line(routers: int, latency_s: float) -> Topology:
    """Routers in a row, with links that are all alike."""
    names = tuple(f"r{number}" for number in range(1, routers + 1))
    return Topology(names, tuple(Link(a, b, latency_s) for a, b in pairwise(names)))


def short(
    period_s: float = 0.8, extension: Callable[[], Extension] = Conservative, **others: Any
) -> Terms:
    """The terms of XSiena 9.4: an interval of a second."""
    return Terms(1.0, period_s, extension, **others)


def leases_of(world: World, name: str) -> Leases:
    """The leases of a router."""
    router = world.routers[name]
    assert isinstance(router, Router)
    assert isinstance(router.upkeep, Leases)
    return router.upkeep


def keys_at(world: World, name: str) -> dict[str, list[str]]:
    """The keys of the subscriptions that a router knows, by neighbor."""
    found: dict[str, list[str]] = {}
    for neighbor, key, *_ in world.routers[name].received():
        found.setdefault(neighbor, []).append(key)
    return found


def settled_world(make_router: MakeRouter, terms: Terms, *, latency_s: float = 0.01) -> World:
    """Five routers in a row with four subscriptions, one of which covers another."""
    world = World(line(5, latency_s), make_router, calm_s=terms.healed_s)
    for home, id_, text in (
        ("r1", "narrow", "x > 5"),
        ("r1", "wide", "x > 0"),
        ("r3", "other", "x > 3"),
        ("r5", "text", "t = 'elm'"),
    ):
        subscribe(world, home, id_, text)
    world.run_until(world.now + 1.0)
    return world


def corrupt(world: World) -> None:
    """Put tables wrong behind the back of upkeep, in each way that there is."""
    changes: Iterable[tuple[str, str, Subscribe | Unsubscribe]] = (
        ("r2", "r3", Subscribe("bogus", parse_filter("true"), 9)),  # hides all that is right
        ("r4", "r3", Unsubscribe("r1.0.2")),  # the wide one is gone
        ("r3", "r4", Unsubscribe("r5.0.1")),  # and comes from the wrong side
        ("r3", "r2", Subscribe("r5.0.1", parse_filter("t = 'elm'"), 9)),
        ("r2", "r1", Unsubscribe("r1.0.2")),  # and has another filter
        ("r2", "r1", Subscribe("r1.0.2", parse_filter("x > 7"), 9)),
    )
    world.history.disturb(world.now)
    for router, neighbor, message in changes:
        machine = world.routers[router]
        assert isinstance(machine, Router)
        core_of(machine).apply(Receive(neighbor, message))


def wrong_after(world: World, seconds: float, make_router: MakeRouter) -> tuple[str, ...]:
    """The differences between a world and a fresh one, `seconds` from now."""
    world.run_until(world.now + seconds)
    return divergences(world, make_router, PROBES)


def slow_line(make_router: MakeRouter, terms: Terms, timing: Timing, seconds: float) -> list[str]:
    """The publications, one each tenth of a second, that do not arrive at a slow line's other end.

    Nothing fails: whatever does not arrive was lost because a lease ran out.
    """
    world = World(line(5, 0.15), make_router, seed=3, timing=timing, calm_s=terms.healed_s)
    subscribe(world, "r1", "s", "x >= 0")
    world.run_until(LEASE_EXTENSION_MAX_S + 3.0)  # of what was stated when no delay was known
    count = round(seconds * 10)
    for number in range(count):
        publish(world, "r5", f"p{number}", x=number)
        world.run_until(world.now + 0.1)
    world.run_until(world.now + 5.0)
    came = {delivery.publication for delivery in world.history.deliveries}
    return [f"p{number}" for number in range(count) if f"p{number}" not in came]


def found_in(scenario: Scenario, make_router: MakeRouter, name: str, calm_s: float) -> list[str]:
    """The words that are said of a scenario under routers with a protocol of that name."""
    outcome = simulate(scenario, make_router, validate=False, calm_s=calm_s)
    judgment = judge_world(outcome.world, outcome.stuck, name)
    return sorted(findings(outcome.world, judgment, name, make_router))
