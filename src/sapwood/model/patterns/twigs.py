"""Twigs: tree patterns without `or`, in the form in which they are compared.

A twig states what one element must have (at the document itself, at the root of a pattern):
its name, *leaves* (attributes, text nodes, its string-value) and elements below. Three rewrites
that change no meaning remove the differences that would mislead a comparison node by node:

* alternatives: a condition states that something exists, and existence distributes over `or`; hence
  every pattern is a union of twigs (`alternatives.py`);
* gaps: where `*` and `//` follow one another between two elements with further conditions, only the
  least number of levels between these counts (`a//*/b` and `a/*//b` are the same; XPE
  dissemination, "exact covering", normal form);
* height: a path that ends in `*` requires only that many levels of elements below, whatever axes
  it has (`/*`, `//*` likewise).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, TypeAlias

from sapwood.limits import COVERING_ALTERNATIVES_MAX
from sapwood.model.patterns.alternatives import alternatives
from sapwood.model.patterns.comparison import Comparison, Relation
from sapwood.model.patterns.conditions import (
    Attribute,
    Axis,
    Below,
    Condition,
    NameTest,
    StringValue,
    Text,
    parts,
)
from sapwood.model.patterns.texts import ALL_TEXTS, Texts, texts


class LeafKind(Enum):
    """The kind of node whose text is compared."""

    ATTRIBUTE = "@"
    TEXT = "text()"
    STRING_VALUE = "."


@dataclass(frozen=True, slots=True)
class Leaf:
    """An attribute of this name, a text node or the string-value is there and one of `texts`."""

    kind: LeafKind
    test: NameTest | None = None
    texts: Texts = ALL_TEXTS

    @property
    def is_single(self) -> bool:
        """True if an element has at most one leaf of this kind and name."""
        return self.kind is LeafKind.STRING_VALUE or (
            self.test is not None and self.test.namespace is not None
        )

    def implies(self, other: Leaf) -> bool:
        """True if every element that has this leaf has the other one."""
        return (
            self.kind is other.kind
            and accepts_names_of(other.test, self.test)
            and other.texts.includes(self.texts)
        )


@dataclass(frozen=True, slots=True)
class Twig:
    """The conditions on an element, without `or`; make twigs with `twigs`.

    Its name passes `test` (`None`: any name, or the document); it has all `leaves`, one for each
    kind and name that an element has once; children that satisfy `near`; for each `(levels, twig)`
    of `far` a descendant at least `levels` levels below that satisfies it; and `height` levels of
    elements below it, where no branch asks for as many.
    """

    test: NameTest | None
    leaves: tuple[Leaf, ...] = ()
    near: tuple[Twig, ...] = ()
    far: tuple[tuple[int, Twig], ...] = ()
    height: int = 0
    #: the levels of elements that there are below in any document
    reach: int = field(init=False, compare=False, repr=False)
    #: the labels of all tests that its names pass, the strictest first; `None`: any name
    labels: tuple[str | None, ...] = field(init=False, compare=False, repr=False)
    #: every twig below, and how many levels at least
    below: tuple[tuple[int, Twig], ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        branches = (*((1, one) for one in self.near), *self.far)
        reach = max((levels + one.reach for levels, one in branches), default=0)
        below = tuple(
            (levels + further, other)
            for levels, one in branches
            for further, other in ((0, one), *one.below)
        )
        object.__setattr__(self, "height", self.height if self.height > reach else 0)
        object.__setattr__(self, "labels", _labels(self.test))
        object.__setattr__(self, "reach", max(reach, self.height))
        object.__setattr__(self, "below", below)

    @property
    def size(self) -> int:
        """The number of conditions at this element and below: elements, leaves and heights."""
        own = len(self.leaves) + (self.height > 0)
        return own + sum(1 + len(one.leaves) + (one.height > 0) for one in self.descend())

    def descend(self) -> Iterator[Twig]:
        """All twigs below this one."""
        return (one for _, one in self.below)


def accepts_names_of(wide: NameTest | None, narrow: NameTest | None) -> bool:
    """True if every name that passes `narrow` passes `wide`."""
    if wide is None or narrow is None or wide.local != narrow.local:
        return wide is None
    return wide.namespace is None or wide.namespace == narrow.namespace


def _labels(test: NameTest | None) -> tuple[str | None, ...]:
    if test is None:
        return (None,)
    if test.namespace is None:
        return (test.local, None)
    return (f"{{{test.namespace}}}{test.local}", test.local, None)


def twigs(root: Below) -> tuple[Twig, ...]:
    """The twigs, at the document, of which a document must satisfy one.

    Raises `LimitError` beyond `limits.COVERING_ALTERNATIVES_MAX` of them.
    """
    limit, most = "COVERING_ALTERNATIVES_MAX", COVERING_ALTERNATIVES_MAX
    return tuple(_twig(None, asked) for asked in alternatives(root, limit=limit, most=most))


_NOT_EMPTY: Final = Comparison(Relation.DIFFERENT, "")
"""The comparison that every text node meets (XPath 1.0, section 5.7)."""

_LeafCondition: TypeAlias = Attribute | Text | StringValue


def _twig(test: NameTest | None, asked: Iterable[Condition]) -> Twig:
    """The twig of an element that must satisfy a conjunction."""
    near: dict[Twig, None] = {}
    far: dict[tuple[int, Twig], None] = {}
    height = 0
    leaves: list[_LeafCondition] = []
    for one in asked:
        if not isinstance(one, Below):
            assert isinstance(one, _LeafCondition), "what has operands was multiplied out"
            leaves.append(one)
            continue
        child = _twig(one.test, parts(one.condition))
        is_bare = child.test is None and not child.leaves
        if is_bare and not child.below:
            height = max(height, 1 + child.height)
        elif one.axis is Axis.DESCENDANT:
            far[_end_of_gap(1, child)] = None
        elif is_bare and not child.height and not child.near and len(child.far) == 1:
            ((levels, end),) = child.far
            far[1 + levels, end] = None
        else:
            near[child] = None
    return Twig(test, tuple(_leaves(leaves)), tuple(near), tuple(far), height)


def _end_of_gap(levels: int, twig: Twig) -> tuple[int, Twig]:
    """The first element, at `twig` or below, with a condition other than one element below it."""
    while twig.test is None and not twig.leaves and not twig.height:
        branches = (*((1, one) for one in twig.near), *twig.far)
        if len(branches) != 1:
            break
        ((further, twig),) = branches
        levels += further
    return levels, twig


def _leaves(conditions: Iterable[_LeafCondition]) -> Iterator[Leaf]:
    """The leaves that one element must have; a leaf that it has once must meet all comparisons."""
    leaves: dict[Leaf, None] = {}
    asked_once: dict[tuple[LeafKind, NameTest | None], list[Comparison]] = {}
    for one in conditions:
        kind, test = _kind(one)
        comparisons = [_NOT_EMPTY] if kind is LeafKind.TEXT else []
        if one.comparison is not None:
            comparisons.append(one.comparison)
        if Leaf(kind, test).is_single:
            asked_once.setdefault((kind, test), []).extend(comparisons)
        else:
            leaves[Leaf(kind, test, texts(comparisons))] = None
    yield from leaves
    for (kind, test), every in asked_once.items():
        yield Leaf(kind, test, texts(every))


def _kind(leaf: _LeafCondition) -> tuple[LeafKind, NameTest | None]:
    match leaf:
        case Attribute(test=test):
            return LeafKind.ATTRIBUTE, test
        case Text():
            return LeafKind.TEXT, None
        case StringValue():
            return LeafKind.STRING_VALUE, None
