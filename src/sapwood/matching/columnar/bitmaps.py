"""Bit rows: which entries of a large cluster an attribute's value can satisfy, 64 in one step.

The line of an attribute is cut into 7 to 15 slices of as many cells each, so that they hold about
as many constants each, whatever the values. For an attribute and a slice a *row* has a bit
for each entry of a *region*, which is a cluster or a grid: whether the entry's constraint on the
attribute accepts any cell of the slice (it is set, too, where there is no constraint). One more row
stands for absence. The conjunction of the rows of a record leaves few candidates, which are then
evaluated exactly.

Rows are worth their memory, a bit for each entry and slice, on the attributes that most entries
constrain; each region has a *plan* that says which these are. A cache line of each row lies beside
those of the others, block after block, so that a lookup reads whole lines of one place. (Matching
with bit sets by attribute and value interval is known from REIN and its kin, Qian and others 2014;
there sets span all subscriptions and are of those that fail. Here they are of one region, which its
lookup already cut out of all.)
"""

from __future__ import annotations

from typing import Final, NamedTuple, Protocol

import numpy as np

from sapwood.matching.columnar.access import Choice, Entries, Floats, Shape, Tables
from sapwood.matching.columnar.columns import ATTRIBUTES_MAX, BLOCK_WORDS, U64
from sapwood.matching.columnar.grids import SCALE_BITS, Grids
from sapwood.matching.columnar.ranking import Lines
from sapwood.matching.columnar.rows import Ints, Rows, selection

PLANNED_MIN: Final = 64
"""Entries of a region that gets rows, and of what a lookup leads to: what one word of a row
holds."""

_ROWS_MAX: Final = 16
_ROWS_MIN: Final = 8
"""Rows of an attribute: a slice of the line each, but for the one for absence."""

_BYTES_MAX: Final = 114
"""Bytes that a conjunction may take where it has more than the fewest rows. An id beside it has a
rank of four more."""

_CONJUNCTION_BYTES: Final = 14
_CONSTRAINT_BYTES: Final = 9
_TEXT_BYTES: Final = 24
"""What conjunctions and constraints take otherwise, and about what a text does."""

_USE_MIN: Final = 1 / 64
"""Share of a cluster's entries that a row must be able to rule out."""

_DENSE_PAIRS_MAX: Final = 1 << 24
"""Pairs of cluster and attribute that are counted in a table, 8 bytes each; more are sorted."""


class Plans(NamedTuple):
    """Which attributes have rows in which regions: runs of entries that share their rows.

    A region is a cluster, or all buckets of a grid.
    """

    first: Ints  # [p] entry, ascending
    last: Ints  # [p]
    start: Ints  # [p + 1] groups the rest by plan
    attribute: Ints  # the most selective first
    row: Ints  # [p] the region's first word
    words: int  # of all rows
    rows: int  # of each attribute
    scale: Ints  # [a] what turns a cell into its slice: `cell * scale >> 32`


class FillTask(NamedTuple):
    """What filling bit rows needs to know; runs have their first and last cell."""

    region_first: Ints  # [p] entry
    region_last: Ints  # [p]
    plan_start: Ints  # [p + 1]
    plan_attribute: Ints
    plan_row: Ints  # [p]
    slices: int  # rows of each attribute
    bucket_scale: Ints  # [a]
    entry_conjunction: Ints
    constraint_start: Ints
    constraint_attribute: Ints
    run_start: Ints
    run_low: Ints
    run_high: Ints


class RowKernels(Protocol):
    """The module that fills bit rows."""

    def fill_rows(self, task: FillTask, rows: U64) -> None:
        """Clear in `rows`, which are all ones, the bit of every entry that a slice excludes."""


class Regions(NamedTuple):
    """Runs of entries that may get rows: `r` of them."""

    first: Ints  # [r] entry, ascending
    last: Ints  # [r]
    looked_up: Floats  # [r] entries that a lookup leads to, on average


def regions(tables: Tables, grids: Grids, cluster_start: Ints) -> Regions:
    """All clusters but those of grids, and all grids."""
    is_bucket = np.zeros(tables.clusters, np.bool_)
    is_bucket[tables.first_bucket : -1] = True
    alone = np.flatnonzero(~is_bucket)
    size = grids.rows * grids.columns
    begin = tables.first_bucket + grids.bucket
    sizes = np.diff(cluster_start)
    squares = np.append(0, np.cumsum(np.square(sizes)))
    members = cluster_start[begin + size] - cluster_start[begin]
    walk = 1 + (grids.second_reach * grids.second_scale >> SCALE_BITS)
    looked_up = (squares[begin + size] - squares[begin]) / np.maximum(1, members) * walk
    first = np.concatenate([cluster_start[alone], cluster_start[begin]])
    order = np.argsort(first, kind="stable")
    return Regions(
        first[order],
        np.concatenate([cluster_start[alone + 1], cluster_start[begin + size]])[order],
        np.concatenate([sizes[alone].astype(np.float64), looked_up])[order],
    )


