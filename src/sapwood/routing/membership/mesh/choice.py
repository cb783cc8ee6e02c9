"""The word `mesh`, with the hold of links as its argument."""

from __future__ import annotations

from functools import partial
from typing import Final

from sapwood.errors import InputError
from sapwood.limits import MESH_HOLD_MAX_S, MESH_HOLD_S
from sapwood.routing.membership.mesh.mesh import Mesh
from sapwood.routing.strategies import MembershipStrategy, Rule

NAME: Final = "mesh"

_TIMED: Final = Rule(
    frozenset({"recover"}),
    "a router that recovers follows links as its upkeep says, which persists what it decides, and "
    "holds none: say mesh",
)


def mesh_by(argument: str | None = None) -> MembershipStrategy:
    """The membership with the hold in seconds in the argument, or `MESH_HOLD_S`.

    Raises `InputError` for an argument that is no number of seconds.
    """
    hold_s = MESH_HOLD_S if argument is None else _seconds(argument)
    return MembershipStrategy(
        name=NAME if argument is None else f"{NAME}:{argument}",
        summary="on a tree for each router",
        make=partial(Mesh, hold_s=hold_s),
        allows_circles=True,
        excludes=(_TIMED,) if argument is not None and hold_s else (),
        choose=mesh_by,
    )


def _seconds(argument: str) -> float:
    try:
        seconds = float(argument)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= MESH_HOLD_MAX_S:
        raise InputError(
            f"{NAME}:{argument} says no seconds from 0 to {MESH_HOLD_MAX_S:g} for which links that "
            f"return are held: say {NAME}:{MESH_HOLD_S:g}, or {NAME}, which is the same"
        )
    return seconds
