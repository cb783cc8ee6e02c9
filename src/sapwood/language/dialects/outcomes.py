"""Outcomes of conditions of a dialect: the records for which they hold, and for which they fail.

Dialects differ from the language of the house in the records of neither kind: an absent attribute,
a value of another type, an error. So a condition is kept as two syntax trees. Where it is negated
the two change places, and `not` itself never appears in either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from sapwood.errors import LimitError
from sapwood.language.parser import parse
from sapwood.language.syntax import And, Constant, Node, Or
from sapwood.model import constraint as c
from sapwood.model import numbers, strings
from sapwood.model.constraint import Constraint
from sapwood.model.like import Pattern, Wildcard
from sapwood.model.printing import print_constraint
from sapwood.model.publication import Value

NUMBERS: Final = Constraint(numbers=numbers.ALL_NUMBERS)
"""All numbers and nothing else."""

TEXTS: Final = Constraint(strings=strings.ALL_STRINGS)
"""All texts and nothing else."""

BOOLEANS: Final = c.one_of((False, True))
"""Both booleans and nothing else."""


def check_size(tree: Node, steps_max: int) -> None:
    """Raise `LimitError` for a tree of more than `steps_max` nodes, repeated ones counted again.

    `xor` needs each side of each operand twice: a tree doubles with every one, and the length of
    its text does not show that.
    """
    waiting, left = [tree], steps_max
    while waiting:
        node = waiting.pop()
        left -= 1
        if left < 0:
            subject = "the work that the filter's normal form takes"
            raise LimitError("NORMAL_FORM_STEPS_MAX", steps_max, None, subject)
        if isinstance(node, And | Or):
            waiting.extend(node.operands)


class Outcome(NamedTuple):
    """The records for which a condition holds and those for which it fails, as syntax trees."""

    holds: Node
    fails: Node

    def negated(self) -> Outcome:
        """The outcome of the negation."""
        return Outcome(self.fails, self.holds)


def constant(value: bool) -> Outcome:  # noqa: FBT001 - the value
    """The outcome of a condition that has the same value for all records."""
    return Outcome(Constant(value), Constant(not value))


def accepted(attribute: str, values: Constraint) -> Node:
    """The condition that the attribute has one of the values (or is absent, if that is one)."""
    if values.is_empty or values.is_total:
        return Constant(values.is_total)
    return parse(print_constraint(attribute, values))


def decided(attribute: str, holds: Constraint, fails: Constraint) -> Outcome:
    """The condition that holds for the values `holds` of an attribute, and fails for `fails`."""
    return Outcome(accepted(attribute, holds), accepted(attribute, fails))


def one_way(attribute: str, holds: Constraint) -> Outcome:
    """The condition that holds for these values and fails for all other present values.

    The values have no general patterns.
    """
    return decided(attribute, holds, present_but(holds))


def present_but(values: Constraint) -> Constraint:
    """All present values but `values`, which have no general patterns."""
    others = values.complement()
    assert others is not None, "without patterns there is a complement"
    return others.intersect(c.PRESENT)


def like(attribute: str, pattern: Pattern) -> Outcome:
    """The condition that a value is a text which fits; it fails for all other present values."""
    holds = Constraint(strings=strings.like(pattern))
    return decided(attribute, holds, texts_but(pattern))


def texts_but(pattern: Pattern) -> Constraint:
    """All present values but the texts which fit a pattern."""
    return replace(c.PRESENT, strings=strings.not_like(pattern))


def pattern_of(parts: Sequence[str | Wildcard]) -> Pattern:
    """The pattern of parts: texts as they are, and wildcards."""
    tokens: list[str | Wildcard] = []
    for part in parts:
        tokens.extend([part] if isinstance(part, Wildcard) else part)
    return Pattern.of(tokens)


def all_of(operands: Sequence[Outcome]) -> Outcome:
    """Conjunction with three values: it fails where one operand fails."""
    if len(operands) == 1:
        return operands[0]
    return Outcome(
        And(tuple(one.holds for one in operands)), Or(tuple(one.fails for one in operands))
    )


def any_of(operands: Sequence[Outcome]) -> Outcome:
    """Disjunction with three values: it fails where all operands fail."""
    return all_of([one.negated() for one in operands]).negated()


def equal(attribute: str, value: Value) -> Outcome:
    """The condition that a value is equal to `value`; it fails for all other present values."""
    return one_way(attribute, c.equal_to(value))
