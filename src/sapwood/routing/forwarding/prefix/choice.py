"""The strategy of prefix forwarding by name: with whole forwarding trees, or down to a depth."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from sapwood.errors import InputError
from sapwood.routing.forwarding.prefix.digest import DEPTH_MAX, MARK
from sapwood.routing.forwarding.prefix.prefix import Prefix
from sapwood.routing.strategies import ForwardingStrategy, Rule

_DEPTH_EXAMPLE: Final = 8


def prefix_by(text: str) -> ForwardingStrategy:
    """Forwarding trees down to a depth; raises `InputError`."""
    if text.isascii() and text.isdigit() and int(text) <= DEPTH_MAX:
        depth = int(text)
        return replace(
            PREFIX,
            name=f"{PREFIX.name}:{text}",
            summary=f"{PREFIX.summary}, {depth} levels of them",
            make=lambda _, engines, __: Prefix(engines, depth),
        )
    raise InputError(
        f"{PREFIX.name}:{text}: behind {PREFIX.name} goes how many levels of a forwarding tree "
        f"travel, 0 to {DEPTH_MAX}, as in {PREFIX.name}:{_DEPTH_EXAMPLE}"
    )


_REACHES_ALL: Final = (
    "routing trees travel as subscriptions of the optimizer, and all routers, the optimizer's too, "
    "have to be told of every filter to place it alike"
)

PREFIX: Final = ForwardingStrategy(
    name="prefix",
    summary="the first router follows a routing tree, and the others the steps that it writes down",
    make=lambda _, engines, __: Prefix(engines),
    mark=MARK,
    requires=(
        Rule(
            frozenset({"simple", "identity"}),
            f"{_REACHES_ALL}: put prefix behind simple or identity",
        ),
    ),
    excludes=(
        Rule(
            frozenset({"advertisement"}),
            f"{_REACHES_ALL}, whatever is advertised: leave out one of the two words",
        ),
    ),
    choose=prefix_by,
)
