"""`sapwood status`: one broker's state, over the port of its clients."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from sapwood.cli.access import client_access, connection_settings
from sapwood.cli.output import json_option, print_json, print_table

if TYPE_CHECKING:
    from sapwood.wire.status import LinkStatus, StatusReply

_LINK_COLUMNS: Final = (
    *("link", "up", "delay at least", "at most", "waiting bytes", "unconfirmed", "behind"),
    *("told of", "sent", "came"),
)


@click.command
@click.argument("broker", metavar="HOST:PORT")
@client_access
@json_option
def command(*, broker: str, as_json: bool) -> None:
    """Show one broker's state: links and their delays, tables, counters, store.

    The client that asks is one of the clients. Status 2 where nobody answers.
    """
    from sapwood.client.admin import Admin
    from sapwood.wire.status import status_members

    found = Admin(broker, settings=connection_settings()).status()
    if as_json:
        print_json(status_members(found))
        return
    print_table(("broker", found.broker), _about(found))
    click.echo()
    print_table(_LINK_COLUMNS, [_row(link) for link in found.links])
    for title, counted in (
        ("table", found.tables),
        ("event", found.events),
        ("routing", found.routed),
    ):
        click.echo()
        print_table((title, "count"), [(name, f"{count:,}") for name, count in counted.items()])


def _about(found: StatusReply) -> list[tuple[str, str]]:
    store = found.store
    kept = "none" if store is None else f"{store.durability}, {store.first:,} to {store.end:,}"
    records, documents = found.engines
    return [
        ("version", found.version),
        ("protocol", found.routing),
        ("uptime", f"{found.uptime_s:,.1f} s"),
        ("clients", f"{found.clients:,}"),
        ("store", kept),
        ("engines", f"{records} (records), {documents} (documents)"),
        ("kernels", ", ".join(found.kernels) or "plain Python"),
    ]


def _row(link: LinkStatus) -> tuple[str, ...]:
    return (
        link.name,
        _word(holds=link.up),
        _milliseconds(link.delay_min_s),
        _milliseconds(link.delay_max_s),
        f"{link.waiting_bytes:,}",
        "unknown" if link.unconfirmed is None else f"{link.unconfirmed:,}",
        _word(holds=link.behind),
        "unknown" if link.told is None else f"{link.told:,} of {link.known or 0:,}",
        f"{link.sent:,}",
        f"{link.came:,}",
    )


def _word(*, holds: bool) -> str:
    return "yes" if holds else "no"


def _milliseconds(seconds: float | None) -> str:
    return "unknown" if seconds is None else f"{seconds * 1000:.3f} ms"
