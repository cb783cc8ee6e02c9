"""The domain of an attribute: all values that it may hold, as one row of ranks.

In the order of the ranks (k distinct numbers and m distinct texts are mentioned by filters)::

    0                 the attribute is absent
    1, 3              false, true
    4 .. 4 + 2k       numbers: the gap below the first one mentioned, that number, the next gap ...
    6 + 2k .. end     texts, in the same way; end = 6 + 2k + 2m

Single values have odd ranks, gaps even ones; ranks 2 and 5 + 2k are not used. A constraint is a
sorted list of rank ranges that do not touch. Since every constant of every filter has a rank of
its own, comparing ranks is comparing values, exactly.

An end of a range is stored as a code and, where the end is at a constant, the place of that
constant in a table. The code gives the side of the constant on which the end lies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import IntEnum
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from sapwood.model.constraint import Constraint
from sapwood.model.numbers import Interval
from sapwood.model.strings import Strings, TextTest, successor

ABSENT_RANK: Final = 0
FALSE_RANK: Final = 1
TRUE_RANK: Final = 3
FIRST_NUMBER_RANK: Final = 4
"""The first rank of a number, whatever the domain."""

FIRST_TEXT_RANK: Final = FIRST_NUMBER_RANK + 2
"""The first rank of a text on a domain without numbers; two more for each number."""


class Low(IntEnum):
    """The begin of a range."""

    ABSENT = 0
    FALSE = 1
    TRUE = 2
    FIRST_NUMBER = 3
    AT_NUMBER = 4
    AFTER_NUMBER = 5
    FIRST_TEXT = 6
    AT_TEXT = 7


class High(IntEnum):
    """The end of a range, which is included."""

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


class RankRange(NamedTuple):
    """A rank range, in terms of values: a code and a constant for each end."""

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
"""From the begin of a range to the end of its type."""

_NEXT_OF: Final = MappingProxyType(
    {
        High.ABSENT: Low.FALSE,
        High.FALSE: Low.TRUE,
        High.TRUE: Low.FIRST_NUMBER,
        High.LAST_NUMBER: Low.FIRST_TEXT,
    }
)
"""From the end of a type to the begin of the next type."""

_AT_NUMBER_LOW: Final = Low.AT_NUMBER
_AT_NUMBER_HIGH: Final = High.AT_NUMBER
"""Looked up once: members of enumerations are slow to find, and every range needs both."""

_INFINITIES: Final = (float("-inf"), float("inf"))


def ranges(constraint: Constraint) -> list[RankRange]:
    """The ranges of a constraint without its `like` patterns, in domain order, none touching."""
    result: list[RankRange] = []
    for rank_range in _pieces(constraint):
        if result and _NEXT_OF.get(result[-1].high) == rank_range.low:
            result[-1] = RankRange(
                result[-1].low, result[-1].low_constant, rank_range.high, rank_range.high_constant
            )
        else:
            result.append(rank_range)
    return result


def _pieces(constraint: Constraint) -> Iterator[RankRange]:
    if constraint.absent:
        yield RankRange(Low.ABSENT, None, High.ABSENT, None)
    if False in constraint.booleans:
        yield RankRange(Low.FALSE, None, High.FALSE, None)
    if True in constraint.booleans:
        yield RankRange(Low.TRUE, None, High.TRUE, None)
    for interval in constraint.numbers:
        yield number_range(interval)
    for low, high in constraint.strings.ranges:
        yield text_range(low, high)


def number_range(interval: Interval) -> RankRange:
    """The range of an interval of numbers."""
    low, high = interval.low, interval.high
    if low == high:
        return RankRange(_AT_NUMBER_LOW, low, _AT_NUMBER_HIGH, low)
    low_code, low_constant = _AT_NUMBER_LOW, low
    if interval.low_open:
        low_code = Low.AFTER_NUMBER
    elif low == _INFINITIES[0]:
        return _from_bottom(interval)
    if interval.high_open:
        return RankRange(low_code, low_constant, High.BEFORE_NUMBER, high)
    if high == _INFINITIES[1]:
        return RankRange(low_code, low_constant, High.LAST_NUMBER, None)
    return RankRange(low_code, low_constant, _AT_NUMBER_HIGH, high)


def _from_bottom(interval: Interval) -> RankRange:
    high = interval.high
    if interval.high_open:
        return RankRange(Low.FIRST_NUMBER, None, High.BEFORE_NUMBER, high)
    if high == _INFINITIES[1]:
        return RankRange(Low.FIRST_NUMBER, None, High.LAST_NUMBER, None)
    return RankRange(Low.FIRST_NUMBER, None, High.AT_NUMBER, high)


def text_range(low: str, high: str | None) -> RankRange:
    """The range of a half-open range of texts."""
    if high is not None and high == successor(low):
        return RankRange(Low.AT_TEXT, low, High.AT_TEXT, low)
    low_code = Low.AT_TEXT if low else Low.FIRST_TEXT
    high_code = High.LAST_TEXT if high is None else High.BEFORE_TEXT
    return RankRange(low_code, low or None, high_code, high)


def constraint_of(
    found: Iterable[RankRange], checks: Iterable[tuple[TextTest, bool]]
) -> Constraint:
    """The constraint with these ranges and pattern checks (pattern, forbidden)."""
    absent, booleans = False, set[bool]()
    numbers: list[Interval] = []
    texts: list[tuple[str, str | None]] = []
    for rank_range in found:
        for part in _parts(rank_range):
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


def _parts(rank_range: RankRange) -> Iterator[RankRange]:
    """The range cut where one type ends and the next begins."""
    while _zone(rank_range.high) > _zone(rank_range.low):
        end = _LAST_OF[rank_range.low]
        yield RankRange(rank_range.low, rank_range.low_constant, end, None)
        rank_range = RankRange(_NEXT_OF[end], None, rank_range.high, rank_range.high_constant)
    yield rank_range


def _zone(end: Low | High) -> int:
    """The type of an end, as a code; the codes of both sides agree on that."""
    return min(end, Low.FIRST_NUMBER) if end < Low.FIRST_TEXT else Low.FIRST_TEXT


def _interval(rank_range: RankRange) -> Interval:
    low = _INFINITIES[0] if rank_range.low == Low.FIRST_NUMBER else rank_range.low_constant
    high = _INFINITIES[1] if rank_range.high == High.LAST_NUMBER else rank_range.high_constant
    assert isinstance(low, int | float), "a number has a number for its end"
    assert isinstance(high, int | float), "a number has a number for its end"
    return Interval(
        low, high, rank_range.low == Low.AFTER_NUMBER, rank_range.high == High.BEFORE_NUMBER
    )


def _range(rank_range: RankRange) -> tuple[str, str | None]:
    low = "" if rank_range.low_constant is None else rank_range.low_constant
    assert isinstance(low, str), "a text has a text for its end"
    if rank_range.high == High.AT_TEXT:
        assert isinstance(rank_range.high_constant, str), "a text has a text for its end"
        return low, successor(rank_range.high_constant)
    assert rank_range.high_constant is None or isinstance(rank_range.high_constant, str), (
        "or no end at all"
    )
    return low, rank_range.high_constant
