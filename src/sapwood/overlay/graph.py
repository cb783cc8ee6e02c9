"""Graphs of routers that may hold circles, and the trees that span them, one for each source.

An announcement that a router floods comes to every other router, and first over the way that takes
the shortest time; the links by which it came first make up that router's spanning tree (XNet 3.1).
Such a tree of one source can be taken for the whole overlay (`spanning_tree`). Where routers route
on a tree for each source (`routing.membership.mesh`), those have the fewest links (`tree`): how
long a message takes changes all the time, and a tree should change only when a link does.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, field

from sapwood.errors import InputError, LimitError, UnknownNameError
from sapwood.limits import MESH_ROUTERS_MAX
from sapwood.overlay.spanning import fewest_links
from sapwood.overlay.topology import Link, Overlay, Topology, abbreviated, check_routers, named


@dataclass(frozen=True, slots=True)
class Graph(Overlay):
    """Routers in a defined order, and links between them: connected, at most one between two.

    Raises `InputError` where they are not, `LimitError` for more routers than
    `limits.OVERLAY_ROUTERS_MAX`.
    """

    routers: tuple[str, ...]
    links: tuple[Link, ...]

    #: router -> neighbor -> link, neighbors in the order of `links`
    _around: Mapping[str, Mapping[str, Link]] = field(init=False, repr=False, compare=False)
    #: router -> its tree, for those computed so far: a graph never changes
    _trees: dict[str, Topology] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_routers(self.routers)
        around: dict[str, dict[str, Link]] = {name: {} for name in self.routers}
        for link in self.links:
            for end, other in ((link.a, link.b), (link.b, link.a)):
                if end not in around:
                    raise UnknownNameError("router", end, abbreviated(self.routers))
                if other in around[end]:
                    raise InputError(f"two links join {link.a!r} and {link.b!r}: leave one out")
                around[end][other] = link
        object.__setattr__(self, "_around", around)
        object.__setattr__(self, "_trees", {})
        reached = self._first_arrivals(self.routers[0])
        unreached = [name for name in self.routers if name not in reached]
        if unreached:
            raise InputError(
                f"the overlay is not connected: no way from {self.routers[0]!r} to "
                f"{named(unreached)}; add the missing links"
            )

    def tree(self, source: str) -> Topology:
        """The tree with the fewest links between `source` and each router."""
        found = self._trees.get(self.known(source))
        if found is None:
            around = {router: tuple(links) for router, links in self._around.items()}
            pairs = fewest_links(source, around).links()
            chosen = {self._around[parent][child] for parent, child in pairs}
            links = tuple(link for link in self.links if link in chosen)
            found = self._trees[source] = Topology(self.routers, links)
        return found

    def spanning_tree(self, source: str) -> Topology:
        """The tree of the links by which what `source` floods comes first to each router.

        Of ways that take equally long the one with fewer links is the first, of those that whose
        last link stands first. Raises `LimitError` for a way of more than `limits.HOPS_MAX` links.
        """
        arrivals = self._first_arrivals(self.known(source))
        chosen = {link for link in arrivals.values() if link is not None}
        return Topology(self.routers, tuple(link for link in self.links if link in chosen))

    def spanning_trees(self) -> dict[str, Topology]:
        """The spanning tree of each router."""
        return {router: self.spanning_tree(router) for router in self.routers}

    def _first_arrivals(self, source: str) -> dict[str, Link | None]:
        """For each router that a flood from `source` reaches, the link it comes over first."""
        order = {link: number for number, link in enumerate(self.links)}
        #: (seconds, links, number of the last link, router), the first arrival first
        waiting: list[tuple[float, int, int, str]] = [(0.0, 0, -1, source)]
        reached: dict[str, Link | None] = {}
        while waiting:
            seconds, hops, last, router = heapq.heappop(waiting)
            if router in reached:
                continue
            reached[router] = self.links[last] if hops else None
            for neighbor, link in self._around[router].items():
                if neighbor not in reached:
                    arrival = (seconds + link.latency_s, hops + 1, order[link], neighbor)
                    heapq.heappush(waiting, arrival)
        return reached


def overlay_of(routers: tuple[str, ...], links: tuple[Link, ...]) -> Overlay:
    """The tree that the links form, or the graph if they form circles.

    Raises as those do, and `LimitError` for a graph of more than `MESH_ROUTERS_MAX` routers.
    """
    graph = Graph(routers, links)
    if graph.is_tree:
        return Topology(routers, links)
    if len(routers) > MESH_ROUTERS_MAX:
        what = "the number of routers whose links form circles"
        raise LimitError("MESH_ROUTERS_MAX", MESH_ROUTERS_MAX, len(routers), what)
    return graph
