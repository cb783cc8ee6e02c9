"""Blocks: the filters that can cover another one, for searches of covers by several tasks at once.

A filter that covers another accepts all that the other accepts, so on each attribute the other is
at least as narrow. A possible cover is therefore stored in the *blocks* of its access predicate: a
value of an attribute, or a cell of a grid over the attribute's numbers. A filter that may be
covered queries few blocks for each of its attributes, and meets all its possible covers there: for
any two filters with `f.covers(g)` either `f` has no block (it is *general*, and stored in all
groups), or one of its blocks is one of those that `g` queries. Filters that share a block need not
cover each other.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple
from zlib import crc32

from sapwood.covering.batch.boxes import NUMBERS, Box, End, Span
from sapwood.model.numbers import Number

CELLS_MAX: Final = 8
"""Cells that an interval may touch and still be an access predicate."""

GRID_CELLS: Final = 64
"""Cells into which the numbers of an attribute are cut."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A grid: for each attribute the numbers at which its cells end, ascending."""

    cuts: Mapping[str, tuple[Number, ...]]

    @classmethod
    def of(cls, sample: Iterable[Box]) -> Grid:
        """A grid whose cells hold about equally many ends of the sample's spans."""
        ends: defaultdict[str, list[Number]] = defaultdict(list)
        for box in sample:
            for name, span in box.spans:
                ends[name] += (end[1] for end in (span.low, span.high) if _is_finite(end))
        return cls({name: _quantiles(sorted(found)) for name, found in ends.items()})

    def cell(self, name: str, number: Number) -> int:
        """The cell of an attribute that holds the number."""
        return bisect_right(self.cuts.get(name, ()), number)


class Way(NamedTuple):
    """The way in which a possible cover is stored: by the values, or the cells, of an attribute."""

    name: str
    by_cell: bool


def ways_of(sample: Iterable[Box], grid: Grid) -> frozenset[Way]:
    """The ways in which the filters of a sample are best stored."""
    found = (access(box, grid) for box in sample)
    return frozenset(chosen[0] for chosen in found if chosen is not None)


def access(
    box: Box, grid: Grid, ways: Container[Way] | None = None
) -> tuple[Way, tuple[int, ...]] | None:
    """The way in which a possible cover is stored, and its blocks (32 bits); `None` if general.

    `ways` are those to choose from; without it, all possible ones.
    """
    best: tuple[tuple[bool, int], str, Span] | None = None
    for name, span in box.spans:
        cost = _cost(name, span, grid)
        if cost is None or (best is not None and cost >= best[0]):
            continue
        if ways is None or Way(name, cost[0]) in ways:
            best = cost, name, span
    if best is None:
        return None
    (by_cell, _), name, span = best
    return Way(name, by_cell), _stored_blocks(name, span, grid, by_cell=by_cell)


def queried_blocks(box: Box, grid: Grid, ways: Container[Way] | None = None) -> tuple[int, ...]:
    """The blocks in which all possible covers of the filter are, but for the general ones.

    `ways` are those in which any cover is stored; without it, all possible ones.
    """
    blocks: dict[int, None] = {}
    for name, span in box.spans:
        kind, value, beyond = span.low
        # The first value, unless it is excluded or infinite, which no constant of a filter is.
        has_value = kind >= NUMBERS and not beyond and (kind > NUMBERS or _is_finite(span.low))
        if has_value and (ways is None or Way(name, by_cell=False) in ways):
            blocks[_value_block(name, span.low)] = None
        if kind == NUMBERS and (ways is None or Way(name, by_cell=True) in ways):
            blocks[_cell_block(name, grid.cell(name, value))] = None
    return tuple(blocks)


def _cost(name: str, span: Span, grid: Grid) -> tuple[bool, int] | None:
    """True if storing by this attribute needs cells, and the number of blocks; less is better.

    Values are better than cells, as they separate more filters. Booleans do not serve (`None`):
    there are only two, nor does "absent".
    """
    if span.values and span.low[0] >= NUMBERS:
        return False, len(span.values)
    if span.low[0] != NUMBERS or span.high[0] != NUMBERS or not grid.cuts.get(name):
        return None
    cells = 1 + grid.cell(name, span.high[1]) - grid.cell(name, span.low[1])
    return None if cells > CELLS_MAX else (True, cells)


def _stored_blocks(name: str, span: Span, grid: Grid, *, by_cell: bool) -> tuple[int, ...]:
    if not by_cell:
        return tuple(_value_block(name, end) for end in span.values)
    cells = range(grid.cell(name, span.low[1]), grid.cell(name, span.high[1]) + 1)
    return tuple(_cell_block(name, cell) for cell in cells)


def _value_block(name: str, end: End) -> int:
    return crc32(f"={name}\0{end[0]}{end[1]!r}".encode(errors="surrogatepass"))


def _cell_block(name: str, cell: int) -> int:
    return crc32(f"~{name}\0{cell}".encode(errors="surrogatepass"))


def _is_finite(end: End) -> bool:
    return end[0] == NUMBERS and math.isfinite(end[1])


def _quantiles(ends: Sequence[Number]) -> tuple[Number, ...]:
    """At most `GRID_CELLS` - 1 cuts of a sorted sequence, each once."""
    places = (len(ends) * cut // GRID_CELLS for cut in range(1, GRID_CELLS))
    return tuple(dict.fromkeys(ends[place] for place in places)) if ends else ()
