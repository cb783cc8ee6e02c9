"""Merging what covering has left: one filter in the place of several, within a budget.

A merger accepts whatever its members accept, so every publication still reaches the homes it
reached; one that is imperfect accepts more, and may bring a publication to a home without a
subscription for it. The *degree* of imperfection is the share of a merger that none of its members
accepts, 0 for a perfect one (XPE dissemination 2.19; XSiena 2.11). Clients are not affected: a home
router evaluates their own filters before it delivers.

Only filters on the same attributes are merged, each of a single conjunction: whatever else there
is, tree patterns too, stays as it is.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, groupby, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sapwood.covering.merging.records import Candidate, PerfectRecordMerger
from sapwood.language.forms import decode_form, encode_form, is_pattern_form, read_form
from sapwood.limits import MERGED_TEXT_CHARS_MAX
from sapwood.limits.pipeline import MERGE_GROUP_FILTERS_MAX, MERGED_MEMBERS_MAX
from sapwood.model.conjunction import Conjunction
from sapwood.model.constraint import Constraint
from sapwood.model.filter import Filter
from sapwood.pipeline.spark.arrow_rows import rows_of, uncollected

if TYPE_CHECKING:
    import pyarrow as pa

SHAPED: Final = "home STRING, shape STRING, key STRING, form BINARY"
MERGED: Final = "home STRING, key STRING, form BINARY, degree DOUBLE"


class Merged(NamedTuple):
    """A merger, the keys of the filters in whose place it stands, and its degree."""

    filter: Filter
    keys: tuple[str, ...]
    degree: float


class _Pile(NamedTuple):
    """A merger in the making: its box, its members, and the original boxes of those."""

    box: Conjunction
    keys: tuple[str, ...]
    originals: tuple[Conjunction, ...]
    degree: float


@dataclass(frozen=True, slots=True)
class NameShapes:
    """The function for `mapInArrow`: (home, key, form) in, `SHAPED` out, for mergeable filters.

    Filters on the same attributes have the same shape.
    """

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Name the shapes of all filters of one task."""
        import pyarrow as pa

        for batch in batches:
            homes, keys, forms = batch.columns
            shapes = pa.array([shape_of(form) for form in forms.to_pylist()], pa.string())
            names = ["home", "shape", "key", "form"]
            rows = pa.RecordBatch.from_arrays([homes, shapes, keys, forms], names=names)
            yield rows.filter(shapes.is_valid())


