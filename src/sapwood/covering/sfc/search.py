"""The approximate search for a dominating point (Shen 4.6.1, problem 2, and 4.8).

Searches a share of at least `1 - epsilon` of the rectangle above a cell, with the largest cubes
first. What is found is a candidate until `accept` has verified it: on a grid, equal cells prove
nothing, so a candidate that fails does not end the search.

There are two ways, which find the same at equal shares:

* `by_cubes` is the source's: it looks up one cube after the other. Its cost does not depend on how
  many points are stored, but grows with the number of dimensions beyond all bounds (text line 1301
  hides a factor of (4d/epsilon)**(d-1)): half a million cubes for a typical filter of two
  attributes. So it takes a budget of cubes; a search that spends it ends early, still sound, but
  without the promised share, and says what share it reached.
* `by_points` walks over the points instead. The cubes of one size and above make up a rectangle
  themselves (lemma 6), so all points in cubes down to the size needed are found by one dominance
  query for a slightly higher cell. It searches the cubes of the last size to the end, which is
  never less than the share asked for.

Departure from the source: the search ends when the share reaches `1 - epsilon`, not only when it
exceeds it (text line 1345); problem 2 asks for no more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

from sapwood.covering.sfc.array import CurveArray
from sapwood.covering.sfc.cells import Cell
from sapwood.covering.sfc.decomposition import cubes, cut_size, searched
from sapwood.covering.sfc.rectangles import ExtremalRectangle


@dataclass(frozen=True, slots=True)
class Search:
    """What a search found, and what it took.

    `hits` are the accepted slots, in the order in which they were found. `volume` is the number of
    cells above the query's cell, `searched` how many of them the search looks at, whether or not it
    had enough hits before the last. `cubes` counts the cubes that were looked up, `steps` the boxes
    and slots that a walk touched, `candidates` the slots that had to be verified. `spent` tells
    that the budget of cubes ended the search.
    """

    hits: tuple[int, ...]
    volume: int
    searched: int
    candidates: int
    cubes: int = 0
    steps: int = 0
    spent: bool = False

    @property
    def share(self) -> Fraction:
        """The searched share of the volume."""
        return Fraction(self.searched, self.volume)


class _Verified:
    """The candidates that `accept` accepts, up to a limit."""

    def __init__(self, accept: Callable[[int], bool], limit: int | None) -> None:
        self._accept = accept
        self._limit = limit
        self.hits: list[int] = []
        self.candidates = 0

    def take(self, slots: Iterable[int]) -> bool:
        """Verify candidates in turn; returns whether there are enough hits now."""
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
    wanted = (1 - epsilon) * rectangle.volume
    verified = _Verified(accept, limit)
    reached = looked_up = 0
    spent = False
    for cube in cubes(rectangle):
        if looked_up == budget:
            spent = True
            break
        looked_up += 1
        reached += cube.volume
        if verified.take(array.in_cube(cube)) or reached >= wanted:
            break
    return Search(
        tuple(verified.hits),
        volume=rectangle.volume,
        searched=reached,
        candidates=verified.candidates,
        cubes=looked_up,
        spent=spent,
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
    """Try all slots in turn: what there is to do before there is a grid."""
    verified = _Verified(accept, limit)
    verified.take(slots)
    return Search(tuple(verified.hits), volume=1, searched=1, candidates=verified.candidates)
