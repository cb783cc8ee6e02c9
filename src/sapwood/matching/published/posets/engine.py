"""Posets as matching engines: a record that a filter refuses is refused by all it covers.

Equal filters share one node. `HasseDiagram` (Siena, XSiena 2.8) tests the roots and then, breadth
first, the children of filters that accept, each node once; `PosetForest` (XSiena 2.9) walks down
one tree after the other.

Cost: every root is tested for every record, and every child of a filter that accepts. These engines
win over a scan where filters nest deeply; `match_any` never tests more than the roots. Without
covers among the filters they are a scan, and adding costs a comparison with every root, which is
the reason for the works' other structures.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import count
from typing import Protocol

from sapwood.errors import InvariantError
from sapwood.matching.unbatched import UnbatchedEngine
from sapwood.model.filter import Filter
from sapwood.model.interest import Interest
from sapwood.model.publication import Record


class Poset(Protocol):
    """Distinct filters by node number, ordered by covering."""

    @property
    def roots(self) -> Collection[int]:
        """The nodes without parents."""

    def __len__(self) -> int:
        """The number of nodes."""

    def filter(self, node: int) -> Interest:
        """The filter of a node."""

    def parents(self, node: int) -> Collection[int]:
        """The nodes right above; they cover it."""

    def children(self, node: int) -> Collection[int]:
        """The nodes right below; it covers them."""

    def add(self, node: int, filter: Interest) -> None:
        """Insert a filter that no node has, under a free number."""

    def remove(self, node: int) -> tuple[int, ...]:
        """Remove a node; returns the nodes that have become roots."""

    def accepting(self, record: Record) -> Iterator[int]:
        """The nodes whose filters accept the record, each once."""

    def validate(self) -> None:
        """Raise `InvariantError` unless the structure is consistent."""


class PosetEngine(UnbatchedEngine[Filter, Record]):
    """Matching over a poset (see the module)."""

    def __init__(self, poset: Poset) -> None:
        #: the distinct filters; empty at first
        self._poset = poset
        #: filter -> its node; exactly the nodes of the poset
        self._nodes: dict[Interest, int] = {}
        #: node -> the slots with its filter, at least one
        self._slots: dict[int, set[int]] = {}
        #: slot -> its node; exactly the taken slots
        self._taken: dict[int, int] = {}
        self._next_nodes = count()

    def __len__(self) -> int:
        """The number of taken slots."""
        return len(self._taken)

    def add(self, slot: int, filter: Filter) -> None:
        """Put `filter` into `slot`."""
        assert slot not in self._taken, f"slot {slot} is taken"
        node = self._nodes.get(filter)
        if node is None:
            node = self._nodes[filter] = next(self._next_nodes)
            self._slots[node] = set()
            self._poset.add(node, filter)
        self._slots[node].add(slot)
        self._taken[slot] = node

    def remove(self, slot: int) -> None:
        """Free `slot`."""
        node = self._taken.pop(slot)
        self._slots[node].remove(slot)
        if not self._slots[node]:
            del self._slots[node], self._nodes[self._poset.filter(node)]
            self._poset.remove(node)

    def match(self, record: Record) -> list[int]:
        """The slots whose filters accept `record`, ascending, each once."""
        return sorted(s for node in self._poset.accepting(record) for s in self._slots[node])

    def match_any(self, record: Record) -> bool:
        """True if any filter accepts `record`; stops at the first."""
        return next(self._poset.accepting(record), None) is not None

    def validate(self) -> None:
        """Check that slots, nodes and filters agree, and that the poset is consistent."""
        self._poset.validate()
        nodes = {f: node for f, node in self._nodes.items() if self._poset.filter(node) == f}
        if not len(nodes) == len(self._nodes) == len(self._poset) == len(self._slots):
            raise InvariantError("the poset's nodes are not the distinct filters")
        if {s: node for node, slots in self._slots.items() for s in slots} != self._taken:
            raise InvariantError("slots and nodes disagree")
        if not all(self._slots.values()):
            raise InvariantError("a node is held for no slot")
