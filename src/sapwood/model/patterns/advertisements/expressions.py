"""Path expressions: regular expressions over element names, none of which is empty.

The work's advertisements are chains of steps in which parts repeat (`+`). Two different loops
through one element have no such form (`((/b|/c)/a)+` is not the union of `(/b/a)+` and `(/c/a)+`),
hence there is choice as well. `chain`, `choice` and `repeat` make the normal form: nothing of a
kind directly inside its own kind, alternatives each once and sorted by their text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Step:
    """One element, of any name where it is `None`."""

    name: str | None

    def __str__(self) -> str:
        return f"/{self.name or '*'}"


@dataclass(frozen=True, slots=True)
class Chain:
    """At least two parts, one below the other."""

    parts: tuple[Expression, ...]

    def __str__(self) -> str:
        return "".join(f"({one})" if isinstance(one, Choice) else str(one) for one in self.parts)


@dataclass(frozen=True, slots=True)
class Choice:
    """One of at least two alternatives."""

    alternatives: tuple[Expression, ...]

    def __str__(self) -> str:
        return "|".join(map(str, self.alternatives))


@dataclass(frozen=True, slots=True)
class Repeat:
    """The inner expression, once or more often."""

    inner: Expression

    def __str__(self) -> str:
        return f"({self.inner})+"


Expression: TypeAlias = Step | Chain | Choice | Repeat


class PathKind(Enum):
    """The work's classes of advertisements (section 1.4.1)."""

    NON_RECURSIVE = "non-recursive"
    SIMPLE = "simple-recursive"
    SERIES = "series-recursive"
    EMBEDDED = "embedded-recursive"
    GENERAL = "recursive"


def chain(parts: Iterable[Expression]) -> Expression:
    """One part below the other; at least one."""
    flat: list[Expression] = []
    for one in parts:
        flat.extend(one.parts if isinstance(one, Chain) else (one,))
    assert flat, "a path has a step"
    return flat[0] if len(flat) == 1 else Chain(tuple(flat))


def choice(alternatives: Iterable[Expression]) -> Expression:
    """Any of the alternatives; at least one."""
    flat: dict[Expression, None] = {}
    for one in alternatives:
        flat.update(dict.fromkeys(one.alternatives if isinstance(one, Choice) else (one,)))
    assert flat, "there is something to choose from"
    return next(iter(flat)) if len(flat) == 1 else Choice(tuple(sorted(flat, key=str)))


def repeat(inner: Expression) -> Expression:
    """The expression, once or more often."""
    return inner if isinstance(inner, Repeat) else Repeat(inner)


def alternatives_of(expression: Expression) -> tuple[Expression, ...]:
    """The expressions of which this one is the union: the alternatives at its top level."""
    return expression.alternatives if isinstance(expression, Choice) else (expression,)


def steps(expression: Expression) -> Iterator[Step]:
    """All steps, from left to right."""
    match expression:
        case Step():
            yield expression
        case Chain(parts=inner) | Choice(alternatives=inner):
            for one in inner:
                yield from steps(one)
        case Repeat(inner=one):
            yield from steps(one)


def kind_of(expression: Expression) -> PathKind:
    """The class of one advertisement; those with choices are the work's "other combinations"."""
    parts = expression.parts if isinstance(expression, Chain) else (expression,)
    repeats = [one.inner for one in parts if isinstance(one, Repeat)]
    if any(isinstance(one, Choice) for one in parts):
        return PathKind.GENERAL
    if not repeats:
        return PathKind.NON_RECURSIVE
    inner = [kind_of(one) for one in repeats]
    if all(kind is PathKind.NON_RECURSIVE for kind in inner):
        return PathKind.SIMPLE if len(repeats) == 1 else PathKind.SERIES
    is_embedded = inner in ([PathKind.SIMPLE], [PathKind.EMBEDDED])
    return PathKind.EMBEDDED if is_embedded else PathKind.GENERAL
