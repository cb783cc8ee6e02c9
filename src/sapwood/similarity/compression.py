"""Compressed synopses: rare paths folded into one node below each parent (8.2, L2966).

The work merges "the lowest-frequency nodes" under a label of their own, with the mean of their
frequencies; it does not state which ones, nor the error. Here all nodes that
at most `threshold` documents have are folded, each into the node `-` below its nearest ancestor
that is not: a count is never above that of the parent, so whole subtrees are folded. The
threshold is the lowest with which the synopsis has no more nodes than it may.

Paths that are not folded are counted exactly. A folded path is estimated by its node's mean, and so
is a path that no document has: hence the error of an estimate is, for every path there can be, at
most the larger of the mean and of the highest folded count less the mean (`error`), and never above
the threshold. For counts /a 10, /a/b 9, /a/c 2, /a/d 1, /a/d/e 1 and at most four nodes::

    /  10    /a  10    /a/b  9    /a/-  mean 4/3 of 3, highest 2     threshold 2, error 4/3
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Final

from sapwood.errors import InputError
from sapwood.similarity.synopsis import Synopsis

LEAST_NODES: Final = 2
"""Nodes of the smallest compressed synopsis: the root, and one for all that was folded."""


@dataclass(frozen=True, slots=True)
class Folded:
    """The paths folded below a node: how many, the sum and the highest of their counts."""

    paths: int
    total: int
    highest: int

    @property
    def mean(self) -> Fraction:
        """The mean count, which stands for the count of each folded path."""
        return Fraction(self.total, self.paths)

    @property
    def error(self) -> Fraction:
        """The largest error of the mean for a path: one of these, or one that no document has."""
        return max(self.mean, self.highest - self.mean)


@dataclass(frozen=True, slots=True)
class CompressedSynopsis:
    """The frequent paths of a synopsis, and what stands for the others below each of its nodes.

    Make one with `compressed`.
    """

    frequent: Synopsis
    folded: tuple[tuple[int, Folded], ...]
    threshold: int
    #: the folded paths, by the node that they were below
    _below: dict[int, Folded] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_below", dict(self.folded))

    def __len__(self) -> int:
        """The number of nodes, those that stand for others among them."""
        return len(self.frequent) + len(self.folded)

    @property
    def error(self) -> Fraction:
        """The largest error of an estimated count, over all paths, seen or not."""
        return max((folded.error for _, folded in self.folded), default=Fraction(0))

    def estimate(self, path: Sequence[str]) -> Fraction:
        """The count of documents with this path, within `error`; exact where it is frequent."""
        synopsis, node = self.frequent, 0
        for name in path:
            below = (one for one in synopsis.children(node) if synopsis.names[one] == name)
            found = next(below, None)
            if found is None:
                folded = self._below.get(node)
                return folded.mean if folded else Fraction(0)
            node = found
        return Fraction(synopsis.counts[node])


def compressed(synopsis: Synopsis, nodes_max: int) -> CompressedSynopsis:
    """The synopsis in at most `nodes_max` nodes, with the lowest threshold that is enough.

    Raises `InputError` for fewer than two nodes.
    """
    if nodes_max < LEAST_NODES:
        raise InputError(f"{nodes_max} nodes hold no synopsis; allow two or more")
    thresholds = [0, *sorted(set(synopsis.counts[1:]))]
    # A higher threshold never needs more nodes: a node that goes leaves at most one in its place.
    at = bisect_left(thresholds, -nodes_max, key=lambda one: -_size(synopsis, one))
    return _folded(synopsis, thresholds[at])


def _size(synopsis: Synopsis, threshold: int) -> int:
    """The nodes that are left, and one for each of them that has lost a child."""
    counts = synopsis.counts
    kept = [node for node in range(len(synopsis)) if not node or counts[node] > threshold]
    losing = (any(counts[one] <= threshold for one in synopsis.children(node)) for node in kept)
    return len(kept) + sum(losing)


def _folded(synopsis: Synopsis, threshold: int) -> CompressedSynopsis:
    numbers = {0: 0}
    names, parents, counts = [""], [-1], [synopsis.documents]
    #: the number of the nearest ancestor that is kept, for nodes that are not
    above: dict[int, int] = {}
    folded: dict[int, list[int]] = {}
    for node in range(1, len(synopsis)):
        parent, count = synopsis.parents[node], synopsis.counts[node]
        if count > threshold:
            numbers[node] = len(names)
            names.append(synopsis.names[node])
            parents.append(numbers[parent])
            counts.append(count)
        else:
            above[node] = above[parent] if parent in above else numbers[parent]
            folded.setdefault(above[node], []).append(count)
    nodes = tuple(
        (node, Folded(len(some), sum(some), max(some))) for node, some in sorted(folded.items())
    )
    assert all(one[0] < other[0] for one, other in pairwise(nodes)), "one for each parent"
    return CompressedSynopsis(
        Synopsis(tuple(names), tuple(parents), tuple(counts)), nodes, threshold
    )
