"""A version of a routing tree, which nobody changes: what routers place filters in.

Its nodes are numbered in preorder, the root 0, so that what lies below a node has the numbers after
it. The tree {x > 5 {x < 9 {y = 1}}, x <= 5}:

    number   0      1       2       3       4
    node     root   x <= 5  x > 5   x < 9   y = 1
    depth    0      1       1       2       3
    last     4      1       4       4       4

A version is named by the hash of its bytes, so no two trees ever have one name, whoever made them,
and what was written with one tree is never read with another.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Final, TypeAlias

import msgspec
import numpy as np
import numpy.typing as npt

from sapwood.errors import InputError, LimitError
from sapwood.language import parse_filter
from sapwood.limits.prefix import TREE_NODES_MAX
from sapwood.model import packing
from sapwood.model.conjunction import Conjunction
from sapwood.model.constraint import ANYTHING
from sapwood.model.filter import Filter
from sapwood.model.publication import Record
from sapwood.routing.forwarding.prefix.siblings import Node
from sapwood.routing.forwarding.prefix.tree import RoutingTree

I32: TypeAlias = npt.NDArray[np.int32]

VERSION_BYTES: Final = 8
_SNAPSHOTS_KEPT: Final = 8
"""Trees that are read once for all who read the same: cores of one router, routers of one test."""

_Written: TypeAlias = list[tuple[int, bytes, str]]
"""Each node but the root in preorder: its depth, and its constraint as a filter, in bytes or, where
it has none, as text; the other of the two is empty."""

_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(_Written)


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

        Inner nodes are among them: who has no exact place for a filter has placed it at one.
        """
        found, left = [0], [self.root]
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
    nodes: _Written = []
    for depth, node in tree.nodes():
        if depth:
            box = Filter((Conjunction(((node.attribute, node.constraint),)),))
            packed = box.packed or b""
            nodes.append((depth, packed, "" if packed else str(box)))
    return _ENCODER.encode(nodes)


def version_of(data: bytes) -> bytes:
    """The name of the version with these bytes."""
    return blake2b(data, digest_size=VERSION_BYTES).digest()


@lru_cache(maxsize=_SNAPSHOTS_KEPT)
def read(data: bytes) -> Snapshot:
    """The tree with these bytes, which anybody may have made.

    Raises `InputError` for bytes that are no tree, `LimitError` for one that is too large.
    """
    try:
        given = _DECODER.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise InputError(f"a routing tree is none: {error}") from error
    if len(given) >= TREE_NODES_MAX:
        subject = "the number of nodes in a routing tree"
        raise LimitError("TREE_NODES_MAX", TREE_NODES_MAX, len(given) + 1, subject)
    root = Node("", ANYTHING)
    nodes, depths, path = [root], [0], [root]
    for depth, packed, text in given:
        if not 0 < depth <= len(path):
            raise InputError(f"a routing tree has a node at depth {depth} below {len(path) - 1}")
        del path[depth:]
        node = _node(packed, text)
        node.number = len(nodes)
        path[-1].adopt(node)
        path.append(node)
        nodes.append(node)
        depths.append(depth)
    return Snapshot(nodes, depths, version_of(data))


def _node(packed: bytes, text: str) -> Node:
    wanted = Filter.of_packed(packing.checked(packed)) if packed else parse_filter(text)
    boxes = wanted.conjunctions
    if len(boxes) != 1 or len(boxes[0].constraints) != 1:
        raise InputError("a node of a routing tree has one constraint of one attribute")
    return Node(*boxes[0].constraints[0])
