"""The nodes of a subscription tree that need not be compared (1.5.1, its two properties).

`PRINTED` has the work's rules. From "the children's path length is always longer than their
parent's": a pattern with more levels covers none with fewer, so that a search for covers goes down
to the level of equal length, and one for covered patterns compares from there on. From "it will
never be inserted in a subtree rooted by an absolute XPE": no relative XPE is searched there. The
latter holds only where the absolute one names the root element: `/*` covers `a`, and `/*//a` covers
`b/a`. The work's further hint, that an XPE with `*` or `//` in the middle stands one or more levels
higher than its length tells, decides nothing that the lengths do not.

`OWN` uses more: every document that a covered pattern accepts has the names that the covering one
requires, so a covered pattern requires all names that the covering one does, and is found among the
patterns that require the rarest of them; and children are grouped by the name of the root element.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from sapwood.matching.published.subscription_tree.node import Node, Nodes
from sapwood.xml.document import Document, local_name


class Shortcuts:
    """No shortcuts at all: every node on the way of a search is compared."""

    __slots__ = ()

    def may_cover(self, wide: Node, narrow: Node) -> bool:  # noqa: ARG002
        """True unless it is known without comparison that the first does not cover the second."""
        return True

    def above(self, parent: Node, node: Node) -> Iterator[Node]:  # noqa: ARG002
        """The children of a node that may cover another one."""
        return parent.every_child()

    def below(self, parent: Node, node: Node) -> Iterator[Node]:  # noqa: ARG002
        """The children of a node that another one may cover."""
        return parent.every_child()

    def matching(self, parent: Node, document: Document) -> Iterator[Node]:  # noqa: ARG002
        """The children of a node that may accept a document."""
        return parent.every_child()

    def candidates(self, node: Node, named: dict[str, Nodes]) -> Iterable[Node] | None:  # noqa: ARG002
        """All nodes that one may cover, where they can be found otherwise than through the tree.

        `named` has for each name the nodes whose patterns require it.
        """
        return None


class _Printed(Shortcuts):
    """The printed rules: lengths, and no relative XPE below an absolute one."""

    __slots__ = ()

    def may_cover(self, wide: Node, narrow: Node) -> bool:
        return wide.reach <= narrow.reach and (wide.head is None or narrow.head is not None)


class _Own(Shortcuts):
    """Our rules: levels, names, and children by the name of the root element."""

    __slots__ = ()

    def may_cover(self, wide: Node, narrow: Node) -> bool:
        return wide.reach <= narrow.reach and wide.names <= narrow.names

    def above(self, parent: Node, node: Node) -> Iterator[Node]:
        for label in node.labels:
            yield from parent.children.get(label, ())

    def below(self, parent: Node, node: Node) -> Iterator[Node]:
        for label, group in parent.children.items():
            if _may_meet(label, node.head):
                yield from group

    def matching(self, parent: Node, document: Document) -> Iterator[Node]:
        root = document.names[0]
        expanded = root if root.startswith("{") else f"{{}}{root}"
        for label in (expanded, local_name(root), None):
            yield from parent.children.get(label, ())

    def candidates(self, node: Node, named: dict[str, Nodes]) -> Iterable[Node] | None:
        if not node.names:
            return None
        rarest = min(sorted(node.names), key=lambda name: len(named.get(name, ())))
        return named.get(rarest, ())


NONE: Final = Shortcuts()
PRINTED: Final[Shortcuts] = _Printed()
OWN: Final[Shortcuts] = _Own()
"""The three sets of rules; all lead to the same tree."""


def _may_meet(one: str | None, other: str | None) -> bool:
    """True if an element may have both labels."""
    if one is None or other is None or one == other:
        return True
    return local_name(one) == local_name(other) and not (one[0] == other[0] == "{")
