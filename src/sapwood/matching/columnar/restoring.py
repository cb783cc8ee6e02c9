"""From a segment back to a filter: the inverse of writing, ranking and building, for one slot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sapwood.matching.columnar.columns import SEVERAL, Columns
from sapwood.matching.columnar.line import Constant, High, Low, Run, constraint_of
from sapwood.matching.columnar.ranking import Lines, Ranked, unrank
from sapwood.matching.columnar.residual import Probes
from sapwood.matching.columnar.segment import Segment, block, line_starts
from sapwood.model.conjunction import Conjunction
from sapwood.model.filter import Filter
from sapwood.model.like import Pattern
from sapwood.model.reduction import in_normal_order


def filter_of(segment: Segment, slot: int, names: Sequence[str], probes: Probes) -> Filter:
    """The filter of which the segment holds the conjunctions in `slot`.

    `names` are those of the attributes by number. Equal to the filter that was added as long as
    that had no integer constant beyond 64 bits.
    """
    conjunctions = (
        _conjunction(segment, conjunction, names, probes)
        for conjunction in segment.found(slot).tolist()
    )
    return Filter(tuple(in_normal_order(conjunctions)))


def _conjunction(
    segment: Segment, conjunction: int, names: Sequence[str], probes: Probes
) -> Conjunction:
    columns = segment.columns
    checks = _checks(segment, conjunction, probes)
    constraints = []
    for attribute, cells in zip(*block(columns, conjunction), strict=True):
        name = names[attribute]
        mine = [(pattern, forbidden) for on, pattern, forbidden in checks if on == name]
        constraints.append((name, constraint_of(_runs(columns, cells, attribute), mine)))
    return Conjunction(tuple(sorted(constraints, key=lambda named: named[0])))


def _checks(segment: Segment, conjunction: int, probes: Probes) -> list[tuple[str, Pattern, bool]]:
    annex = segment.annex
    first = int(np.searchsorted(annex.check_owner, conjunction))
    last = int(np.searchsorted(annex.check_owner, conjunction, side="right"))
    return [
        (*probes.probe(int(annex.check_probe[at])), bool(annex.check_forbidden[at]))
        for at in range(first, last)
    ]


def _runs(columns: Columns, own: tuple[int, int], attribute: int) -> Iterator[Run]:
    low, span = own
    cells = np.array([[low, span]], np.uint32)
    if span == SEVERAL:
        first, last = columns.several_start[low : low + 2].tolist()
        cells = columns.several[2 * first : 2 * last].reshape(-1, 2)
    # Only starts are read of the lines.
    lines = Lines(
        line_starts(columns),
        columns.numbers[:0],
        columns.remainders[:0],
        columns.text_start.astype(np.int64),
        columns.text_refs,
        (),
    )
    ranked = Ranked(lines, cells[:, 0], cells[:, 0] + cells[:, 1])
    ends = unrank(ranked, np.full(len(cells), attribute))
    origin = int(lines.number_start[attribute])
    for low_code, low_at, high_code, high_at in zip(*(end.tolist() for end in ends), strict=True):
        low_constant: Constant = None
        if low_code == Low.AT_TEXT:
            low_constant = _text(columns, low_at)
        elif low_code in (Low.AT_NUMBER, Low.AFTER_NUMBER):
            low_constant = _number(columns, attribute, low_at - origin)
        high_constant: Constant = None
        if high_code >= High.AT_TEXT:
            high_constant = _text(columns, high_at)
        elif high_code in (High.AT_NUMBER, High.BEFORE_NUMBER):
            high_constant = _number(columns, attribute, high_at - origin)
        yield Run(Low(low_code), low_constant, High(high_code), high_constant)


def _number(columns: Columns, attribute: int, rank: int) -> Constant:
    single, end = columns.single_start[attribute : attribute + 2].tolist()
    if single < end:
        return float(columns.singles[single + rank])
    at = int(columns.number_start[attribute]) + rank
    nearest = float(columns.numbers[at])
    remainder = int(columns.remainders[at]) if len(columns.remainders) else 0
    return int(nearest) + remainder if remainder else nearest


def _text(columns: Columns, ref: int) -> str:
    encoded = columns.text_bytes[columns.text_offsets[ref] : columns.text_offsets[ref + 1]]
    return encoded.tobytes().decode("utf-8", "surrogatepass")
