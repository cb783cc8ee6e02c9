"""The access constraint of each conjunction, and the clusters that follow from it.

A conjunction is looked up through one of its constraints only, the one that the fewest records are
expected to satisfy. All conjunctions that one lookup finds form a *cluster*; there are five kinds:

* `points`: one cluster for each single value. A constraint of finitely many values lies in the
  cluster of each, unless they are very many. The lookup is exact.
* `ordered`: ranges of an attribute, sorted by one end. One-sided ranges with the same open side are
  one cluster; a value satisfies the ranges at its beginning, and the lookup is exact for one range.
  Ranges with two sides are sorted by the lower one, and those of about the same width are one
  cluster: the ranges that a value may satisfy begin no more than the greatest width below it. About
  every second of these is satisfied (all, if all are equally wide), so the constraint is evaluated
  again.
* `grids`: pairs of constraints, see `grids.py`.
* `literals`: texts that a pattern requires, see `literals.py`. The literals in a record's texts
  lead to these clusters.
* `scan`: conjunctions without any constraint that needs a present value. They are candidates for
  every record.

The number of records that satisfy a constraint is estimated from the filters themselves, on the
assumption that people subscribe to what is published (the share of a value among all values that
filters of the attribute name, and the share of the domain's constants that a range holds), and from
records that were matched (`sampling`), as far as there are any.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from sapwood.matching.columnar.columns import KEY_MAX
from sapwood.matching.columnar.domains import FALSE_RANK, FIRST_NUMBER_RANK
from sapwood.matching.columnar.ranking import Domains, Ranked
from sapwood.matching.columnar.rows import Ints, Outline, selection
from sapwood.matching.columnar.sampling import Sampled

Floats: TypeAlias = npt.NDArray[np.float64]
Flags: TypeAlias = npt.NDArray[np.bool_]

_CHANCE_MAX: Final = 0.9
"""A present value of the right type is likely, but never as certain as in a scan."""

_UNSEEN_POINTS: Final = 10.0
"""Added to the count of values in filters, so that one lone filter does not look like certainty."""

_ASSUMED_RECORDS: Final = 16.0
"""Sampled records that weigh as much as the estimate from the filters alone."""

BAND_LOSS: Final = 1.5
"""Candidates in a cluster of two-sided ranges for each one that satisfies the access constraint."""

_POINTS_MAX: Final = 1024
"""Values of a finite set that get an entry each, 4 bytes; a larger set is looked up as the range
that holds it, and then searched."""

_BAND_MIN: Final = 32
"""Ranges of one width that are worth a cluster of their own; fewer join the next wider ones."""


class Kind(IntEnum):
    """The kind of lookup that finds a conjunction."""

    SCAN = 0
    POINTS = 1
    FROM = 2
    UP_TO = 3
    BAND = 4
    GRID = 5
    LITERAL = 6


class Shape(NamedTuple):
    """The properties of `c` constraints that access selection reads."""

    owner: Ints  # [c] conjunction
    attribute: Ints  # [c]
    ranges: Ints  # [c] the number of them
    low: Ints  # [c] first rank
    high: Ints  # [c] last rank
    kind: Ints  # [c] the kind of lookup that would find this constraint
    zone_low: Ints  # [c] first rank of its type, or of any present value
    zone_high: Ints  # [c]
    chance: Floats  # [c] estimated share of records that satisfy it


class Choice(NamedTuple):
    """The access constraint of each of `n` conjunctions."""

    kind: Ints  # [n]
    constraint: Ints  # [n]; -1 for SCAN
    second: Ints  # [n] the other constraint; -1 but for GRID
    is_exact: Flags  # [n] the lookup implies the constraint


class OrderedTable(NamedTuple):
    """The ordered clusters; row `k` of the table is cluster `k`."""

    start: Ints  # [a + 1] groups them by attribute
    is_up_to: Flags
    zone_low: Ints  # serves only ranks from here
    zone_high: Ints  # to here
    reach: Ints  # steps from a range's lower end to its upper one, at most; KEY_MAX if one-sided


class Tables(NamedTuple):
    """The directory of clusters, which are numbered without gaps; the last one is the scan.

    `points[i]` is the first cluster of attribute `i`'s values or -1; a value in rank `c` has the
    cluster `points[i] + c // 2`. Bucket `b` of the grids is cluster `first_bucket + b`, literal `l`
    has the cluster `first_literal + l`.
    """

    points: Ints  # [a]
    ordered: OrderedTable
    first_bucket: int
    first_literal: int
    clusters: int


class Buckets(NamedTuple):
    """The content of the buckets of grids: one row for each pair of bucket and conjunction."""

    conjunction: Ints
    bucket: Ints
    buckets: int  # the number of buckets


class LiteralClusters(NamedTuple):
    """The content of the clusters of literals: one row for each literal and conjunction."""

    conjunction: Ints
    literal: Ints
    literals: int  # the number of literals


NO_LITERALS: Final = LiteralClusters(np.zeros(0, np.int64), np.zeros(0, np.int64), 0)


class Entries(NamedTuple):
    """The places of conjunctions: one entry for each pair of cluster and conjunction.

    `key` orders an ordered cluster: the first rank for FROM and BAND; for UP_TO the last rank,
    subtracted from `KEY_MAX`, so that the satisfied entries come first in both.
    """

    cluster: Ints
    conjunction: Ints
    key: Ints


def shape(rows: Outline, ranked: Ranked, attributes: int, sampled: Sampled | None = None) -> Shape:
    """The kind of lookup and the selectivity of each constraint."""
    owner = np.repeat(np.arange(len(rows.slot)), np.diff(rows.constraint_start))
    ranges = np.diff(rows.range_start)
    low = ranked.low[rows.range_start[:-1]].astype(np.int64)
    high = ranked.high[rows.range_start[1:] - 1].astype(np.int64)
    on = rows.attribute
    text_rank, last = ranked.domains.text_ranks()[on], ranked.domains.last_ranks()[on]
    in_texts, in_numbers = low >= text_rank, (low >= FIRST_NUMBER_RANK) & (high < text_rank)
    zone_low = np.select((in_texts, in_numbers), (text_rank, FIRST_NUMBER_RANK), FALSE_RANK)
    zone_high = np.where(in_numbers, text_rank - 2, last)
    is_point = (ranked.low == ranked.high) & (ranked.low % 2 == 1)
    is_points = np.logical_and.reduceat(is_point, rows.range_start[:-1]) if len(on) else is_point
    kind = np.select(
        (
            low < FALSE_RANK,
            is_points & (ranges <= _POINTS_MAX),
            high == zone_high,
            low == zone_low,
        ),
        (Kind.SCAN, Kind.POINTS, Kind.FROM, Kind.UP_TO),
        Kind.BAND,
    )
    share = (high - low + 1) / (zone_high - zone_low + 1)
    chance = np.where(is_points, _point_chances(rows, ranked, is_points), share)
    users = np.bincount(on, minlength=attributes) / max(1, len(rows.slot))
    chance = np.minimum(chance, _CHANCE_MAX) * (0.5 + 0.5 * users[on])
    chance[kind == Kind.SCAN] = 1.0
    if sampled is not None:
        seen = sampled.accepted(rows, ranked)
        chance = (chance * _ASSUMED_RECORDS + seen) / (_ASSUMED_RECORDS + sampled.records)
    return Shape(owner, on, ranges, low, high, kind, zone_low, zone_high, chance)


def choose(rows: Outline, shapes: Shape) -> Choice:
    """The most selective constraint of each conjunction that a lookup can use."""
    conjunctions = len(rows.slot)
    choice = Choice(
        np.full(conjunctions, int(Kind.SCAN)),
        np.full(conjunctions, -1),
        np.full(conjunctions, -1),
        np.zeros(conjunctions, np.bool_),
    )
    if not len(shapes.owner):
        return choice
    cost = np.where(shapes.kind == Kind.BAND, BAND_LOSS, 1.0) * shapes.chance
    cost[shapes.kind == Kind.SCAN] = np.inf
    constrained = np.flatnonzero(np.diff(rows.constraint_start))
    least = np.full(conjunctions, np.inf)
    least[constrained] = np.minimum.reduceat(cost, rows.constraint_start[constrained])
    winners = np.flatnonzero((cost == least[shapes.owner]) & (cost < np.inf))
    owners = shapes.owner[winners]
    best = winners[np.diff(owners, prepend=-1) > 0]
    owners = shapes.owner[best]
    choice.kind[owners] = shapes.kind[best]
    choice.constraint[owners] = best
    one_sided = (shapes.kind[best] == Kind.FROM) | (shapes.kind[best] == Kind.UP_TO)
    choice.is_exact[owners] = (shapes.kind[best] == Kind.POINTS) | (
        one_sided & (shapes.ranges[best] == 1)
    )
    return choice


def evaluation_order(shapes: Shape, choice: Choice) -> Ints:
    """All constraints, conjunction by conjunction, in the order in which to evaluate them.

    The one most likely to fail comes first. An access constraint that the lookup implies comes last
    and need not be evaluated.
    """
    chance = np.minimum(shapes.chance, 1.0)
    for column in (choice.constraint, choice.second):
        chosen = column[column >= 0]
        implied = choice.is_exact[shapes.owner[chosen]]
        chance[chosen] = np.where(implied, 2.0, 1.0 / BAND_LOSS)
    return np.argsort(shapes.owner * 4.0 + chance, kind="stable")


def clusters(  # noqa: PLR0917 - all results for the segment so far
    rows: Outline,
    ranked: Ranked,
    shapes: Shape,
    choice: Choice,
    buckets: Buckets,
    literals: LiteralClusters = NO_LITERALS,
) -> tuple[Tables, Entries]:
    """Number the clusters, and put every conjunction into its clusters."""
    ordered_tables, ordered = _ordered(ranked.domains, shapes, choice)
    taken = len(ordered_tables.is_up_to)
    points_base, points, taken = _points(rows, ranked, shapes, choice, taken)
    grid = Entries(
        taken + buckets.bucket, buckets.conjunction, np.zeros(len(buckets.bucket), np.int64)
    )
    first_bucket, taken = taken, taken + buckets.buckets
    first_literal, of_literals = taken, literals.conjunction
    by_literal = Entries(
        taken + literals.literal, of_literals, np.zeros(len(of_literals), np.int64)
    )
    taken += literals.literals
    scanned = np.flatnonzero(choice.kind == Kind.SCAN)
    scan = Entries(np.full(len(scanned), taken), scanned, np.zeros(len(scanned), np.int64))
    columns = zip(ordered, points, grid, by_literal, scan, strict=True)
    return (
        Tables(points_base, ordered_tables, first_bucket, first_literal, taken + 1),
        Entries(*(np.concatenate(column) for column in columns)),
    )


def _ordered(domains: Domains, shapes: Shape, choice: Choice) -> tuple[OrderedTable, Entries]:
    conjunctions = np.flatnonzero((choice.kind >= Kind.FROM) & (choice.kind <= Kind.BAND))
    constraints = choice.constraint[conjunctions]
    kind = choice.kind[conjunctions]
    is_up_to = kind == Kind.UP_TO
    zone_low = shapes.zone_low[constraints]
    zone = (zone_low > FALSE_RANK).astype(np.int64) + (zone_low > FIRST_NUMBER_RANK)
    width = shapes.high[constraints] - shapes.low[constraints]
    form = np.where(kind == Kind.BAND, 0, kind)
    group = (shapes.attribute[constraints] * 3 + zone) * 4 + form
    code = group * 64 + _widths(group, np.where(kind == Kind.BAND, width, 0))
    codes, cluster = np.unique(code, return_inverse=True)
    example = np.empty(len(codes), np.int64)
    example[cluster] = np.arange(len(cluster))
    reach = np.zeros(len(codes), np.int64)
    np.maximum.at(reach, cluster, np.where(kind == Kind.BAND, width, KEY_MAX))
    shown = constraints[example]
    table = OrderedTable(
        _starts(shapes.attribute[shown], domains),
        is_up_to[example],
        shapes.zone_low[shown],
        shapes.zone_high[shown],
        reach,
    )
    key = np.where(is_up_to, KEY_MAX - shapes.high[constraints], shapes.low[constraints])
    return table, Entries(cluster, conjunctions, key)


def _widths(group: Ints, width: Ints) -> Ints:
    """The class of each range's width, by powers of two; small classes join the next one."""
    width_class = np.frexp(width.astype(np.float64))[1].astype(np.int64)
    classes, member, size = np.unique(
        group * 64 + width_class, return_inverse=True, return_counts=True
    )
    target = classes.copy()
    joining = 0
    for at in range(len(classes) - 1):
        joining += int(size[at])
        if joining < _BAND_MIN and classes[at] // 64 == classes[at + 1] // 64:
            target[at] = -1
        else:
            joining = 0
    # A class that is to join gets the number of the first class to its right that is not.
    for at in range(len(classes) - 2, -1, -1):
        if target[at] < 0:
            target[at] = target[at + 1]
    widths: Ints = (target % 64)[member]
    return widths


