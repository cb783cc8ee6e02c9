"""The syntax tree of document filters: what was written, before any rewriting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from sapwood.model.patterns.comparison import Comparison
from sapwood.model.patterns.conditions import Axis, NameTest


@dataclass(frozen=True, slots=True)
class ElementStep:
    """`name` or `*` (`test` is `None`) with its predicates; `axis` is the separator before it."""

    axis: Axis
    test: NameTest | None
    predicates: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class AttributeStep:
    """`@name`; always the last step."""

    axis: Axis
    test: NameTest


@dataclass(frozen=True, slots=True)
class TextStep:
    """`text()`; always the last step."""

    axis: Axis


Step: TypeAlias = ElementStep | AttributeStep | TextStep


@dataclass(frozen=True, slots=True)
class Path:
    """Steps from the document (a whole expression) or from the element a predicate is about.

    Without steps it is `.`, the element itself.
    """

    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Exists:
    """The condition that the path leads to any node."""

    path: Path


@dataclass(frozen=True, slots=True)
class Compares:
    """The condition that the comparison holds for a node that the path leads to."""

    path: Path
    comparison: Comparison


@dataclass(frozen=True, slots=True)
class And:
    """Conjunction of two or more operands."""

    operands: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Or:
    """Disjunction of two or more operands."""

    operands: tuple[Expression, ...]


Expression: TypeAlias = Exists | Compares | And | Or
