"""A bucketed k-d tree over points that grows and shrinks, for dominance queries.

Bentley's k-d tree with points in the leaves only (buckets) and, for every node, the largest and the
smallest coordinates below it. A search for dominating points leaves out a subtree as soon as one
maximum is too small, and reports all of it without further comparisons if no minimum is.

Removed points stay as tombstones until they are half of all (Shen 2.2); then the tree is built
again. A subtree that insertions have made lopsided is built again once it has grown by half since
it was built last, which keeps the amortized cost of an insertion at O(d + log^2 n) steps.

Cost of a search among n points in d dimensions: O(n^(1 - 1/d) + reported) at worst for uniform
points, and in practice a share of n that shrinks with every dimension whose median the query
passes. Axes are tried in turn by depth, so correlated coordinates cost depth and nothing else.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from operator import ge, le
from typing import Final, Generic, TypeVar

from sapwood.errors import InvariantError
from sapwood.matching.published.kdtree.boxes import Point
from sapwood.model.numbers import Number

K = TypeVar("K", bound=Hashable)

BUCKET: Final = 8
"""Points of a leaf before it is divided: comparing a point costs as much as comparing a node."""

_LOPSIDED: Final = 0.75
"""A child with more than this share of its parent's points is too heavy."""


@dataclass(slots=True)
class _Entry(Generic[K]):
    key: K
    point: Point
    alive: bool = True


@dataclass(slots=True)
class _Node(Generic[K]):
    """A leaf with `entries`, or a fork with `children`: at most `split` on `axis`, and above.

    The axis of a leaf is the one by which the forks above it have divided the longest ago, or
    never: on this axis a point among its entries is the likeliest to fail, so searches compare it
    first.

    #: `maxima` and `minima` bound all points below (after removals they need not be attained)
    #: `count` is the number of entries below, tombstones included
    """

    entries: list[_Entry[K]]
    maxima: list[Number]
    minima: list[Number]
    depth: int
    count: int
    #: entries when the subtree was built last
    built: int
    #: entries of a leaf at which it is divided; above BUCKET only where points are equal
    capacity: int = BUCKET
    axis: int = 0
    split: Number = 0
    children: tuple[_Node[K], _Node[K]] | None = field(default=None)


class DominanceTree(Generic[K]):
    """Points of one dimension by key; equal points are allowed, equal keys are not."""

    def __init__(self) -> None:
        #: the living entries, all of which are in the tree
        self._entries: dict[K, _Entry[K]] = {}
        self._root: _Node[K] | None = None

    def __len__(self) -> int:
        """The number of points."""
        return len(self._entries)

    def add(self, key: K, point: Point) -> None:
        """Add a point under a key that is free."""
        assert key not in self._entries, f"key {key!r} is taken"
        entry = _Entry(key, point)
        self._entries[key] = entry
        if self._root is None:
            self._root = _leaf([entry], 0)
            return
        node, lopsided = self._root, None
        #: the forks above `lopsided`, or above the leaf as long as there is none
        above: list[_Node[K]] = []
        while True:
            _stretch(node, point)
            if node.children is None:
                break
            child = node.children[point[node.axis] > node.split]
            if lopsided is None:
                if _may_rebuild(node, child):
                    lopsided = node
                else:
                    above.append(node)
            node = child
        node.entries.append(entry)
        if lopsided is not None:
            living = list(_living(lopsided))
            # Rebuilding drops the tombstones, which are no longer below these forks either.
            for fork in above:
                fork.count -= lopsided.count - len(living)
            _build(lopsided, living)
        elif len(node.entries) > node.capacity:
            _divide(node)

    def remove(self, key: K) -> None:
        """Remove the point of a key that is taken."""
        self._entries.pop(key).alive = False
        assert self._root is not None, "there was a point"
        if not self._entries:
            self._root = None
        elif 2 * len(self._entries) < self._root.count:
            _build(self._root, list(self._entries.values()))

    def dominating(self, query: Point) -> Iterator[K]:
        """The keys of all points that are at least `query` in every coordinate, each once.

        Lazy: a caller that needs only one key pays for only one. The tree must not change
        meanwhile. Of two children only one lies beyond the fork on its axis, so that one is
        searched first.
        """
        if not query:  # all points without coordinates are equal
            yield from self._entries
            return
        root = self._root
        stack = [root] if root is not None and all(map(ge, root.maxima, query)) else []
        while stack:
            node = stack.pop()
            axis = node.axis
            least = query[axis]
            if node.children is None:
                for entry in node.entries:
                    point = entry.point
                    if point[axis] >= least and all(map(ge, point, query)) and entry.alive:
                        yield entry.key
            elif node.minima[axis] >= least and all(map(ge, node.minima, query)):
                yield from (entry.key for entry in _living(node))
            else:
                low, high = node.children
                if low.maxima[axis] >= least and all(map(ge, low.maxima, query)):
                    stack.append(low)
                if all(map(ge, high.maxima, query)):
                    stack.append(high)

    def dominated(self, query: Point) -> Iterator[K]:
        """The keys of all points that are at most `query` in every coordinate; as `dominating`."""
        if not query:
            yield from self._entries
            return
        root = self._root
        stack = [root] if root is not None and all(map(le, root.minima, query)) else []
        while stack:
            node = stack.pop()
            axis = node.axis
            most = query[axis]
            if node.children is None:
                for entry in node.entries:
                    point = entry.point
                    if point[axis] <= most and all(map(le, point, query)) and entry.alive:
                        yield entry.key
            elif node.maxima[axis] <= most and all(map(le, node.maxima, query)):
                yield from (entry.key for entry in _living(node))
            else:
                low, high = node.children
                if all(map(le, low.minima, query)):
                    stack.append(low)
                if high.minima[axis] <= most and all(map(le, high.minima, query)):
                    stack.append(high)

    def validate(self) -> None:
        """Raise `InvariantError` unless searches can find every living entry."""
        found: dict[K, _Entry[K]] = {}
        stack = [] if self._root is None else [self._root]
        while stack:
            node = stack.pop()
            below = list(_all(node))
            if node.count != len(below):
                raise InvariantError(f"a node counts {node.count} points and has {len(below)}")
            for entry in below:
                if not (
                    _at_least(node.maxima, entry.point) and _at_least(entry.point, node.minima)
                ):
                    raise InvariantError(f"{entry.key!r} is outside the bounds of a node above it")
            if node.children is not None:
                stack += node.children
                low, high = (list(_all(child)) for child in node.children)
                if any(entry.point[node.axis] > node.split for entry in low) or any(
                    entry.point[node.axis] <= node.split for entry in high
                ):
                    raise InvariantError("a point is on the wrong side of a fork")
            else:
                found.update((entry.key, entry) for entry in node.entries if entry.alive)
        if found.keys() != self._entries.keys() or any(
            entry is not self._entries[key] for key, entry in found.items()
        ):
            raise InvariantError("the tree's living entries are not those that were added")
        if self._root is not None and 2 * len(self._entries) < self._root.count:
            raise InvariantError("more than half of the tree is dead")


