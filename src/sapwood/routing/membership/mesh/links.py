"""The map of all links: each router announces its own, and all pass the announcements on."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping

from sapwood.errors import InvariantError
from sapwood.limits import MESH_ROUTERS_MAX
from sapwood.overlay.disjoint import FindTree
from sapwood.overlay.spanning import SpanningTree, fewest_links
from sapwood.routing.messages import Neighbors, Version


class LinkMap:
    """The last announcement of every router about its links, and its consequences for one router.

    A link counts when both its ends announce it. `around` has all routers that the own one reaches
    by such links, itself among them, each with the neighbors that it has by such links. `shared`
    are the own neighbors on a tree that all of these routers agree on. `is_settled` is true if
    none of these routers announces a link that the other end does not: such an announcement means
    that news of the link, or of a router, is still on its way.

    #: _said[n].router == n; around, shared and is_settled follow from _said
    """

    __slots__ = ("_name", "_said", "around", "find", "is_settled", "shared")

    def __init__(self, name: str, incarnation: int, find: FindTree = fewest_links) -> None:
        self._name = name
        self.find = find
        self._said = {name: Neighbors(name, Version(incarnation, 0), ())}
        self.around: Mapping[str, tuple[str, ...]] = {}
        self.is_settled = True
        self.shared: frozenset[str] = frozenset()
        self._look()

    def __len__(self) -> int:
        return len(self._said)

    def __contains__(self, router: object) -> bool:
        return router in self._said

    def __iter__(self) -> Iterator[Neighbors]:
        """The last announcements of all routers."""
        return iter(self._said.values())

    @property
    def own(self) -> Neighbors:
        """The last announcement of the own router."""
        return self._said[self._name]

    def say(self, neighbors: Iterable[str]) -> Neighbors:
        """Enter the own router's links; returns its announcement of them."""
        incarnation, number = self.own.version
        said = Neighbors(self._name, Version(incarnation, number + 1), tuple(sorted(neighbors)))
        self._said[self._name] = said
        self._look()
        return said

    def take(self, message: Neighbors) -> bool:
        """Enter another router's announcement; true if it is new."""
        known = self._said.get(message.router)
        if known is not None and known.version >= message.version:
            return False
        self._said[message.router] = message
        self._look()
        return True

    def claims(self, router: str, neighbor: str) -> bool:
        """True if a router announces a link to another one."""
        said = self._said.get(router)
        return said is not None and neighbor in said.neighbors

    def is_whole(self, tree: SpanningTree) -> bool:
        """True if all links of a tree count."""
        return all(child in self.around.get(parent, ()) for parent, child in tree.links())

    def serves(self, tree: SpanningTree) -> bool:
        """True if a tree reaches all routers in reach, over links that count.

        It may have further routers, which are out of reach.
        """
        reached = {tree.source}
        for parent, child in tree.links():  # parents come before their children
            if parent in reached and child in self.around.get(parent, ()):
                reached.add(child)
        return reached >= self.around.keys()

    def validate(self) -> None:
        """Check the relations above; raises `InvariantError`."""
        if any(said.router != router for router, said in self._said.items()):
            raise InvariantError("what a router said of its links is kept for another one")
        seen = self.around, self.shared, self.is_settled
        self._look()
        if seen != (self.around, self.shared, self.is_settled):
            raise InvariantError("the view of the links is not that of what was said")

    def _look(self) -> None:
        around: dict[str, tuple[str, ...]] = {self._name: ()}
        reached = [self._name]
        self.is_settled = True
        for router in reached:
            claimed = self._said[router].neighbors
            mutual = tuple(other for other in claimed if self.claims(other, router))
            around[router] = mutual
            self.is_settled &= len(mutual) == len(claimed)
            for other in mutual:
                if other not in around:
                    around[other] = ()
                    reached.append(other)
        self.around = around
        tree = fewest_links(min(around), around)
        self.shared = frozenset(
            other
            for ends in tree.links()
            if self._name in ends
            for other in ends
            if other != self._name
        )


def objection_to(router: str, known: Collection[object], *, is_later: bool) -> str | None:
    """The reason to close a link over which an announcement of a router came, if there is any.

    `known` are the routers of which announcements are known. `is_later`: it is of a later life of
    this very router.
    """
    if is_later:
        return (
            f"the overlay knows a later router {router!r}: give each router its own name, and "
            "see that the clock of this machine did not go back"
        )
    if router not in known and len(known) >= MESH_ROUTERS_MAX:
        return (
            f"the overlay has more than {MESH_ROUTERS_MAX} routers, which is the most where "
            "links may form circles"
        )
    return None
