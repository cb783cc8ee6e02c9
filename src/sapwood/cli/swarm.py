"""`sapwood simulate --swarm`: random scenarios, one a seed, until one goes wrong."""

from __future__ import annotations

import click

from sapwood.cli.output import (
    print_json,
    progress,
)
from sapwood.model.amounts import amount


def run_swarm(protocol: str, seed: int, count: int, *, as_json: bool) -> bool:
    """Examine the scenarios of a number of seeds; whether all was right.

    The first that goes wrong ends the run, and its story is printed.
    """
    from sapwood.routing.protocols import protocol as protocol_named
    from sapwood.simulation.examination import draw_for, examine

    protocol_named(protocol)
    deliveries = due = done = 0
    wrong: dict[str, int] = {}
    with progress("scenarios", "scenarios") as advance:
        for at in range(seed, seed + count):
            examined = examine(draw_for(protocol, at), protocol)
            deliveries += len(examined.outcome.world.history.deliveries)
            due += examined.judgment.must
            done += 1
            wrong = dict(examined.found)
            if wrong:
                break
            advance(1)
    last = seed + done - 1
    if as_json:
        figures = {"scenarios": done, "deliveries": deliveries, "due": due}
        print_json({"protocol": protocol, **figures, "seed": last, "wrong": wrong})
    elif wrong:
        click.echo("\n".join(examined.outcome.world.trace.story))
        click.echo(f"seed {last} under {protocol} went wrong: {wrong}")
    else:
        scenarios = amount(done, "scenario")
        click.echo(
            f"{scenarios} under {protocol}: all right, {deliveries:,} deliveries, {due:,} due"
        )
    return not wrong
