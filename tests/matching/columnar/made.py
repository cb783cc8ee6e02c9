"""Rows and segments made of filter texts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np

from sapwood import parse_filter
from sapwood.matching.columnar import grids
from sapwood.matching.columnar.batch import SegmentMatches, encoded, name_table
from sapwood.matching.columnar.build import BuildingKernels, build
from sapwood.matching.columnar.columns import U32, U64
from sapwood.matching.columnar.derived import Attribute
from sapwood.matching.columnar.like_checks import LikePredicates
from sapwood.matching.columnar.literals import Patterns
from sapwood.matching.columnar.rows import Rows, RowWriter
from sapwood.matching.columnar.segment import Segment
from sapwood.matching.protocol import ALL
from sapwood.model.conjunction import Conjunction
from sapwood.model.filter import Filter
from sapwood.model.publication import Record
from tests.matching.columnar import plain_kernels as plain

ALIKE = [
    f"a = {at % 7} and b between {at % 5} and {at % 5 + 2} and c in (1, {at})" for at in range(60)
]
DIFFERENT = [*ALIKE, "a = 1", "a = 1 or b = 2", "a = 3 and b like '%x%'", "true"]
"""Filters whose blocks have one size, and filters whose blocks have several."""


class Made(NamedTuple):
    """Rows, and the numbers they were written with."""

    rows: Rows
    attributes: dict[Attribute, int]
    predicates: LikePredicates
    conjunctions: list[Conjunction]

    def segment(self, kernels: BuildingKernels = plain) -> Segment:
        return build(self.rows, len(self.attributes), kernels, self.patterns())

    def patterns(self) -> Patterns:
        """The patterns of the checks."""
        return Patterns(self.predicates.known(), self.attributes)

    def found(
        self,
        kernels: ModuleType,
        segment: Segment,
        records: Sequence[Record],
        limit: int = ALL,
        *,
        max_matches: int = ALL,
        join_threshold: int = ALL,
    ) -> SegmentMatches:
        """The matches that a kernel finds in a segment of these rows."""
        scratch = self.scratch()
        told = kernels.match_batch(
            segment.buffer,
            segment.marks,
            self.names(),
            encoded(records),
            scratch,
            limit,
            max_matches,
            join_threshold,
        )
        assert not scratch[: len(scratch) // 2].any()
        return SegmentMatches.of(told, len(records))

    def names(self) -> U64:
        """The names as kernels take them."""
        return name_table(self.attributes)

    def scratch(self) -> U32:
        """The memory that kernels write into; guesses at names are none of theirs."""
        count = max(1, len(self.attributes))
        return np.repeat(np.array([0, 3], np.uint32), count)


def made(filters: Sequence[Filter | str]) -> Made:
    """The rows of filters in the slots 0, 1, 2, ..."""
    parsed = [parse_filter(f) if isinstance(f, str) else f for f in filters]
    attributes: dict[Attribute, int] = {}
    predicates = LikePredicates()
    writer = RowWriter(attributes, predicates)
    for slot, wanted in enumerate(parsed):
        writer.add(slot, wanted)
    conjunctions = [c for wanted in parsed for c in wanted.conjunctions]
    return Made(writer.rows(), attributes, predicates, conjunctions)


def measured(
    kernels: ModuleType, whole: Made, segment: Segment, asked: Sequence[Record]
) -> tuple[int, int]:
    """Entries that kernels look up for records, and bytes that they read."""
    given = (segment.buffer, whole.names(), encoded(asked))
    return (
        kernels.looked_up(*given, whole.scratch()),
        kernels.touched(*given, whole.scratch()),
    )


@contextmanager
def grids_everywhere(bucket_members: int = 2) -> Iterator[None]:
    """Costs at which every pair of constraints is worth a grid."""
    with (
        patch.object(grids, "_LOOKUP_COST", -1.0),
        patch.object(grids, "_POINT_LOOKUP_COST", (-1.0, -1.0)),
        patch.object(grids, "_MEMBERS_MIN", 1),
        patch.object(grids, "_BUCKET_MEMBERS", bucket_members),
    ):
        yield


def told(found: SegmentMatches, segment: Segment) -> list[tuple[list[int], list[int]]]:
    """Slots and unverified conjunctions of each record, sorted; repetitions stay."""
    return [
        (
            sorted(found.slots[found.offsets[at] : found.offsets[at + 1]].tolist()),
            sorted(
                found.unverified[
                    found.unverified_offsets[at] : found.unverified_offsets[at + 1]
                ].tolist()
            ),
        )
        for at in range(len(found.offsets) - 1)
    ]


def shown(rows: Rows) -> list[tuple[int, object, object]]:
    """Rows with constants in place, conjunctions and constraints in a defined order."""
    result = []
    for number in range(len(rows.slot)):
        first, last = rows.constraint_start[number : number + 2].tolist()
        constraints = sorted(_constraint(rows, at) for at in range(first, last))
        mine = np.flatnonzero(rows.checks.owner == number)
        checks = sorted(
            zip(
                rows.checks.predicate[mine].tolist(),
                rows.checks.flags[mine].tolist(),
                strict=True,
            )
        )
        result.append((int(rows.slot[number]), constraints, checks))
    return sorted(result)


def _constraint(rows: Rows, at: int) -> tuple[int, list[Any]]:
    first, last = rows.range_start[at : at + 2].tolist()
    ranges = [
        (
            int(rows.low[rank_range]),
            _constant(rows, int(rows.low[rank_range]), int(rows.low_at[rank_range]), (4, 5), (7,)),
            int(rows.high[rank_range]),
            _constant(
                rows, int(rows.high[rank_range]), int(rows.high_at[rank_range]), (4, 5), (7, 8)
            ),
        )
        for rank_range in range(first, last)
    ]
    return int(rows.attribute[at]), ranges


def _constant(
    rows: Rows, code: int, place: int, numbers: tuple[int, ...], texts: tuple[int, ...]
) -> tuple[float, int] | bytes | None:
    if code in numbers:
        return float(rows.numbers[place]), int(rows.remainders[place])
    return rows.texts[place] if code in texts else None
