"""The workers of `compile`: they place filters in groups, and find the covers in a group.

A home's filters are cut into groups where they are many, record filters (`covering.batch.covers`)
and tree patterns (`covering.batch.pattern_covers`) apart: groups of record filters have numbers
from 0 on, those of tree patterns from -1 down. Whatever covers a filter is stored in one of the
groups in which covers of that filter are searched.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Final

from sapwood.covering.batch.blocking import Grid, Way, ways_of
from sapwood.covering.batch.boxes import box_of
from sapwood.covering.batch.covers import covered, place
from sapwood.covering.batch.groups import ALONE, EVERYTHING, Member
from sapwood.covering.batch.pattern_covers import covered_patterns, name_frequencies, place_pattern
from sapwood.language.forms import decode_pattern, is_pattern_form
from sapwood.pipeline.spark.arrow_rows import rows_of, uncollected

if TYPE_CHECKING:
    import pyarrow as pa

PLACED: Final = "home STRING, slot INT, role INT, key STRING, form BINARY, subscriptions BIGINT"
COVERED: Final = "home STRING, key STRING, cover STRING, subscriptions BIGINT, is_last BOOLEAN"


@dataclass(frozen=True, slots=True)
class Cuts:
    """The cuts between groups of filters: found in a sample, and right for other filters, too.

    `grid` and `ways` are for record filters, `frequencies` are of names that tree patterns require.
    """

    grid: Grid
    ways: frozenset[Way]
    frequencies: Mapping[str, int]

    @classmethod
    def of(cls, sample: Sequence[bytes]) -> Cuts:
        """Cuts that suit filters with these normal forms."""
        boxes = [box_of(form) for form in sample if not is_pattern_form(form)]
        grid = Grid.of(boxes)
        patterns = (decode_pattern(form) for form in sample if is_pattern_form(form))
        return cls(grid, ways_of(boxes, grid), name_frequencies(patterns))


@dataclass(frozen=True, slots=True)
class PlaceFilters:
    """The function for `mapInArrow`: (home, key, form, subscriptions) in, `PLACED` out.

    `slots` is the number of groups for the record filters of a home, `pattern_slots` for its tree
    patterns; those of a home that is not named are one group. A row comes out for each group in
    which the filter may cover another, or its covers are searched.
    """

    slots: Mapping[str, int]
    pattern_slots: Mapping[str, int]
    cuts: Cuts

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Place all filters of one task."""
        import pyarrow as pa

        for batch in batches:
            homes, keys, forms = (column.to_pylist() for column in batch.columns[:3])
            rows: list[int] = []
            places: list[int] = []
            roles: list[int] = []
            with uncollected():
                for row, (home, key, form) in enumerate(zip(homes, keys, forms, strict=True)):
                    found = self.place(home, key, form)
                    rows += [row] * len(found)
                    places += found
                    roles += found.values()
            taken = batch.take(pa.array(rows, pa.int64()))
            home_column, *others = taken.columns
            placed = (home_column, pa.array(places, pa.int32()), pa.array(roles, pa.int32()))
            names = ["home", "slot", "role", "key", "form", "subscriptions"]
            yield pa.RecordBatch.from_arrays([*placed, *others], names=names)

    def place(self, home: str, key: str, form: bytes) -> dict[int, int]:
        """The groups that a filter belongs to, and its role in each."""
        if is_pattern_form(form):
            count = self.pattern_slots.get(home, 1)
            if count == 1:
                return {-1: EVERYTHING}
            placed = place_pattern(key, decode_pattern(form), count, self.cuts.frequencies)
            return {-1 - slot: role for slot, role in placed.items()}
        count = self.slots.get(home, 1)
        if count == 1:
            return {0: EVERYTHING}
        return place(key, box_of(form), self.cuts.grid, count, self.cuts.ways)


@dataclass(frozen=True, slots=True)
class FindCovers:
    """The function for `mapInArrow`: `PLACED`, sorted by slot and home, in, `COVERED` out.

    `subscriptions` have the filter that is covered. `is_last` is true if neither it nor its cover
    is searched for in any other group.
    """

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Find the covers in all groups of one task."""
        import pyarrow as pa

        for (home, slot), group in groupby(rows_of(batches), key=itemgetter(0, 1)):
            with uncollected():
                members, counts = list[Member](), dict[str, int]()
                for _, _, role, key, form, subscriptions in group:
                    members.append(Member(key, role, form))
                    counts[key] = subscriptions
                members.sort()  # by key, so that equal sets give equal covers
                alone = {member.key for member in members if member.role & ALONE}
                pairs = covered(members) if slot >= 0 else covered_patterns(members)
                keys, covers = zip(*pairs, strict=True) if pairs else ((), ())
                last = [key in alone and cover in alone for key, cover in pairs]
            columns = [
                pa.array([home] * len(pairs), pa.string()),
                pa.array(keys, pa.string()),
                pa.array(covers, pa.string()),
                pa.array([counts[key] for key in keys], pa.int64()),
                pa.array(last, pa.bool_()),
            ]
            names = ["home", "key", "cover", "subscriptions", "is_last"]
            yield pa.RecordBatch.from_arrays(columns, names=names)
