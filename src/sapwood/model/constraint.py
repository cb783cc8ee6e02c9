"""Constraints: the set of values that one attribute may have, "absent" among them.

The values are partitioned by type (absent, booleans, numbers, texts), so a constraint is one set
for each part. This makes constraints a Boolean algebra: union, intersection and complement stay
constraints, except where general `like` patterns have no single form (the result is then `None`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from sapwood.model import numbers as number_sets
from sapwood.model import strings as string_sets
from sapwood.model.numbers import ALL_NUMBERS, NO_NUMBERS, Number, Numbers
from sapwood.model.publication import Value, Values
from sapwood.model.readings import Reading
from sapwood.model.strings import ALL_STRINGS, NO_STRINGS, Strings, TextTest

_NO_BOOLEANS: Final[frozenset[bool]] = frozenset()
_BOTH_BOOLEANS: Final = frozenset((False, True))
_PLAIN: Final[tuple[tuple[TextTest, ...], tuple[TextTest, ...]]] = ((), ())


@dataclass(frozen=True, slots=True)
class Constraint:
    """A set of attribute values.

    `absent` is true if a record without the attribute is accepted; the other fields hold the
    accepted values of each type.
    """

    absent: bool = False
    booleans: frozenset[bool] = _NO_BOOLEANS
    numbers: Numbers = NO_NUMBERS
    strings: Strings = NO_STRINGS

    def __hash__(self) -> int:
        """The hash of all parts, without a call for each part: tables hash many filters."""
        texts, numbers = self.strings, self.numbers
        if len(numbers) == 1 and not texts.ranges:  # where no text is accepted no pattern counts
            only = numbers[0]
            is_open = (only.low_open, only.high_open)
            return hash((self.absent, self.booleans, only.low, only.high, is_open))
        patterns = (texts.required, texts.forbidden)
        return hash((self.absent, self.booleans, numbers, texts.ranges, patterns))

    def accepts(self, value: Value | Values | None) -> bool:
        """True if `value`, or one of several, is in the set; `None` stands for absence."""
        if value is None:
            return self.absent
        if isinstance(value, bool):
            return value in self.booleans
        if isinstance(value, str):
            return self.strings.accepts(value)
        if isinstance(value, tuple):
            return any(map(self.accepts, value))
        return number_sets.accepts(self.numbers, value)

    def takes(self, value: Value | Values | None) -> bool:
        """True if `value`, or each of several, is in the set."""
        if isinstance(value, tuple):
            return all(map(self.accepts, value))
        return self.accepts(value)

    def covers(self, other: Constraint) -> bool:
        """True if every value of `other` is in this; complete but for general patterns."""
        return self is other or (
            self.absent >= other.absent
            and self.booleans >= other.booleans
            and number_sets.covers(self.numbers, other.numbers)
            and string_sets.covers(self.strings, other.strings)
        )

    def intersect(self, other: Constraint) -> Constraint:
        """The values in both."""
        return Constraint(
            self.absent and other.absent,
            self.booleans & other.booleans,
            number_sets.intersect(self.numbers, other.numbers),
            string_sets.intersect(self.strings, other.strings),
        )

    def union(self, other: Constraint) -> Constraint | None:
        """The values in either, or `None` where patterns leave no single form for that."""
        strings = string_sets.union(self.strings, other.strings)
        if strings is None:
            return None
        return Constraint(
            self.absent or other.absent,
            self.booleans | other.booleans,
            number_sets.union(self.numbers, other.numbers),
            strings,
        )

    def complement(self) -> Constraint | None:
        """The values outside, or `None` where patterns leave no single form for that."""
        strings = string_sets.complement(self.strings)
        if strings is None:
            return None
        return Constraint(
            not self.absent,
            _BOTH_BOOLEANS - self.booleans,
            number_sets.complement(self.numbers),
            strings,
        )

    @property
    def is_empty(self) -> bool:
        """True if nothing is accepted; with general patterns `False` where that is unknown."""
        return not (self.absent or self.booleans or self.numbers or self.strings.ranges)

    @property
    def is_total(self) -> bool:
        """True if everything is accepted, an absent attribute too: no constraint at all."""
        return self.absent and self == ANYTHING

    @property
    def only(self) -> Value | None:
        """The one accepted value, or `None` if there are several or absence is accepted too."""
        if self.absent or len(self.booleans) + len(self.numbers) + len(self.strings.ranges) != 1:
            return None
        members = self.points()
        return members[0] if members is not None and len(members) == 1 else None

    @property
    def patterns(self) -> int:
        """The number of general patterns."""
        return len(self.strings.required) + len(self.strings.forbidden)

    @property
    def weight(self) -> int:
        """The rough cost of an operation on this constraint, in comparisons of two values."""
        return 1 + len(self.numbers) + len(self.strings.ranges) + 16 * self.patterns

    @property
    def extent(self) -> tuple[object, ...]:
        """A key that is no greater than that of any constraint covered by this one.

        Wider sets come first: by the types they hold, then by their lowest and highest members.
        It has eight elements, none of them a tuple, which takes longer to compare.
        """
        numbers, ranges = self.numbers, self.strings.ranges
        return (
            not self.absent,
            -len(self.booleans),
            *((numbers[0].low, numbers[0].low_open) if numbers else (math.inf, True)),
            *((-numbers[-1].high, numbers[-1].high_open) if numbers else (math.inf, True)),
            not ranges,
            ranges[0][0] if ranges else "",
        )

    def points(self) -> tuple[Value, ...] | None:
        """All accepted values where they are finitely many and absence is not accepted.

        Ordered: booleans, numbers, texts. `None` where the set is infinite or accepts absence.
        """
        numbers = number_sets.points(self.numbers)
        strings = self.strings.points()
        if self.absent or numbers is None or strings is None:
            return None
        return (*sorted(self.booleans), *numbers, *strings)


NOTHING: Final = Constraint()
ANYTHING: Final = Constraint(
    absent=True, booleans=_BOTH_BOOLEANS, numbers=ALL_NUMBERS, strings=ALL_STRINGS
)
PRESENT: Final = Constraint(booleans=_BOTH_BOOLEANS, numbers=ALL_NUMBERS, strings=ALL_STRINGS)
ABSENT: Final = Constraint(absent=True)


def one_of(values: Iterable[Value]) -> Constraint:
    """The constraint that accepts exactly the given values, of whatever types."""
    booleans: list[bool] = []
    numbers: list[Number] = []
    texts: list[str] = []
    for value in values:
        if isinstance(value, bool):
            booleans.append(value)
        elif isinstance(value, str):
            texts.append(value)
        else:
            numbers.append(value)
    return Constraint(
        booleans=frozenset(booleans),
        numbers=number_sets.of_points(numbers),
        strings=string_sets.of_points(texts),
    )


def none_of(values: Iterable[Value]) -> Constraint:
    """The values of their type that differ from all given ones: none, if there are two types."""
    given = one_of(values)
    types = bool(given.booleans) + bool(given.numbers) + bool(given.strings.ranges)
    if types != 1:
        return NOTHING
    if given.booleans:
        return Constraint(booleans=_BOTH_BOOLEANS - given.booleans)
    if given.numbers:
        return Constraint(numbers=number_sets.complement(given.numbers))
    strings = string_sets.complement(given.strings)
    assert strings is not None, "points have no patterns"
    return Constraint(strings=strings)


def equal_to(value: Value) -> Constraint:
    """The constraint that accepts exactly `value`."""
    if isinstance(value, bool):
        return Constraint(booleans=frozenset((value,)))
    if isinstance(value, str):
        return Constraint(strings=string_sets.point(value))
    return Constraint(numbers=number_sets.point(value))


def different_from(value: Value) -> Constraint:
    """The values of the same type other than `value`."""
    return none_of((value,))


def above(value: Number | str, *, inclusive: bool) -> Constraint:
    """The values of the same type greater than `value`, or also equal to it."""
    if isinstance(value, str):
        low = value if inclusive else string_sets.successor(value)
        return Constraint(strings=string_sets.between(low, None))
    return Constraint(numbers=_interval(value, float("inf"), low_open=not inclusive))


def below(value: Number | str, *, inclusive: bool) -> Constraint:
    """The values of the same type less than `value`, or also equal to it."""
    if isinstance(value, str):
        high = string_sets.successor(value) if inclusive else value
        return Constraint(strings=string_sets.between("", high))
    return Constraint(numbers=_interval(float("-inf"), value, high_open=not inclusive))


def united(constraints: Iterable[Constraint]) -> list[Constraint]:
    """As few constraints with the same union as have a form; one, if there are no patterns.

    Constraints with the same patterns are united at once, and each group of them with the plain
    ones where that has a form. The result does not depend on the order.
    """
    groups: dict[tuple[tuple[TextTest, ...], tuple[TextTest, ...]], list[Constraint]] = {}
    for constraint in constraints:
        strings = constraint.strings
        groups.setdefault((strings.required, strings.forbidden), []).append(constraint)
    result = [_union_alike(groups.pop(_PLAIN))] if _PLAIN in groups else []
    for key in sorted(groups, key=lambda key: [[p.sort_key() for p in side] for side in key]):
        group = _union_alike(groups[key])
        union = result[0].union(group) if result else None
        if union is None:
            result.append(group)
        else:
            result[0] = union
    return _with_readings_united(result) if len(result) > 1 else result


def _with_readings_united(constraints: list[Constraint]) -> list[Constraint]:
    """A shorter list with the same union: readings by one function are united."""
    result: list[Constraint] = []
    for constraint in constraints:
        union = None
        if any(isinstance(test, Reading) for test in constraint.strings.required):
            for at, other in enumerate(result):
                union = other.union(constraint)
                if union is not None:
                    result[at] = union
                    break
        if union is None:
            result.append(constraint)
    return result


def _union_alike(group: Sequence[Constraint]) -> Constraint:
    return Constraint(
        any(constraint.absent for constraint in group),
        frozenset(value for constraint in group for value in constraint.booleans),
        number_sets.union(*(constraint.numbers for constraint in group)),
        string_sets.union_alike([constraint.strings for constraint in group]),
    )


def _interval(
    low: Number, high: Number, *, low_open: bool = False, high_open: bool = False
) -> Numbers:
    return (number_sets.Interval(low, high, low_open, high_open),)
