"""The word `redundant`, with the number of paths as its argument."""

from __future__ import annotations

from functools import partial
from typing import Final

from sapwood.errors import InputError
from sapwood.limits.failures import REDUNDANT_PATHS_MAX
from sapwood.routing.membership.redundant.redundant import Redundant
from sapwood.routing.strategies import MembershipStrategy, Rule

NAME: Final = "redundant"

_UNCOUNTED: Final = Rule(
    frozenset({"recover"}),
    "redundant paths count publications, and a router that is restored would count from the "
    "beginning: take recover+mesh to lose nothing, or redundant without recover to wait for nobody",
)


def redundant_by(argument: str | None = None) -> MembershipStrategy:
    """The membership with the number of paths in the argument; two where there is none.

    Raises `InputError` for an argument that is no number of paths.
    """
    count = 2 if argument is None else int(argument) if argument.isdecimal() else 0
    if not 2 <= count <= REDUNDANT_PATHS_MAX:
        raise InputError(
            f"{NAME}:{argument} says no number of paths: say {NAME}:2, up to "
            f"{NAME}:{REDUNDANT_PATHS_MAX}; one path is mesh"
        )
    return MembershipStrategy(
        name=NAME if argument is None else f"{NAME}:{count}",
        summary=f"on {count} trees for each router, whose ways share as little as they can",
        make=partial(Redundant, count=count),
        allows_circles=True,
        excludes=(_UNCOUNTED,),
        choose=redundant_by,
    )
