"""Segments made of rows, with access constraints that suit a sample of records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sapwood.matching.columnar.build import build_ranked
from sapwood.matching.columnar.literals import LikePredicate, Patterns
from sapwood.matching.columnar.ranking import RankedRows
from sapwood.matching.columnar.sampling import Sample
from sapwood.matching.columnar.searching import Searcher
from sapwood.matching.columnar.segment import Segment
from sapwood.model.publication import Record

SAMPLED_MIN: Final = 64
"""Records in a sample that is large enough to judge the statistics of a segment."""

_STALE_FACTOR: Final = 2.0
_STALE_CANDIDATES: Final = 64.0
"""The statistics of a segment are stale when a record leads to `_STALE_FACTOR` times as many
entries as when it was built, and to `_STALE_CANDIDATES` more."""


def segment_of(
    rows: RankedRows,
    searcher: Searcher,
    predicates: Sequence[LikePredicate],
    sample: tuple[Record, ...],
) -> Segment | None:
    """The segment of `rows`, `None` if there are none.

    Its access constraints suit the records of the sample.
    """
    if not len(rows.outline.slot):
        return None
    seen = Sample(sample, searcher.numbers) if sample else None
    return build_ranked(rows, searcher.kernels, Patterns(predicates, searcher.numbers), seen)


def mean_candidates(
    segment: Segment, searcher: Searcher, sample: tuple[Record, ...]
) -> float | None:
    """The mean number of entries that a record of the sample leads to; `None` without a sample."""
    return searcher.looked_up(segment, sample) / len(sample) if sample else None


def has_stale_statistics(
    segment: Segment, before: float | None, searcher: Searcher, sample: tuple[Record, ...]
) -> bool:
    """True if records lead to many more entries of a segment than `before`, when it was built.

    Statistics are stale, too, where no record had been matched by then.
    """
    if len(sample) < SAMPLED_MIN:
        return False
    now = mean_candidates(segment, searcher, sample)
    assert now is not None, "there are records"
    return before is None or now > _STALE_FACTOR * before + _STALE_CANDIDATES
