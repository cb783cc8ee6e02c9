"""Tables for each DTD in the catalogue."""

from __future__ import annotations

from typing import Final

from sapwood.routing.forwarding.types.digest import MARK
from sapwood.routing.forwarding.types.tables import TypedTables
from sapwood.routing.strategies import ForwardingStrategy, Rule

TYPES: Final = ForwardingStrategy(
    name="types",
    summary="every router keeps a table for each DTD that is advertised, and matches a document "
    "against that of its own",
    make=lambda _, engines, __: TypedTables(engines),
    mark=MARK,
    by_type=True,
    requires=(
        Rule(
            frozenset({"advertisement"}),
            "a router has tables for the DTDs that it hears advertised: put advertisement in "
            "front, or leave out types",
        ),
    ),
)
