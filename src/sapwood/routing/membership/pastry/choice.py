"""The structured overlay in the catalogue, with the base of its identifiers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from sapwood.limits.structured import IDENTIFIER_BITS
from sapwood.matching.engine_names import Engines
from sapwood.overlay.identifiers import IdentifierSpace
from sapwood.routing.membership.pastry.by_hops import (
    PlainReversePaths,
    Rendezvous,
    ReversePaths,
)
from sapwood.routing.membership.pastry.pastry import Pastry
from sapwood.routing.membership.protocol import Membership
from sapwood.routing.strategies import MembershipStrategy, Protocol, Rule

IRBR: Final = "irbr"
"""The word for subscriptions that travel to ranges."""

SCRIBE: Final = "scribe"
"""The word for subscriptions that travel to a rendezvous."""

RPF: Final = "rpf"
"""The word for subscriptions that travel to all, and are kept by neighbor."""

PLAIN: Final = "plain"
"""The argument of `rpf` for the form in which entries are for all publications."""

_NAME: Final = "pastry"
_BASE: Final = 4

_DIGITS_MAX: Final = 2
"""The greatest number of digits of a base in the name of a protocol."""

_RULES: Final = (
    Rule(
        frozenset({IRBR, SCRIBE, RPF}),
        "on a circle it is not neighbors that are told of subscriptions: put irbr, scribe or rpf "
        "into the name",
    ),
)

_EXCLUDED: Final = (
    Rule(
        frozenset({"recover", "stabilize", "leases", "failover"}),
        "on a circle routers repair their tables themselves: leave out the word for upkeep",
    ),
)

_Make: TypeAlias = Callable[[str, Protocol, Engines, int, IdentifierSpace], Membership]

_KINDS: Final[Mapping[str, _Make]] = MappingProxyType(
    {IRBR: Pastry, SCRIBE: Rendezvous, RPF: ReversePaths, f"{RPF}:{PLAIN}": PlainReversePaths}
)


def _pastry(base: int, name: str) -> MembershipStrategy:
    space = space_of(base)

    def make(router: str, protocol: Protocol, engines: Engines, incarnation: int) -> Membership:
        kind = _KINDS[protocol.propagation.name]
        return kind(router, protocol, engines, incarnation, space)

    return MembershipStrategy(
        name=name,
        summary="routers have places on a circle, and find each other by themselves",
        requires=_RULES,
        excludes=_EXCLUDED,
        make=make,
        allows_circles=True,
        finds_links=True,
        choose=_chosen,
    )


def space_of(base: int) -> IdentifierSpace:
    """The identifiers of all routers, in digits of a base; raises `InputError`."""
    bits = max(base.bit_length() - 1, 1)
    return IdentifierSpace(base, IDENTIFIER_BITS // bits)


def _chosen(argument: str) -> MembershipStrategy:
    """The strategy with another base, as in `pastry:16`."""
    base = int(argument) if argument.isdecimal() and len(argument) <= _DIGITS_MAX else 0
    return _pastry(base, f"{_NAME}:{argument}")


PASTRY: Final = _pastry(_BASE, _NAME)
