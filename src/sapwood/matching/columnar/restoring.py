"""From a segment back to a filter: the inverse of writing, ranking and building, for one slot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from sapwood.matching.columnar.columns import SEVERAL, Columns
from sapwood.matching.columnar.domains import (
    FIRST_TEXT_CELL,
    NUMBERS_CELL,
    TRUE_CELL,
    Constant,
    High,
    Low,
    Run,
    constraint_of,
)
from sapwood.matching.columnar.like_checks import Probes
from sapwood.matching.columnar.segment import Segment, block
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
    """The runs of a constraint: `ranking.unrank` for a few cells, without making arrays of them."""
    low, span = own
    line = _line(columns, attribute)
    if span != SEVERAL:
        yield Run(*_low_end(columns, line, low), *_high_end(columns, line, low + span))
        return
    first, last = columns.several_start[low : low + 2].tolist()
    pairs = columns.several[2 * first : 2 * last].tolist()
    for cell, width in zip(pairs[::2], pairs[1::2], strict=True):
        yield Run(*_low_end(columns, line, cell), *_high_end(columns, line, cell + width))


class _Line(NamedTuple):
    """A line: its attribute, where its texts begin, its first cell of a text and its last cell."""

    attribute: int
    text_start: int
    text_cell: int
    last_cell: int


def _line(columns: Columns, attribute: int) -> _Line:
    numbers = sum(
        int(start[attribute + 1]) - int(start[attribute])
        for start in (columns.number_start, columns.single_start)
    )
    first, last = columns.text_start[attribute : attribute + 2].tolist()
    text_cell = FIRST_TEXT_CELL + 2 * numbers
    return _Line(attribute, first, text_cell, text_cell + 2 * (last - first))


def _low_end(columns: Columns, line: _Line, cell: int) -> tuple[Low, Constant]:
    if cell < NUMBERS_CELL:
        # Absence and false have the code that is their cell.
        return (Low.TRUE if cell == TRUE_CELL else Low(cell)), None
    if cell == NUMBERS_CELL:
        return Low.FIRST_NUMBER, None
    if cell == line.text_cell:
        return Low.FIRST_TEXT, None
    # An end in a gap lies after its constant: hence the step of one.
    if cell > line.text_cell:
        return Low.AT_TEXT, _text(columns, line, (cell - 1 - line.text_cell) // 2)
    code = Low.AT_NUMBER if cell % 2 == 1 else Low.AFTER_NUMBER
    return code, _number(columns, line.attribute, (cell - 1 - NUMBERS_CELL) // 2)


def _high_end(columns: Columns, line: _Line, cell: int) -> tuple[High, Constant]:
    if cell < NUMBERS_CELL:
        return (High.TRUE if cell == TRUE_CELL else High(cell)), None
    if cell == line.text_cell - 2:
        return High.LAST_NUMBER, None
    if cell == line.last_cell:
        return High.LAST_TEXT, None
    if cell >= line.text_cell:
        code = High.AT_TEXT if cell % 2 == 1 else High.BEFORE_TEXT
        return code, _text(columns, line, (cell - line.text_cell) // 2)
    code = High.AT_NUMBER if cell % 2 == 1 else High.BEFORE_NUMBER
    return code, _number(columns, line.attribute, (cell - NUMBERS_CELL) // 2)


def _number(columns: Columns, attribute: int, rank: int) -> Constant:
    single, end = columns.single_start[attribute : attribute + 2].tolist()
    if single < end:
        return float(columns.singles[single + rank])
    at = int(columns.number_start[attribute]) + rank
    nearest = float(columns.numbers[at])
    remainder = int(columns.remainders[at]) if len(columns.remainders) else 0
    return int(nearest) + remainder if remainder else nearest


def _text(columns: Columns, line: _Line, rank: int) -> str:
    ref = int(columns.text_refs[line.text_start + rank])
    encoded = columns.text_bytes[columns.text_offsets[ref] : columns.text_offsets[ref + 1]]
    return encoded.tobytes().decode("utf-8", "surrogatepass")
