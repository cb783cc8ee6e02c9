"""Nodes and edges: the storage under flat and dense graphs."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, TypeAlias

from sapwood.errors import InvariantError
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.order import has_one_form, reaches

_Neighbors: TypeAlias = dict[int, dict[int, None]]
_NOBODY: Final[Mapping[int, None]] = MappingProxyType({})


class CoverEdges:
    """Filters by key, and edges from parents to the children they cover.

    #: parents and children are listed for nodes that have any; b in children[a] iff a in parents[b]
    #: there is no circle
    """

    __slots__ = ("_children", "_parents", "filters")

    def __init__(self) -> None:
        self.filters: dict[int, AdvertisedContent] = {}
        self._parents: _Neighbors = {}
        self._children: _Neighbors = {}

    def __len__(self) -> int:
        """The number of nodes."""
        return len(self.filters)

    def parents(self, key: int) -> Collection[int]:
        """The nodes with an edge to this one, in order of linking."""
        return self._parents.get(key, _NOBODY).keys()

    def children(self, key: int) -> Collection[int]:
        """The nodes with an edge from this one, in order of linking."""
        return self._children.get(key, _NOBODY).keys()

    def add(self, key: int, filter: AdvertisedContent, parents: Iterable[int]) -> None:
        """Add a node below `parents`."""
        assert key not in self.filters, f"key {key} is taken"
        self.filters[key] = filter
        for parent in parents:
            self.link(parent, key)

    def add_many(
        self,
        keys: Sequence[int],
        filters: Sequence[AdvertisedContent],
        parents: Sequence[Sequence[int]],
    ) -> None:
        """Add nodes, each below its parents, which may be among the nodes before it."""
        assert self.filters.keys().isdisjoint(keys), "a key is taken"
        self.filters.update(zip(keys, filters, strict=True))
        for key, above in zip(keys, parents, strict=True):
            for parent in above:
                self.link(parent, key)

    def remove(self, key: int) -> tuple[int, ...]:
        """Remove a node with its edges; returns its former children."""
        children = tuple(self._children.pop(key, ()))
        for child in children:
            _unlink(self._parents, child, key)
        for parent in self._parents.pop(key, ()):
            _unlink(self._children, parent, key)
        del self.filters[key]
        return children

    def link(self, parent: int, child: int) -> None:
        """Add an edge between two nodes, where `may_link` allows it."""
        self._children.setdefault(parent, {})[child] = None
        self._parents.setdefault(child, {})[parent] = None

    def may_link(self, parent: int, child: int) -> bool:
        """True if an edge to a node that the parent covers would close no circle.

        All filters on a circle accept the same records, so two filters of one form cannot be on
        one. Only for others the ancestors are searched.
        """
        if has_one_form(self.filters[parent]) and has_one_form(self.filters[child]):
            return True
        return not reaches((parent,), child, self.parents)

    def validate(self) -> None:
        """Raise `InvariantError` unless every edge is a cover and no node is above itself."""
        for table in (self._parents, self._children):
            if not table.keys() <= self.filters.keys() or not all(table.values()):
                raise InvariantError("the graph lists neighbors of a node that has none")
        edges = {(a, b) for a, below in self._children.items() for b in below}
        if edges != {(a, b) for b, above in self._parents.items() for a in above}:
            raise InvariantError("parents and children of the graph disagree")
        for parent, child in sorted(edges):
            if not self.filters[parent].covers(self.filters[child]):
                raise InvariantError(f"node {parent} is above node {child} and does not cover it")
        degrees = {key: len(self.parents(key)) for key in self.filters}
        free = [key for key, degree in degrees.items() if not degree]
        for key in free:
            for child in self.children(key):
                degrees[child] -= 1
                if not degrees[child]:
                    free.append(child)
        if len(free) != len(self):
            raise InvariantError("some nodes of the graph are above themselves")


def _unlink(neighbors: _Neighbors, node: int, former: int) -> None:
    own = neighbors[node]
    del own[former]
    if not own:
        del neighbors[node]
