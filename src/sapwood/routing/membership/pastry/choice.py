"""The structured overlay in the catalogue, with the base of its identifiers."""

from __future__ import annotations

from functools import partial
from typing import Final

from sapwood.errors import InputError
from sapwood.routing.membership.pastry.pastry import Pastry, space_of
from sapwood.routing.strategies import MembershipStrategy, Rule

IRBR: Final = "irbr"
"""The word for what travels to ranges."""

_NAME: Final = "pastry"
_BASE: Final = 4

_RULES: Final = (
    Rule(
        frozenset({IRBR}),
        "on a circle there are no neighbors to be told of subscriptions, but ranges: put irbr into "
        "the name",
    ),
)

_EXCLUDED: Final = (
    Rule(
        frozenset({"recover", "stabilize", "leases", "failover"}),
        "on a circle routers repair their tables themselves: leave out the word for upkeep",
    ),
)


def _pastry(base: int, name: str) -> MembershipStrategy:
    return MembershipStrategy(
        name=name,
        summary=f"routers find each other, by identifiers with digits of base {base}",
        requires=_RULES,
        excludes=_EXCLUDED,
        make=partial(_make, base),
        allows_circles=True,
        choose=_chosen,
    )


def _make(base, name, protocol, engines, incarnation):  # type: ignore[no-untyped-def]
    return Pastry(name, protocol, engines, incarnation, base)


def _chosen(argument: str) -> MembershipStrategy:
    """The same with another base, as in `pastry:16`."""
    base = int(argument) if argument.isdecimal() and len(argument) < 3 else 0
    try:
        space_of(max(base, 1))
    except (InputError, ZeroDivisionError):
        raise InputError(
            f"behind pastry: goes the base of identifiers, as in pastry:16, not {argument!r}"
        ) from None
    return _pastry(base, f"{_NAME}:{base}")


PASTRY: Final = _pastry(_BASE, _NAME)
