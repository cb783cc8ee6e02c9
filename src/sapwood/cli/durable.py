"""`sapwood durable`: the durable subscriptions of a broker."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import click

from sapwood.cli.access import client_access, connection_settings
from sapwood.cli.groups import CommandGroup
from sapwood.cli.output import ExitStatus, json_option, print_json, print_table, say

if TYPE_CHECKING:
    from sapwood.client import Client
    from sapwood.wire.durable import DurableState

_broker = click.argument("broker", metavar="HOST:PORT")
_name = click.argument("name")


@click.group(cls=CommandGroup)
def command() -> None:
    """List, show and remove the durable subscriptions of a broker.

    One is made by `sapwood subscribe --durable NAME FILTER`, and stays until it is removed.
    """


@command.command("list")
@_broker
@client_access
@json_option
@click.pass_context
def list_command(ctx: click.Context, *, broker: str, as_json: bool) -> None:
    """List them by name, with what waits in their mailboxes."""
    states: list[DurableState] = _ask(broker, lambda client: client.durables())
    if as_json:
        from sapwood.wire.durable import durable_members

        print_json([durable_members(state) for state in states])
    else:
        columns = ("name", "waiting", "out", "dropped", "consumers", "filter")
        print_table(columns, [_row(state) for state in states])
    ctx.exit(ExitStatus.DONE)


@command.command
@_broker
@client_access
@_name
@json_option
@click.pass_context
def show(ctx: click.Context, *, broker: str, name: str, as_json: bool) -> None:
    """Show one: what waits, who consumes it, its bounds."""
    from sapwood.wire.durable import durable_members

    state: DurableState = _ask(broker, lambda client: client.durable(name))
    if as_json:
        print_json(durable_members(state))
    else:
        told = durable_members(state).items()
        print_table(("", ""), [(key.replace("_", " "), _cell(of)) for key, of in told])
    ctx.exit(ExitStatus.DONE)


@command.command
@_broker
@client_access
@_name
@click.pass_context
def remove(ctx: click.Context, *, broker: str, name: str) -> None:
    """Remove one for good, with all that waits in its mailbox."""
    _ask(broker, lambda client: client.remove_durable(name))
    say(f"removed {name} at {broker}")
    ctx.exit(ExitStatus.DONE)


def _row(state: DurableState) -> tuple[str, ...]:
    text = state.filter if isinstance(state.filter, str) else state.filter.text
    counts = (state.waiting, state.out, state.dropped, len(state.consumers))
    return (state.name, *(f"{count:,}" for count in counts), text)


def _cell(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(value) or "none"
    return f"{value:,}" if isinstance(value, int | float) else str(value)


def _ask(broker: str, question: Callable[[Client], Awaitable[Any]]) -> Any:
    """Send a request to a broker, as a client of it."""
    import asyncio

    from sapwood.client import connect

    async def asked() -> Any:
        async with connect(broker, reconnect=False, settings=connection_settings()) as client:
            return await question(client)

    return asyncio.run(asked())
