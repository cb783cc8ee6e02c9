"""Experiments that `sweep` can run: functions of one configuration, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from sapwood.errors import InputError

OVERLAYS: Final = f"{__name__}:simulate_overlay"
"""The name of the experiment that simulates an overlay."""

_NEEDED: Final = ("protocol", "topology", "subscriptions", "publications")
_ENGINE: Final = "counting"


def simulate_overlay(configuration: Mapping[str, Any]) -> dict[str, Any]:
    """One run of the simulator, as `sapwood simulate` does it: what it costs and what went wrong.

    The configuration names `protocol`, `topology`, `subscriptions` and `publications` (JSON Lines
    files that executors can read) and may name a `seed`. Figures are counts; `table_entries` sums
    up what all routers hold at the end, `wrong` the oracle's verdicts of every kind. Raises
    `InputError` for a configuration that lacks something, and for a bad line.
    """
    from random import Random

    from sapwood.files.reading import read_publications, read_subscriptions
    from sapwood.files.rejections import StrictRejections
    from sapwood.overlay.shapes import parse_topology
    from sapwood.routing.protocols import protocol as protocol_named
    from sapwood.simulation.metrics import measure
    from sapwood.simulation.oracle import judge
    from sapwood.simulation.scenario import subscribe_then_publish
    from sapwood.simulation.simulator import router_maker, simulate

    missing = [name for name in _NEEDED if not isinstance(configuration.get(name), str)]
    if missing:
        raise InputError(f"a configuration names {', '.join(_NEEDED)}; this one lacks {missing[0]}")
    seed = configuration.get("seed", 0)
    protocol = protocol_named(configuration["protocol"])
    draw = Random(f"{seed}/topology").randrange  # noqa: S311 - reproducible on purpose
    published = read_publications(configuration["publications"], StrictRejections())
    scenario = subscribe_then_publish(
        "sweep",
        parse_topology(configuration["topology"], draw),
        read_subscriptions(configuration["subscriptions"], StrictRejections()),
        [(line.publication, line.home) for line in published],
        advertisements=None,
        seed=seed,
    )
    outcome = simulate(scenario, router_maker(protocol.name, _ENGINE), validate=False)
    world = outcome.world
    judgment = judge(
        world.history,
        world.network.delay_max_s,
        advertised=protocol.clients_advertise,
        stuck=outcome.stuck,
        seed=seed,
    )
    figures = measure(outcome, judgment, protocol=protocol.name, engine=_ENGINE, seed=seed)
    verdicts = figures.verdicts
    return {
        "routers": figures.routers,
        "deliveries": figures.deliveries,
        "messages": sum(figures.messages.values()),
        "crossings": figures.false_positives.crossings,
        "needless": figures.false_positives.needless,
        "content_matches": figures.content_matches,
        "table_entries": sum(sum(table.values()) for table in figures.tables.values()),
        "virtual_seconds": figures.virtual_seconds,
        "wrong": verdicts.lost + verdicts.unexpected + verdicts.duplicated + verdicts.reordered,
    }
