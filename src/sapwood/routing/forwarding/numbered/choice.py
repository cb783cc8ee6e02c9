"""Forwarding of numbered publications in the catalogue."""

from __future__ import annotations

from typing import Final

from sapwood.routing.forwarding.every_hop import EveryHop
from sapwood.routing.forwarding.numbered.digest import MARK
from sapwood.routing.strategies import ForwardingStrategy, Rule

NUMBERED: Final = ForwardingStrategy(
    name="numbered",
    summary="every router matches publications, and takes those of one origin in their order only",
    requires=(
        Rule(
            frozenset({"scribe", "rpf"}),
            "publications are numbered where ways change on a circle: put scribe or rpf into the "
            "name",
        ),
    ),
    make=lambda _, engines, __: EveryHop(engines),
    mark=MARK,
)
