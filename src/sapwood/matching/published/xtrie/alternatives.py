"""Patterns without `or`: every node must be found.

Nodes are elements, attributes, and values compared for equality; other comparisons hang on nodes. A
pattern with `or` is the disjunction of several such patterns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias, assert_never

from sapwood.limits import EXPANSIONS_MAX
from sapwood.model.patterns.alternatives import alternatives as multiplied_out
from sapwood.model.patterns.comparison import Comparison, Relation
from sapwood.model.patterns.conditions import (
    AllOf,
    AnyOf,
    Attribute,
    Axis,
    Below,
    NameTest,
    StringValue,
    Text,
    parts,
)

ATTRIBUTE: Final = "@"
ATTRIBUTE_VALUE: Final = "="
TEXT: Final = '"'
"""The first characters of the keys of labels that are no elements; no name begins with these."""


@dataclass(frozen=True, slots=True)
class ElementLabel:
    """An element of this name."""

    test: NameTest

    @property
    def key(self) -> str:
        """The name as in documents; the local one, if the test is of local names."""
        return _name(self.test)


@dataclass(frozen=True, slots=True)
class AttributeLabel:
    """An attribute of this name."""

    test: NameTest

    @property
    def key(self) -> str:
        """The name, marked as that of an attribute."""
        return ATTRIBUTE + _name(self.test)


@dataclass(frozen=True, slots=True)
class ValueLabel:
    """The value of an attribute (`of_attribute`), or a text node."""

    text: str
    of_attribute: bool

    @property
    def key(self) -> str:
        """The value, marked as that of an attribute or of a text node."""
        return (ATTRIBUTE_VALUE if self.of_attribute else TEXT) + self.text


def _name(test: NameTest) -> str:
    return f"{{{test.namespace}}}{test.local}" if test.namespace else test.local


Label: TypeAlias = ElementLabel | AttributeLabel | ValueLabel


@dataclass(frozen=True, slots=True)
class Node:
    """A node to be found, `axis` below the one above; without a label it is `*`.

    `comparisons` apply to its text nodes or, for an attribute, to its value; `strings` to its
    string-value.
    """

    axis: Axis
    label: Label | None
    children: tuple[Node, ...] = ()
    comparisons: tuple[Comparison | None, ...] = ()
    strings: tuple[Comparison, ...] = ()


def alternatives(root: Below) -> tuple[Node, ...]:
    """The patterns without `or` of which one must be found.

    Raises `LimitError` beyond `limits.EXPANSIONS_MAX` of them.
    """
    found = multiplied_out(root, limit="EXPANSIONS_MAX", most=EXPANSIONS_MAX)
    return tuple(_node(below) for (below,) in found if isinstance(below, Below))


def _node(below: Below) -> Node:
    """The node of an element, with the conjunction of its conditions."""
    children: list[Node] = []
    comparisons: list[Comparison | None] = []
    strings: list[Comparison] = []
    for asked in parts(below.condition):
        match asked:
            case Below():
                children.append(_node(asked))
            case Attribute(test=test, comparison=comparison):
                children.append(_attribute(test, comparison))
            case Text(comparison=comparison):
                if _is_equality(comparison):
                    assert comparison is not None, "an equality is a comparison"
                    value = ValueLabel(str(comparison.literal), of_attribute=False)
                    children.append(Node(Axis.CHILD, value))
                else:
                    comparisons.append(comparison)
            case StringValue(comparison=comparison):
                strings.append(comparison)
            case AllOf() | AnyOf():
                raise AssertionError("what has operands was multiplied out")
            case _:
                assert_never(asked)
    label = None if below.test is None else ElementLabel(below.test)
    return Node(below.axis, label, tuple(children), tuple(comparisons), tuple(strings))


def _attribute(test: NameTest, comparison: Comparison | None) -> Node:
    label = AttributeLabel(test)
    if comparison is None:
        return Node(Axis.CHILD, label)
    if _is_equality(comparison):
        value = ValueLabel(str(comparison.literal), of_attribute=True)
        return Node(Axis.CHILD, label, (Node(Axis.CHILD, value),))
    return Node(Axis.CHILD, label, comparisons=(comparison,))


def _is_equality(comparison: Comparison | None) -> bool:
    """True if a text is compared for equality as it is."""
    return (
        comparison is not None
        and comparison.relation is Relation.EQUAL
        and isinstance(comparison.literal, str)
    )
