"""From ranks back to values: what a segment says, for comparison with what it was made of."""

from __future__ import annotations

from typing import Final

import numpy as np

from sapwood.matching.columnar.domains import FIRST_NUMBER_RANK, TRUE_RANK, High, Low
from sapwood.matching.columnar.ranking import Domains, Ranked, RankedRows
from sapwood.matching.columnar.rows import Bytes, Ints, Rows
from sapwood.matching.columnar.segment import Segment

_AT_LOW: Final = (frozenset({Low.AT_NUMBER, Low.AFTER_NUMBER}), frozenset({Low.AT_TEXT}))
_AT_HIGH: Final = (
    frozenset({High.AT_NUMBER, High.BEFORE_NUMBER}),
    frozenset({High.AT_TEXT, High.BEFORE_TEXT}),
)
"""The codes of ends at a number, and at a text."""


def rows_of(segment: Segment) -> Rows:
    """The conjunctions of a segment that were not removed, as values."""
    return unranked(segment.ranked_rows())


def unranked(ranked_rows: RankedRows) -> Rows:
    """Ranked rows as values."""
    outline, ranked = ranked_rows
    domains = ranked.domains
    return Rows(
        outline.slot,
        outline.constraint_start,
        outline.attribute,
        outline.range_start,
        *unrank(ranked, np.repeat(outline.attribute, np.diff(outline.range_start))),
        domains.numbers,
        domains.remainders,
        domains.texts,
        outline.checks,
    )


def unrank(ranked: Ranked, on: Ints) -> tuple[Bytes, Ints, Bytes, Ints]:
    """Runs on the attributes `on` as `Rows` keeps them: low, low_at, high, high_at.

    Places refer to `domains.numbers` and `domains.texts`. The inverse of `rank`.
    """
    domains = ranked.domains
    text_rank, last = domains.text_ranks()[on], domains.last_ranks()[on]
    low = ranked.low.astype(np.int64)
    low_code = np.select(
        (
            low < FIRST_NUMBER_RANK,
            low == FIRST_NUMBER_RANK,
            low == text_rank,
            low > text_rank,
            low % 2 == 1,
        ),
        (
            np.where(low == TRUE_RANK, Low.TRUE, low),
            Low.FIRST_NUMBER,
            Low.FIRST_TEXT,
            Low.AT_TEXT,
            Low.AT_NUMBER,
        ),
        Low.AFTER_NUMBER,
    ).astype(np.uint8)
    high = ranked.high.astype(np.int64)
    in_texts = high >= text_rank
    high_code = np.select(
        (high < FIRST_NUMBER_RANK, high == text_rank - 2, high == last, high % 2 == 1),
        (
            np.where(high == TRUE_RANK, High.TRUE, high),
            High.LAST_NUMBER,
            High.LAST_TEXT,
            np.where(in_texts, High.AT_TEXT, High.AT_NUMBER),
        ),
        np.where(in_texts, High.BEFORE_TEXT, High.BEFORE_NUMBER),
    ).astype(np.uint8)
    # Absence and false have the code that is their rank.
    # A low end in a gap lies after its constant, a high end before it: hence the step of one.
    low_at = _places(domains, on, _AT_LOW, low_code, low - 1)
    high_at = _places(domains, on, _AT_HIGH, high_code, high)
    return low_code, low_at, high_code, high_at


def _places(
    domains: Domains, on: Ints, at: tuple[frozenset[int], frozenset[int]], codes: Bytes, ranks: Ints
) -> Ints:
    """The places of ends' constants in the tables; 0 for ends that are at no constant."""
    places = np.zeros(len(codes), np.int64)
    number = np.isin(codes, list(at[0]))
    places[number] = domains.number_start[on[number]] + (ranks[number] - FIRST_NUMBER_RANK) // 2
    text = np.isin(codes, list(at[1]))
    order = (ranks[text] - domains.text_ranks()[on[text]]) // 2
    places[text] = domains.text_refs[domains.text_start[on[text]] + order]
    return places
