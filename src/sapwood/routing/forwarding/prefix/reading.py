"""The reading of routing trees: node by node, as many at a time as a router has time for.

Any client may publish a tree, and a large one takes more than a second to read. Routers of one
process, and the cores of one router, that read the same tree share the part that any of them has
read, but each has it only when it has requested as many nodes itself: the steps of a router do not
depend on others.
"""

from __future__ import annotations

from functools import lru_cache
from threading import Lock
from typing import Final

import msgspec

from sapwood.errors import InputError, LimitError
from sapwood.language import parse_filter
from sapwood.limits.prefix import TREE_NODES_MAX
from sapwood.model import packing
from sapwood.model.constraint import ANYTHING
from sapwood.model.filter import Filter
from sapwood.routing.forwarding.prefix.siblings import Node
from sapwood.routing.forwarding.prefix.snapshot import Snapshot, Written, version_of

_TREES_SHARED: Final = 8
_DECODER: Final = msgspec.msgpack.Decoder(Written)


class Reading:
    """One reader's way through the bytes of a tree, whose origin is not trusted."""

    __slots__ = ("_shared", "left")

    def __init__(self, data: bytes) -> None:
        """Raises `InputError` for bytes that are no tree, `LimitError` for one too large."""
        self._shared: Final = _shared(data)
        #: nodes that are still to be read
        self.left = self._shared.size

    @property
    def snapshot(self) -> Snapshot:
        """The tree, when all of it has been read."""
        assert not self.left, "a tree is used before it has been read"
        made = self._shared.snapshot
        assert made is not None, "a tree that was read is made"
        return made

    def advance(self, count: int) -> int:
        """Read up to `count` nodes; returns the number of nodes read.

        Raises `InputError` for a node that cannot be where it is.
        """
        count = min(count, self.left)
        self._shared.read(self._shared.size - self.left + count)
        self.left -= count
        return count


def read(data: bytes) -> Snapshot:
    """The tree with these bytes, at once.

    Raises `InputError` for bytes that are no tree, `LimitError` for one that is too large.
    """
    reading = Reading(data)
    reading.advance(reading.left)
    return reading.snapshot


class _Shared:
    """The bytes of a tree, and the nodes that its readers have made of them.

    #: _nodes are the root and the nodes that were read; _path leads from the root to the last one
    """

    __slots__ = ("_depths", "_given", "_lock", "_nodes", "_path", "_version", "size", "snapshot")

    def __init__(self, data: bytes) -> None:
        try:
            self._given = _DECODER.decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise InputError(f"a routing tree is none: {error}") from error
        #: the number of nodes, the root included
        self.size: Final = 1 + len(self._given)
        if self.size > TREE_NODES_MAX:
            subject = "the number of nodes in a routing tree"
            raise LimitError("TREE_NODES_MAX", TREE_NODES_MAX, self.size, subject)
        root = Node("", ANYTHING)
        self._version = version_of(data)
        self._nodes, self._depths, self._path = [root], [0], [root]
        self._lock = Lock()  # brokers of one process may have threads of their own
        self.snapshot: Snapshot | None = None

    def read(self, size: int) -> None:
        """Read on until the tree has `size` nodes, the root included; raises `InputError`."""
        with self._lock:
            for depth, packed, text in self._given[len(self._nodes) - 1 : size - 1]:
                self._put(depth, _node(packed, text))
            if size == self.size and self.snapshot is None:
                self.snapshot = Snapshot(self._nodes, self._depths, self._version)
                self._given = []

    def _put(self, depth: int, node: Node) -> None:
        """Put a node below the last one of the path that is above it."""
        path = self._path
        if not 0 < depth <= len(path):
            raise InputError(f"a routing tree has a node at depth {depth} below {len(path) - 1}")
        node.number = len(self._nodes)
        path[depth - 1].adopt(node)
        path[depth:] = [node]
        self._nodes.append(node)
        self._depths.append(depth)


_shared = lru_cache(maxsize=_TREES_SHARED)(_Shared)


def _node(packed: bytes, text: str) -> Node:
    wanted = Filter.of_packed(packing.checked(packed)) if packed else parse_filter(text)
    boxes = wanted.conjunctions
    if len(boxes) != 1 or len(boxes[0].constraints) != 1:
        raise InputError("a node of a routing tree has one constraint of one attribute")
    return Node(*boxes[0].constraints[0])