def _at_least(upper: Iterable[Number], lower: Iterable[Number]) -> bool:
    return all(map(ge, upper, lower))


def _leaf(entries: list[_Entry[K]], depth: int) -> _Node[K]:
    points = [entry.point for entry in entries]
    return _Node(
        entries,
        [max(column) for column in zip(*points, strict=True)],
        [min(column) for column in zip(*points, strict=True)],
        depth,
        len(entries),
        len(entries),
        axis=depth % max(1, len(points[0])),
    )


def _stretch(node: _Node[K], point: Point) -> None:
    node.count += 1
    if not all(map(ge, node.maxima, point)):
        node.maxima = list(map(max, node.maxima, point))
    if not all(map(le, node.minima, point)):
        node.minima = list(map(min, node.minima, point))


def _may_rebuild(node: _Node[K], child: _Node[K]) -> bool:
    """True if the child that is about to grow is too heavy and rebuilding has been paid for.

    Equal coordinates can make every division lopsided; the growth since the last building keeps
    such a node from being built again and again.
    """
    return child.count >= _LOPSIDED * node.count and 2 * node.count > 3 * node.built


def _build(node: _Node[K], entries: list[_Entry[K]]) -> None:
    """Make the node hold exactly `entries` (at least one), balanced."""
    fresh = _leaf(entries, node.depth)
    node.entries, node.children = fresh.entries, None
    node.maxima, node.minima = fresh.maxima, fresh.minima
    node.count = node.built = len(entries)
    node.capacity, node.axis = BUCKET, fresh.axis
    work = [node]
    while work:
        leaf = work.pop()
        if len(leaf.entries) > leaf.capacity and _divide(leaf):
            assert leaf.children is not None, "it was divided"
            work += leaf.children


def _divide(leaf: _Node[K]) -> bool:
    """Turn a leaf into a fork of two leaves; if all its points are equal, let it grow instead."""
    place = _place(leaf)
    if place is None:
        leaf.capacity = 2 * len(leaf.entries)
        return False
    axis, split = place
    below = [entry for entry in leaf.entries if entry.point[axis] <= split]
    above = [entry for entry in leaf.entries if entry.point[axis] > split]
    leaf.axis, leaf.split = axis, split
    leaf.children = _leaf(below, leaf.depth + 1), _leaf(above, leaf.depth + 1)
    leaf.entries = []
    return True


def _place(leaf: _Node[K]) -> tuple[int, Number] | None:
    """Axis and value to divide at: the first axis in turn that divides well, else the best."""
    best: tuple[int, Number] | None = None
    best_share = 0
    count, dimensions = len(leaf.entries), len(leaf.maxima)
    for turn in range(dimensions):
        axis = (leaf.depth + turn) % dimensions
        values = sorted(entry.point[axis] for entry in leaf.entries)
        split = values[(count - 1) // 2]
        if split == values[-1]:  # the median is the maximum: divide below it
            split = next((value for value in reversed(values) if value < split), split)
        share = sum(value <= split for value in values)
        share = min(share, count - share)
        if share > best_share:
            best, best_share = (axis, split), share
        if 4 * share >= count:
            break
    return best


def _all(node: _Node[K]) -> Iterator[_Entry[K]]:
    stack = [node]
    while stack:
        here = stack.pop()
        if here.children is None:
            yield from here.entries
        else:
            stack += here.children


def _living(node: _Node[K]) -> Iterator[_Entry[K]]:
    return (entry for entry in _all(node) if entry.alive)
