"""The overlay of the XNet experiments: 64 routers, 24 of them for consumers, one for a producer.

XNet 6.1 takes a transit-stub graph of GT-ITM and gives only these numbers of it. Here: four transit
routers, three stub domains at each, in a domain three stub routers and two edge routers. Within the
transit domain and within each stub domain chance decides which routers are linked, and where a
second link makes a domain reachable another way. An edge router has one link, as a consumer node
must.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from sapwood.overlay.graph import Graph
from sapwood.overlay.topology import Link, Topology

Draw: TypeAlias = Callable[[int], int]
"""`draw(n)` is a whole number from 0 to n - 1: for example `random.Random(seed).randrange`."""

TRANSIT_ROUTERS: Final = 4
STUBS_EACH: Final = 3
STUB_ROUTERS: Final = 3
EDGES_EACH: Final = 2

TRANSIT_LATENCY_S: Final = 0.05
UPLINK_LATENCY_S: Final = 0.02
STUB_LATENCY_S: Final = 0.005
"""Seconds on a link of the transit domain, between a stub domain and it, and within a stub domain:
across a continent, across a country, within a city. The experiments simulate none."""


@dataclass(frozen=True, slots=True)
class TransitStub:
    """A graph with roles: `producer` is a transit router, `consumers` are the edge routers."""

    graph: Graph
    producer: str
    consumers: tuple[str, ...]

    @property
    def tree(self) -> Topology:
        """The spanning tree of the producer, along which subscriptions and publications go."""
        return self.graph.spanning_tree(self.producer)


def transit_stub(draw: Draw) -> TransitStub:
    """A transit-stub graph of routers `r1` to `r64`; `draw` decides the links."""
    routers = tuple(f"r{number}" for number in range(1, 65))
    names = iter(routers)
    transit = [next(names) for _ in range(TRANSIT_ROUTERS)]
    links = _domain(transit, TRANSIT_LATENCY_S, draw)
    consumers: list[str] = []
    for home in transit:
        for _ in range(STUBS_EACH):
            stub = [next(names) for _ in range(STUB_ROUTERS)]
            links.append(Link(home, stub[0], UPLINK_LATENCY_S))
            links.extend(_domain(stub, STUB_LATENCY_S, draw))
            if draw(4) == 0:  # a domain in four has a second provider
                others = [router for router in transit if router != home]
                other = others[draw(len(others))]
                links.append(Link(other, stub[-1], UPLINK_LATENCY_S))
            for _ in range(EDGES_EACH):
                consumers.append(next(names))
                links.append(Link(stub[draw(STUB_ROUTERS)], consumers[-1], STUB_LATENCY_S))
    return TransitStub(Graph(routers, tuple(links)), transit[0], tuple(consumers))


def _domain(routers: Sequence[str], latency_s: float, draw: Draw) -> list[Link]:
    """Links that join routers: a drawn tree, and every other pair with a chance of one half."""
    links: list[Link] = []
    for i in range(1, len(routers)):
        parent = draw(i)
        links.append(Link(routers[parent], routers[i], latency_s))
        links.extend(
            Link(routers[other], routers[i], latency_s)
            for other in range(i)
            if other != parent and draw(2)
        )
    return links
