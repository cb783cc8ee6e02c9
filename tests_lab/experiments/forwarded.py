"""A tree of routers without the wire between them: the forwarding of each, as the product has it.

What a subscription or a publication does happens at all routers at once, so that a hundred thousand
of them can be followed in minutes. Every router is told of every subscription, as under `simple`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from sapwood.matching.engine_names import Engines
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.overlay.topology import Topology
from sapwood.routing.forwarding.protocol import NO_DIGEST, Forwarding
from sapwood.routing.protocols import protocol
from sapwood.routing.tables import CLIENTS


class Travelled(NamedTuple):
    """The ways of some publications: links, those of them that led to no match, and deliveries."""

    crossings: int
    needless: int
    deliveries: int
    digest_bytes: int

    def __add__(self, other: Travelled) -> Travelled:  # type: ignore[override]
        return Travelled(*(one + more for one, more in zip(self, other, strict=True)))


NOWHERE: Final = Travelled(0, 0, 0, 0)


class Forwarded:
    """The routers of a tree by name, each with what it knows of all subscriptions.

    #: each router has a side for every neighbor, and knows a key at the side where its home lies
    """

    __slots__ = ("_next", "routers", "topology")

    def __init__(self, topology: Topology, word: str, engine: str = "auto") -> None:
        """Routers under a protocol whose subscriptions all travel everywhere."""
        chosen = protocol(word)
        self.topology: Final = topology
        self.routers: Final[dict[str, Forwarding]] = {}
        for name in topology.routers:
            made = chosen.forwarding.make(name, Engines(engine), chosen.propagation)
            for neighbor in topology.neighbors(name):
                made.add_side(neighbor)
            self.routers[name] = made
        #: home -> router -> the side of that router on which the home lies
        self._next: Final = {home: _sides(topology, home) for home in topology.routers}

    def subscribe(self, home: str, entries: Sequence[tuple[str, Interest]]) -> None:
        """A client at a router has these subscriptions, which all routers hear of."""
        for name, side in self._next[home].items():
            for key, wanted in entries:
                self.routers[name].learned(side, key, wanted)

    def unsubscribe(self, home: str, keys: Sequence[str]) -> None:
        """Withdraw the subscriptions of a home from every router."""
        for name, side in self._next[home].items():
            for key in keys:
                self.routers[name].forgot(side, key)

    def publish(self, home: str, publication: Publication) -> Travelled:
        """A publication enters at a router, and goes wherever routers send it."""
        return self._visit(home, None, publication, NO_DIGEST)

    def _visit(
        self, name: str, arrival: str | None, publication: Publication, digest: bytes
    ) -> Travelled:
        routed = self.routers[name].route([publication], arrival, [digest], 0.0)
        total = Travelled(0, 0, len(routed.keys[0]), 0)
        for neighbor, _, (written,) in routed.onward:
            beyond = self._visit(neighbor, name, publication, written)
            total += beyond
            total += Travelled(1, int(not beyond.deliveries), 0, len(written))
        return total


def _sides(topology: Topology, home: str) -> dict[str, str]:
    """By router, its neighbor on the way to one router; that router has clients there."""
    sides = {home: CLIENTS}
    waiting = [home]
    for one in waiting:
        fresh = [other for other in topology.neighbors(one) if other not in sides]
        sides.update(dict.fromkeys(fresh, one))
        waiting += fresh
    return sides
