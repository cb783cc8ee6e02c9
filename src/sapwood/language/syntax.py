"""The syntax tree of record filters: what was written, before any rewriting."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from sapwood.model.publication import Value


class Operator(Enum):
    """The comparison operators."""

    EQUAL = "="
    DIFFERENT = "<>"
    LESS = "<"
    AT_MOST = "<="
    GREATER = ">"
    AT_LEAST = ">="


@dataclass(frozen=True, slots=True)
class Constant:
    """`true` or `false`: accepts every record, or none."""

    value: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """`attribute operator value`. A bare boolean attribute is `attribute = true`."""

    attribute: str
    operator: Operator
    value: Value


@dataclass(frozen=True, slots=True)
class Between:
    """`attribute between low and high`, both ends included."""

    attribute: str
    low: Value
    high: Value


@dataclass(frozen=True, slots=True)
class In:
    """`attribute in (value, ...)`; at least one value."""

    attribute: str
    values: tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Like:
    """`attribute like pattern [escape character]`."""

    attribute: str
    pattern: str
    escape: str | None


@dataclass(frozen=True, slots=True)
class Exists:
    """`exists attribute`: present, whatever its type. Negated: `attribute is null`."""

    attribute: str


@dataclass(frozen=True, slots=True)
class Read:
    """`function(attribute)` in the place of the attribute: a condition on the reading of its text.

    `exists function(attribute)`: the attribute is a text that has such a reading.
    """

    function: str
    condition: Comparison | Between | In | Like | Exists

    @property
    def attribute(self) -> str:
        """The attribute whose text is read."""
        return self.condition.attribute


@dataclass(frozen=True, slots=True)
class Not:
    """Negation; its meaning is fixed by pushing it to the leaves."""

    operand: Node


@dataclass(frozen=True, slots=True)
class And:
    """Conjunction of two or more operands."""

    operands: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Disjunction of two or more operands."""

    operands: tuple[Node, ...]


Condition: TypeAlias = Comparison | Between | In | Like | Exists | Read
"""A leaf that is a condition on one attribute."""

Node: TypeAlias = Constant | Condition | Not | And | Or
