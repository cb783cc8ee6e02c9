"""Runs of labels as one trie with suffix links (L815), after Aho and Corasick (1975).

Labels are given by their keys. A node's *suffix* is the node of the longest proper end of its run
that the trie has. All links are made again by `link`, which has to be called between changes and
steps.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import Generic, TypeVar

from sapwood.errors import InvariantError

T = TypeVar("T")


class TrieNode(Generic[T]):
    """A run of labels, and the values stored for it."""

    __slots__ = ("children", "depth", "label", "parent", "stored", "storing", "suffix")

    def __init__(self, parent: TrieNode[T] | None, label: str | None) -> None:
        self.parent = parent
        self.label = label
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.children: dict[str, TrieNode[T]] = {}
        #: in the order of adding
        self.stored: dict[T, None] = {}
        self.suffix: TrieNode[T] | None = None
        #: the first node on the way of suffixes, this one excluded, that stores a value
        self.storing: TrieNode[T] | None = None


class RunTrie(Generic[T]):
    """Values by run of labels; a search finds all runs that end at the last of some labels."""

    def __init__(self) -> None:
        self.root: TrieNode[T] = TrieNode(None, None)
        self._linked = True

    def add(self, run: Sequence[str], value: T) -> None:
        """Store a value for a run."""
        node = self.root
        for label in run:
            child = node.children.get(label)
            if child is None:
                child = node.children[label] = TrieNode(node, label)
                self._linked = False
            node = child
        self._linked = self._linked and bool(node.stored)
        node.stored[value] = None

    def remove(self, run: Sequence[str], value: T) -> None:
        """Remove a value; nodes that lead to no value are removed with it."""
        node = self.root
        for label in run:
            node = node.children[label]
        del node.stored[value]
        while not node.stored and not node.children and node.parent is not None:
            assert node.label is not None, "only the root has no label"
            del node.parent.children[node.label]
            node = node.parent
        self._linked = False

    def step(self, node: TrieNode[T], label: str) -> TrieNode[T]:
        """The node of the longest run that the labels up to this one end with."""
        assert self._linked, "link() comes after changes and before the first step"
        at: TrieNode[T] | None = node
        while at is not None:
            child = at.children.get(label)
            if child is not None:
                return child
            at = at.suffix
        return self.root

    def found(self, node: TrieNode[T]) -> Iterator[T]:
        """The values stored for the node's run and for each end of it."""
        at: TrieNode[T] | None = node
        while at is not None:
            yield from at.stored
            at = at.storing

    def link(self) -> None:
        """Make the links again, if runs were added or removed since they were made."""
        if self._linked:
            return
        waiting = deque([self.root])
        while waiting:
            node = waiting.popleft()
            for label, child in node.children.items():
                suffix = node.suffix
                while suffix is not None and label not in suffix.children:
                    suffix = suffix.suffix
                child.suffix = self.root if suffix is None else suffix.children[label]
                stores = child.suffix.stored
                child.storing = child.suffix if stores else child.suffix.storing
                waiting.append(child)
        self._linked = True

    def validate(self) -> None:
        """Raise `InvariantError` if a node leads to no value."""
        waiting = [self.root]
        while waiting:
            node = waiting.pop()
            if node is not self.root and not node.stored and not node.children:
                raise InvariantError("a node of the trie leads to nothing")
            waiting.extend(node.children.values())
