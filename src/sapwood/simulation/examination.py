"""A scenario under a protocol, looked at in every way: the oracle, divergence, strays, leaks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from sapwood.model.publication import Publication
from sapwood.routing.protocols import can_be_meshed
from sapwood.routing.protocols import protocol as protocol_named
from sapwood.routing.upkeep.failover.choice import is_planned
from sapwood.simulation.divergence import divergences, leaks, strays
from sapwood.simulation.legality import globally_illegal, speaks_of
from sapwood.simulation.machine import MakeRouter
from sapwood.simulation.oracle import Judgment, judge
from sapwood.simulation.scenario import Scenario
from sapwood.simulation.simulator import (
    Outcome,
    check_loss,
    delay_for,
    protocol_on,
    router_maker,
    simulate,
)
from sapwood.simulation.supply import misled
from sapwood.simulation.swarm import Mixture, draw_scenario
from sapwood.simulation.world import World

PROBES: Final = (
    Publication("record", {"x": 1, "y": 2, "t": "oak", "b": True}),
    Publication("record", {"x": 4, "t": "elm", "b": False}),
    Publication("both", {"y": 0}, b'<a m="1"><b><c>elm</c></b></a>'),
)
"""Publications sent from everywhere, to compare an overlay with a fresh one."""

ADVERTISING_EVERY: Final = 4
"""Under protocols that do not route by advertisements, clients advertise in every fourth seed."""
CIRCLES_EVERY: Final = 5
"""Under protocols that do not require circles, links form circles in every fifth seed."""
DOCUMENTS_EVERY: Final = 2
"""In every second seed there are documents and XPath subscriptions beside records."""

SMALL: Final = Mixture(routers_max=4, rounds_max=2)
"""The bounds of small scenarios: a mistake that needs many routers and rounds is rare."""


@dataclass(frozen=True, slots=True)
class Examination:
    """The results of a scenario; `found` counts the faults found, by verdict."""

    scenario: Scenario
    outcome: Outcome
    judgment: Judgment
    found: Mapping[str, int]


def draw_for(
    protocol: str,
    seed: int,
    *,
    rewiring: bool = False,
    relapses: bool = False,
    changes: bool = False,
    small: bool = False,
) -> Scenario:
    """The scenario of a seed in a swarm under a protocol.

    The protocol decides whether all advertise, whether links form circles, whether routers have
    stores that can fail, and whether there are documents in each; with `rewiring` routers and links
    come and go, with `relapses` the disks of those that recover come back with older states; with
    `changes` clients change filters. With `small` the scenario keeps to the bounds of `SMALL`, and
    takes a third of the time.
    """
    chosen = protocol_named(protocol)
    mixture = replace(
        SMALL if small else Mixture(),
        advertisements=chosen.clients_advertise or seed % ADVERTISING_EVERY == 0,
        documents=chosen.forwarding.by_type or seed % DOCUMENTS_EVERY == 0,
        circles=chosen.allows_circles or (seed % CIRCLES_EVERY == 0 and can_be_meshed(chosen)),
        rewiring=rewiring,
        stores=chosen.persists,
        suspicions=is_planned(chosen),
        relapses=relapses and chosen.persists,
        changes=changes,
        tampering=chosen.heals and not rewiring,
        losses=chosen.heals and chosen.allows_loss and not rewiring,
    )
    return draw_scenario(seed, mixture)


def examine(scenario: Scenario, protocol: str) -> Examination:
    """Run a scenario with routers that check themselves at rest, and look for all that is wrong."""
    chosen = protocol_on(scenario.topology, protocol)
    check_loss(scenario, chosen)
    make_router = router_maker(chosen)
    delay = delay_for(chosen, scenario.seed)
    outcome = simulate(scenario, make_router, validate=False, calm_s=chosen.calm_s, delay=delay)
    judgment = judge_world(outcome.world, outcome.stuck, protocol)
    found = findings(outcome.world, judgment, protocol, make_router)
    return Examination(scenario, outcome, judgment, found)


def judge_world(world: World, stuck: tuple[str, ...], protocol: str) -> Judgment:
    """The oracle's judgment on a world at rest."""
    advertised = protocol_named(protocol).clients_advertise
    return judge(world.history, world.network.delay_max_s, stuck=stuck, advertised=advertised)


def verdicts(judgment: Judgment) -> dict[str, int]:
    """The count of each unfavorable verdict in a judgment."""
    return {
        "lost": judgment.lost.count,
        "unexpected": judgment.unexpected.count,
        "duplicated": judgment.duplicated.count,
        "reordered": judgment.reordered.count,
        "stuck": len(judgment.stuck),
        "admitted": len(judgment.admitted),
        "rebuffed": len(judgment.rebuffed),
    }


def findings(
    world: World, judgment: Judgment, protocol: str, make_router: MakeRouter
) -> dict[str, int]:
    """Every word that is not zero, of all the ways to look at a world; empty for right routers.

    The world is used up: probes are published in it, and its clients leave.
    """
    links = not protocol_named(protocol).routes_depend_on_order
    words = {
        **verdicts(judgment),
        "misled": len(misled(world)),
        "closed": world.tally.links_closed,
        "illegal": len(globally_illegal(world)) if speaks_of(world) else 0,
        "misjudged": world.time.bounds.wrong + world.time.bounds.wrong_ages,
        "parted": len(parted(world)) if is_planned(protocol_named(protocol)) else 0,
        "strayed": len(strayed(world, protocol)),
        "diverged": len(divergences(world, make_router, PROBES, links=links)),
        "leaked": len(leaks(world, make_router)),
    }
    return {word: count for word, count in words.items() if count}


def parted(world: World) -> tuple[str, ...]:
    """The routers that the first one does not reach, where all were joined at the beginning."""
    _, first = world.history.overlays[0]
    present = world.topology
    if not first.is_tree or len(first.tree(first.routers[0]).routers) < len(first.routers):
        return ()
    reached = present.tree(present.routers[0])
    return tuple(name for name in present.routers if name not in reached)


def strayed(world: World, protocol: str) -> tuple[str, ...]:
    """The subscriptions that no advertisement intersects, where the protocol requires one."""
    return strays(world) if protocol_named(protocol).clients_advertise else ()
