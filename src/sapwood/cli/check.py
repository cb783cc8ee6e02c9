"""`sapwood check`: comparison of brokers' tables with what their neighbors sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from sapwood.cli.access import client_access, connection_settings
from sapwood.cli.output import ExitStatus, json_option, print_json, print_table, say

if TYPE_CHECKING:
    from sapwood.wire.messages import EdgeState


@click.command
@click.argument("brokers", metavar="HOST:PORT...", nargs=-1, required=True)
@click.option(
    "--within", default=10.0, show_default=True, help="Seconds for neighbors to answer in."
)
@client_access
@json_option
@click.pass_context
def command(ctx: click.Context, *, brokers: tuple[str, ...], within: float, as_json: bool) -> None:
    """Compare the tables of brokers with those of their neighbors, edge by edge.

    Each broker compares what it has sent its neighbors with what they hold of it, and they do the
    same, by sketches of the tables; nothing stops. Where the brokers' protocol has the word
    stabilize, what differs is corrected, as it would be within a period anyway; elsewhere it is
    only reported, if two comparisons in a row find it. Status 0: all tables agree; 1: some did not,
    or a neighbor did not answer; 2: brokers with tables that cannot be compared (mesh, redundant,
    xroute).
    """
    from sapwood.client.admin import Admin

    found: dict[tuple[str, str], EdgeState] = {}
    silent: list[str] = []
    for broker in brokers:
        compared = Admin(broker, settings=connection_settings()).check(within)
        found.update({(edge.sender, edge.holder): edge for edge in compared.edges})
        silent.extend(one for one in compared.silent if one not in silent)
    wrong = [edge for edge in found.values() if edge.wrong]
    if as_json:
        print_json({"edges": [members(edge) for edge in found.values()], "silent": silent})
    else:
        columns = ("sender", "holder", "entries", "wrong")
        print_table(columns, [_row(edge) for edge in found.values()])
        for one in silent:
            say(f"{one}: no answer within {within:g} s")
        if not wrong and not silent:
            say("all tables agree")
    ctx.exit(ExitStatus.REJECTED if wrong or silent else ExitStatus.DONE)


def members(edge: EdgeState) -> dict[str, Any]:
    """An edge as a JSON object."""
    return {
        "sender": edge.sender,
        "holder": edge.holder,
        "entries": edge.entries,
        "wrong": edge.wrong,
    }


def _row(edge: EdgeState) -> tuple[str, ...]:
    return (edge.sender, edge.holder, f"{edge.entries:,}", f"{edge.wrong:,}")