def plans(  # noqa: PLR0917 - all that is known of the segment by now
    rows: Rows, shapes: Shape, choice: Choice, entries: Entries, found: Regions, lines: Lines
) -> Plans:
    """The plans of all regions that are large enough. Entries are in order."""
    attributes = len(lines.number_start) - 1
    sizes = found.last - found.first
    planned = np.flatnonzero((sizes >= PLANNED_MIN) & (found.looked_up >= PLANNED_MIN))
    number = np.repeat(np.arange(len(planned)), sizes[planned])
    in_plan, _ = selection(np.append(found.first, found.last[-1]), planned)
    conjunctions = entries.conjunction[in_plan]
    constraints, start = selection(rows.constraint_start, conjunctions)
    plan = np.repeat(number, np.diff(start))
    owner = np.repeat(conjunctions, np.diff(start))
    use = 1.0 - shapes.chance[constraints]
    # The lookup has seen to these.
    use[(choice.constraint[owner] == constraints) | (choice.second[owner] == constraints)] = 0.0
    pair, total = _totals(plan * attributes + shapes.attribute[constraints], use, attributes)
    plan_of, attribute = np.divmod(pair, max(1, attributes))
    worthy = total >= _USE_MIN * sizes[planned[plan_of]]
    plan_of, attribute, total = plan_of[worthy], attribute[worthy], total[worthy]
    order = np.lexsort((attribute, -total, plan_of))
    plan_of, attribute = plan_of[order], attribute[order]
    rank = np.arange(len(plan_of)) - np.searchsorted(plan_of, plan_of)
    taken = rank < ATTRIBUTES_MAX
    plan_of, attribute = plan_of[taken], attribute[taken]
    used, first = np.unique(plan_of, return_index=True)
    start = np.append(first, len(plan_of))
    words = (sizes[planned[used]] + 63) // 64 * np.diff(start)
    count = _rows(int(words.sum()), rows, lines)
    words *= count
    return Plans(
        found.first[planned[used]],
        found.last[planned[used]],
        start,
        attribute,
        np.cumsum(words) - words,
        int(words.sum()),
        count,
        (count - 1 << SCALE_BITS) // (lines.last_cells() + 1),
    )


def _rows(words: int, rows: Rows, lines: Lines) -> int:
    """As many as memory allows, if one of each attribute takes so many words."""
    constants = lines.numbers.itemsize // 2 * len(lines.numbers) + _TEXT_BYTES * len(lines.texts)
    others = _CONJUNCTION_BYTES * len(rows.slot) + _CONSTRAINT_BYTES * len(rows.attribute)
    allowed = _BYTES_MAX * len(rows.slot) - others - constants
    return max(_ROWS_MIN, min(_ROWS_MAX, allowed // max(1, 8 * words)))


def _totals(pairs: Ints, weights: Floats, attributes: int) -> tuple[Ints, Floats]:
    """The distinct pairs, ascending, and the sum of each one's weights."""
    if int(pairs.max(initial=0)) < max(_DENSE_PAIRS_MAX, attributes):
        sums = np.bincount(pairs, weights).astype(np.float64, copy=False)
        occurring: Ints = np.flatnonzero(sums)
        return occurring, sums[occurring]
    distinct, which = np.unique(pairs, return_inverse=True)
    return distinct, np.bincount(which, weights).astype(np.float64, copy=False)


def fill_rows(task: FillTask, rows: U64) -> None:
    """The `RowKernels.fill_rows` of plain Python: for small sets, where no kernel is loaded."""
    regions = zip(task.region_first.tolist(), task.region_last.tolist(), strict=True)
    for plan, (first, last) in enumerate(regions):
        attributes = task.plan_attribute[task.plan_start[plan] : task.plan_start[plan + 1]]
        of_block = len(attributes) * task.slices
        begin, words = int(task.plan_row[plan]), -(-(last - first) // 64)
        own = rows[begin : begin + words * of_block]
        for start in range(0, words, BLOCK_WORDS):
            width = min(BLOCK_WORDS, words - start)
            block = own[start * of_block : (start + width) * of_block]
            block = block.reshape(len(attributes), task.slices, width)
            entries = range(first + 64 * start, min(last, first + 64 * (start + width)))
            for at, attribute in enumerate(attributes.tolist()):
                for number, entry in enumerate(entries):
                    word, bit = divmod(number, 64)
                    for row in _excluded(task, int(task.entry_conjunction[entry]), attribute):
                        block[at, row, word] &= ~np.uint64(1 << bit)


def _excluded(task: FillTask, conjunction: int, attribute: int) -> list[int]:
    """The rows of an attribute that hold no cell which the conjunction accepts."""
    scale = int(task.bucket_scale[attribute])
    first, last = task.constraint_start[conjunction : conjunction + 2].tolist()
    for constraint in range(first, last):
        if task.constraint_attribute[constraint] == attribute:
            start, stop = task.run_start[constraint : constraint + 2].tolist()
            runs = (task.run_low[start:stop].tolist(), task.run_high[start:stop].tolist())
            accepted: set[int] = set()
            for low, high in zip(*runs, strict=True):
                accepted |= {0} if low == 0 else set()
                slices = (max(1, low) * scale >> 32, high * scale >> 32)
                accepted |= {1 + at for at in range(slices[0], slices[1] + 1) if high}
            return [row for row in range(task.slices) if row not in accepted]
    return []
