"""The poset-derived forest: filters under covering with at most one parent each.

Tarkoma's structure as XSiena 2.9 and Shen 2007, section 4.3.3 describe it: a filter hangs below one
immediate predecessor, found by walking down from the roots into the first child that covers it, so
the layout depends on the order of arrival. Two properties hold: the roots are a minimal cover, and
no two siblings cover each other. Removal inserts each orphan again, with all that hangs below it,
from the removed node's parent on.

Cost: insertion compares with the children of every node on one path, twice; removal is as many
insertions as there are children. Matching walks down where filters accept. Since a filter hangs
below one of its covers only, it may be tested although another cover has refused the record.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Final

from sapwood.errors import InvariantError
from sapwood.matching.published.kdtree.boxes import Region, region_of
from sapwood.model.interest import Interest
from sapwood.model.publication import Record

_TOP: Final = -1
"""The virtual parent of all roots."""


class PosetForest:
    """Distinct filters by node number, each below one that covers it or below the virtual top.

    #: the same nodes are keys of both tables, and of `_children`, which has the top as well
    #: b in children[a] iff parent[b] == a; every chain of parents ends at the top
    """

    __slots__ = ("_children", "_parent", "_regions")

    def __init__(self) -> None:
        self._regions: dict[int, Region[Interest]] = {}
        self._parent: dict[int, int] = {}
        self._children: dict[int, dict[int, None]] = {_TOP: {}}

    def __len__(self) -> int:
        """The number of nodes."""
        return len(self._regions)

    @property
    def roots(self) -> Collection[int]:
        """The nodes that hang below no other."""
        return self._children[_TOP].keys()

    def filter(self, node: int) -> Interest:
        """The filter of a node."""
        return self._regions[node].filter

    def parents(self, node: int) -> Collection[int]:
        """The one parent; none for a root."""
        parent = self._parent[node]
        return () if parent == _TOP else (parent,)

    def children(self, node: int) -> Collection[int]:
        """The nodes that hang directly below."""
        return self._children[node].keys()

    def add(self, node: int, filter: Interest) -> None:
        """Insert a filter that no node has, under a free number."""
        self._regions[node] = region_of(filter)
        self._children[node] = {}
        self._attach(node, _TOP)

    def remove(self, node: int) -> tuple[int, ...]:
        """Remove a node and hang its children elsewhere; returns those that have become roots."""
        parent, orphans = self._parent.pop(node), tuple(self._children.pop(node))
        del self._children[parent][node], self._regions[node]
        for orphan in orphans:
            self._attach(orphan, parent)
        return tuple(orphan for orphan in orphans if self._parent[orphan] == _TOP)

    def accepting(self, record: Record) -> Iterator[int]:
        """The nodes whose filters accept the record, depth first, each once."""
        waiting = list(self._children[_TOP])
        while waiting:
            node = waiting.pop()
            if self._regions[node].accepts(record):
                yield node
                waiting += self._children[node]

    def validate(self) -> None:
        """Raise `InvariantError` unless this is a forest in which parents cover their children."""
        nodes = self._regions.keys()
        if nodes != self._parent.keys() or nodes | {_TOP} != self._children.keys():
            raise InvariantError("the forest's tables have different nodes")
        if {child: a for a, below in self._children.items() for child in below} != self._parent:
            raise InvariantError("parents and children of the forest disagree")
        reached = list(self._children[_TOP])
        for node in reached:
            reached += self._children[node]
        if len(reached) != len(nodes):
            raise InvariantError("some nodes of the forest hang below no root")
        for child, parent in self._parent.items():
            if parent != _TOP and not self.filter(parent).covers(self.filter(child)):
                raise InvariantError(f"node {parent} is above node {child} and does not cover it")

    def _attach(self, node: int, start: int) -> None:
        """Hang a node, with all below it, as far below `start` as covers lead one by one."""
        region = self._regions[node]
        above, lower = start, self._covering_child(start, region)
        while lower is not None:
            above, lower = lower, self._covering_child(lower, region)
        siblings = self._children[above]
        for covered in [s for s in siblings if region.covers(self._regions[s])]:
            del siblings[covered]
            self._children[node][covered] = None
            self._parent[covered] = node
        siblings[node] = None
        self._parent[node] = above

    def _covering_child(self, parent: int, region: Region[Interest]) -> int | None:
        """The first child that covers the region."""
        for child in self._children[parent]:
            if self._regions[child].covers(region):
                return child
        return None
