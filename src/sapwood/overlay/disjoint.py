"""Several spanning trees with one source, whose ways to a router share as little as they can.

Two trees are *independent* when, for each router, its two ways to the source have no router and no
link in common but those without which it could not be reached at all. In each part of a graph that
holds together without any one router there are two such trees (Itai and Rodeh 1988): routers are
put in an order from the source `s` to a neighbor `t` of it such that each of the others has a
neighbor before and one behind it; one way goes to earlier routers only and ends at `s`, the other
to later ones only, and ends at `t`, which is linked to `s`. The order is found in one walk (Tarjan
1986).

Worked example: a ring a-b-c-d with the source a. From a the walk takes b, c, d: `t` is b, and the
order is a d c b. The first tree goes to earlier routers: d to a, c to d, b to c. The second goes to
later ones: d to c, c to b, b to a. If any link of the ring or any router but a fails, each of the
others is still reached on one of them.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from sapwood.overlay.spanning import SpanningTree, fewest_links

FindTree: TypeAlias = Callable[[str, Mapping[str, Iterable[str]]], SpanningTree]
"""Finds the tree that a source takes, given the neighbors of each router; of equal arguments the
same one, and one that reaches all that can be reached."""

_Parents: TypeAlias = dict[str, str]


def tree_finders(count: int) -> tuple[FindTree, ...]:
    """Find as many trees of a source, each by its number."""
    if count == 1:
        return (fewest_links,)
    return tuple(_finder(number, count) for number in range(count))


def _finder(number: int, count: int) -> FindTree:
    return lambda source, around: disjoint_trees(source, around, count)[number]


def disjoint_trees(
    source: str, around: Mapping[str, Iterable[str]], count: int
) -> tuple[SpanningTree, ...]:
    """Trees over all that `source` reaches, `count` of them, at least two.

    The first two are independent. Each further one takes links that those before it left, where it
    can. Routers that know the same links find the same trees.
    """
    neighbors = {router: sorted(around[router]) for router in around}
    first: _Parents = {}
    second: _Parents = {}
    for block in _blocks(source, neighbors):
        _part(block, neighbors, first, second)
    found = [first, second]
    while len(found) < count:
        found.append(_further(source, neighbors, found))
    return tuple(_tree(source, parents) for parents in found)


class _Walk:
    """A walk from the source, depth first.

    #: place numbers routers as they are reached; parent is whence; low[r] is the first router that
    #: is a neighbor of one reached from r on, or r itself
    """

    def __init__(self, source: str, neighbors: Mapping[str, list[str]]) -> None:
        self.place = {source: 0}
        self.parent: _Parents = {}
        self.low = {source: source}
        waiting = [(source, iter(neighbors[source]))]
        while waiting:
            router, rest = waiting[-1]
            for other in rest:
                if other not in self.place:
                    self.place[other] = len(self.place)
                    self.parent[other] = router
                    self.low[other] = other
                    waiting.append((other, iter(neighbors[other])))
                    break
                if other != self.parent.get(router):
                    self._lower(router, other)
            else:
                waiting.pop()
                if waiting:
                    self._lower(waiting[-1][0], self.low[router])

    def _lower(self, router: str, other: str) -> None:
        if self.place[other] < self.place[self.low[router]]:
            self.low[router] = other


class _Block:
    """Routers that hold together without any one of them, or two with the only link between them.

    #: order begins with the router nearest to the source, and ends with a neighbor of it
    #: before has the routers in front of which those belong that reach them from below (Tarjan's
    #: minus), behind all others
    """

    def __init__(self, near: str, last: str) -> None:
        self.order = [near, last]
        self.before = {near}

    def add(self, router: str, parent: str, low: str) -> None:
        """Put a router into the order, where the walk came from `parent` and `low` is its low."""
        at = self.order.index(parent)
        if low in self.before:
            self.order.insert(at, router)
            self.before.discard(parent)
        else:
            self.order.insert(at + 1, router)
            self.before.add(parent)


def _blocks(source: str, neighbors: Mapping[str, list[str]]) -> list[_Block]:
    """The blocks, each behind that through which the source is reached, with their orders."""
    walk = _Walk(source, neighbors)
    blocks: list[_Block] = []
    #: router -> the block in which it has its parent
    of: dict[str, _Block] = {}
    for router, parent in walk.parent.items():  # in the order of the walk
        low = walk.low[router]
        if walk.place[low] >= walk.place[parent]:
            of[router] = _Block(parent, router)
            blocks.append(of[router])
        else:
            of[router] = of[parent]
            of[router].add(router, parent, low)
    return blocks


def _part(
    block: _Block, neighbors: Mapping[str, list[str]], first: _Parents, second: _Parents
) -> None:
    """Give the routers of a block their parents on both trees, of ways the short ones."""
    order = block.order
    near, last = order[0], order[-1]
    place = {router: number for number, router in enumerate(order)}
    if len(order) == 2:
        first[last] = second[last] = near
        return
    links = {near: 0}
    for router in order[1:]:
        earlier = [
            other
            for other in neighbors[router]
            if place.get(other, len(order)) < place[router] and (router, other) != (last, near)
        ]
        first[router] = min(earlier, key=lambda other: (links[other], other))
        links[router] = links[first[router]] + 1
    second[last] = near
    links = {last: 1}
    for router in reversed(order[1:-1]):
        later = [other for other in neighbors[router] if place.get(other, -1) > place[router]]
        second[router] = min(later, key=lambda other: (links[other], other))
        links[router] = links[second[router]] + 1


def _further(source: str, neighbors: Mapping[str, list[str]], found: list[_Parents]) -> _Parents:
    """One more tree: a link that others have costs more than any way without."""
    taken: dict[frozenset[str], int] = {}
    for parents in found:
        for ends in parents.items():
            taken[frozenset(ends)] = taken.get(frozenset(ends), 0) + 1
    parents = _Parents()
    reached: set[str] = set()
    waiting: list[tuple[int, str, str]] = [(0, source, "")]
    while waiting:
        cost, router, parent = heapq.heappop(waiting)
        if router in reached:
            continue
        reached.add(router)
        if parent:
            parents[router] = parent
        for other in neighbors[router]:
            extra = 1 + len(neighbors) * taken.get(frozenset((router, other)), 0)
            heapq.heappush(waiting, (cost + extra, other, router))
    return parents


def _tree(source: str, parents: _Parents) -> SpanningTree:
    below: dict[str, list[str]] = {}
    for router, parent in sorted(parents.items()):
        below.setdefault(parent, []).append(router)
    routers, above = [source], list[int]()
    for place, router in enumerate(routers):
        for child in below.get(router, ()):
            routers.append(child)
            above.append(place)
    return SpanningTree(tuple(routers), tuple(above))
