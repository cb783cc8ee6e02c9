"""A pattern as rows: the simple decomposition (L809), fewest and longest runs of labels.

A row is a run of labels joined by `/`, or a compared value. It has the least and the greatest
number of levels by which it ends below the row it hangs on (its *parent row*); a row without parent
counts from the document. A row is *complete* when all rows that hang on it are, and the pattern is
found when its first row is complete.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from sapwood.matching.published.xtrie.alternatives import ElementLabel, Label, Node
from sapwood.model.patterns.comparison import Comparison
from sapwood.model.patterns.conditions import Axis


class RowKind(Enum):
    """The event at which a row is probed."""

    RUN = "at the end of its run of labels"
    ANYTHING = "at every element"
    TEXT = "at every text node, or value of an attribute"
    STRING = "at every end of an element"


@dataclass(frozen=True, slots=True)
class Row:
    """One row; `parent` is the place of its parent row in the decomposition, -1 for none.

    `nearest` and `farthest` are levels below the parent row's end (`math.inf`: any depth), `bit` is
    the row's place among those that hang on the same parent, and `hanging` the number of rows that
    hang on this one. Where the order of branches counts, `rank` is the row's place among its
    parent's branches (-1 for a row that is in no order), and `ranks` the number of its own.
    """

    kind: RowKind
    run: tuple[Label, ...]
    parent: int
    nearest: int
    farthest: float
    bit: int
    hanging: int = 0
    comparison: Comparison | None = None
    rank: int = -1
    ranks: int = 0


@dataclass(slots=True)
class _Draft:
    """A row while the number of rows that hang on it is still counted."""

    kind: RowKind
    run: tuple[Label, ...]
    parent: int
    nearest: int
    farthest: float
    bit: int
    comparison: Comparison | None
    hanging: int = 0
    rank: int = -1
    ranks: int = 0


@dataclass(frozen=True, slots=True)
class _Place:
    """The place that the decomposition has reached.

    The last row, the levels since, true if these are exact, the labels that lead here, and the rank
    of the branch that begins here, if it has one.
    """

    row: int
    levels: int
    exact: bool
    run: tuple[Label, ...]
    rank: int = -1


def decompose(root: Node, *, ordered: bool = False) -> tuple[Row, ...]:
    """The rows of a pattern, each after its parent; the first one has none.

    If the order of branches counts, each branch begins with a row of its own, so that the element
    that it begins with is known; otherwise rows are as long as they can be.
    """
    drafts: list[_Draft] = []
    _decompose(root, _Place(-1, 0, exact=True, run=()), drafts, ordered=ordered)
    return tuple(
        Row(
            draft.kind,
            draft.run,
            draft.parent,
            draft.nearest,
            draft.farthest,
            draft.bit,
            draft.hanging,
            draft.comparison,
            draft.rank,
            draft.ranks,
        )
        for draft in drafts
    )


def _decompose(node: Node, place: _Place, drafts: list[_Draft], *, ordered: bool) -> None:
    levels = place.levels + 1
    exact = place.exact and node.axis is Axis.CHILD
    run: tuple[Label, ...] = ()
    if node.label is not None:
        run = (*(place.run if node.axis is Axis.CHILD else ()), node.label)
    below = _Place(place.row, levels, exact, run, place.rank)
    branches = [child for child in node.children if _is_element(child)] if ordered else []
    if _ends_a_run(node) or place.rank >= 0:
        kind = RowKind.RUN if run else RowKind.ANYTHING
        row = _hang(drafts, kind, run, below)
        here = _Place(row, 0, exact=True, run=())
        for comparison in node.comparisons:
            _hang(drafts, RowKind.TEXT, (), _Place(row, 1, exact=True, run=()), comparison)
        for comparison in node.strings:
            _hang(drafts, RowKind.STRING, (), here, comparison)
        below = _Place(row, 0, exact=True, run=run)
        if len(branches) > 1:
            drafts[row].ranks = len(branches)
    ranks = iter(range(len(branches)))
    for child in node.children:
        rank = next(ranks) if len(branches) > 1 and _is_element(child) else -1
        _decompose(child, replace(below, rank=rank), drafts, ordered=ordered)


def _is_element(node: Node) -> bool:
    return node.label is None or isinstance(node.label, ElementLabel)


def _ends_a_run(node: Node) -> bool:
    """True if a row must end here: a leaf, a branch, a comparison, or a step that is no label."""
    if len(node.children) != 1 or node.comparisons or node.strings:
        return True
    (child,) = node.children
    return node.label is not None and (child.axis is Axis.DESCENDANT or child.label is None)


def _hang(
    drafts: list[_Draft],
    kind: RowKind,
    run: Sequence[Label],
    place: _Place,
    comparison: Comparison | None = None,
) -> int:
    """Add a row that ends at `place`, and return its number."""
    bit = 0
    if place.row >= 0:
        bit = drafts[place.row].hanging
        drafts[place.row].hanging += 1
    farthest = place.levels if place.exact else math.inf
    draft = _Draft(kind, tuple(run), place.row, place.levels, farthest, bit, comparison)
    draft.rank = place.rank
    drafts.append(draft)
    return len(drafts) - 1
