"""Nodes and edges: the storage under flat and dense graphs."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from sapwood.errors import InvariantError
from sapwood.matching.posets.order import has_one_form, reaches
from sapwood.model.filter import Filter


class CoverEdges:
    """Filters by key, and edges from parents to the children they cover.

    #: the same keys are in all three tables; b in children[a] iff a in parents[b]
    #: there is no circle
    """

    __slots__ = ("_children", "_parents", "filters")

    def __init__(self) -> None:
        self.filters: dict[int, Filter] = {}
        self._parents: dict[int, dict[int, None]] = {}
        self._children: dict[int, dict[int, None]] = {}

    def __len__(self) -> int:
        """The number of nodes."""
        return len(self.filters)

    def parents(self, key: int) -> Collection[int]:
        """The nodes with an edge to this one, in order of linking."""
        return self._parents[key].keys()

    def children(self, key: int) -> Collection[int]:
        """The nodes with an edge from this one, in order of linking."""
        return self._children[key].keys()

    def add(self, key: int, filter: Filter, parents: Iterable[int]) -> None:  # noqa: A002
        """A new node below some others."""
        assert key not in self.filters, f"key {key} is taken"
        self.filters[key] = filter
        self._parents[key], self._children[key] = {}, {}
        for parent in parents:
            self.link(parent, key)

    def remove(self, key: int) -> tuple[int, ...]:
        """Drop a node with its edges; returns its former children."""
        children = tuple(self._children.pop(key))
        for child in children:
            del self._parents[child][key]
        for parent in self._parents.pop(key):
            del self._children[parent][key]
        del self.filters[key]
        return children

    def link(self, parent: int, child: int) -> None:
        """An edge between two nodes, where `may_link` allows it."""
        self._children[parent][child] = None
        self._parents[child][parent] = None

    def may_link(self, parent: int, child: int) -> bool:
        """Whether an edge to a node that the parent covers would close no circle.

        A circle means that all on it accept the same records, so two filters of one form cannot
        be on one. Only for others the ancestors are searched.
        """
        if has_one_form(self.filters[parent]) and has_one_form(self.filters[child]):
            return True
        return not reaches((parent,), child, self.parents)

    def validate(self) -> None:
        """Raise `InvariantError` unless every edge is a cover and nobody is above itself."""
        if not self.filters.keys() == self._parents.keys() == self._children.keys():
            raise InvariantError("the graph's tables have different nodes")
        edges = {(a, b) for a, below in self._children.items() for b in below}
        if edges != {(a, b) for b, above in self._parents.items() for a in above}:
            raise InvariantError("parents and children of the graph disagree")
        for parent, child in sorted(edges):
            if not self.filters[parent].covers(self.filters[child]):
                raise InvariantError(f"node {parent} is above node {child} and does not cover it")
        degrees = {key: len(above) for key, above in self._parents.items()}
        free = [key for key, degree in degrees.items() if not degree]
        for key in free:
            for child in self._children[key]:
                degrees[child] -= 1
                if not degrees[child]:
                    free.append(child)
        if len(free) != len(self):
            raise InvariantError("some nodes of the graph are above themselves")
