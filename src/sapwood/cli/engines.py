"""`sapwood engines`: what can match."""

from __future__ import annotations

import click

from sapwood.cli.output import json_option, print_json, print_table


@click.command
@json_option
def command(*, as_json: bool) -> None:
    """List the matching engines.

    All exact engines find the same subscriptions; they differ in speed and memory.
    """
    from sapwood.matching.engines import ENGINES

    if as_json:
        print_json([{"name": e.name, "kind": e.kind, "exact": e.exact} for e in ENGINES.values()])
        return
    print_table(
        ("NAME", "KIND", "EXACT", "SUMMARY"),
        [(e.name, e.kind, "yes" if e.exact else "no", e.summary) for e in ENGINES.values()],
    )