@dataclass(frozen=True, slots=True)
class MergeFilters:
    """The function for `mapInArrow`: `SHAPED`, sorted by home, shape and form, in, `MERGED` out.

    A row for each filter that goes, with the normal form of the merger that takes its place. At
    most `limits.MERGE_GROUP_FILTERS_MAX` filters, alike as sorting brings them, are merged at once.
    """

    budget: float

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Merge all filters of one task."""
        import pyarrow as pa

        for home, group in _groups(rows_of(batches)):
            with uncollected():
                filters = {key: decode_form(form) for key, form in group}
                found = merged(filters, self.budget)
                gone = [
                    (key, form, one.degree)
                    for one in found
                    for form in (encode_form(one.filter),)
                    for key in one.keys
                ]
            keys, forms, degrees = zip(*gone, strict=True) if gone else ((), (), ())
            columns = [
                pa.array([home] * len(gone), pa.string()),
                pa.array(keys, pa.string()),
                pa.array(forms, pa.binary()),
                pa.array(degrees, pa.float64()),
            ]
            yield pa.RecordBatch.from_arrays(columns, names=["home", "key", "form", "degree"])


def shape_of(form: bytes) -> str | None:
    """The attributes of a filter, as one text; `None` for one that is left alone."""
    if is_pattern_form(form):
        return None
    parts, is_exact = read_form(form)
    if not is_exact or len(parts) != 1 or not parts[0]:
        return None
    return "\n".join(repr(written[0]) for written in parts[0])


def merged(filters: Mapping[str, Filter], budget: float) -> list[Merged]:
    """Mergers of filters of one shape, each of degree `budget` at most; no key is in two.

    First all that can be merged without loss, then neighbors in the order of their extents, as long
    as the budget allows, judged by the original filters. A merger stands for at most
    `limits.MERGED_MEMBERS_MAX` boxes of perfect mergers.
    """
    piles = _perfect(filters)
    if budget > 0:
        piles = _within(piles, budget)
    return [
        Merged(Filter((pile.box,)), pile.keys, pile.degree) for pile in piles if len(pile.keys) > 1
    ]


def degree(merger: Conjunction, members: Sequence[Conjunction]) -> float:
    """The share of a merger that no member accepts, at least: 0 for a perfect one, up to 1.

    Numbers are measured by the length of intervals, single values are counted. On an attribute of
    which the merger accepts something else, such as an unbounded interval, a member that differs
    from it is taken for nothing. Overlaps of more than two members are taken off several times, so
    the degree may be overstated, and never is too small.
    """
    sizes = [_share(member, merger) for member in members]
    both = (one.intersect(other) for one, other in combinations(members, 2))
    overlaps = sum(_share(one, merger) for one in both if one is not None)
    return 1.0 - min(1.0, max(*sizes, sum(sizes) - overlaps, 0.0))


def _perfect(filters: Mapping[str, Filter]) -> list[_Pile]:
    """All filters, those that can be merged without loss together."""
    entries = {key: Candidate(filter_, (filter_,)) for key, filter_ in sorted(filters.items())}
    groups = PerfectRecordMerger().groups(entries)
    gone = {key for group in groups for key in group.keys}
    kept = [(filter_, (key,)) for key, filter_ in sorted(filters.items()) if key not in gone]
    boxes = [(group.interest, tuple(sorted(group.keys))) for group in groups]
    return [
        # A perfect merger is judged as one original: it accepts just what its members accept.
        _Pile(one.conjunctions[0], keys, one.conjunctions, 0.0)
        for one, keys in (*kept, *boxes)
        if isinstance(one, Filter)
    ]


def _within(piles: Sequence[_Pile], budget: float) -> list[_Pile]:
    """Merge each pile with the next ones while the degree stays within the budget."""
    found: list[_Pile] = []
    for pile in sorted(piles, key=lambda one: (one.box.extent, one.keys)):
        joined = _joined(found[-1], pile) if found else None
        if joined is not None and joined.degree <= budget:
            found[-1] = joined
        else:
            found.append(pile)
    return found


def _joined(one: _Pile, other: _Pile) -> _Pile | None:
    """The merger of both; `None` where it has no box, or one that is too long to be written."""
    originals = (*one.originals, *other.originals)
    if len(originals) > MERGED_MEMBERS_MAX:
        return None
    boxes = Filter((one.box,)).merge(Filter((other.box,))).filter.conjunctions
    if len(boxes) != 1 or len(str(boxes[0])) > MERGED_TEXT_CHARS_MAX:
        return None
    keys = tuple(sorted((*one.keys, *other.keys)))
    return _Pile(boxes[0], keys, originals, degree(boxes[0], originals))


def _share(part: Conjunction, whole: Conjunction) -> float:
    """The share of a box that a box inside it takes."""
    sides = (_side(part.constraint(name), constraint) for name, constraint in whole.constraints)
    return math.prod(sides)


def _side(part: Constraint, whole: Constraint) -> float:
    """The share of a constraint that a narrower one takes; 0 where that cannot be measured."""
    if part == whole:
        return 1.0
    values = whole.points()
    if values is not None:
        return len(part.points() or ()) / len(values)
    if whole.absent or whole.booleans or whole.strings.ranges:
        return 0.0
    length = sum(interval.high - interval.low for interval in whole.numbers)
    inside = sum(interval.high - interval.low for interval in part.numbers)
    return inside / length if math.isfinite(length) else 0.0


def _groups(rows: Iterator[tuple[Any, ...]]) -> Iterator[tuple[str, list[tuple[str, bytes]]]]:
    """Homes, with the keys and forms of filters of one shape."""
    for (home, _), alike in groupby(rows, key=itemgetter(0, 1)):
        while group := [row[2:] for row in islice(alike, MERGE_GROUP_FILTERS_MAX)]:
            yield home, group
