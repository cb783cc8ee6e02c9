"""Similarities among many patterns at once: all pairs, by compiled kernels where that pays.

One pattern after the other is expanded, and all others are searched in it: the steps that they
share are searched once, or in a microsecond by the kernels (`kernels/comparing.py`). The
factorization tree finds, for all together, which patterns cover which, so that their similarity is
1 whatever the estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sapwood.covering.xsearch import XSearchIndex
from sapwood.matching.readiness import Awaiting
from sapwood.model.patterns.pattern import TreePattern
from sapwood.similarity.estimates import Similarity
from sapwood.similarity.kernels.choice import SIMILARITY
from sapwood.similarity.tables import Given, Table, Tile, scratch_for

TILE: Final = 1_024
"""Patterns that are looked for at once: with the 3,400 places of 1,000 documents of NITF the
chances of their steps take some 80 MB."""

_PAIR: Final = 90
"""Microseconds of plain Python for a pair."""


def all_similarities(
    similarity: Similarity,
    patterns: Sequence[TreePattern],
    advance: Callable[[int], None] = lambda _: None,
) -> NDArray[np.float32]:
    """`similarity(one, other)` of different patterns: a row for each, a column for each other.

    4 bytes a pair: 16 MB for 2,000 patterns. `advance` is called with the number of rows done.
    Raises `LimitError` for patterns with more alternatives than can be compared.
    """
    count = len(patterns)
    found = np.empty((count, count), np.float32)
    kernels = Awaiting(SIMILARITY).compiled(count * count * _PAIR)
    if kernels is None:
        for number, one in enumerate(patterns):
            found[number] = [similarity.estimate(one, searched) for searched in patterns]
            advance(1)
    else:
        table = Table(similarity, patterns)
        given = {number: table.given(number) for number in range(count)}
        for first in range(0, count, TILE):
            end = min(first + TILE, count)
            estimates = Estimates(kernels, table, given, range(first, end))
            every = np.arange(end - first)
            for number in range(count):
                found[number, first:end] = estimates.row(number, every)
            advance(end - first)
    index = XSearchIndex()
    for number, pattern in enumerate(patterns):
        index.add(number, pattern)
    for number, pattern in enumerate(patterns):
        found[number, list(index.covering(pattern))] = 1.0
    return found


def all_proximities(
    similarity: Similarity,
    patterns: Sequence[TreePattern],
    advance: Callable[[int], None] = lambda _: None,
) -> NDArray[np.float32]:
    """`similarity.proximity` of different patterns: the mean of both directions (f_s, L2848)."""
    found = all_similarities(similarity, patterns, advance)
    count = len(found)
    # In place and tile by tile: a whole square beside this one would be as large again.
    for first in range(0, count, TILE):
        end = min(first + TILE, count)
        for second in range(first, count, TILE):
            last = min(second + TILE, count)
            mean = (found[first:end, second:last] + found[second:last, first:end].T) / 2
            found[first:end, second:last] = mean
            found[second:last, first:end] = mean.T
    return found


class Estimates:
    """The similarities of any pattern of a table with those of one tile, without covers."""

    __slots__ = ("_given", "_kernels", "_numbers", "_scratch", "_table", "_tables", "_tile")

    def __init__(
        self,
        kernels: ModuleType,
        table: Table,
        given: Mapping[int, Given],
        numbers: Sequence[int],
    ) -> None:
        self._kernels = kernels
        self._table = table
        self._given = given
        self._numbers = numbers
        self._tile: Tile = table.tile(numbers)
        tile = self._tile
        kernels.fill_chances(table.places.arrays, tile.steps, table.accepted, tile.searched.chances)
        self._tables = table.tables(tile)
        self._scratch = scratch_for(tile, max((one.most for one in given.values()), default=1))

    def row(self, number: int, candidates: NDArray[np.int64]) -> NDArray[np.float64]:
        """The similarity of a pattern with some of the tile, which are counted from its first."""
        tile, table = self._tile, self._table
        found = np.zeros(len(candidates), np.float64)
        conflict = table.similarity.constants.conflict
        chosen = np.ascontiguousarray(candidates, np.int32)
        for share, part in self._given[number].parts:
            self._kernels.compare(
                *(part, tile.steps, tile.searched, self._tables, chosen),
                *(share, conflict, found, self._scratch),
            )
        found = np.minimum(found, 1.0)
        # With more ways to place branches than are weighed together, the heaviest are chosen there.
        for at in np.flatnonzero(np.isnan(found)).tolist():
            searched = table.patterns[self._numbers[int(candidates[at])]]
            found[at] = table.similarity.estimate(table.patterns[number], searched)
        return found
