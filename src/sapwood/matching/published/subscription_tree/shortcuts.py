"""Which nodes of a subscription tree need not be compared (1.5.1, its two properties).

`PRINTED` has the work's rules. From "the children's path length is always longer than their
parent's": what has more levels covers nothing with fewer, so that a search for covers goes down to
the level of equal length, and one for what is covered compares from there on. From "it will never
be inserted in a subtree rooted by an absolute XPE": no relative XPE is looked for there. The latter
holds only where the absolute one names the root element: `/*` covers `a`, and `/*//a` covers `b/a`.
The work's further hint, that an XPE with `*` or `//` in the middle stands one or more levels higher
than its length says, decides nothing that the lengths do not.

`OWN` knows more: whatever an accepted document must have, the accepted ones of a covered pattern
have, so what a pattern covers asks for all the names that it asks for, and is found among those
that ask for the rarest of them; and children are kept by the name of the root element.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from sapwood.matching.published.subscription_tree.node import Node, Nodes
from sapwood.xml.document import Document, local_name


class Shortcuts:
    """None at all: every node that a search comes by is compared."""

    __slots__ = ()

    def may_cover(self, wide: Node, narrow: Node) -> bool:  # noqa: ARG002
        """Whether the two have to be compared to know if the first covers the second."""
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
        """All nodes that one may cover, where there is a way to them other than the tree.

        `named` has for each name the nodes that ask for it.
        """
        return None


class _Printed(Shortcuts):
    """Lengths, and that no relative XPE lies below an absolute one."""

    __slots__ = ()

    def may_cover(self, wide: Node, narrow: Node) -> bool:
        return wide.reach <= narrow.reach and (wide.head is None or narrow.head is not None)


class _Own(Shortcuts):
    """Levels, names, and children by the name of the root element."""

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
    """Whether an element may have both labels."""
    if one is None or other is None or one == other:
        return True
    return local_name(one) == local_name(other) and not (one[0] == other[0] == "{")
