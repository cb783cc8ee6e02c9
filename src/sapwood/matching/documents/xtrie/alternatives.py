"""Patterns without `or`: every node must be found.

Nodes are elements, attributes, and values compared for equality; what else is compared hangs on
them. A pattern with `or` is the disjunction of several such patterns.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product
from typing import TypeAlias, assert_never

from sapwood.errors import LimitError
from sapwood.limits import EXPANSIONS_MAX
from sapwood.model.documents.comparison import Comparison, Relation
from sapwood.model.documents.conditions import (
    AllOf,
    AnyOf,
    Attribute,
    Axis,
    Below,
    Condition,
    NameTest,
    StringValue,
    Text,
)


@dataclass(frozen=True, slots=True)
class ElementLabel:
    """An element of this name."""

    test: NameTest


@dataclass(frozen=True, slots=True)
class AttributeLabel:
    """An attribute of this name."""

    test: NameTest


@dataclass(frozen=True, slots=True)
class ValueLabel:
    """The value of an attribute (`of_attribute`), or a text node."""

    text: str
    of_attribute: bool


Label: TypeAlias = ElementLabel | AttributeLabel | ValueLabel


@dataclass(frozen=True, slots=True)
class Node:
    """A node to be found, `axis` below the one above; without a label it is `*`.

    `comparisons` are asked of its text nodes or, of an attribute, of its value; `strings` of its
    string-value.
    """

    axis: Axis
    label: Label | None
    children: tuple[Node, ...] = ()
    comparisons: tuple[Comparison | None, ...] = ()
    strings: tuple[Comparison, ...] = ()


@dataclass(frozen=True, slots=True)
class _Asked:
    """What is asked of one element, without `or`."""

    children: tuple[Node, ...] = ()
    comparisons: tuple[Comparison | None, ...] = ()
    strings: tuple[Comparison, ...] = ()


def alternatives(root: Below) -> tuple[Node, ...]:
    """The patterns without `or` of which one must be found.

    Raises `LimitError` beyond `limits.EXPANSIONS_MAX` of them.
    """
    found = tuple(_nodes(root))
    _check(len(found))
    return found


def _nodes(below: Below) -> Iterable[Node]:
    label = None if below.test is None else ElementLabel(below.test)
    for asked in _expanded(below.condition):
        yield Node(below.axis, label, asked.children, asked.comparisons, asked.strings)


def _expanded(condition: Condition) -> tuple[_Asked, ...]:
    match condition:
        case Below():
            return tuple(_Asked((node,)) for node in _nodes(condition))
        case Attribute(test=test, comparison=comparison):
            return (_Asked((_attribute(test, comparison),)),)
        case Text(comparison=comparison):
            if _is_equality(comparison):
                assert comparison is not None, "an equality is a comparison"
                value = ValueLabel(str(comparison.literal), of_attribute=False)
                return (_Asked((Node(Axis.CHILD, value),)),)
            return (_Asked(comparisons=(comparison,)),)
        case StringValue(comparison=comparison):
            return (_Asked(strings=(comparison,)),)
        case AllOf(operands=operands):
            choices = [_expanded(operand) for operand in operands]
            count = 1
            for choice in choices:
                count *= len(choice)
                _check(count)
            return tuple(map(_joined, product(*choices)))
        case AnyOf(operands=operands):
            every = tuple(asked for operand in operands for asked in _expanded(operand))
            _check(len(every))
            return every
        case _:
            assert_never(condition)


def _attribute(test: NameTest, comparison: Comparison | None) -> Node:
    label = AttributeLabel(test)
    if comparison is None:
        return Node(Axis.CHILD, label)
    if _is_equality(comparison):
        value = ValueLabel(str(comparison.literal), of_attribute=True)
        return Node(Axis.CHILD, label, (Node(Axis.CHILD, value),))
    return Node(Axis.CHILD, label, comparisons=(comparison,))


def _is_equality(comparison: Comparison | None) -> bool:
    """Whether a text is compared for equality as it is."""
    return (
        comparison is not None
        and comparison.relation is Relation.EQUAL
        and isinstance(comparison.literal, str)
    )


def _joined(several: Iterable[_Asked]) -> _Asked:
    every = tuple(several)
    return _Asked(
        tuple(child for asked in every for child in asked.children),
        tuple(comparison for asked in every for comparison in asked.comparisons),
        tuple(comparison for asked in every for comparison in asked.strings),
    )


def _check(count: int) -> None:
    if count > EXPANSIONS_MAX:
        raise LimitError(
            "EXPANSIONS_MAX",
            EXPANSIONS_MAX,
            count,
            "the number of alternatives without 'or' in the expression",
        )
