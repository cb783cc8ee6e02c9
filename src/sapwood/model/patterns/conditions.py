"""Conditions on one element, in normal form.

An expression is evaluated for its truth, not for its nodes; so `/a/b` and `/a[b]` mean the same,
and there is one form for both: an element `a` below the document, and below that an element `b`. A
condition holds at an element, or at the document itself, which has no name, attribute or text.

`all_of` and `any_of` make the normal form: flat, sorted, each operand once. Two patterns are equal
iff their normal forms are; that is sound, and blind to deeper equivalences (`a and a/b`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeAlias

from sapwood.model.patterns.comparison import Comparison
from sapwood.xml.document import local_name


class Axis(Enum):
    """The depth below an element at which another one is searched."""

    CHILD = "/"
    DESCENDANT = "//"


@dataclass(frozen=True, slots=True)
class NameTest:
    """A name: in any namespace, or in one (`""` is none at all)."""

    local: str
    namespace: str | None = None

    @property
    def expanded(self) -> str:
        """The name as documents have it; only where the namespace counts."""
        return f"{{{self.namespace}}}{self.local}" if self.namespace else self.local

    def accepts(self, name: str) -> bool:
        """True if a document's name, `local` or `{namespace}local`, passes."""
        if self.namespace is None:
            return local_name(name) == self.local
        return name == self.expanded


@dataclass(frozen=True, slots=True)
class Below:
    """There is an element below, of this name (`None`: of any), at which `condition` holds."""

    axis: Axis
    test: NameTest | None
    condition: Condition


@dataclass(frozen=True, slots=True)
class Attribute:
    """There is an attribute of this name whose value meets the comparison, if there is one."""

    test: NameTest
    comparison: Comparison | None = None


@dataclass(frozen=True, slots=True)
class Text:
    """There is a text node among the children that meets the comparison, if there is one."""

    comparison: Comparison | None = None


@dataclass(frozen=True, slots=True)
class StringValue:
    """All text within the element, joined, compares."""

    comparison: Comparison


@dataclass(frozen=True, slots=True)
class AllOf:
    """Every operand holds; without operands the condition always holds."""

    operands: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one operand holds, of at least two."""

    operands: tuple[Condition, ...]


Condition: TypeAlias = Below | Attribute | Text | StringValue | AllOf | AnyOf

ALWAYS: Final = AllOf(())


def all_of(operands: Iterable[Condition]) -> Condition:
    """The conjunction, in normal form."""
    flat: dict[Condition, None] = {}
    for operand in operands:
        inner = operand.operands if isinstance(operand, AllOf) else (operand,)
        flat.update(dict.fromkeys(inner))
    if len(flat) == 1:
        return next(iter(flat))
    return AllOf(tuple(sorted(flat, key=order)))


def any_of(operands: Iterable[Condition]) -> Condition:
    """The disjunction, in normal form."""
    flat: dict[Condition, None] = {}
    for operand in operands:
        inner = operand.operands if isinstance(operand, AnyOf) else (operand,)
        flat.update(dict.fromkeys(inner))
    if ALWAYS in flat:
        return ALWAYS
    if len(flat) == 1:
        return next(iter(flat))
    return AnyOf(tuple(sorted(flat, key=order)))


def order(condition: Condition) -> tuple[bool, str]:
    """A sort key: conditions on elements below come last, so that printing can end with a path.

    The representation of a dataclass names every field and is therefore a total order on values.
    """
    return isinstance(condition, Below), repr(condition)


def parts(condition: Condition) -> tuple[Condition, ...]:
    """The operands of a conjunction; of anything else, itself."""
    return condition.operands if isinstance(condition, AllOf) else (condition,)


def descend(condition: Condition) -> Iterator[Condition]:
    """The condition and all within it, each before its operands."""
    yield condition
    match condition:
        case Below(condition=inner):
            yield from descend(inner)
        case AllOf(operands=operands) | AnyOf(operands=operands):
            for operand in operands:
                yield from descend(operand)
        case _:
            return


def within(condition: Attribute | Text) -> Condition:
    """The condition here or at any element below: the meaning of `.//@name` and `.//text()`."""
    return any_of((condition, Below(Axis.DESCENDANT, None, condition)))


def of_within(condition: AnyOf) -> Attribute | Text | None:
    """The leaf of which `within` makes this disjunction; `None` if it is another disjunction."""
    for one in condition.operands:
        if isinstance(one, Attribute | Text) and within(one) == condition:
            return one
    return None
