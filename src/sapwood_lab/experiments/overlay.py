"""XNet's simulated overlay: one producer, subscriptions that travel towards it, two protocols.

Unlike the routers of `sapwood.routing`, which all may publish, these send subscriptions only to the
next router towards the producer, as in the experiments of the thesis; what they run is the same
XRoute.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sapwood.covering.protocol import CoveringIndex
from sapwood.covering.reference import ReferenceCovering
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.overlay.topology import Topology
from sapwood.routing.propagation.xroute.node import Node
from sapwood.routing.propagation.xroute.search import MakeIndex
from sapwood.routing.propagation.xroute.triples import Operation, Triple
from sapwood.routing.tables import CLIENTS

TOP: Final = ""
"""The name beyond the producer's router: no router."""


class Searches:
    """Makes covering indexes that can be searched in two ways: by `make_index`, or pair by pair.

    Both hold the same filters at any time; `is_pairwise` chooses the one that is searched.
    """

    def __init__(self, make_index: MakeIndex) -> None:
        self.is_pairwise = False
        self._make_index = make_index

    def make(self) -> CoveringIndex[Interest]:
        """An empty index."""
        return _TwoWays(self, self._make_index())


class _TwoWays:
    """An index beside a scan of all that it holds."""

    __slots__ = ("_index", "_scan", "_searches")

    def __init__(self, searches: Searches, index: CoveringIndex[Interest]) -> None:
        self._searches = searches
        self._index = index
        self._scan = ReferenceCovering()

    def __len__(self) -> int:
        return len(self._index)

    def add(self, key: int, filter: Interest) -> None:
        self._index.add(key, filter)
        self._scan.add(key, filter)

    def remove(self, key: int) -> None:
        self._index.remove(key)
        self._scan.remove(key)

    def cov(self, filter: Interest, limit: int) -> list[int]:
        return self._asked.cov(filter, limit)

    def covered(self, filter: Interest) -> list[int]:
        return self._asked.covered(filter)

    def validate(self) -> None:
        self._index.validate()

    @property
    def _asked(self) -> CoveringIndex[Interest]:
        return self._scan if self._searches.is_pairwise else self._index


class Overlay:
    """Routers of a tree with a producer at one of them, each with a table of XRoute and of Simple.

    #: simple[r] holds the distinct filters that were registered at r or beyond, and never goes back
    """

    def __init__(self, tree: Topology, producer: str, searches: Searches) -> None:
        self.simple: dict[str, dict[Interest, None]] = {name: {} for name in tree.routers}
        self._above = {
            name: TOP if name == producer else tree.next_hop(name, producer)
            for name in tree.routers
        }
        self._nodes = {name: Node(searches.make) for name in tree.routers}
        for name, above in self._above.items():
            if above != TOP:
                self._nodes[name].connect(above)
                self._nodes[above].connect(name, is_told=False)

    def register(self, consumer: str, filter_: Interest, instances: int) -> None:
        """Let `instances` clients of a router subscribe with one filter, under both protocols."""
        for router in self.way(consumer):
            self.simple[router][filter_] = None
        self.tell(consumer, filter_, instances)

    def tell(self, consumer: str, filter_: Interest, instances: int) -> None:
        """Let `instances` subscriptions come, or go if it is negative, under XRoute only."""
        operations: list[Operation] = [(Triple(filter_, instances, 0),)]
        source = CLIENTS
        for router in self.way(consumer):
            told: list[Operation] = []
            for operation in operations:
                for onward in self._nodes[router].take(operation, source).values():
                    told.extend(onward)
            operations, source = told, router

    def recompute(self, consumer: str, filter_: Interest) -> int:
        """Compare a filter, pair by pair, with every one that the routers on its way would keep.

        What a router does that has no aggregated tables: it looks for all that cover the filter and
        all that it covers. Returns how many relations there are.
        """
        tables = [self.simple[router] for router in self.way(consumer)]
        above = sum(other.covers(filter_) for table in tables for other in table)
        return above + sum(filter_.covers(other) for table in tables for other in table)

    def way(self, router: str) -> Iterable[str]:
        """The routers from this one up to the producer's, both included."""
        while router != TOP:
            yield router
            router = self._above[router]

    def table(self, router: str) -> dict[Interest, None]:
        """The distinct filters that a router knows under XRoute, in a defined order."""
        interfaces = self._nodes[router].interfaces.values()
        return dict.fromkeys(filter_ for interface in interfaces for filter_ in interface.counts)

    def holds(self, router: str, filter_: Interest) -> bool:
        """True if a router knows the filter under XRoute."""
        interfaces = self._nodes[router].interfaces.values()
        return any(filter_ in interface.counts for interface in interfaces)

    def reached(self, producer: str, publication: Publication) -> list[str]:
        """The routers that a publication comes to, the producer's first."""
        arrived = [producer]
        for router in arrived:
            for side, interface in self._nodes[router].interfaces.items():
                is_below = side != CLIENTS and self._above[side] == router
                if is_below and any(one.matches(publication) for one in interface.counts):
                    arrived.append(side)
        return arrived

    def validate(self) -> None:
        """Check every node; raises `InvariantError`."""
        for node in self._nodes.values():
            node.validate()
