"""Document synopses: the number of documents with each path of names (8.2, L2955-2966).

A synopsis is a tree. Its root stands for the document and counts all documents; every other node
counts the documents that have at least one element with these names from the root down. Attributes
are names that begin with `@`; values are left out. Counts are of documents, not of occurrences, so
two synopses of different documents are merged by adding counts, and a tree of partial synopses
gives the synopsis of one process, bit for bit.

Nodes are numbered depth first, the names below a node in order of code points; hence equal sets of
paths have equal synopses, whatever order the documents came in. For the documents
`<a><b/><b/></a>` and `<a x="1"><c/></a>`::

    node     0     1    2    3    4
    name     ""    a    @x   b    c        root, /a, /a/@x, /a/b, /a/c
    parent   -1    0    1    1    1
    count    2     2    1    1    1
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from sapwood.errors import InputError, LimitError
from sapwood.limits import SYNOPSIS_NODES_MAX
from sapwood.xml.document import Document

ATTRIBUTE_MARK: Final = "@"
"""The first character of attributes' names; no name of an element begins with it."""

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Synopsis:
    """The paths of a number of documents, and how many of these have each.

    Node `n` is named `names[n]`, lies below `parents[n]` and was in `counts[n]` documents; node 0
    is the root. Make synopses with `SynopsisBuilder` or `synopsis_of`; the constructor raises
    `InputError` for nodes that are not in order, and for a count above that of its parent.
    """

    names: tuple[str, ...]
    parents: tuple[int, ...]
    counts: tuple[int, ...]
    #: the nodes below each node, in their order
    _children: tuple[tuple[int, ...], ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_children", _children(self))

    @property
    def documents(self) -> int:
        """The number of documents."""
        return self.counts[0]

    def __len__(self) -> int:
        """The number of nodes, the root among them."""
        return len(self.names)

    def children(self, node: int) -> tuple[int, ...]:
        """The nodes below a node."""
        return self._children[node]

    def count(self, path: Sequence[str]) -> int:
        """The exact number of documents that have this path from the root."""
        node = 0
        for name in path:
            found = next((one for one in self._children[node] if self.names[one] == name), None)
            if found is None:
                return 0
            node = found
        return self.counts[node]

    def path(self, node: int) -> Path:
        """The names from the root down to a node."""
        names: list[str] = []
        while node:
            names.append(self.names[node])
            node = self.parents[node]
        return tuple(reversed(names))

    def paths(self) -> Iterator[tuple[Path, int]]:
        """Every path with its count, in the order of nodes."""
        return ((self.path(node), self.counts[node]) for node in range(1, len(self)))


class SynopsisBuilder:
    """Takes documents and synopses one by one, in any order, and gives the synopsis of all.

    #: a name is found once below a node; a count is not above that of its parent
    """

    __slots__ = ("_counts", "_found", "_names", "_parents")

    def __init__(self) -> None:
        self._names = [""]
        self._parents = [-1]
        self._counts = [0]
        #: the node of each name below each node
        self._found: dict[tuple[int, str], int] = {}

    def add(self, document: Document, *, attributes: bool = True) -> None:
        """Take in a document; its attributes count where it was read with its content.

        With `attributes` false they never do.

        Raises `LimitError` where the paths of all documents are more than
        `limits.SYNOPSIS_NODES_MAX`; the document is then not counted.
        """
        found = self._found
        nodes: list[int] = []
        for name, parent in zip(document.names, document.parents, strict=True):
            above = nodes[parent] if parent >= 0 else 0
            node = found.get((above, name))
            nodes.append(self._made(above, name) if node is None else node)
        seen = set(nodes)
        if attributes and document.content is not None:
            starts = document.content.attribute_starts
            names = document.content.attribute_names
            for element, above in enumerate(nodes):
                for at in range(starts[element], starts[element + 1]):
                    seen.add(self._node(above, f"{ATTRIBUTE_MARK}{names[at]}"))
        counts = self._counts
        counts[0] += 1
        for node in seen:
            counts[node] += 1

    def merge(self, other: Synopsis) -> None:
        """Take in all documents of another synopsis."""
        nodes: list[int] = []
        for name, parent, count in zip(other.names, other.parents, other.counts, strict=True):
            node = self._node(nodes[parent], name) if parent >= 0 else 0
            nodes.append(node)
            self._counts[node] += count

    def synopsis(self) -> Synopsis:
        """The synopsis of everything that was taken in so far."""
        below: list[list[int]] = [[] for _ in self._names]
        for node, parent in enumerate(self._parents):
            # A document that was refused has left nodes that were never counted.
            if node and self._counts[node]:
                below[parent].append(node)
        names, parents, counts = [""], [-1], [self._counts[0]]
        waiting = [(0, child) for child in self._ordered(below[0])]
        while waiting:
            parent, node = waiting.pop()
            number = len(names)
            names.append(self._names[node])
            parents.append(parent)
            counts.append(self._counts[node])
            waiting.extend((number, child) for child in self._ordered(below[node]))
        return Synopsis(tuple(names), tuple(parents), tuple(counts))

    def _ordered(self, nodes: Iterable[int]) -> list[int]:
        """The last one first, as a stack takes them."""
        return sorted(nodes, key=lambda node: self._names[node], reverse=True)

    def _node(self, above: int, name: str) -> int:
        node = self._found.get((above, name))
        return self._made(above, name) if node is None else node

    def _made(self, above: int, name: str) -> int:
        if len(self._names) >= SYNOPSIS_NODES_MAX:
            raise LimitError(
                "SYNOPSIS_NODES_MAX",
                SYNOPSIS_NODES_MAX,
                len(self._names) + 1,
                "the number of paths in the synopsis",
            )
        node = self._found[above, name] = len(self._names)
        self._names.append(name)
        self._parents.append(above)
        self._counts.append(0)
        return node


def synopsis_of(documents: Iterable[Document]) -> Synopsis:
    """The synopsis of some documents."""
    builder = SynopsisBuilder()
    for document in documents:
        builder.add(document)
    return builder.synopsis()


def merged(synopses: Iterable[Synopsis]) -> Synopsis:
    """The synopsis of the documents of all of some synopses, no document being in two of them."""
    builder = SynopsisBuilder()
    for one in synopses:
        builder.merge(one)
    return builder.synopsis()


def _children(synopsis: Synopsis) -> tuple[tuple[int, ...], ...]:
    """The nodes below each node; raises `InputError` for no synopsis in canonical form."""
    names, parents, counts = synopsis.names, synopsis.parents, synopsis.counts
    if not len(names) == len(parents) == len(counts) > 0 or names[0] or parents[0] != -1:
        raise InputError("a synopsis begins with its root, and names, parents and counts go along")
    if counts[0] < 0:
        raise InputError("a synopsis counts no fewer than no documents")
    below: list[list[int]] = [[] for _ in names]
    open_nodes = [0]
    for node in range(1, len(names)):
        parent = parents[node]
        while open_nodes and open_nodes[-1] != parent:
            open_nodes.pop()
        if not open_nodes:
            raise InputError(f"node {node} of a synopsis is not below the nodes before it")
        siblings = below[parent]
        if not names[node] or (siblings and names[siblings[-1]] >= names[node]):
            raise InputError(f"node {node} of a synopsis is not in the order of names")
        if not 0 < counts[node] <= counts[parent]:
            raise InputError(f"node {node} of a synopsis is in more documents than its parent")
        siblings.append(node)
        open_nodes.append(node)
    return tuple(map(tuple, below))
