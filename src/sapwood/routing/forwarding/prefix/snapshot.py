"""A version of a routing tree, which never changes: the tree that routers place filters in.

Its nodes are numbered in preorder, the root 0, so that what lies below a node has the numbers after
it. The tree {x > 5 {x < 9 {y = 1}}, x <= 5}:

    number   0      1       2       3       4
    node     root   x <= 5  x > 5   x < 9   y = 1
    depth    0      1       1       2       3
    last     4      1       4       4       4

A version is named by the hash of its bytes, so no two trees ever have one name, whatever their
origin, and a digest written with one tree is never read with another.
"""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from math import inf
from typing import Final, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from sapwood.model.conjunction import Conjunction
from sapwood.model.filter import Filter
from sapwood.model.publication import Record
from sapwood.routing.forwarding.prefix.siblings import Node
from sapwood.routing.forwarding.prefix.tree import RoutingTree

I32: TypeAlias = npt.NDArray[np.int32]

VERSION_BYTES: Final = 8

Written: TypeAlias = list[tuple[int, bytes, str]]
"""Each node but the root in preorder: its depth, and its constraint as a filter, in bytes or, where
it has none, as text; the other of the two is empty."""

_ENCODER: Final = msgspec.msgpack.Encoder()


class Snapshot:
    """A routing tree whose nodes have numbers.

    #: nodes[n].number == n; depths[n] is its distance from the root, lasts[n] the last one below it
    """

    __slots__ = ("depths", "lasts", "loose", "nodes", "root", "version")

    def __init__(self, nodes: Sequence[Node], depths: Sequence[int], version: bytes) -> None:
        self.nodes: Final = nodes
        self.root: Final = nodes[0]
        self.version: Final = version
        self.depths: Final[I32] = np.array(depths, np.int32)
        lasts = list(range(len(nodes)))
        for number in range(len(nodes) - 1, 0, -1):
            parent = nodes[number].parent
            assert parent is not None, "the root alone has no parent"
            lasts[parent.number] = max(lasts[parent.number], lasts[number])
        self.lasts: Final[I32] = np.array(lasts, np.int32)
        #: by number, the attributes below a node without which a record may go on
        self.loose: Final = _loose(nodes)

    def __len__(self) -> int:
        """The number of nodes, the root included."""
        return len(self.nodes)

    def follow(self, record: Record) -> list[int]:
        """The nodes that a record reaches, ascending: its forwarding tree (Listing 4.2).

        Inner nodes are among them: a router without an exact place for a filter has placed it at
        one.
        """
        found = self.follow_some(record, inf)
        assert found is not None, "a tree has fewer nodes"
        return found

    def follow_some(self, record: Record, steps_max: float) -> list[int] | None:
        """The same; `None` if more than about `steps_max` nodes have to be visited."""
        found, left, looked = [0], [self.root], 0
        while left:
            node = left.pop()
            groups = node.children
            if len(groups) <= len(record):
                names = [*groups]
            else:
                loose = self.loose.get(node.number, ())
                names = [name for name in record if name in groups and name not in loose]
                names += loose
            for name in names:
                looked += groups[name].effort()
                if looked > steps_max:
                    return None
                for child in groups[name].accepting(record.get(name)):
                    found.append(child.number)
                    if child.children:
                        left.append(child)
        found.sort()
        return found


def _loose(nodes: Sequence[Node]) -> dict[int, tuple[str, ...]]:
    loose = {}
    for node in nodes:
        names = tuple(name for name, group in node.children.items() if group.accepts_absent)
        if names:
            loose[node.number] = names
    return loose


def written(tree: RoutingTree) -> bytes:
    """The bytes of a tree: equal for equal trees, however they grew."""
    nodes: Written = []
    for depth, node in tree.nodes():
        if depth:
            box = Filter((Conjunction(((node.attribute, node.constraint),)),))
            packed = box.packed or b""
            nodes.append((depth, packed, "" if packed else str(box)))
    return _ENCODER.encode(nodes)


def version_of(data: bytes) -> bytes:
    """The name of the version with these bytes."""
    return blake2b(data, digest_size=VERSION_BYTES).digest()
