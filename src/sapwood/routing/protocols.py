"""The catalogue of protocols: named choices of propagation, forwarding and upkeep."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from sapwood.errors import UnknownNameError
from sapwood.routing.forwarding.content import match_links
from sapwood.routing.forwarding.flood import flood
from sapwood.routing.forwarding.protocol import Forwarding
from sapwood.routing.propagation.covering import Covering
from sapwood.routing.propagation.flooding import Flooding
from sapwood.routing.propagation.identity import Identity
from sapwood.routing.propagation.protocol import Propagation
from sapwood.routing.propagation.simple import Simple
from sapwood.routing.upkeep.hard_state import HardState
from sapwood.routing.upkeep.protocol import Upkeep


@dataclass(frozen=True, slots=True)
class Protocol:
    """One choice in each place.

    `kinds` are the filter languages it routes; `exact` means that it delivers exactly the pairs a
    brute-force matcher finds. `propagation` makes the state of one link, `upkeep` that of one
    router.
    """

    name: str
    summary: str
    kinds: tuple[str, ...]
    exact: bool
    propagation: Callable[[], Propagation]
    forwarding: Forwarding
    upkeep: Callable[[], Upkeep]


def _record_protocol(
    name: str, summary: str, propagation: Callable[[], Propagation], forwarding: Forwarding
) -> Protocol:
    return Protocol(
        name=name,
        summary=summary,
        kinds=("records",),
        exact=True,
        propagation=propagation,
        forwarding=forwarding,
        upkeep=HardState,
    )


PROTOCOLS: Final[Mapping[str, Protocol]] = MappingProxyType(
    {
        protocol.name: protocol
        for protocol in (
            _record_protocol(
                "covering",
                "subscriptions travel unless one that covers them already did",
                Covering,
                match_links,
            ),
            _record_protocol(
                "identity", "of equal subscriptions one travels", Identity, match_links
            ),
            _record_protocol(
                "simple", "every subscription travels to every router", Simple, match_links
            ),
            _record_protocol(
                "flooding",
                "publications travel to every router and are filtered at the edge",
                Flooding,
                flood,
            ),
        )
    }
)


def protocol(name: str) -> Protocol:
    """The protocol of that name; raises `UnknownNameError` with the names there are."""
    found = PROTOCOLS.get(name)
    if found is None:
        raise UnknownNameError("protocol", name, PROTOCOLS)
    return found
