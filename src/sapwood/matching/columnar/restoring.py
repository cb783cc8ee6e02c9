"""From a segment back to a filter: the inverse of writing, ranking and building, for one slot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from sapwood.matching.columnar.columns import SEVERAL, Columns
from sapwood.matching.columnar.derived import Attribute, Derived
from sapwood.matching.columnar.domains import (
    FIRST_NUMBER_RANK,
    FIRST_TEXT_RANK,
    TRUE_RANK,
    Constant,
    High,
    Low,
    RankRange,
    constraint_of,
)
from sapwood.matching.columnar.like_checks import LikePredicates
from sapwood.matching.columnar.rows import FORBIDDEN
from sapwood.matching.columnar.segment import Segment, block
from sapwood.model.conjunction import Conjunction
from sapwood.model.filter import Filter
from sapwood.model.reduction import in_normal_order
from sapwood.model.strings import TextTest


def filter_of(
    segment: Segment, slot: int, names: Sequence[Attribute], predicates: LikePredicates
) -> Filter:
    """The filter whose conjunctions the segment holds in `slot`.

    `names` are the attributes by number. The filter is equal to the one that was added unless that
    had an integer constant beyond 64 bits.
    """
    conjunctions = (
        _conjunction(segment, conjunction, names, predicates)
        for conjunction in segment.found(slot).tolist()
    )
    return Filter(tuple(in_normal_order(conjunctions)))


def _conjunction(
    segment: Segment, conjunction: int, names: Sequence[Attribute], predicates: LikePredicates
) -> Conjunction:
    columns = segment.columns
    checks = _checks(segment, conjunction, predicates)
    constraints = []
    for attribute, ranks in zip(*block(columns, conjunction), strict=True):
        name = names[attribute]
        if isinstance(name, Derived):  # the check that it is derived from restores it
            continue
        mine = [(pattern, forbidden) for on, pattern, forbidden in checks if on == name]
        constraints.append((name, constraint_of(_ranges(columns, ranks, attribute), mine)))
    return Conjunction(tuple(sorted(constraints, key=lambda named: named[0])))


def _checks(
    segment: Segment, conjunction: int, predicates: LikePredicates
) -> list[tuple[str, TextTest, bool]]:
    annex = segment.annex
    flags = annex.check_flags
    first = int(np.searchsorted(annex.check_owner, conjunction))
    last = int(np.searchsorted(annex.check_owner, conjunction, side="right"))
    return [
        (*predicates.predicate(int(annex.check_probe[at])), bool(flags[at] & FORBIDDEN))
        for at in range(first, last)
    ]


def _ranges(columns: Columns, own: tuple[int, int], attribute: int) -> Iterator[RankRange]:
    """The rank ranges of a constraint: from the codes of its ends to values."""
    low, width = own
    domain = _domain(columns, attribute)
    if width != SEVERAL:
        yield RankRange(*_low_end(columns, domain, low), *_high_end(columns, domain, low + width))
        return
    first, last = columns.several_start[low : low + 2].tolist()
    pairs = columns.several[2 * first : 2 * last].tolist()
    for rank, width in zip(pairs[::2], pairs[1::2], strict=True):
        yield RankRange(*_low_end(columns, domain, rank), *_high_end(columns, domain, rank + width))


class _Domain(NamedTuple):
    """A domain: attribute, place of its texts, first rank of a text, last rank."""

    attribute: int
    text_start: int
    text_rank: int
    last_rank: int


def _domain(columns: Columns, attribute: int) -> _Domain:
    numbers = sum(
        int(start[attribute + 1]) - int(start[attribute])
        for start in (columns.number_start, columns.single_start)
    )
    first, last = columns.text_start[attribute : attribute + 2].tolist()
    text_rank = FIRST_TEXT_RANK + 2 * numbers
    return _Domain(attribute, first, text_rank, text_rank + 2 * (last - first))


def _low_end(columns: Columns, domain: _Domain, rank: int) -> tuple[Low, Constant]:
    if rank < FIRST_NUMBER_RANK:
        # The codes of absence and false are their ranks.
        return (Low.TRUE if rank == TRUE_RANK else Low(rank)), None
    if rank == FIRST_NUMBER_RANK:
        return Low.FIRST_NUMBER, None
    if rank == domain.text_rank:
        return Low.FIRST_TEXT, None
    # An end in a gap lies after its constant: hence the step of one.
    if rank > domain.text_rank:
        return Low.AT_TEXT, _text(columns, domain, (rank - 1 - domain.text_rank) // 2)
    code = Low.AT_NUMBER if rank % 2 == 1 else Low.AFTER_NUMBER
    return code, _number(columns, domain.attribute, (rank - 1 - FIRST_NUMBER_RANK) // 2)


def _high_end(columns: Columns, domain: _Domain, rank: int) -> tuple[High, Constant]:
    if rank < FIRST_NUMBER_RANK:
        return (High.TRUE if rank == TRUE_RANK else High(rank)), None
    if rank == domain.text_rank - 2:
        return High.LAST_NUMBER, None
    if rank == domain.last_rank:
        return High.LAST_TEXT, None
    if rank >= domain.text_rank:
        code = High.AT_TEXT if rank % 2 == 1 else High.BEFORE_TEXT
        return code, _text(columns, domain, (rank - domain.text_rank) // 2)
    code = High.AT_NUMBER if rank % 2 == 1 else High.BEFORE_NUMBER
    return code, _number(columns, domain.attribute, (rank - FIRST_NUMBER_RANK) // 2)


def _number(columns: Columns, attribute: int, place: int) -> Constant:
    single, end = columns.single_start[attribute : attribute + 2].tolist()
    if single < end:
        return float(columns.singles[single + place])
    at = int(columns.number_start[attribute]) + place
    nearest = float(columns.numbers[at])
    remainder = int(columns.remainders[at]) if len(columns.remainders) else 0
    return int(nearest) + remainder if remainder else nearest


def _text(columns: Columns, domain: _Domain, place: int) -> str:
    ref = int(columns.text_refs[domain.text_start + place])
    encoded = columns.text_bytes[columns.text_offsets[ref] : columns.text_offsets[ref + 1]]
    return encoded.tobytes().decode("utf-8", "surrogatepass")
