"""The access of a pattern: the path to look for, and the condition that is left to check.

A pattern is a tree; each path down it that takes no side of an `or` is *required*: no document
matches without an element on it. The engine looks for one required path. It prefers one that ends
at an equality (`@lang = 'en'`), since equalities are found by hashing, and otherwise the longest,
which the fewest documents have.

If there is no condition on the way, a condition at the element that the path leads to is left.
Otherwise the whole pattern is left, to be checked at the document.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from sapwood.model.patterns.comparison import Literal, Relation
from sapwood.model.patterns.conditions import (
    Attribute,
    Axis,
    Below,
    Condition,
    NameTest,
    StringValue,
    Text,
    all_of,
    parts,
)
from sapwood.model.patterns.pattern import TreePattern

PathStep: TypeAlias = tuple[Axis, NameTest | None]

Subject: TypeAlias = NameTest | type[Text] | type[StringValue]
"""The subject of a comparison: the attribute of this name, a text node, or all text."""


@dataclass(frozen=True, slots=True)
class Equality:
    """The condition that a subject of an element equals a literal."""

    subject: Subject
    literal: Literal


@dataclass(frozen=True, slots=True)
class Access:
    """A required path, an equality at its end if there is one, and the condition left to check.

    `at_document` is true if that is checked at the document, false at the element that the path
    leads to. `reach` is the longest required path: it is cheap to see that a document does not have
    it.
    """

    path: tuple[PathStep, ...]
    reach: tuple[PathStep, ...]
    equality: Equality | None
    rest: Condition
    at_document: bool


@dataclass(frozen=True, slots=True)
class _Place:
    """An element on a required path.

    The steps to it, the condition there, and true (`alone`) if there is no condition on the way.
    """

    path: tuple[PathStep, ...]
    condition: Condition
    alone: bool


def access(pattern: TreePattern) -> Access:
    """The access of a pattern."""
    places = list(_places(pattern.root, (), alone=True))
    longest = max(places, key=lambda place: len(place.path))
    for place in places:
        for part in parts(place.condition):
            equality = _equality(part)
            if equality is not None:
                rest = all_of(one for one in parts(place.condition) if one != part)
                return _checked(pattern, place, longest, equality, rest)
    return _checked(pattern, longest, longest, None, longest.condition)


def _checked(
    pattern: TreePattern,
    place: _Place,
    longest: _Place,
    equality: Equality | None,
    rest: Condition,
) -> Access:
    if place.alone:
        return Access(place.path, longest.path, equality, rest, at_document=False)
    return Access(place.path, longest.path, equality, pattern.root, at_document=True)


def _places(below: Below, above: tuple[PathStep, ...], *, alone: bool) -> Iterator[_Place]:
    """All elements on required paths, each after the one above it."""
    path = (*above, (below.axis, below.test))
    yield _Place(path, below.condition, alone)
    operands = parts(below.condition)
    for part in operands:
        if isinstance(part, Below):
            yield from _places(part, path, alone=alone and len(operands) == 1)


def _equality(condition: Condition) -> Equality | None:
    match condition:
        case Attribute(test=test, comparison=comparison):
            subject: Subject = test
        case Text(comparison=comparison):
            subject = Text
        case StringValue(comparison=comparison):
            subject = StringValue
        case _:
            return None
    if comparison is None or comparison.relation is not Relation.EQUAL:
        return None
    return Equality(subject, comparison.literal)
