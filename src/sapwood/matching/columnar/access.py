"""Where each conjunction is found: its access constraint and the clusters that follow from it.

A conjunction is looked up through one of its constraints only, the one that the fewest records are
expected to satisfy. All conjunctions that one lookup finds form a *cluster*; there are four kinds:

* `points`: one cluster for each single value. A constraint of finitely many values lies in the
  cluster of each, unless they are very many. The lookup is exact.
* `ordered`: all one-sided ranges of an attribute with the same open side, sorted by the other
  side. What a value satisfies is the beginning of the cluster. The lookup is exact for one run.
* `levels`: ranges with two sides. The line is divided into buckets of 2, 4, 8, ... cells; a range
  lies in the two or three buckets it touches at the level that fits its width. About every
  second conjunction in a bucket is satisfied, so the access constraint is evaluated again.
* `scan`: conjunctions without any constraint that needs a present value. They are candidates for
  every record.

How many records satisfy a constraint is estimated from the filters themselves, on the assumption
that people ask for what is published: the share of a value among all values asked for on the
attribute, and the share of the line's constants that a range holds.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from sapwood.matching.columnar.line import FALSE_CELL, NUMBERS_CELL
from sapwood.matching.columnar.ranking import Lines, Ranked
from sapwood.matching.columnar.rows import Ints, Rows, selection

Floats: TypeAlias = npt.NDArray[np.float64]
Flags: TypeAlias = npt.NDArray[np.bool_]

_CHANCE_MAX: Final = 0.9
"""A present value of the right type is likely, but never as certain as in a scan."""

_UNSEEN_POINTS: Final = 10.0
"""Added to the count of values asked for, so that one lone filter does not look like certainty."""

_BUCKET_LOSS: Final = 2.0
"""Candidates in a bucket for each one that satisfies the access constraint (two or three copies of
a range one to two buckets wide)."""

_BUCKET_RANGES: Final = 8
"""Ranges that begin in the smallest bucket, on average; smaller ones would be mostly empty."""


_POINTS_MAX: Final = 1024
"""Values of a finite set that get an entry each, 16 bytes; a larger set is looked up as the range
that holds it, and then searched."""

KEY_MAX: Final = (1 << 32) - 1
"""The largest cell number and key."""


class Kind(IntEnum):
    """How a conjunction is looked up."""

    SCAN = 0
    POINTS = 1
    FROM = 2
    UP_TO = 3
    LEVELS = 4


class Shape(NamedTuple):
    """What access selection wants to know of `c` constraints."""

    owner: Ints  # [c] conjunction
    attribute: Ints  # [c]
    runs: Ints  # [c] how many
    low: Ints  # [c] first cell
    high: Ints  # [c] last cell
    kind: Ints  # [c] how this constraint would be looked up
    zone_low: Ints  # [c] first cell of its type, or of any present value
    zone_high: Ints  # [c]
    chance: Floats  # [c] estimated share of records that satisfy it


class Choice(NamedTuple):
    """The access constraint of each of `n` conjunctions."""

    kind: Ints  # [n]
    constraint: Ints  # [n]; -1 for SCAN
    is_exact: Flags  # [n] the lookup implies the constraint


class OrderedTable(NamedTuple):
    """The ordered clusters; number `k` of the table is cluster `k`."""

    start: Ints  # [a + 1] groups them by attribute
    is_up_to: Flags
    zone_low: Ints  # serves only cells from here
    zone_high: Ints  # to here


class LevelTable(NamedTuple):
    """The levels; bucket `b` of a level, of `1 << shift` cells, is cluster `base + b`."""

    start: Ints  # [a + 1] groups them by attribute
    shift: Ints
    base: Ints


class Tables(NamedTuple):
    """The directory of clusters, which are numbered without gaps; the last one is the scan.

    `points[i]` is the first cluster of attribute `i`'s values or -1; a value in cell `c` has the
    cluster `points[i] + c // 2`.
    """

    points: Ints  # [a]
    levels: LevelTable
    ordered: OrderedTable
    clusters: int


class Entries(NamedTuple):
    """Where conjunctions lie: one entry for each pair of cluster and conjunction.

    `key` orders an ordered cluster: the first cell for FROM; for UP_TO the last cell, subtracted
    from `KEY_MAX`, so that the satisfied entries come first in both.
    """

    cluster: Ints
    conjunction: Ints
    key: Ints


def shape(rows: Rows, ranked: Ranked, attributes: int) -> Shape:
    """How each constraint would be looked up, and how selective it is."""
    owner = np.repeat(np.arange(len(rows.slot)), np.diff(rows.constraint_start))
    runs = np.diff(rows.run_start)
    low = ranked.low[rows.run_start[:-1]].astype(np.int64)
    high = ranked.high[rows.run_start[1:] - 1].astype(np.int64)
    on = rows.attribute
    text_cell, last = ranked.lines.text_cells()[on], ranked.lines.last_cells()[on]
    in_texts, in_numbers = low >= text_cell, (low >= NUMBERS_CELL) & (high < text_cell)
    zone_low = np.select((in_texts, in_numbers), (text_cell, NUMBERS_CELL), FALSE_CELL)
    zone_high = np.where(in_numbers, text_cell - 2, last)
    is_point = (ranked.low == ranked.high) & (ranked.low % 2 == 1)
    is_points = np.logical_and.reduceat(is_point, rows.run_start[:-1]) if len(on) else is_point
    kind = np.select(
        (
            low < FALSE_CELL,
            is_points & (runs <= _POINTS_MAX),
            high == zone_high,
            low == zone_low,
        ),
        (Kind.SCAN, Kind.POINTS, Kind.FROM, Kind.UP_TO),
        Kind.LEVELS,
    )
    width = (high - low + 1) / (zone_high - zone_low + 1)
    chance = np.where(is_points, _point_chances(rows, ranked, is_points), width)
    users = np.bincount(on, minlength=attributes) / max(1, len(rows.slot))
    chance = np.minimum(chance, _CHANCE_MAX) * (0.5 + 0.5 * users[on])
    chance[kind == Kind.SCAN] = 1.0
    return Shape(owner, on, runs, low, high, kind, zone_low, zone_high, chance)


def choose(shapes: Shape, conjunctions: int) -> Choice:
    """The most selective constraint of each conjunction that a lookup can use."""
    cost = np.where(shapes.kind == Kind.LEVELS, _BUCKET_LOSS, 1.0) * shapes.chance
    usable = np.flatnonzero(shapes.kind != Kind.SCAN)
    ranking = usable[np.lexsort((shapes.attribute[usable], cost[usable], shapes.owner[usable]))]
    owners, first = np.unique(shapes.owner[ranking], return_index=True)
    best = ranking[first]
    choice = Choice(
        np.full(conjunctions, int(Kind.SCAN)),
        np.full(conjunctions, -1),
        np.zeros(conjunctions, np.bool_),
    )
    choice.kind[owners] = shapes.kind[best]
    choice.constraint[owners] = best
    one_sided = (shapes.kind[best] == Kind.FROM) | (shapes.kind[best] == Kind.UP_TO)
    choice.is_exact[owners] = (shapes.kind[best] == Kind.POINTS) | (
        one_sided & (shapes.runs[best] == 1)
    )
    return choice


def evaluation_order(shapes: Shape, choice: Choice) -> Ints:
    """All constraints, conjunction by conjunction, in the order in which to evaluate them.

    The one most likely to fail comes first. An access constraint that the lookup implies comes last
    and need not be evaluated.
    """
    chance = shapes.chance.copy()
    chosen = choice.constraint[choice.constraint >= 0]
    implied = choice.is_exact[shapes.owner[chosen]]
    chance[chosen] = np.where(implied, 2.0, 1.0 / _BUCKET_LOSS)
    return np.lexsort((shapes.attribute, chance, shapes.owner))


def clusters(rows: Rows, ranked: Ranked, shapes: Shape, choice: Choice) -> tuple[Tables, Entries]:
    """Number the clusters, and put every conjunction into its own."""
    ordered_tables, ordered = _ordered(ranked.lines, shapes, choice)
    taken = len(ordered_tables.is_up_to)
    points_base, points, taken = _points(rows, ranked, shapes, choice, taken)
    level_tables, levels, taken = _levels(ranked.lines, shapes, choice, taken)
    scanned = np.flatnonzero(choice.kind == Kind.SCAN)
    scan = Entries(np.full(len(scanned), taken), scanned, np.zeros(len(scanned), np.int64))
    columns = zip(ordered, points, levels, scan, strict=True)
    return (
        Tables(points_base, level_tables, ordered_tables, taken + 1),
        Entries(*(np.concatenate(column) for column in columns)),
    )


def _ordered(lines: Lines, shapes: Shape, choice: Choice) -> tuple[OrderedTable, Entries]:
    conjunctions = np.flatnonzero((choice.kind == Kind.FROM) | (choice.kind == Kind.UP_TO))
    constraints = choice.constraint[conjunctions]
    is_up_to = choice.kind[conjunctions] == Kind.UP_TO
    zone_low = shapes.zone_low[constraints]
    zone = (zone_low > FALSE_CELL).astype(np.int64) + (zone_low > NUMBERS_CELL)
    code = (shapes.attribute[constraints] * 3 + zone) * 2 + is_up_to
    _, example, cluster = np.unique(code, return_index=True, return_inverse=True)
    shown = constraints[example]
    table = OrderedTable(
        _starts(shapes.attribute[shown], lines),
        is_up_to[example],
        shapes.zone_low[shown],
        shapes.zone_high[shown],
    )
    key = np.where(is_up_to, KEY_MAX - shapes.high[constraints], shapes.low[constraints])
    return table, Entries(cluster, conjunctions, key)


def _points(
    rows: Rows, ranked: Ranked, shapes: Shape, choice: Choice, taken: int
) -> tuple[Ints, Entries, int]:
    conjunctions = np.flatnonzero(choice.kind == Kind.POINTS)
    constraints = choice.constraint[conjunctions]
    last = ranked.lines.last_cells()
    size = np.zeros(len(last), np.int64)
    used = np.unique(shapes.attribute[constraints])
    size[used] = last[used] // 2 + 1
    ends = taken + np.cumsum(size)
    base = np.where(size > 0, ends - size, -1)
    members, starts = selection(rows.run_start, constraints)
    count = np.diff(starts)
    value = ranked.low[members].astype(np.int64) // 2
    cluster = np.repeat(base[shapes.attribute[constraints]], count) + value
    key = np.zeros(len(members), np.int64)
    entries = Entries(cluster, np.repeat(conjunctions, count), key)
    return base, entries, taken + int(size.sum())


def _levels(
    lines: Lines, shapes: Shape, choice: Choice, taken: int
) -> tuple[LevelTable, Entries, int]:
    conjunctions = np.flatnonzero(choice.kind == Kind.LEVELS)
    constraints = choice.constraint[conjunctions]
    on = shapes.attribute[constraints]
    low, high = shapes.low[constraints], shapes.high[constraints]
    last = lines.last_cells()
    per_range = last / np.maximum(1, np.bincount(on, minlength=len(last)))
    smallest = _bit_length(np.ceil(per_range * _BUCKET_RANGES))
    shift = np.maximum(_bit_length(high - low) - 1, smallest[on])
    _, example, level = np.unique(on * 64 + shift, return_index=True, return_inverse=True)
    size = (last[on[example]] >> shift[example]) + 1
    base = taken + np.cumsum(size) - size
    table = LevelTable(_starts(on[example], lines), shift[example], base)
    count = (high >> shift) - (low >> shift) + 1
    first = np.cumsum(count) - count
    step = np.arange(count.sum()) - np.repeat(first, count)
    cluster = np.repeat(base[level] + (low >> shift), count) + step
    key = np.zeros(len(cluster), np.int64)
    return table, Entries(cluster, np.repeat(conjunctions, count), key), taken + int(size.sum())


def _point_chances(rows: Rows, ranked: Ranked, is_points: Flags) -> Floats:
    """For constraints of single values the share of those values among all asked for."""
    runs = np.diff(rows.run_start)
    of_points = np.repeat(is_points, runs)
    on = np.repeat(rows.attribute, runs)[of_points]
    size = ranked.lines.last_cells() // 2 + 1
    value = (np.cumsum(size) - size)[on] + ranked.low[of_points] // 2
    weight = np.repeat(1.0 / runs, runs)[of_points]
    asked = np.bincount(value, weight, minlength=int(size.sum()))
    all_asked = np.bincount(on, weight, minlength=len(size)) + _UNSEEN_POINTS
    share = np.zeros(len(of_points))
    share[of_points] = asked[value] / all_asked[on]
    return np.add.reduceat(share, rows.run_start[:-1]) if len(runs) else share


def _starts(attributes: Ints, lines: Lines) -> Ints:
    """Where each attribute's group begins in a column of sorted attributes."""
    return np.searchsorted(attributes, np.arange(len(lines.number_start)))


def _bit_length(values: npt.NDArray[np.generic]) -> Ints:
    """How many bits each value, a whole number of at most 2**53, needs."""
    exponents: Ints = np.frexp(values)[1].astype(np.int64)
    return exponents
