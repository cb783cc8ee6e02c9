"""The approximate search for a dominating point (Shen 4.6.1, problem 2, and 4.8).

Searches a share of at least `1 - epsilon` of the rectangle above a cell, with the largest cubes
first. A found slot is a candidate until `accept` has verified it: on a grid, equal cells prove
nothing, so a candidate that fails does not end the search.

There are two ways, with the same results at equal shares:

* `by_cubes` is the source's: it looks up cubes, those next to each other on the curve at once as a
  run. Its cost does not depend on how many points are stored, but grows with the number of
  dimensions beyond all bounds (text line 1301 hides a factor of (4d/epsilon)**(d-1)): with random
  intervals, 10 bits and epsilon 1/20 the median is 58 cubes for one attribute, 400,000 for two and
  1.6e10 for three. So it takes a budget of cubes; a search that spends it ends early, still sound,
  but without the promised share, and reports the share that it reached.
* `by_points` walks over the points instead. The cubes of one size and above make up a rectangle
  themselves (lemma 6), so all points in cubes down to the size needed are found by one dominance
  query for a slightly higher cell. It searches the cubes of the last size to the end, which is
  never less than the requested share.

Departure from the source: the search ends when the share reaches `1 - epsilon`, not only when it
exceeds it (text line 1345); problem 2 requires no more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice
from typing import Final

from sapwood.covering.published.sfc.array import CurveArray
from sapwood.covering.published.sfc.bounds import search_bound
from sapwood.covering.published.sfc.cells import Cell
from sapwood.covering.published.sfc.decomposition import cubes, cubes_needed, cut_size, searched
from sapwood.covering.published.sfc.rectangles import ExtremalRectangle
from sapwood.covering.published.sfc.runs import joined

_BATCH_MAX: Final = 256
"""Cubes that are joined to runs at a time."""


@dataclass(frozen=True, slots=True)
class Search:
    """The result of a search, and its cost.

    `hits` are the accepted slots, in the order in which they were found. `volume` is the number of
    cells above the query's cell, `searched` the number of these that the search covers, whether or
    not it had enough hits before the last. `candidates` counts the slots that had to be verified. A
    search by cubes counts `cubes` and the `runs` that it looked up for them; one by points counts
    `steps`, the boxes and slots that the walk touched. `spent` is true if the budget of cubes ended
    the search.
    """

    hits: tuple[int, ...]
    volume: int
    searched: int
    candidates: int
    cubes: int = 0
    runs: int = 0
    steps: int = 0
    spent: bool = False

    @property
    def share(self) -> Fraction:
        """The searched share of the volume."""
        return Fraction(self.searched, self.volume)


class _Verified:
    """The candidates that `accept` accepts, up to a limit."""

    __slots__ = ("_accept", "_limit", "candidates", "hits")

    def __init__(self, accept: Callable[[int], bool], limit: int | None) -> None:
        self._accept = accept
        self._limit = limit
        self.hits: list[int] = []
        self.candidates = 0

    def take(self, slots: Iterable[int]) -> bool:
        """Verify candidates in turn; returns true if there are enough hits now."""
        for slot in slots:
            self.candidates += 1
            if self._accept(slot):
                self.hits.append(slot)
                if len(self.hits) == self._limit:
                    return True
        return False


def by_cubes(
    array: CurveArray,
    corner: Cell,
    epsilon: Fraction,
    accept: Callable[[int], bool],
    *,
    limit: int | None = None,
    budget: int | None = None,
) -> Search:
    """Look up the cubes above `corner`, largest first, until the share or `limit` is reached.

    `limit` bounds the hits and `budget` the cubes, both from 1 on; `None` for no bound.
    """
    rectangle = ExtremalRectangle.above(corner, array.bits)
    needed = cubes_needed(rectangle, epsilon)
    assert epsilon == 0 or needed <= search_bound(
        epsilon, rectangle.aspect_ratio, rectangle.dimensions
    ), "theorem 2"
    allowed = needed if budget is None else min(needed, budget)
    waiting = islice(cubes(rectangle), allowed)
    verified = _Verified(accept, limit)
    looked_up = reached = runs = 0
    is_enough = False
    # Batches double: an early hit costs little, and a long search joins many cubes to few runs.
    while not is_enough and (batch := list(islice(waiting, min(looked_up + 1, _BATCH_MAX)))):
        looked_up += len(batch)
        reached += sum(cube.volume for cube in batch)
        for run in joined(batch, array.curve, array.bits):
            runs += 1
            if verified.take(array.in_run(run)):
                is_enough = True
                break
    return Search(
        tuple(verified.hits),
        volume=rectangle.volume,
        searched=reached,
        candidates=verified.candidates,
        cubes=looked_up,
        runs=runs,
        spent=not is_enough and looked_up < needed,
    )


def by_points(
    array: CurveArray,
    corner: Cell,
    epsilon: Fraction,
    accept: Callable[[int], bool],
    *,
    limit: int | None = None,
) -> Search:
    """Walk over the points in the cubes above `corner` until all or `limit` of them are found."""
    rectangle = ExtremalRectangle.above(corner, array.bits)
    inner = searched(rectangle, cut_size(rectangle, epsilon))
    verified = _Verified(accept, limit)
    steps_before = array.steps
    verified.take(array.dominating(inner.corner))
    return Search(
        tuple(verified.hits),
        volume=rectangle.volume,
        searched=inner.volume,
        candidates=verified.candidates,
        steps=array.steps - steps_before,
    )


def one_by_one(
    slots: Iterable[int], accept: Callable[[int], bool], *, limit: int | None = None
) -> Search:
    """Try all slots in turn: the search before there is a grid."""
    verified = _Verified(accept, limit)
    verified.take(slots)
    return Search(tuple(verified.hits), volume=1, searched=1, candidates=verified.candidates)
