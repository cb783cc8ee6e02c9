"""Which filters can cover which: blocks, so that covers are sought by several tasks at once.

A filter that covers another accepts all that the other accepts, so on each attribute the other is
at least as narrow. A possible cover is therefore stored in the *blocks* of its access predicate: a
value of an attribute, or a cell of a grid over the attribute's numbers. A filter that may be
covered asks in one block for each of its attributes, and meets all its possible covers there: for
any two filters with `f.covers(g)` either `f` has no block (it is *general*, and goes everywhere),
or one of its blocks is one of those in which `g` asks. Who shares a block need not cover anything.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from zlib import crc32

from sapwood.model.conjunction import Conjunction
from sapwood.model.constraint import Constraint
from sapwood.model.filter import Filter
from sapwood.model.numbers import Number
from sapwood.model.publication import Value

POINTS_MAX: Final = 16
"""Values of an access predicate: the possible cover is stored once for each of them."""

CELLS_MAX: Final = 8
"""Cells that an interval may touch and still be an access predicate."""

GRID_CELLS: Final = 64
"""Cells into which the numbers of an attribute are cut."""


@dataclass(frozen=True, slots=True)
class Grid:
    """For each attribute the numbers at which its cells end, ascending."""

    cuts: Mapping[str, tuple[Number, ...]]

    @classmethod
    def of(cls, sample: Iterable[Filter]) -> Grid:
        """A grid whose cells hold about equally many ends of the sample's intervals."""
        ends: defaultdict[str, list[Number]] = defaultdict(list)
        for filter_ in sample:
            for conjunction in filter_.conjunctions:
                for name, constraint in conjunction.constraints:
                    ends[name] += _finite_ends(constraint)
        return cls({name: _quantiles(sorted(found)) for name, found in ends.items()})

    def cell(self, name: str, number: Number) -> int:
        """The cell of an attribute that holds the number."""
        return bisect_right(self.cuts.get(name, ()), number)


def cover_blocks(filter: Filter, grid: Grid) -> tuple[int, ...] | None:  # noqa: A002
    """The blocks (numbers of 32 bits) in which a possible cover is stored; `None`: everywhere."""
    if not filter.conjunctions:
        return ()
    best: tuple[tuple[bool, int], tuple[int, ...]] | None = None
    for name, _ in filter.conjunctions[0].constraints:
        found = _access(name, filter.conjunctions, grid)
        if found is not None and (best is None or found[0] < best[0]):
            best = found
    return None if best is None else best[1]


def asked_blocks(filter: Filter, grid: Grid) -> tuple[int, ...]:  # noqa: A002
    """The blocks in which all possible covers of the filter are, but for the general ones."""
    blocks: dict[int, None] = {}
    # Whatever accepts all of the filter accepts its first conjunction.
    for conjunction in filter.conjunctions[:1]:
        for name, constraint in conjunction.constraints:
            points = constraint.points()
            if points:
                blocks[_point_block(name, points[0])] = None
            if is_numeric(constraint):
                blocks[_cell_block(name, grid.cell(name, constraint.numbers[0].low))] = None
    return tuple(blocks)


def is_numeric(constraint: Constraint) -> bool:
    """Whether numbers and nothing else are accepted."""
    return bool(constraint.numbers) and not (
        constraint.absent or constraint.booleans or constraint.strings.ranges
    )


def _access(
    name: str, conjunctions: Sequence[Conjunction], grid: Grid
) -> tuple[tuple[bool, int], tuple[int, ...]] | None:
    """The blocks by one attribute, if it will do, and how good it is (less is better).

    Values are better than cells, for they tell more filters apart.
    """
    constraints = [conjunction.constraint(name) for conjunction in conjunctions]
    values: dict[Value, None] = {}
    for constraint in constraints:
        points = constraint.points()
        # Not `None`, and of a type of which there are more than two values.
        if points is None or constraint.booleans:
            break
        values |= dict.fromkeys(points)
    else:
        if len(values) <= POINTS_MAX:
            return (False, len(values)), tuple(_point_block(name, value) for value in values)
    if not all(is_numeric(constraint) for constraint in constraints):
        return None
    low = min(constraint.numbers[0].low for constraint in constraints)
    high = max(constraint.numbers[-1].high for constraint in constraints)
    cells = range(grid.cell(name, low), grid.cell(name, high) + 1)
    if len(cells) > CELLS_MAX or not grid.cuts.get(name):
        return None
    return (True, len(cells)), tuple(_cell_block(name, cell) for cell in cells)


def _point_block(name: str, value: Value) -> int:
    return crc32(f"={name}\0{value!r}".encode(errors="surrogatepass"))


def _cell_block(name: str, cell: int) -> int:
    return crc32(f"~{name}\0{cell}".encode(errors="surrogatepass"))


def _finite_ends(constraint: Constraint) -> list[Number]:
    return [
        end
        for interval in constraint.numbers
        for end in (interval.low, interval.high)
        if math.isfinite(end)
    ]


def _quantiles(ends: Sequence[Number]) -> tuple[Number, ...]:
    """At most `GRID_CELLS` - 1 cuts of a sorted sequence, each once."""
    places = (len(ends) * cut // GRID_CELLS for cut in range(1, GRID_CELLS))
    return tuple(dict.fromkeys(ends[place] for place in places)) if ends else ()
