"""`sapwood optimizer`: the routing tree of brokers that run the forwarding `prefix`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sapwood.cli.access import client_access, connection_settings
from sapwood.cli.output import (
    say,
)
from sapwood.model.amounts import amount

if TYPE_CHECKING:
    from sapwood.routing.forwarding.prefix.optimizer import Optimizer, Update

EVERY_MIN_S = 0.05
"""Seconds between two looks at the filters, at least: a look takes a broker some milliseconds."""


@click.command
@click.argument("broker", metavar="HOST:PORT")
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1),
    default=0.3,
    show_default=True,
    help="State the tree anew when it differs by more than this share.",
)
@click.option(
    "--every",
    type=click.FloatRange(min=EVERY_MIN_S),
    default=5.0,
    show_default=True,
    help="Seconds between two looks at the filters.",
)
@click.option(
    "--rounds", type=click.IntRange(min=1), help="End after so many looks.  [default: never]"
)
@client_access
@click.option("--name", help="The client's name.  [default: a random one]")
def command(
    *, broker: str, threshold: float, every: float, rounds: int | None, name: str | None
) -> None:
    """Keep the routing tree of an overlay, as a client of one of its brokers.

    The brokers run a protocol with the word prefix. The optimizer asks the broker for all filters,
    and subscribes to the tree of them: so it comes to every broker. When it ends its trees go, and
    brokers match by content as before. It needs memory for all filters. Each new version is a line
    on standard error.
    """
    import asyncio
    import time

    from sapwood.client import connect
    from sapwood.client.optimizing import keep_tree
    from sapwood.routing.forwarding.prefix.optimizer import Optimizer

    optimizer = Optimizer(threshold, clock=time.time_ns() // 1_000_000)

    shown = connection_settings()

    async def run() -> None:
        async with connect(broker, name, settings=shown) as client:
            await keep_tree(
                client,
                broker,
                optimizer,
                every_s=every,
                told=lambda update: say(_line(optimizer, update)),
                rounds=rounds,
                settings=shown,
            )

    asyncio.run(run())


def _line(optimizer: Optimizer, update: Update) -> str:
    left_out = f", {amount(optimizer.left_out, 'filter')} left out" if optimizer.left_out else ""
    nodes, parts = amount(optimizer.nodes, "node"), amount(len(update.subscriptions), "part")
    return f"version {update.clock}: {nodes} in {parts}{left_out}"