def _points(
    rows: Outline, ranked: Ranked, shapes: Shape, choice: Choice, taken: int
) -> tuple[Ints, Entries, int]:
    conjunctions = np.flatnonzero(choice.kind == Kind.POINTS)
    constraints = choice.constraint[conjunctions]
    last = ranked.domains.last_ranks()
    size = np.zeros(len(last), np.int64)
    used = np.unique(shapes.attribute[constraints])
    size[used] = last[used] // 2 + 1
    ends = taken + np.cumsum(size)
    base = np.where(size > 0, ends - size, -1)
    members, starts = selection(rows.range_start, constraints)
    count = np.diff(starts)
    value = ranked.low[members].astype(np.int64) // 2
    cluster = np.repeat(base[shapes.attribute[constraints]], count) + value
    key = np.zeros(len(members), np.int64)
    entries = Entries(cluster, np.repeat(conjunctions, count), key)
    return base, entries, taken + int(size.sum())


def _point_chances(rows: Outline, ranked: Ranked, is_points: Flags) -> Floats:
    """For constraints of single values, their share among all single values of the attribute."""
    ranges = np.diff(rows.range_start)
    of_points = np.repeat(is_points, ranges)
    on = np.repeat(rows.attribute, ranges)[of_points]
    size = ranked.domains.last_ranks() // 2 + 1
    value = (np.cumsum(size) - size)[on] + ranked.low[of_points] // 2
    weight = np.repeat(1.0 / ranges, ranges)[of_points]
    uses = np.bincount(value, weight, minlength=int(size.sum()))
    all_uses = np.bincount(on, weight, minlength=len(size)) + _UNSEEN_POINTS
    share = np.zeros(len(of_points))
    share[of_points] = uses[value] / all_uses[on]
    return np.add.reduceat(share, rows.range_start[:-1]) if len(ranges) else share


def _starts(attributes: Ints, domains: Domains) -> Ints:
    """The begin of each attribute's group in a column of sorted attributes."""
    return np.searchsorted(attributes, np.arange(len(domains.number_start)))
