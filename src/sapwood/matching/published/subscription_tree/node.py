"""A place of the subscription tree, and the links between places."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from sapwood.model.patterns.pattern import TreePattern
from sapwood.model.patterns.twigs import Twig

Nodes: TypeAlias = "dict[Node, None]"
"""Nodes in the order in which they were added."""


@dataclass(frozen=True, slots=True)
class Relation:
    """The covering relation that a tree uses.

    `covers` compares what `prepare` has made of two patterns, once for each of them. It must never
    claim a cover that does not hold, and must hold for every pattern and itself. If it misses some,
    the tree has fewer covers, and siblings in it may be related.
    """

    prepare: Callable[[TreePattern], Any]
    covers: Callable[[Any, Any], bool]


EXACT: Final = Relation(lambda pattern: pattern, TreePattern.covers)
"""The relation of `TreePattern.covers`: for XPEs exactly the covers there are."""


class Node:
    """Patterns that cover each other, at one place of the tree.

    #: keys: those of its patterns, in order of arrival; empty for the root of the tree
    #: children by head; no group is empty
    #: supers and owners: pointers from here and to here
    """

    __slots__ = (
        "children",
        "compared",
        "head",
        "keys",
        "labels",
        "names",
        "owners",
        "parent",
        "pattern",
        "reach",
        "supers",
    )

    def __init__(self, pattern: TreePattern | None, relation: Relation = EXACT) -> None:
        self.pattern = pattern
        self.compared: Any = None if pattern is None else relation.prepare(pattern)
        twigs = () if pattern is None else pattern.twigs
        #: the label of the root element, then those of wider tests; `None` where it is not named
        self.labels = _root_labels(twigs)
        self.head = self.labels[0]
        #: levels, and names, that every accepted document has
        self.reach = min((twig.reach for twig in twigs), default=0)
        self.names = (
            frozenset[str]().union(*map(_names, twigs[:1])).intersection(*map(_names, twigs[1:]))
        )
        self.keys: dict[int, None] = {}
        self.parent: Node | None = None
        self.children: dict[str | None, Nodes] = {}
        self.supers: Nodes = {}
        self.owners: Nodes = {}

    def every_child(self) -> Iterator[Node]:
        """All children."""
        for group in self.children.values():
            yield from group

    def descend(self) -> Iterator[Node]:
        """All nodes below, in the tree."""
        waiting = [self]
        while waiting:
            for child in waiting.pop().every_child():
                yield child
                waiting.append(child)

    def is_below(self, above: Node) -> bool:
        """True if the node lies below another, at any depth."""
        node = self.parent
        while node is not None and node is not above:
            node = node.parent
        return node is not None

    @property
    def first(self) -> int:
        """The oldest of its keys."""
        return next(iter(self.keys))


def adopt(parent: Node, child: Node) -> None:
    """Put a node that has no parent below another."""
    parent.children.setdefault(child.head, {})[child] = None
    child.parent = parent


def leave(child: Node) -> None:
    """Remove a node from its parent."""
    parent = child.parent
    assert parent is not None, "only the root of the tree has no parent"
    group = parent.children[child.head]
    del group[child]
    if not group:
        del parent.children[child.head]
    child.parent = None


def point(owner: Node, target: Node) -> None:
    """Add a super pointer from a node to another."""
    owner.supers[target] = None
    target.owners[owner] = None


def unpoint(owner: Node, target: Node) -> None:
    """Remove a super pointer."""
    del owner.supers[target]
    del target.owners[owner]


def _root_labels(twigs: tuple[Twig, ...]) -> tuple[str | None, ...]:
    """The labels of the root element, if all alternatives name it alike."""
    found = {twig.near[0].labels if twig.near else (None,) for twig in twigs}
    return next(iter(found)) if len(found) == 1 else (None,)


def _names(twig: Twig) -> frozenset[str]:
    """The local names of all elements that a twig requires."""
    return frozenset(one.test.local for one in twig.descend() if one.test is not None)
