"""Syntax tree to tree pattern."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, TypeAlias

from sapwood.language.xpath.bounds import XPathBounds
from sapwood.language.xpath.syntax import (
    And,
    AttributeStep,
    Compares,
    ElementStep,
    Exists,
    Expression,
    Or,
    Path,
    TextStep,
)
from sapwood.model.patterns.comparison import Comparison
from sapwood.model.patterns.conditions import (
    ALWAYS,
    AllOf,
    AnyOf,
    Attribute,
    Axis,
    Below,
    Condition,
    StringValue,
    Text,
    all_of,
    any_of,
    descend,
    parts,
    within,
)
from sapwood.model.patterns.pattern import TreePattern

_GROWTH_MAX: Final = 4
"""The factor by which a normal form is longer than its text, at most: attributes and text nodes of
any depth are written twice, and `//` may have to be added."""


def normal_form(
    path: Path,
    bounds: XPathBounds,
    source: str | None = None,
    bindings: tuple[tuple[str, str], ...] | None = None,
) -> TreePattern:
    """The tree pattern that an expression describes.

    Raises `LimitError` for more steps, predicates or `//` than `bounds` allows, and for a normal
    form whose own text is longer: it could not be read again.
    """
    root = _root(path, all_of)
    bounds.check_size(_steps(root), _predicates(root), _descendants(root))
    pattern = TreePattern(root, source, bindings)
    if source is None or len(source) * _GROWTH_MAX > bounds.text:
        bounds.check_text(len(str(pattern)), "the length of the expression's normal form")
    return pattern


def written_form(path: Path) -> Below:
    """The normal form of an expression, but for operands of conjunctions, which stay as written.

    For callers that give the order of branches a meaning, which XPath does not: the normal form
    sorts them, and leaves out repeated ones. The continuation of a path comes after predicates.
    """
    return _root(path, _in_order)


_Join: TypeAlias = Callable[[Iterable[Condition]], Condition]
"""Makes a conjunction of its operands."""


def _in_order(operands: Iterable[Condition]) -> Condition:
    flat = tuple(part for operand in operands for part in parts(operand))
    return flat[0] if len(flat) == 1 else AllOf(flat)


def _root(path: Path, join: _Join) -> Below:
    first = path.steps[0]
    asked = _condition(Path(path.steps[1:]), None, join)
    match first:
        case ElementStep(axis=axis, test=test, predicates=predicates):
            inside = (*(_predicate(one, join) for one in predicates), asked)
            return Below(axis, test, join(inside))
        # The document has neither attributes nor text: they belong to some element in it.
        case AttributeStep(test=test):
            return Below(Axis.DESCENDANT, None, Attribute(test))
        case TextStep():
            return Below(Axis.DESCENDANT, None, Text())


def _condition(path: Path, comparison: Comparison | None, join: _Join) -> Condition:
    """The condition of a relative path, built from its end to its beginning."""
    asked: Condition = ALWAYS if comparison is None else StringValue(comparison)
    for step in reversed(path.steps):
        match step:
            case ElementStep(axis=axis, test=test, predicates=predicates):
                inside = (*(_predicate(one, join) for one in predicates), asked)
                asked = Below(axis, test, join(inside))
            case AttributeStep(axis=axis, test=test):
                attribute = Attribute(test, comparison)
                asked = within(attribute) if axis is Axis.DESCENDANT else attribute
            case TextStep(axis=axis):
                text = Text(comparison)
                asked = within(text) if axis is Axis.DESCENDANT else text
    return asked


def _predicate(expression: Expression, join: _Join) -> Condition:
    match expression:
        case Exists(path=path):
            return _condition(path, None, join)
        case Compares(path=path, comparison=comparison):
            return _condition(path, comparison, join)
        case And(operands=operands):
            return join(_predicate(one, join) for one in operands)
        case Or(operands=operands):
            return any_of(_predicate(one, join) for one in operands)


def _steps(root: Below) -> int:
    """Conditions that elements, attributes and text nodes exist."""
    return sum(isinstance(one, Below | Attribute | Text) for one in descend(root))


def _predicates(root: Below) -> int:
    """Operands of `and` and `or`, and conditions that end a path."""
    count = 0
    for one in descend(root):
        if isinstance(one, AllOf | AnyOf):
            count += len(one.operands)
        elif isinstance(one, Below) and isinstance(one.condition, Attribute | Text | StringValue):
            count += 1
    return count


def _descendants(condition: Condition) -> int:
    """The most `//` from here to any leaf."""
    match condition:
        case Below(axis=axis, condition=inner):
            return (axis is Axis.DESCENDANT) + _descendants(inner)
        case AllOf(operands=operands) | AnyOf(operands=operands):
            return max(map(_descendants, operands), default=0)
        case _:
            return 0
