"""Forwarding by delegation in the catalogue."""

from __future__ import annotations

from typing import Final

from sapwood.routing.forwarding.delegation.delegation import Delegation
from sapwood.routing.forwarding.delegation.digest import MARK
from sapwood.routing.strategies import ForwardingStrategy, Rule

DELEGATION: Final = ForwardingStrategy(
    name="delegation",
    summary="publications go to ranges that want them, and each router hands on parts of its own",
    requires=(
        Rule(
            frozenset({"irbr"}),
            "delegation goes by what is known of identifier ranges: put irbr into the name",
        ),
    ),
    make=lambda _, engines, __: Delegation(engines),
    mark=MARK,
)
