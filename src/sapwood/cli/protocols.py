"""`sapwood protocols`: what can route."""

from __future__ import annotations

import click

from sapwood.cli.output import json_option, print_json, print_table


@click.command
@json_option
def command(*, as_json: bool) -> None:
    """List the routing protocols.

    All exact protocols deliver the same publications; they differ in what travels between routers.
    Under those that begin with "advertisement", clients advertise what they are going to publish.
    Any of covering's pairs of graph and index can be named, as in covering:flat-1,columnar or
    advertisement+covering:flat-1,columnar. With mesh+ before its name each of them routes on a tree
    for each router, so that links may form circles.
    """
    from sapwood.routing.protocols import PROTOCOLS

    if as_json:
        print_json(
            [{"name": p.name, "kinds": list(p.kinds), "exact": p.exact} for p in PROTOCOLS.values()]
        )
        return
    print_table(
        ("NAME", "KINDS", "EXACT", "SUMMARY"),
        [
            (p.name, ", ".join(p.kinds), "yes" if p.exact else "no", p.summary)
            for p in PROTOCOLS.values()
        ],
    )
