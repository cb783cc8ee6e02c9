"""From one condition, possibly negated, to the constraint that it puts on its attribute.

`in` and `not between` may name values of different types; a constraint holds values of all types,
so one constraint is enough.
"""

from __future__ import annotations

from dataclasses import replace
from types import MappingProxyType
from typing import Final

from sapwood.language.syntax import (
    Between,
    Comparison,
    Condition,
    Exists,
    In,
    Like,
    Operator,
    Read,
)
from sapwood.model import constraint as c
from sapwood.model import strings
from sapwood.model.constraint import Constraint
from sapwood.model.like import Pattern
from sapwood.model.numbers import Interval
from sapwood.model.publication import Value
from sapwood.model.readings import NUMERIC, Reading

_NEGATED: Final = MappingProxyType(
    {
        Operator.EQUAL: Operator.DIFFERENT,
        Operator.DIFFERENT: Operator.EQUAL,
        Operator.LESS: Operator.AT_LEAST,
        Operator.AT_LEAST: Operator.LESS,
        Operator.GREATER: Operator.AT_MOST,
        Operator.AT_MOST: Operator.GREATER,
    }
)


def accepted_values(leaf: Condition, *, negated: bool) -> Constraint:
    """The values for which the leaf, or its negation, holds."""
    match leaf:
        case Comparison():
            operator = _NEGATED[leaf.operator] if negated else leaf.operator
            return compared(operator, leaf.value)
        case Between():
            return _between(leaf, negated=negated)
        case In():
            return (c.none_of if negated else c.one_of)(leaf.values)
        case Like():
            pattern = Pattern.parse(leaf.pattern, leaf.escape)
            return Constraint(strings=(strings.not_like if negated else strings.like)(pattern))
        case Exists():
            return c.ABSENT if negated else c.PRESENT
        case Read():
            return _read(leaf, negated=negated)


def compared(operator: Operator, value: Value) -> Constraint:
    """The values that stand in the given relation to `value`: all of its type."""
    if operator is Operator.EQUAL:
        return c.equal_to(value)
    if operator is Operator.DIFFERENT:
        return c.different_from(value)
    assert not isinstance(value, bool), "the parser refuses an order of booleans"
    if operator in (Operator.GREATER, Operator.AT_LEAST):
        return c.above(value, inclusive=operator is Operator.AT_LEAST)
    return c.below(value, inclusive=operator is Operator.AT_MOST)


def _read(leaf: Read, *, negated: bool) -> Constraint:
    if isinstance(leaf.condition, Exists):
        readable = strings.reads_as(strings.any_reading(leaf.function))
        if not negated:
            return Constraint(strings=readable)
        return replace(c.ANYTHING, strings=strings.reads_not(leaf.function))
    wanted = accepted_values(leaf.condition, negated=negated)
    values = wanted.numbers if leaf.function in NUMERIC else wanted.strings
    return Constraint(strings=strings.reads_as(Reading(leaf.function, values)))


def _between(leaf: Between, *, negated: bool) -> Constraint:
    if negated:
        (outside,) = c.united(
            (compared(Operator.LESS, leaf.low), compared(Operator.GREATER, leaf.high))
        )
        return outside
    low, high = leaf.low, leaf.high
    if isinstance(low, str) or isinstance(high, str):
        return compared(Operator.AT_LEAST, low).intersect(compared(Operator.AT_MOST, high))
    return Constraint(numbers=(Interval(low, high),)) if low <= high else c.NOTHING
