"""Bit rows: which entries of a large cluster an attribute's value can satisfy, 64 in one step.

The line of an attribute is cut into 7 or 15 slices of as many cells each, so that they hold about
as many constants each, whatever the values. For an attribute and a slice a *row* has a bit for each
entry of the cluster: whether the entry's constraint on the attribute accepts any cell of the slice
(it is set, too, where there is no constraint). One more row stands for absence. The conjunction of
the rows of a record leaves few candidates, which are then evaluated exactly.

Rows are worth their memory, a bit for each entry and slice, on the attributes that most entries
constrain; each cluster has a *plan* that says which these are. (Matching with bit sets by attribute
and value interval is known from REIN and its kin, Qian and others 2014; there sets span all
subscriptions and are of those that fail. Here they are of one cluster, which its lookup already cut
out of all.)
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from sapwood.matching.columnar.access import Choice, Entries, Floats, Shape
from sapwood.matching.columnar.ranking import Lines
from sapwood.matching.columnar.rows import Ints, Rows, selection

PLANNED_MIN: Final = 64
"""Entries of a cluster that gets rows: what one word of a row holds."""

_ATTRIBUTES_MAX: Final = 20
"""Attributes with rows in one cluster: 20 or 40 bytes for each entry."""

_SLICES: Final = (15, 7)
"""Slices of a line; absence has a row besides, so that there are 16 or 8 of an attribute."""

_CONJUNCTION_BYTES: Final = 104
"""Bytes that a conjunction may take with the finer slices; otherwise the coarser ones do."""

_CONSTRAINT_BYTES: Final = 12
_CONSTANT_BYTES: Final = 4
"""What a constraint takes, with its share of its conjunction's fields, and at least a number."""

_USE_MIN: Final = 1 / 64
"""Share of a cluster's entries that a row must be able to rule out."""

_DENSE_PAIRS_MAX: Final = 1 << 24
"""Pairs of cluster and attribute that are counted in a table, 8 bytes each; more are sorted."""

_SCALE_BITS: Final = 32


class Plans(NamedTuple):
    """Which attributes have rows in which clusters."""

    cluster: Ints  # [p] ascending
    start: Ints  # [p + 1] groups the rest by plan
    attribute: Ints  # the most selective first
    row: Ints  # first word of the attribute's first row
    words: int  # of all rows
    slices: int  # of each line
    scale: Ints  # [a] what turns a cell into its slice: `cell * scale >> 32`


def plans(  # noqa: PLR0917 - all that is known of the segment by now
    rows: Rows, shapes: Shape, choice: Choice, entries: Entries, sizes: Ints, lines: Lines
) -> Plans:
    """The plans of all clusters that are large enough; `sizes` are those of all clusters.

    Entries may be in any order.
    """
    attributes = len(lines.number_start) - 1
    planned = np.flatnonzero(sizes >= PLANNED_MIN)
    number = np.full(len(sizes), -1)
    number[planned] = np.arange(len(planned))
    in_plan = np.flatnonzero(number[entries.cluster] >= 0)
    conjunctions = entries.conjunction[in_plan]
    constraints, start = selection(rows.constraint_start, conjunctions)
    plan = np.repeat(number[entries.cluster[in_plan]], np.diff(start))
    owner = np.repeat(conjunctions, np.diff(start))
    use = 1.0 - shapes.chance[constraints]
    use[choice.constraint[owner] == constraints] = 0.0  # the lookup has seen to it
    pair, total = _totals(plan * attributes + shapes.attribute[constraints], use, attributes)
    plan_of, attribute = np.divmod(pair, max(1, attributes))
    worthy = total >= _USE_MIN * sizes[planned[plan_of]]
    plan_of, attribute, total = plan_of[worthy], attribute[worthy], total[worthy]
    order = np.lexsort((attribute, -total, plan_of))
    plan_of, attribute = plan_of[order], attribute[order]
    rank = np.arange(len(plan_of)) - np.searchsorted(plan_of, plan_of)
    taken = rank < _ATTRIBUTES_MAX
    plan_of, attribute = plan_of[taken], attribute[taken]
    words = (sizes[planned[plan_of]] + 63) // 64
    slices = _slices(int(words.sum()), rows)
    words *= slices + 1
    used, first = np.unique(plan_of, return_index=True)
    return Plans(
        planned[used],
        np.append(first, len(plan_of)),
        attribute,
        np.cumsum(words) - words,
        int(words.sum()),
        slices,
        (slices << _SCALE_BITS) // (lines.last_cells() + 1),
    )


def _slices(words: int, rows: Rows) -> int:
    """As fine as memory allows, if the rows of one slice take so many words."""
    others = _CONSTRAINT_BYTES * len(rows.attribute) + _CONSTANT_BYTES * len(rows.numbers)
    allowed = _CONJUNCTION_BYTES * len(rows.slot) - others
    return next(
        (count for count in _SLICES[:-1] if 8 * words * (count + 1) <= allowed), _SLICES[-1]
    )


def _totals(pairs: Ints, weights: Floats, attributes: int) -> tuple[Ints, Floats]:
    """The distinct pairs, ascending, and the sum of each one's weights."""
    if int(pairs.max(initial=0)) < max(_DENSE_PAIRS_MAX, attributes):
        sums = np.bincount(pairs, weights).astype(np.float64, copy=False)
        occurring: Ints = np.flatnonzero(sums)
        return occurring, sums[occurring]
    distinct, which = np.unique(pairs, return_inverse=True)
    return distinct, np.bincount(which, weights).astype(np.float64, copy=False)
