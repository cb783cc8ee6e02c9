"""Readings of texts: in lower case, as a whole number, as a point in time.

A *reading* is a function from texts to other values that not every text has to have one of, and the
set of those that are accepted. Like a general `like` pattern it narrows a set of texts, is tried on
each text, and is compared with others by rules that are sound: two readings by the same function
are compared by their sets, which is complete but for patterns in them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from sapwood.limits import INTEGER_MAX, INTEGER_MIN
from sapwood.model import numbers as number_sets
from sapwood.model.numbers import ALL_NUMBERS, Numbers

if TYPE_CHECKING:
    from sapwood.model.strings import Strings

_INTEGER: Final = re.compile(r"[+-]?0*+([0-9]{0,19})")
_TIMESTAMP: Final = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9}))?"
    r"(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))"
)
_DAYS: Final = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_DAY_S: Final = 24 * 60 * 60


def integer_of(text: str) -> int | None:
    """The integer of 64 bits that a text spells: digits, perhaps a sign; `None` for another."""
    found = _INTEGER.fullmatch(text)
    if found is None or not text[-1:].isdigit():
        return None
    value = int(found[1] or "0")
    if text[0] == "-":
        value = -value
    return value if INTEGER_MIN <= value <= INTEGER_MAX else None


def timestamp_of(text: str) -> str | None:
    """A timestamp of RFC 3339 in its one form, in UTC with nine digits of a second.

    `2026-01-31T12:00:00+01:00` becomes `2026-01-31T11:00:00.000000000Z`, so that the order of
    instants is that of texts. `None` for a text that is none, has more digits, or lies outside the
    years 0000 to 9999 in UTC. A leap second counts as the first second of the next minute.
    """
    found = _TIMESTAMP.fullmatch(text)
    if found is None:
        return None
    year, month, day, hour, minute, second = map(int, found.groups()[:6])
    if not 1 <= month <= 12 or not 1 <= day <= _days_of(year, month):
        return None
    if hour > 23 or minute > 59 or second > 60:
        return None
    seconds = (hour * 60 + minute) * 60 + second
    if found[8] is not None:
        ahead = int(found[9]), int(found[10])
        if ahead[0] > 23 or ahead[1] > 59:
            return None
        offset = (ahead[0] * 60 + ahead[1]) * 60
        seconds += offset if found[8] == "-" else -offset
    days, seconds = divmod(seconds, _DAY_S)
    for _ in range(abs(days)):
        year, month, day = _neighbor(year, month, day, later=days > 0)
    if not 0 <= year <= 9999:
        return None
    minute, second = divmod(seconds, 60)
    hour, minute = divmod(minute, 60)
    fraction = (found[7] or "").ljust(9, "0")
    return f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction}Z"


def _days_of(year: int, month: int) -> int:
    is_leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return 29 if month == 2 and is_leap else _DAYS[month - 1]


def _neighbor(year: int, month: int, day: int, *, later: bool) -> tuple[int, int, int]:
    """The day after, or the day before."""
    if later:
        if day < _days_of(year, month):
            return year, month, day + 1
        return (year, month + 1, 1) if month < 12 else (year + 1, 1, 1)
    if day > 1:
        return year, month, day - 1
    return (year, month - 1, _days_of(year, month - 1)) if month > 1 else (year - 1, 12, 31)


FUNCTIONS: Final[Mapping[str, Callable[[str], str | int | None]]] = MappingProxyType(
    {"integer": integer_of, "lower": str.lower, "timestamp": timestamp_of}
)
"""Readings by name; each gives `None` for a text that has none."""

TOTAL: Final = frozenset(("lower",))
"""The readings that every text has."""

NUMERIC: Final = frozenset(("integer",))
"""The readings whose values are numbers; the values of all others are texts."""


@dataclass(frozen=True, slots=True)
class Reading:
    """The texts that `function` reads as a value in `values`.

    `values` are numbers for `integer`, and texts without readings for the others.
    """

    function: str
    values: Numbers | Strings

    @property
    def prefix(self) -> str:
        """The known common prefix of all accepted texts: none."""
        return ""

    @property
    def is_empty(self) -> bool:
        """True if surely no text is accepted."""
        return not (self.values if isinstance(self.values, tuple) else self.values.ranges)

    @property
    def is_any(self) -> bool:
        """True if every text that the function can read is accepted."""
        if isinstance(self.values, tuple):
            return self.values == ALL_NUMBERS
        return self.values.is_plain and self.values.ranges == (("", None),)

    def matches(self, text: str) -> bool:
        """True if the text reads as one of the values."""
        value = FUNCTIONS[self.function](text)
        if value is None:
            return False
        if isinstance(self.values, tuple):
            assert isinstance(value, int), "numbers are asked of what reads as a number"
            return number_sets.accepts(self.values, value)
        assert isinstance(value, str), "texts are asked of what reads as a text"
        return self.values.accepts(value)

    def covers(self, other: object) -> bool:
        """True if every text that `other` accepts is accepted here; sound."""
        if not isinstance(other, Reading) or other.function != self.function:
            return False
        covers: bool = _algebra(self).covers(self.values, other.values)
        return covers

    def excludes(self, other: object) -> bool:
        """True if surely no text is accepted by both."""
        return (
            isinstance(other, Reading)
            and other.function == self.function
            and self.intersect(other).is_empty
        )

    def intersect(self, other: Reading) -> Reading:
        """The texts accepted by both, of which each is by the same function."""
        assert self.function == other.function, "only readings of one kind have a common one"
        return Reading(self.function, _algebra(self).intersect(self.values, other.values))

    def union(self, other: Reading) -> Reading | None:
        """The texts accepted by either, by the same function; `None` where that has no form."""
        assert self.function == other.function, "only readings of one kind have a common one"
        both = _algebra(self).union(self.values, other.values)
        return None if both is None else Reading(self.function, both)

    def sort_key(self) -> tuple[str, str]:
        """A defined order, after that of patterns with the same text."""
        return f"{self.function} {self.values!r}", "r"


def _algebra(reading: Reading) -> Any:
    """The functions on sets of the kind that the reading has: one function, one kind."""
    from sapwood.model import strings  # late: sets of texts hold readings

    return number_sets if isinstance(reading.values, tuple) else strings
