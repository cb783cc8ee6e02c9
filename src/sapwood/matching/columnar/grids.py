"""Grids: clusters of conjunctions that are looked up through two constraints at once.

Where many conjunctions constrain the same two attributes by single values or by ranges with two
sides, they lie in a *grid* (a grid file, Nievergelt and others 1984, of their lower ends): each
attribute's domain is cut into slices of about as many constants each, and a pair of slices is a
bucket. The conjunctions that a record may satisfy lie in the buckets from the slice of its value
less the greatest width back to the slice of its value; for single values, whose width is none, that
is one bucket. A lookup leaves few candidates, which are then evaluated exactly, for about the price
of two random reads; so a grid must have enough conjunctions to be worth being looked up for every
record. Ranges need many more than single values: they are looked up in rows of buckets, and the
clusters that they would otherwise be in have bitmaps of few attributes, of which a word rules out
64 candidates.

The fewer grids there are, the fewer lookups a record needs. So attributes are divided into teams,
one fewer than the usual number of a conjunction's constraints: then two constraints of each are on
attributes of one team, and pairs within teams are preferred. (That every triple of twenty
attributes holds one of 90 pairs out of 190 is Turan's theorem.)
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from sapwood.matching.columnar.access import BAND_LOSS, Buckets, Choice, Floats, Kind, Shape
from sapwood.matching.columnar.ranking import Domains
from sapwood.matching.columnar.rows import Ints

SCALE_BITS: Final = 32

_TRIED_MAX: Final = 8
"""Constraints of a conjunction that are tried in pairs, so that a long one costs no more."""

_OTHER_TEAM: Final = 2.0
"""The factor by which a pair must be more selective to be preferred to one within a team."""

_SECOND_BEST: Final = 4.0
"""The factor by which a pair that is not the best must be more selective than one constraint."""

_MEMBERS_MIN: Final = 64
"""Conjunctions that are worth a grid at the least."""

_BUCKET_MEMBERS: Final = 2
"""Conjunctions in a bucket on average, at the least: the directory takes 4 bytes a bucket."""

_RANGE_SLICES: Final = (16, 64)
"""Slices of ranges, at the most. A lookup walks through those of the first attribute that it
touches; those of the second lie in a row."""

_LOOKUP_COST: Final = 160.0
"""The cost of a lookup in a row of buckets, in candidates."""

_POINT_LOOKUP_COST: Final = (4.0, 60.0)
_CACHED_CONJUNCTIONS: Final = 16_384
"""The same for the bucket of two single values: at least, and at most. While everything is in the
processor's caches a lookup takes 12 ns, and a candidate 3 to 9; of a million conjunctions buckets
come from memory, in 90 ns, and bitmaps make a candidate of a large cluster cost little more than
one. In between a lookup costs one candidate more for each `_CACHED_CONJUNCTIONS`."""

_WIDTH_BITS: Final = 5
_NO_WIDTH: Final = 0


class Grids(NamedTuple):
    """The directory of `g` grids; bucket `b` of all grids is cluster `b` of the buckets."""

    start: Ints  # [a + 1] groups them by the first attribute
    second: Ints  # [g] the second attribute
    first_scale: Ints  # [g] rank * scale >> 32 is the slice of a rank
    second_scale: Ints  # [g]
    first_reach: Ints  # [g] steps from a range's lower end to its upper one, at most
    second_reach: Ints  # [g]
    rows: Ints  # [g] slices of the first attribute
    columns: Ints  # [g] slices of the second attribute
    bucket: Ints  # [g] the first bucket


class Paired(NamedTuple):
    """The conjunctions that are looked up in grids."""

    first: Ints  # [p] constraint
    second: Ints  # [p] constraint
    buckets: Buckets  # [p]
    grids: Grids


class _Pairs(NamedTuple):
    """The best pair of constraints of each conjunction that has one."""

    conjunction: Ints
    first: Ints
    second: Ints
    cost: Floats


def paired(shapes: Shape, choice: Choice, domains: Domains) -> Paired:
    """The conjunctions for which a lookup by two constraints is better than the chosen one."""
    conjunctions = len(choice.kind)
    by_literal = choice.kind == Kind.LITERAL
    if by_literal.any():  # literals find these already
        kind = np.where(by_literal[shapes.owner], int(Kind.SCAN), shapes.kind)
        shapes = shapes._replace(kind=kind)
    cost = np.minimum(np.where(shapes.kind == Kind.BAND, BAND_LOSS, 1.0) * shapes.chance, 1.0)
    sides = shapes.attribute << _WIDTH_BITS | _widths(shapes)
    pairs = _best_pairs(shapes, cost, sides, conjunctions)
    codes, grid = np.unique(_code(pairs.first, pairs.second, sides), return_inverse=True)
    alone, has_one = np.ones(conjunctions), choice.constraint >= 0
    alone[has_one] = cost[choice.constraint[has_one]]
    saved = alone[pairs.conjunction] - pairs.cost
    size = np.bincount(grid, minlength=len(codes))
    lookups = np.bincount(grid, _lookup_costs(pairs, shapes, conjunctions), len(codes))
    is_worth = np.bincount(grid, saved, len(codes)) >= lookups / np.maximum(1, size)
    is_kept = is_worth & (size >= _MEMBERS_MIN)
    if not is_kept.any():  # as in segments that were just poured
        found, first, second, both = pairs
        pairs = _Pairs(found[:0], first[:0], second[:0], both[:0])
    elif not is_kept.all():
        # A conjunction whose best pair is rare may have a good pair among the frequent ones.
        is_moved = np.ones(conjunctions, np.bool_)
        is_moved[pairs.conjunction[is_kept[grid]]] = False
        pairs = _best_pairs(shapes, cost, sides, conjunctions, codes[is_kept])
        is_good = ~is_moved[pairs.conjunction]
        is_good |= _SECOND_BEST * pairs.cost <= alone[pairs.conjunction]
        found, first, second, both = pairs
        pairs = _Pairs(found[is_good], first[is_good], second[is_good], both[is_good])
    _, grid = np.unique(_code(pairs.first, pairs.second, sides), return_inverse=True)
    return _laid_out(pairs, grid, shapes, domains)


def with_pairs(choice: Choice, pairs: Paired) -> Choice:
    """`choice` with the conjunctions of grids looked up there."""
    kind, constraint, second = choice.kind.copy(), choice.constraint.copy(), choice.second.copy()
    is_exact, members = choice.is_exact.copy(), pairs.buckets.conjunction
    kind[members] = Kind.GRID
    constraint[members], second[members] = pairs.first, pairs.second
    is_exact[members] = False
    return Choice(kind, constraint, second, is_exact)


def _lookup_costs(pairs: _Pairs, shapes: Shape, conjunctions: int) -> Floats:
    """The cost of a lookup in the grid of each pair, in candidates."""
    is_point = shapes.kind == Kind.POINTS
    of_points = is_point[pairs.first] & is_point[pairs.second]
    walk = np.where(is_point[pairs.first], 1.0, 1.0 + _RANGE_SLICES[0] * shapes.chance[pairs.first])
    least, most = _POINT_LOOKUP_COST
    of_point = min(most, max(least, conjunctions / _CACHED_CONJUNCTIONS))
    return np.where(of_points, of_point, _LOOKUP_COST * walk)


def _best_pairs(
    shapes: Shape, cost: Floats, sides: Ints, conjunctions: int, allowed: Ints | None = None
) -> _Pairs:
    """For each conjunction the most selective pair among those of its first few constraints.

    With `allowed`, the codes of pairs of sides, ascending, other pairs are not taken.
    """
    is_usable = (shapes.kind == Kind.BAND) | ((shapes.kind == Kind.POINTS) & (shapes.ranges == 1))
    usable = np.flatnonzero(is_usable)
    count = np.bincount(shapes.owner[usable], minlength=conjunctions)
    start = np.cumsum(count) - count
    team = _teams(shapes.attribute[usable], count)
    cost, attribute = cost[usable], shapes.attribute[usable]
    least = np.full(conjunctions, np.inf)
    first, second = np.full(conjunctions, -1), np.full(conjunctions, -1)
    for y in range(1, min(_TRIED_MAX, int(count.max(initial=0)))):
        having = np.flatnonzero(count > y)
        after = start[having] + y
        for x in range(y):
            before = start[having] + x
            both = cost[before] * cost[after]
            both *= np.where(team[attribute[before]] == team[attribute[after]], 1.0, _OTHER_TEAM)
            if allowed is not None:
                code = _code(*_ordered(usable[before], usable[after], shapes, sides), sides)
                both[~np.isin(code, allowed)] = np.inf
            better = both < least[having]
            improved = having[better]
            least[improved] = both[better]
            first[improved], second[improved] = before[better], after[better]
    found = np.flatnonzero(first >= 0)
    first, second = first[found], second[found]
    ordered = _ordered(usable[first], usable[second], shapes, sides)
    return _Pairs(found, *ordered, cost[first] * cost[second])


def _teams(attribute: Ints, count: Ints) -> Ints:
    """The team of each attribute; the attributes that are used most are assigned first."""
    several = count[count > 1]
    teams = max(1, int(np.median(several)) - 1) if len(several) else 1
    uses = np.bincount(attribute, minlength=1)
    team = np.empty(len(uses), np.int64)
    team[np.argsort(-uses, kind="stable")] = np.arange(len(uses)) % teams
    return team


def _widths(shapes: Shape) -> Ints:
    """The class of each constraint's width: single values, then powers of four.

    Widths are relative to the least on the attribute, so that ranges of about one width share a
    class.
    """
    width = shapes.high - shapes.low
    is_band = shapes.kind == Kind.BAND
    least = np.full(int(shapes.attribute.max(initial=0)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(least, shapes.attribute[is_band], np.maximum(1, width[is_band]))
    relative = np.maximum(1, width) / least[shapes.attribute]
    classes = 1 + np.log2(np.maximum(1.0, relative)).astype(np.int64) // 2
    return np.where(is_band, classes, _NO_WIDTH)


def _ordered(first: Ints, second: Ints, shapes: Shape, sides: Ints) -> tuple[Ints, Ints]:
    """Pairs of constraints with single values first, or in one order for the same two sides."""
    is_point = shapes.kind == Kind.POINTS
    points = is_point[second].astype(np.int64) - is_point[first]
    swapped = (points > 0) | ((points == 0) & (sides[second] < sides[first]))
    return np.where(swapped, second, first), np.where(swapped, first, second)


def _code(first: Ints, second: Ints, sides: Ints) -> Ints:
    """A number for each pair of sides, different for different pairs."""
    return sides[first] * (int(sides.max(initial=0)) + 1) + sides[second]


def _laid_out(pairs: _Pairs, grid: Ints, shapes: Shape, domains: Domains) -> Paired:
    """Cut the slices of each grid, and put every conjunction into its bucket."""
    size = np.bincount(grid)
    example = np.empty(len(size), np.int64)
    example[grid] = np.arange(len(grid))
    allowed = np.maximum(1, size // _BUCKET_MEMBERS)
    first = _side(shapes, pairs.first, grid, example, domains)
    root = np.sqrt(allowed).astype(np.int64)
    rows = np.minimum(
        first.slices_max, np.where(first.is_point, allowed, np.minimum(root, _RANGE_SLICES[0]))
    )
    second = _side(shapes, pairs.second, grid, example, domains)
    room = np.maximum(1, allowed // rows)
    columns = np.minimum(
        second.slices_max, np.where(second.is_point, room, np.minimum(room, _RANGE_SLICES[1]))
    )
    first_scale, second_scale = first.scale(rows), second.scale(columns)
    bucket = np.cumsum(rows * columns) - rows * columns
    row = shapes.low[pairs.first] * first_scale[grid] >> SCALE_BITS
    column = shapes.low[pairs.second] * second_scale[grid] >> SCALE_BITS
    attributes = len(domains.number_start) - 1
    grids = Grids(
        np.searchsorted(first.attribute, np.arange(attributes + 1)),
        second.attribute,
        first_scale,
        second_scale,
        first.reach,
        second.reach,
        rows,
        columns,
        bucket,
    )
    place = bucket[grid] + row * columns[grid] + column
    buckets = Buckets(pairs.conjunction, place, int((rows * columns).sum()))
    return Paired(pairs.first, pairs.second, buckets, grids)


class _Side(NamedTuple):
    """One of the two attributes of each grid."""

    attribute: Ints
    is_point: npt.NDArray[np.bool_]
    last: Ints  # the last rank of the domain
    slices_max: Ints  # the greatest number of slices that is useful
    reach: Ints

    def scale(self, slices: Ints) -> Ints:
        """The scales that turn a rank into its slice, for these numbers of slices."""
        exact = self.is_point & (slices == self.slices_max)
        return np.where(exact, 1 << (SCALE_BITS - 1), (slices << SCALE_BITS) // (self.last + 1))


def _side(shapes: Shape, constraint: Ints, grid: Ints, example: Ints, domains: Domains) -> _Side:
    attribute = shapes.attribute[constraint[example]]
    is_point = shapes.kind[constraint[example]] == Kind.POINTS
    last = domains.last_ranks()[attribute]
    reach = np.zeros(len(example), np.int64)
    np.maximum.at(reach, grid, shapes.high[constraint] - shapes.low[constraint])
    return _Side(attribute, is_point, last, np.where(is_point, last // 2 + 1, last + 1), reach)
