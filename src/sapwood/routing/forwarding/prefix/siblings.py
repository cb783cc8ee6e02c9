"""Siblings of a routing tree: nodes with one attribute below one parent, no two of which overlap.

A constraint that is one interval of numbers, or one range of texts, is a half-open range between
two *cuts*. A cut of numbers is a number and 0 for the place before it or 1 for the one behind it:
`5 < x <= 9` lies from (5, 1) to (9, 1), and the value 9 at (9, 0). A cut of texts is (0, text), or
(1, "") for the top above all: `x >= 'b'` lies from (0, "b") to (1, ""). Ranges that do not overlap
are sorted by their lower cuts, so that a value, or all that a range meets, is found by bisection.
Other forms (absent values, several intervals, general patterns) are compared one by one.

Constraints with general patterns have no complement: where one overlaps another and neither covers
the other, they count as unrelated (XSiena 4.2 splits numbers only).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

from sapwood.errors import InputError
from sapwood.model.constraint import Constraint
from sapwood.model.printing import print_constraint
from sapwood.model.publication import Value

Cut: TypeAlias = tuple[Any, Any]


class Span(NamedTuple):
    """A constraint as one range between two cuts, of numbers or of texts."""

    is_text: bool
    low: Cut
    high: Cut


class Node:
    """A node of a routing tree: a constraint of one attribute, and what lies below it.

    `number` is its place in preorder where the tree is a snapshot; `refs` counts the pieces of
    filters that made it or equalled it where the tree grows. The root has no attribute and accepts
    everything.

    #: each child's `parent` is this node; those with one attribute do not overlap
    """

    __slots__ = ("attribute", "children", "constraint", "number", "parent", "refs")

    def __init__(self, attribute: str, constraint: Constraint, parent: Node | None = None) -> None:
        self.attribute = attribute
        self.constraint = constraint
        self.parent = parent
        self.children: dict[str, Siblings] = {}
        self.number = 0
        self.refs = 0

    def adopt(self, child: Node) -> None:
        """Take a node as a child; raises `InputError` where it overlaps another."""
        group = self.children.get(child.attribute)
        if group is None:
            group = self.children[child.attribute] = Siblings()
        group.add(child)
        child.parent = self

    def release(self, child: Node) -> None:
        """Remove a child."""
        group = self.children[child.attribute]
        group.remove(child)
        if not len(group):
            del self.children[child.attribute]

    def ordered(self) -> Iterator[Node]:
        """The children by attribute and constraint: the same order for the same children."""
        for name in sorted(self.children):
            yield from self.children[name].ordered()


class Relation(NamedTuple):
    """The relation of a constraint to siblings: at most one of the first three fields is set.

    `equal` is the same, `covering` accepts more, `crossing` a part of it and something else;
    `covered` are all that accept less, among the visited ones.
    """

    equal: Node | None = None
    covering: Node | None = None
    crossing: Node | None = None
    covered: Sequence[Node] = ()


UNRELATED = Relation()


class _Line:
    """Nodes along a line of cuts.

    #: lows[i] < highs[i] <= lows[i + 1]; nodes[i] lies between lows[i] and highs[i]
    """

    __slots__ = ("highs", "lows", "nodes")

    def __init__(self) -> None:
        self.lows: list[Cut] = []
        self.highs: list[Cut] = []
        self.nodes: list[Node] = []

    def at(self, cut: Cut) -> Node | None:
        """The node whose range contains the value behind a cut; `None` if there is none."""
        place = bisect_right(self.lows, cut) - 1
        return self.nodes[place] if place >= 0 and cut < self.highs[place] else None

    def meeting(self, span: Span) -> list[Node]:
        """The nodes whose ranges overlap a given one."""
        first = bisect_right(self.highs, span.low)
        return self.nodes[first : bisect_left(self.lows, span.high, first)]

    def add(self, span: Span, node: Node) -> None:
        place = bisect_left(self.lows, span.low)
        is_late = place > 0 and self.highs[place - 1] > span.low
        if is_late or (place < len(self.lows) and span.high > self.lows[place]):
            raise InputError("nodes of a routing tree overlap one beside the other")
        self.lows.insert(place, span.low)
        self.highs.insert(place, span.high)
        self.nodes.insert(place, node)

    def remove(self, span: Span) -> None:
        place = bisect_left(self.lows, span.low)
        del self.lows[place], self.highs[place], self.nodes[place]


class Siblings:
    """The children of a node that constrain one attribute."""

    __slots__ = ("_numbers", "_others", "_texts")

    def __init__(self) -> None:
        self._numbers = _Line()
        self._texts = _Line()
        self._others: list[Node] = []

    def __len__(self) -> int:
        """The number of siblings."""
        return len(self._numbers.nodes) + len(self._texts.nodes) + len(self._others)

    def __iter__(self) -> Iterator[Node]:
        """The nodes of numbers, then those of texts, then the others."""
        yield from self._numbers.nodes
        yield from self._texts.nodes
        yield from self._others

    @property
    def accepts_absent(self) -> bool:
        """True if a node may accept a record without the attribute."""
        return any(node.constraint.absent for node in self._others)

    def ordered(self) -> Iterator[Node]:
        """All nodes in an order that does not depend on when they came."""
        yield from self._numbers.nodes
        yield from self._texts.nodes
        yield from sorted(self._others, key=_text)

    def add(self, node: Node) -> None:
        """Add a node; raises `InputError` where its range overlaps that of another."""
        span = span_of(node.constraint)
        if span is None:
            self._others.append(node)
        else:
            self._line(span).add(span, node)

    def remove(self, node: Node) -> None:
        """Remove a node that is here."""
        span = span_of(node.constraint)
        if span is None:
            self._others.remove(node)
        else:
            self._line(span).remove(span)

    def accepting(self, value: Value | None) -> list[Node]:
        """The nodes that accept a value; `None` stands for an absent attribute."""
        found = [one for one in self._others if one.constraint.accepts(value)]
        if isinstance(value, str):
            node = self._texts.at((0, value))
        elif value is None or isinstance(value, bool):
            node = None
        else:
            node = self._numbers.at((value, 0))
        if node is not None:
            found.append(node)
        return found

    def effort(self, asked: Constraint | None = None) -> int:
        """About how many nodes are visited to relate a constraint, or else to accept a value."""
        if asked is None:
            return 1 + len(self._others)
        return len(self) if span_of(asked) is None else 2 + len(self._others) + len(self) // 32

    def related(self, asked: Constraint) -> Relation:
        """The relation of a constraint to the nodes."""
        span = span_of(asked)
        meeting = [] if span is None else self._line(span).meeting(span)
        near = [*self] if span is None else [*meeting, *self._others]
        last, crossing = len(meeting) - 1, None
        covered: list[Node] = []
        for at, node in enumerate(near):
            if 0 < at < last:  # between other nodes that the range meets
                covered.append(node)
                continue
            known = node.constraint
            if known == asked:
                return Relation(equal=node)
            if known.covers(asked):
                return Relation(covering=node)
            if asked.covers(known):
                covered.append(node)
            elif crossing is None and not (known.patterns or asked.patterns):
                crossing = None if known.intersect(asked).is_empty else node
        return Relation(crossing=crossing, covered=covered)

    def _line(self, span: Span) -> _Line:
        return self._texts if span.is_text else self._numbers


def span_of(constraint: Constraint) -> Span | None:
    """The one range of a constraint; `None` if it is not one range."""
    if constraint.absent or constraint.booleans:
        return None
    numbers, texts = constraint.numbers, constraint.strings
    if len(numbers) == 1 and not texts.ranges:
        only = numbers[0]
        low, high = (only.low, int(only.low_open)), (only.high, int(not only.high_open))
        return Span(is_text=False, low=low, high=high)
    if not numbers and len(texts.ranges) == 1 and texts.is_plain:
        first, beyond = texts.ranges[0]
        top = (1, "") if beyond is None else (0, beyond)
        return Span(is_text=True, low=(0, first), high=top)
    return None


def split(asked: Constraint, axis: Constraint) -> tuple[Constraint, Constraint]:
    """The part of a constraint inside another one, and the part outside (XSiena 4.2.1)."""
    beyond = axis.complement()
    assert beyond is not None, "constraints with patterns are not split"
    return asked.intersect(axis), asked.intersect(beyond)


def _text(node: Node) -> str:
    return print_constraint(node.attribute, node.constraint)
