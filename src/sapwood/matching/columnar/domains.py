"""The line of an attribute: all it may hold, as one row of cells.

In the order of the cells (k distinct numbers and m distinct texts are mentioned by filters)::

    0                 the attribute is absent
    1, 3              false, true
    4 .. 4 + 2k       numbers: the gap below the first one mentioned, that number, the next gap ...
    6 + 2k .. end     texts, in the same way; end = 6 + 2k + 2m

Single values have odd cells, gaps even ones; cells 2 and 5 + 2k are not used. A constraint is a
sorted list of runs of cells that do not touch. Since every constant of every filter has a cell of
its own, comparing cells is comparing values, exactly.

The ends of a run are kept as a code and, where the end is at a constant, the place of that constant
in a table. The code says on which side of the constant the end lies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import IntEnum
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from sapwood.model.constraint import Constraint
from sapwood.model.like import Pattern
from sapwood.model.numbers import Interval
from sapwood.model.strings import Strings, successor

ABSENT_CELL: Final = 0
FALSE_CELL: Final = 1
TRUE_CELL: Final = 3
NUMBERS_CELL: Final = 4
"""The first cell of a number, whatever the line."""

FIRST_TEXT_CELL: Final = NUMBERS_CELL + 2
"""The first cell of a text on a line without numbers; two more for each number."""


class Low(IntEnum):
    """Where a run begins."""

    ABSENT = 0
    FALSE = 1
    TRUE = 2
    FIRST_NUMBER = 3
    AT_NUMBER = 4
    AFTER_NUMBER = 5
    FIRST_TEXT = 6
    AT_TEXT = 7


class High(IntEnum):
    """Where a run ends, the end included."""

    ABSENT = 0
    FALSE = 1
    TRUE = 2
    LAST_NUMBER = 3
    AT_NUMBER = 4
    BEFORE_NUMBER = 5
    LAST_TEXT = 6
    AT_TEXT = 7
    BEFORE_TEXT = 8


Constant: TypeAlias = int | float | str | None
"""The constant an end is at; `None` for an end that is at none."""


class Run(NamedTuple):
    """A run of cells, in terms of values: a code and a constant for each end."""

    low: Low
    low_constant: Constant
    high: High
    high_constant: Constant


_LAST_OF: Final = MappingProxyType(
    {
        Low.ABSENT: High.ABSENT,
        Low.FALSE: High.FALSE,
        Low.TRUE: High.TRUE,
        **dict.fromkeys((Low.FIRST_NUMBER, Low.AT_NUMBER, Low.AFTER_NUMBER), High.LAST_NUMBER),
        **dict.fromkeys((Low.FIRST_TEXT, Low.AT_TEXT), High.LAST_TEXT),
    }
)
"""Where the type ends in which a run begins."""

_NEXT_OF: Final = MappingProxyType(
    {
        High.ABSENT: Low.FALSE,
        High.FALSE: Low.TRUE,
        High.TRUE: Low.FIRST_NUMBER,
        High.LAST_NUMBER: Low.FIRST_TEXT,
    }
)
"""Where the next type begins."""

_AT_NUMBER_LOW: Final = Low.AT_NUMBER
_AT_NUMBER_HIGH: Final = High.AT_NUMBER
"""Looked up once: members of enumerations are slow to find, and every range needs both."""

_INFINITIES: Final = (float("-inf"), float("inf"))


def runs(constraint: Constraint) -> list[Run]:
    """The runs of a constraint without its `like` patterns, in line order, none touching."""
    result: list[Run] = []
    for run in _pieces(constraint):
        if result and _NEXT_OF.get(result[-1].high) == run.low:
            result[-1] = Run(result[-1].low, result[-1].low_constant, run.high, run.high_constant)
        else:
            result.append(run)
    return result


def _pieces(constraint: Constraint) -> Iterator[Run]:
    if constraint.absent:
        yield Run(Low.ABSENT, None, High.ABSENT, None)
    if False in constraint.booleans:
        yield Run(Low.FALSE, None, High.FALSE, None)
    if True in constraint.booleans:
        yield Run(Low.TRUE, None, High.TRUE, None)
    for interval in constraint.numbers:
        yield number_run(interval)
    for low, high in constraint.strings.ranges:
        yield text_run(low, high)


def number_run(interval: Interval) -> Run:
    """The run of an interval of numbers."""
    low, high = interval.low, interval.high
    if low == high:
        return Run(_AT_NUMBER_LOW, low, _AT_NUMBER_HIGH, low)
    low_code, low_constant = _AT_NUMBER_LOW, low
    if interval.low_open:
        low_code = Low.AFTER_NUMBER
    elif low == _INFINITIES[0]:
        return _from_bottom(interval)
    if interval.high_open:
        return Run(low_code, low_constant, High.BEFORE_NUMBER, high)
    if high == _INFINITIES[1]:
        return Run(low_code, low_constant, High.LAST_NUMBER, None)
    return Run(low_code, low_constant, _AT_NUMBER_HIGH, high)


def _from_bottom(interval: Interval) -> Run:
    high = interval.high
    if interval.high_open:
        return Run(Low.FIRST_NUMBER, None, High.BEFORE_NUMBER, high)
    if high == _INFINITIES[1]:
        return Run(Low.FIRST_NUMBER, None, High.LAST_NUMBER, None)
    return Run(Low.FIRST_NUMBER, None, High.AT_NUMBER, high)


def text_run(low: str, high: str | None) -> Run:
    """The run of a half-open range of texts."""
    if high is not None and high == successor(low):
        return Run(Low.AT_TEXT, low, High.AT_TEXT, low)
    low_code = Low.AT_TEXT if low else Low.FIRST_TEXT
    high_code = High.LAST_TEXT if high is None else High.BEFORE_TEXT
    return Run(low_code, low or None, high_code, high)


def constraint_of(found: Iterable[Run], checks: Iterable[tuple[Pattern, bool]]) -> Constraint:
    """The constraint whose runs and pattern checks (pattern, forbidden) these are."""
    absent, booleans = False, set[bool]()
    numbers: list[Interval] = []
    texts: list[tuple[str, str | None]] = []
    for run in found:
        for part in _parts(run):
            absent |= part.low == Low.ABSENT
            if part.low in (Low.FALSE, Low.TRUE):
                booleans.add(part.low == Low.TRUE)
            elif Low.FIRST_NUMBER <= part.low <= Low.AFTER_NUMBER:
                numbers.append(_interval(part))
            elif part.low >= Low.FIRST_TEXT:
                texts.append(_range(part))
    patterns = [*checks]
    required = tuple(pattern for pattern, forbidden in patterns if not forbidden)
    forbidden = tuple(pattern for pattern, forbidden in patterns if forbidden)
    strings = Strings(tuple(texts), required, forbidden)
    return Constraint(absent, frozenset(booleans), tuple(numbers), strings)


def _parts(run: Run) -> Iterator[Run]:
    """The run cut where one type ends and the next begins."""
    while _zone(run.high) > _zone(run.low):
        end = _LAST_OF[run.low]
        yield Run(run.low, run.low_constant, end, None)
        run = Run(_NEXT_OF[end], None, run.high, run.high_constant)
    yield run


def _zone(end: Low | High) -> int:
    """Which type an end is of; the codes of both sides agree on that."""
    return min(end, Low.FIRST_NUMBER) if end < Low.FIRST_TEXT else Low.FIRST_TEXT


def _interval(run: Run) -> Interval:
    low = _INFINITIES[0] if run.low == Low.FIRST_NUMBER else run.low_constant
    high = _INFINITIES[1] if run.high == High.LAST_NUMBER else run.high_constant
    assert isinstance(low, int | float), "a number has a number for its end"
    assert isinstance(high, int | float), "a number has a number for its end"
    return Interval(low, high, run.low == Low.AFTER_NUMBER, run.high == High.BEFORE_NUMBER)


def _range(run: Run) -> tuple[str, str | None]:
    low = "" if run.low_constant is None else run.low_constant
    assert isinstance(low, str), "a text has a text for its end"
    if run.high == High.AT_TEXT:
        assert isinstance(run.high_constant, str), "a text has a text for its end"
        return low, successor(run.high_constant)
    assert run.high_constant is None or isinstance(run.high_constant, str), "or no end at all"
    return low, run.high_constant
