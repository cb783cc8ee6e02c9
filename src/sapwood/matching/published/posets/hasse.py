"""The Siena poset: a Hasse diagram of filters under covering.

Carzaniga's structure (Siena) as XSiena 2.8 and Shen 2007, section 4.3.2 describe it: edges run from
immediate predecessor to immediate successor only, which is the transitive reduction of the covering
relation; no filter covers a root. The works give no code for changes; insertion searches the
immediate predecessors breadth-first below the roots, then the immediate successors below one
predecessor, since every filter that the new one covers is below each of them.

Cost: insertion compares with every root and, below each cover, with every child; the search for
successors may visit all that one predecessor covers (all filters, for a new root). Matching tests
the roots and the children of those that accept.

Among unequal filters that cover each other the older one counts as the predecessor.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from sapwood.errors import InvariantError
from sapwood.matching.published.kdtree.boxes import Region, region_of
from sapwood.model.interest import Interest
from sapwood.model.order import has_one_form, reaches
from sapwood.model.publication import Record


class HasseDiagram:
    """Distinct filters by node number, with their immediate neighbors in the order.

    #: the same nodes are keys of all three tables; b in children[a] iff a in parents[b]
    #: an edge means that the parent covers the child; there is no circle
    #: roots == the nodes without parents
    """

    __slots__ = ("_children", "_parents", "_regions", "_roots")

    def __init__(self) -> None:
        self._regions: dict[int, Region[Interest]] = {}
        self._parents: dict[int, dict[int, None]] = {}
        self._children: dict[int, dict[int, None]] = {}
        self._roots: dict[int, None] = {}

    def __len__(self) -> int:
        """The number of nodes."""
        return len(self._regions)

    @property
    def roots(self) -> Collection[int]:
        """The nodes that no other node covers."""
        return self._roots.keys()

    def filter(self, node: int) -> Interest:
        """The filter of a node."""
        return self._regions[node].filter

    def parents(self, node: int) -> Collection[int]:
        """The immediate predecessors: the tightest covers."""
        return self._parents[node].keys()

    def children(self, node: int) -> Collection[int]:
        """The immediate successors: the widest covered filters."""
        return self._children[node].keys()

    def add(self, node: int, filter: Interest) -> None:
        """Insert a filter that no node has, under a free number."""
        region = region_of(filter)
        parents = self._predecessors(region)
        children = self._successors(region, parents)
        self._regions[node] = region
        self._parents[node], self._children[node] = {}, {}
        for child in children:
            for parent in parents:
                if child in self._children[parent]:
                    self._unlink(parent, child)
            self._link(node, child)
            self._roots.pop(child, None)
        for parent in parents:
            self._link(parent, node)
        if not parents:
            self._roots[node] = None

    def put_below(self, parents: Collection[int], node: int, filter: Interest) -> None:
        """Insert a filter that covers no other, with its immediate predecessors `parents`."""
        self._regions[node] = region_of(filter)
        self._parents[node], self._children[node] = {}, {}
        for parent in parents:
            self._link(parent, node)
        if not parents:
            self._roots[node] = None

    def remove(self, node: int) -> tuple[int, ...]:
        """Remove a node and link its neighbors; returns the nodes that have become roots."""
        parents, children = tuple(self._parents[node]), tuple(self._children[node])
        for parent in parents:
            self._unlink(parent, node)
        for child in children:
            self._unlink(node, child)
        del self._regions[node], self._parents[node], self._children[node]
        self._roots.pop(node, None)
        for child in children:
            for parent in parents:
                if not self._is_between(parent, child):
                    self._link(parent, child)
        uncovered = tuple(child for child in children if not self._parents[child])
        self._roots.update(dict.fromkeys(uncovered))
        return uncovered

    def accepting(self, record: Record) -> Iterator[int]:
        """The nodes whose filters accept the record; each is tested once at most, roots first."""
        waiting = list(self._roots)
        seen = set(waiting)
        for node in waiting:  # grows while it is read: breadth first
            if self._regions[node].accepts(record):
                yield node
                fresh = [child for child in self._children[node] if child not in seen]
                seen.update(fresh)
                waiting += fresh

    def validate(self) -> None:
        """Raise `InvariantError` unless edges, roots and filters fit together."""
        if not self._regions.keys() == self._parents.keys() == self._children.keys():
            raise InvariantError("the poset's tables have different nodes")
        edges = {(a, b) for a, below in self._children.items() for b in below}
        if edges != {(a, b) for b, above in self._parents.items() for a in above}:
            raise InvariantError("parents and children of the poset disagree")
        for parent, child in sorted(edges):
            if not self._regions[parent].filter.covers(self._regions[child].filter):
                raise InvariantError(f"node {parent} is above node {child} and does not cover it")
            if reaches(self._children[child], parent, self.children):
                raise InvariantError(f"nodes {parent} and {child} are above each other")
        if set(self._roots) != {node for node, above in self._parents.items() if not above}:
            raise InvariantError("the roots are not the nodes without parents")

    def _predecessors(self, region: Region[Interest]) -> list[int]:
        """The covering nodes of which no child covers as well."""
        covers: dict[int, bool] = {}

        def covering(nodes: Collection[int]) -> list[int]:
            for node in nodes:
                if node not in covers:
                    covers[node] = self._regions[node].covers(region)
            return [node for node in nodes if covers[node]]

        waiting = covering(self._roots.keys())
        seen = set(waiting)
        found: list[int] = []
        for node in waiting:
            tighter = covering(self._children[node].keys())
            if not tighter:
                found.append(node)
            fresh = [child for child in tighter if child not in seen]
            seen.update(fresh)
            waiting += fresh
        return found

    def _successors(self, region: Region[Interest], parents: list[int]) -> list[int]:
        """The covered nodes of which no parent is covered as well."""
        start = min((self._children[p] for p in parents), key=len, default=self._roots)
        covered: dict[int, bool] = {}

        def is_covered(node: int) -> bool:
            known = covered.get(node)
            if known is None:
                known = region.covers(self._regions[node]) and not self._is_above(
                    node, parents, region
                )
                covered[node] = known
            return known

        waiting = list(start)
        seen = set(waiting)
        found: list[int] = []
        for node in waiting:
            if is_covered(node):
                found.append(node)
                continue
            fresh = [child for child in self._children[node] if child not in seen]
            seen.update(fresh)
            waiting += fresh
        return [node for node in found if not any(map(is_covered, self._parents[node]))]

    def _is_above(self, node: int, parents: list[int], region: Region[Interest]) -> bool:
        """True if a covered node is also above the new one: an edge would make a circle."""
        if has_one_form(region.filter) and has_one_form(self._regions[node].filter):
            return False
        return reaches(parents, node, self.parents)

    def _is_between(self, parent: int, child: int) -> bool:
        """True if the child has a parent that the given one covers, so that no edge is needed."""
        above = self._regions[parent]
        return any(above.covers(self._regions[other]) for other in self._parents[child])

    def _link(self, parent: int, child: int) -> None:
        self._children[parent][child] = None
        self._parents[child][parent] = None

    def _unlink(self, parent: int, child: int) -> None:
        del self._children[parent][child]
        del self._parents[child][parent]
