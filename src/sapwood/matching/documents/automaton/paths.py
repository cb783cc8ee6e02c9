"""The access paths of all patterns as one trie: node 0 is the document, every other one a step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sapwood.errors import InvariantError
from sapwood.matching.documents.automaton.columns import Column
from sapwood.matching.documents.automaton.postings import Lists, Postings
from sapwood.model.documents.conditions import Axis


class Trie(NamedTuple):
    """The trie as arrays: the parent of each node, the test of its step and whether it is `//`.

    `by_test` lists the nodes of each test in ascending order.
    """

    parents: npt.NDArray[np.int32]
    tests: npt.NDArray[np.int32]
    descendant: npt.NDArray[np.bool_]
    by_test: Lists


class PathTrie:
    """Paths of (axis, number of a test); nodes are numbered as they come, parents first."""

    def __init__(self) -> None:
        self._parents = Column(np.int32)
        self._tests = Column(np.int32)
        self._descendant = Column(np.bool_)
        self._by_test = Postings()
        #: (parent, step) -> node
        self._children: dict[tuple[int, int], int] = {}
        for column in (self._parents, self._tests, self._descendant):
            column.append(-1 if column is self._parents else 0)

    def __len__(self) -> int:
        """The number of nodes, the document's included."""
        return len(self._parents)

    def node(self, path: Iterable[tuple[Axis, int]]) -> int:
        """The node of a path; it and the nodes before it are made if they are not there."""
        node = 0
        for axis, test in path:
            key = (node, 2 * test + (axis is Axis.DESCENDANT))
            child = self._children.get(key)
            if child is None:
                child = self._children[key] = len(self._parents)
                self._parents.append(node)
                self._tests.append(test)
                self._descendant.append(axis is Axis.DESCENDANT)
                self._by_test.add(test, child)
            node = child
        return node

    def trie(self) -> Trie:
        """The arrays as they are now."""
        return Trie(
            self._parents.view, self._tests.view, self._descendant.view, self._by_test.lists()
        )

    def validate(self) -> None:
        """Raise `InvariantError` unless nodes and the table of children agree."""
        self._by_test.validate()
        if len(self._children) != len(self) - 1 != len(self._by_test):
            raise InvariantError("a node of the trie is lost")
        for (parent, step), child in self._children.items():
            found = (int(self._parents.view[child]), int(self._tests.view[child]))
            axis = bool(self._descendant.view[child])
            if found != (parent, step >> 1) or axis != step & 1 or parent >= child:
                raise InvariantError("a node of the trie is not where it should be")
