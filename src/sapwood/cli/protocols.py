"""`sapwood protocols`: the table of routing protocols."""

from __future__ import annotations

from typing import Any, Final

import click

from sapwood.cli.output import json_option, print_json, print_table

SLOTS: Final = ("membership", "propagation", "forwarding", "upkeep")
"""The slots: a protocol has a strategy for each."""

BY_INTEREST: Final = ("semantic", "none", "interest", "rejoin")
"""The strategies of semantic overlays, which have no routers, and only simulations."""


@click.command
@json_option
def command(*, as_json: bool) -> None:
    """List the routing protocols.

    All exact protocols deliver the same publications; they differ in who a router's neighbors are
    (membership), which subscriptions travel between routers (propagation), how publications find
    their way (forwarding), and what keeps all that right when links and routers fail (upkeep). A
    name is the words of these four, joined by "+", without those that go without saying.

    Under those that begin with "advertisement", clients advertise what they are going to publish.
    Any of covering's pairs of graph and index can be named, as in covering:flat-1,columnar or
    advertisement+covering:flat-1,columnar. With mesh+ before its name each of them routes on a tree
    for each router, so that links may form circles; with redundant:2+ (or 3, ...) on so many at
    once, so that what breaks on one way still comes on another. With failover+ (or failover:5+,
    seconds) a router whose way to the others is gone for long attaches to a backup.

    Those that begin with "semantic-" have peers instead of routers and run in simulations only: a
    peer gets what its neighbors want, and is not exact.

    Links over UDP lose, repeat and reorder messages. LOSS says which protocols allow that: whose
    routing tables stay right, although publications may not arrive.
    """
    from sapwood.routing.protocols import MEMBERSHIPS, UPKEEPS
    from sapwood.routing.upkeep.failover.choice import FAILOVER

    if as_json:
        print_json(_members())
        return
    print_table(
        ("NAME", *map(str.upper, SLOTS), "KINDS", "EXACT", "LOSS", "SUMMARY"),
        [
            (
                *(str(row[key]) for key in ("name", *SLOTS)),
                ", ".join(row["kinds"]),
                "yes" if row["exact"] else "no",
                "yes" if row["allows_loss"] else "no",
                summary,
            )
            for row, summary in zip(_members(), _summaries(), strict=True)
        ],
    )
    click.echo()
    words = [
        *((word, "membership") for word in MEMBERSHIPS.values()),
        *((word, "upkeep") for word in (*UPKEEPS.values(), FAILOVER)),
    ]
    print_table(
        ("WORD", "OF", "SUMMARY"),
        [
            (word.name + (" or :..." if word.choose else ""), slot, word.summary)
            for word, slot in words
        ],
    )


def _members() -> list[dict[str, Any]]:
    """All protocols as JSON objects."""
    from sapwood.routing.protocols import PROTOCOLS
    from sapwood.simulation.semantic.protocols import SEMANTIC

    by_routers = [
        {
            "name": p.name,
            "kinds": list(p.kinds),
            "exact": p.exact,
            "allows_loss": p.allows_loss,
            **{slot: getattr(p, slot).name for slot in SLOTS},
        }
        for p in PROTOCOLS.values()
    ]
    by_interest = [
        {
            "name": one.name,
            "kinds": list(one.kinds),
            "exact": one.exact,
            "allows_loss": False,
            **dict(zip(SLOTS, BY_INTEREST, strict=True)),
        }
        for one in SEMANTIC.values()
    ]
    return by_routers + by_interest


def _summaries() -> list[str]:
    """The summaries of protocols, in the same order."""
    from sapwood.routing.protocols import PROTOCOLS
    from sapwood.simulation.semantic.protocols import SEMANTIC

    by_routers = [p.summary for p in PROTOCOLS.values()]
    return by_routers + [one.summary for one in SEMANTIC.values()]
