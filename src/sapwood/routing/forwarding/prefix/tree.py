"""The routing tree that grows and shrinks; the optimizer keeps one (XSiena 4.2)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from sapwood.errors import InvariantError
from sapwood.model.constraint import ANYTHING
from sapwood.model.filter import Filter
from sapwood.routing.forwarding.prefix.placing import place
from sapwood.routing.forwarding.prefix.siblings import Node


class RoutingTree:
    """Filters as a tree of constraints, siblings disjoint; equal ones count once.

    #: _used[f] are the nodes that stand for constraints of f, once for each piece
    #: a node's `refs` is the number of times it is in _used; only the root has none
    """

    __slots__ = ("_used", "root", "size")

    def __init__(self) -> None:
        self.root = Node("", ANYTHING)
        self.size = 1
        self._used: dict[Filter, list[Node]] = {}

    def __len__(self) -> int:
        """The number of filters."""
        return len(self._used)

    def __contains__(self, wanted: Filter) -> bool:
        """True if a filter is in the tree."""
        return wanted in self._used

    @property
    def filters(self) -> Iterator[Filter]:
        """The filters, in the order in which they came."""
        yield from self._used

    def insert(self, wanted: Filter) -> None:
        """Add a filter, if it is not there."""
        if wanted in self._used:
            return
        used: list[Node] = []
        for box in wanted.conjunctions:
            for piece in place(self.root, box, grow=True).pieces:
                used += piece.used
        for node in used:
            self.size += not node.refs
            node.refs += 1
        self._used[wanted.compact()] = used

    def remove(self, wanted: Filter) -> None:
        """Remove a filter, if it is there, with the nodes that no other filter needs.

        The children of such a node go to its parent: they constrain the same attribute, more
        narrowly, as every node for another attribute had this one on its way.
        """
        for node in reversed(self._used.pop(wanted, ())):  # the nodes below go first
            node.refs -= 1
            if not node.refs:
                self._splice(node)
                self.size -= 1

    def _splice(self, node: Node) -> None:
        parent = node.parent
        assert parent is not None, "the root stands for no constraint"
        parent.release(node)
        for group in node.children.values():
            for child in group:
                parent.adopt(child)
        node.children = {}

    def nodes(self) -> Iterator[tuple[int, Node]]:
        """All nodes in preorder with their distances from the root; the root is first."""
        left = [(0, self.root)]
        while left:
            depth, node = left.pop()
            yield depth, node
            left.extend((depth + 1, child) for child in reversed([*node.ordered()]))

    def validate(self) -> None:
        """Check the relations above, and that siblings are disjoint; raises `InvariantError`."""
        refs = Counter(id(node) for used in self._used.values() for node in used)
        count = 0
        for depth, node in self.nodes():
            count += 1
            if node.refs != refs[id(node)] or (depth > 0) != (node.refs > 0):
                raise InvariantError("a node of the routing tree counts other filters than it has")
            for name, group in node.children.items():
                nodes = [*group]
                for at, child in enumerate(nodes):
                    if child.parent is not node or child.attribute != name:
                        raise InvariantError("a node of the routing tree lies below another one")
                    for other in nodes[:at]:
                        if _overlap(child, other):
                            raise InvariantError("nodes of the routing tree overlap")
                if name < node.attribute:
                    raise InvariantError("a routing tree has attributes out of order")
        if count != self.size:
            raise InvariantError(f"the routing tree has {count} nodes, not {self.size}")


def _overlap(a: Node, b: Node) -> bool:
    if a.constraint.patterns or b.constraint.patterns:
        return a.constraint == b.constraint
    return not a.constraint.intersect(b.constraint).is_empty
