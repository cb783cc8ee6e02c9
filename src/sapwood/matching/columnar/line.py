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

from collections.abc import Iterator
from enum import IntEnum
from typing import Final, NamedTuple, TypeAlias

from sapwood.model.constraint import Constraint
from sapwood.model.numbers import Interval, Number
from sapwood.model.strings import successor

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


#: a run that ends with the first touches a run that begins with the second
_TOUCHING: Final = frozenset(
    (
        (High.ABSENT, Low.FALSE),
        (High.FALSE, Low.TRUE),
        (High.TRUE, Low.FIRST_NUMBER),
        (High.LAST_NUMBER, Low.FIRST_TEXT),
    )
)
_INFINITIES: Final = (float("-inf"), float("inf"))


def runs(constraint: Constraint) -> list[Run]:
    """The runs of a constraint without its `like` patterns, in line order, none touching."""
    result: list[Run] = []
    for run in _pieces(constraint):
        if result and (result[-1].high, run.low) in _TOUCHING:
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
        yield _number_run(interval)
    for low, high in constraint.strings.ranges:
        yield _text_run(low, high)


def _number_run(interval: Interval) -> Run:
    low, high = interval.low, interval.high
    if low == high:
        return Run(Low.AT_NUMBER, low, High.AT_NUMBER, high)
    low_code, low_constant = _low_end(low, is_open=interval.low_open)
    high_code, high_constant = _high_end(high, is_open=interval.high_open)
    return Run(low_code, low_constant, high_code, high_constant)


def _low_end(low: Number, *, is_open: bool) -> tuple[Low, Constant]:
    if is_open:
        return Low.AFTER_NUMBER, low
    return (Low.FIRST_NUMBER, None) if low == _INFINITIES[0] else (Low.AT_NUMBER, low)


def _high_end(high: Number, *, is_open: bool) -> tuple[High, Constant]:
    if is_open:
        return High.BEFORE_NUMBER, high
    return (High.LAST_NUMBER, None) if high == _INFINITIES[1] else (High.AT_NUMBER, high)


def _text_run(low: str, high: str | None) -> Run:
    if high is not None and high == successor(low):
        return Run(Low.AT_TEXT, low, High.AT_TEXT, low)
    low_code = Low.AT_TEXT if low else Low.FIRST_TEXT
    high_code = High.LAST_TEXT if high is None else High.BEFORE_TEXT
    return Run(low_code, low or None, high_code, high)
