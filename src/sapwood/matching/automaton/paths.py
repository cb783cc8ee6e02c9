"""The access paths of all patterns as one trie: node 0 is the document, every other one a step."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from sapwood.errors import InvariantError
from sapwood.matching.automaton.columns import Array, Column
from sapwood.model.patterns.conditions import Axis


class Trie(NamedTuple):
    """The trie as arrays: the parent of each node, the test of its step, true for a `//` step.

    The nodes of a test are a chain, the newest first: `newest[test]`, and for each node the one
    before it with the same test, `previous[node]`; 0 where there is none.
    """

    parents: npt.NDArray[np.int32]
    tests: npt.NDArray[np.int32]
    descendant: npt.NDArray[np.bool_]
    previous: npt.NDArray[np.int32]
    newest: npt.NDArray[np.int32]


class PathTrie:
    """Paths of (axis, number of a test); nodes are numbered as they are added, parents first."""

    def __init__(self) -> None:
        self._parents = Column(np.int32)
        self._tests = Column(np.int32)
        self._descendant = Column(np.bool_)
        #: the nodes of each test, by node and by test: see `Trie`
        self._previous = Column(np.int32)
        self._newest = Column(np.int32)
        #: (parent, step) -> node; `None` in a restored trie until a path is added
        self._children: dict[tuple[int, int], int] | None = {}
        for column in (self._parents, self._tests, self._descendant, self._previous):
            column.append(-1 if column is self._parents else 0)

    @classmethod
    def of(cls, parents: Array, tests: Array, descendant: Array) -> PathTrie:
        """The trie with these arrays, which it takes over."""
        paths = cls()
        paths._parents, paths._tests = Column.of(parents), Column.of(tests)
        paths._descendant = Column.of(descendant)
        order = np.argsort(tests[1:], kind="stable").astype(np.int32) + 1
        again = np.flatnonzero(tests[order[1:]] == tests[order[:-1]])
        previous = np.zeros(len(tests), np.int32)
        previous[order[again + 1]] = order[again]
        newest = np.zeros(int(tests.max()) + 1, np.int32)
        newest[tests[order]] = order
        paths._previous, paths._newest = Column.of(previous), Column.of(newest)
        paths._children = None
        return paths

    def __len__(self) -> int:
        """The number of nodes, the document's included."""
        return len(self._parents)

    def node(self, path: Iterable[tuple[Axis, int]]) -> int:
        """The node of a path; it and the nodes before it are made if they do not exist."""
        node, children = 0, self._known_children()
        for axis, test in path:
            key = (node, 2 * test + (axis is Axis.DESCENDANT))
            child = children.get(key)
            if child is None:
                child = children[key] = len(self._parents)
                self._parents.append(node)
                self._tests.append(test)
                self._descendant.append(axis is Axis.DESCENDANT)
                self._newest.resize(max(len(self._newest), test + 1))
                self._previous.append(self._newest.view[test])
                self._newest.view[test] = child
            node = child
        return node

    def path(self, node: int) -> tuple[tuple[Axis, int], ...]:
        """The path of a node: the inverse of `node`."""
        steps: list[tuple[Axis, int]] = []
        while node:
            axis = Axis.DESCENDANT if self._descendant.view[node] else Axis.CHILD
            steps.append((axis, int(self._tests.view[node])))
            node = int(self._parents.view[node])
        return tuple(reversed(steps))

    def _known_children(self) -> dict[tuple[int, int], int]:
        if self._children is None:
            parents, steps = self._parents.view, 2 * self._tests.view + self._descendant.view
            pairs = zip(parents[1:].tolist(), steps[1:].tolist(), strict=True)
            self._children = {pair: node for node, pair in enumerate(pairs, 1)}
        return self._children

    def trie(self) -> Trie:
        """The arrays as they are now."""
        return Trie(
            *(self._parents.view, self._tests.view, self._descendant.view),
            *(self._previous.view, self._newest.view),
        )

    def validate(self) -> None:
        """Raise `InvariantError` unless nodes, their chains and the table of children agree."""
        chained = 0
        for test, newest in enumerate(self._newest.view.tolist()):
            node, later = newest, len(self)
            while node:
                if self._tests.view[node] != test or node >= later:
                    raise InvariantError("a node of the trie is in the wrong chain")
                chained += 1
                node, later = int(self._previous.view[node]), node
        children = self._known_children()
        if not len(children) == chained == len(self) - 1:
            raise InvariantError("a node of the trie is lost")
        for (parent, step), child in children.items():
            found = (int(self._parents.view[child]), int(self._tests.view[child]))
            axis = bool(self._descendant.view[child])
            if found != (parent, step >> 1) or axis != step & 1 or parent >= child:
                raise InvariantError("a node of the trie is not where it should be")
