"""Tree patterns from a DTD: random walks down its paths (XNet, table 6.1; XPE dissemination, 4.1).

A walk goes down from the root of the DTD; each element that it stops at becomes a step. A branch is
one more walk, through a child that the element can have beside those of the other walks, so that
every pattern without values accepts some valid document. The parameters are those of the XPath
generators that both works used: the length and its bounds, the chances of `*` and `//`, of branches
and of comparisons with values, and a Zipf skew of names. Names rank as the content model has them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

import numpy as np

from sapwood.errors import InputError, InvalidValueError
from sapwood.limits import XPATH_DESCENDANTS_MAX, XPATH_PREDICATES_MAX, XPATH_STEPS_MAX
from sapwood.model.patterns.comparison import Comparison, Relation
from sapwood.model.patterns.conditions import (
    Attribute,
    Axis,
    Below,
    Condition,
    NameTest,
    Text,
    all_of,
)
from sapwood.model.patterns.pattern import TreePattern
from sapwood.xml.dtd import Dtd
from sapwood_lab.workload.documents.draws import Skew, check_chances, scalar_random, value_of
from sapwood_lab.workload.documents.together import can_have

_BRANCHES_MAX: Final = XPATH_PREDICATES_MAX // 2 - 1
"""A branch takes two conditions, and the value one."""

_TRIES: Final = 1000
_RELATIONS: Final = (Relation.EQUAL, Relation.AT_LEAST, Relation.AT_MOST)


@dataclass(frozen=True, slots=True)
class PatternShape:
    """The shape of patterns. Chances are between 0 and 1; depths in levels of elements.

    A pattern reaches `depth_min` (m) to `depth_max` (h) levels deep, uniformly, less where a walk
    ends early, and each of its leaves is `depth_min` levels deep at least; a `//` skips up to
    `gap_max` - 1 levels (d). `descendant` (p_//, DO) and `wildcard` (p_*, W) are chances of each
    step, `branch` (p_lambda) that of one more path below an element, `value` that the last step
    compares a value. `skew` is the Zipf exponent of names, and `distinct` leaves out what was made
    before.

    Raises `InvalidValueError` for anything else.
    """

    depth_max: int = 10
    depth_min: int = 3
    gap_max: int = 3
    descendant: float = 0.1
    wildcard: float = 0.1
    branch: float = 0.0
    value: float = 0.0
    skew: float = 0.0
    distinct: bool = True

    def __post_init__(self) -> None:
        check_chances(self, "descendant", "wildcard", "branch", "value")
        if not 1 <= self.depth_min <= self.depth_max < XPATH_STEPS_MAX:
            raise InvalidValueError(
                "depth_min", f"1 <= depth_min <= depth_max < {XPATH_STEPS_MAX} must hold"
            )
        if self.gap_max < 1:
            raise InvalidValueError("gap_max", "a // goes down at least one level")
        Skew(self.skew)


XNET: Final = PatternShape(branch=0.1, skew=1.0)
"""XNet's subscriptions (table 6.4 and 6.6)."""

XPE: Final = PatternShape(depth_min=1, descendant=0.2, wildcard=0.2)
"""Path expressions of up to 10 steps, without branches, as in the XPE dissemination work."""


def draw_patterns(
    dtd: Dtd, shape: PatternShape, random: np.random.Generator, count: int
) -> Sequence[TreePattern]:
    """A draw of `count` patterns, equal ones among them.

    Raises `InputError` if the DTD has no path as deep as `depth_min`.
    """
    walk = _Walk(dtd, shape, scalar_random(random))
    return [walk.pattern() for _ in range(count)]


@dataclass(frozen=True, slots=True)
class _Start:
    """The start of a walk: the level of an element, and the children to choose from."""

    level: int
    children: tuple[str, ...]


class _Walk:
    """Draws one pattern after the other.

    It knows the steps and branches of the present one, and the level of its highest leaf.
    """

    def __init__(self, dtd: Dtd, shape: PatternShape, random: Random) -> None:
        self.dtd = dtd
        self.shape = shape
        self.random = random
        self.names = Skew(shape.skew)
        self.values = Skew(1.0)
        #: element and sorted children -> the children that it can have beside them
        self.found: dict[tuple[str, tuple[str, ...]], tuple[str, ...]] = {}
        self.steps = self.branches = 0
        self.shallowest = XPATH_STEPS_MAX

    def pattern(self) -> TreePattern:
        shape, start = self.shape, _Start(0, (self.dtd.paths.root,))
        for _ in range(_TRIES):
            self.steps = self.branches = 0
            self.shallowest = XPATH_STEPS_MAX
            target = self.random.randint(shape.depth_min, shape.depth_max)
            has_value = self.random.random() < shape.value
            root = self.below(start, target, XPATH_DESCENDANTS_MAX, has_value=has_value)[0]
            if self.shallowest >= shape.depth_min:
                return TreePattern(root)
        raise InputError(f"hardly a path of the DTD is {shape.depth_min} levels deep; ask for less")

    def below(self, start: _Start, target: int, gaps: int, *, has_value: bool) -> tuple[Below, str]:
        """A step below an element, and what follows it down to `target`; with the child it is in.

        The child is that of the element, also where a `//` skips it.
        """
        shape, random = self.shape, self.random
        axis, level = Axis.CHILD, start.level
        options, within = start.children, None
        if gaps and random.random() < shape.descendant:
            axis, gaps = Axis.DESCENDANT, gaps - 1
            for _ in range(random.randrange(shape.gap_max)):
                passed = self.names.choose(random, options)
                if level + 2 > target or not self.children(passed):
                    break
                options, level, within = self.children(passed), level + 1, within or passed
        child = self.names.choose(random, options)
        self.steps += 1
        test = None if random.random() < shape.wildcard else NameTest(child)
        condition = self.condition(child, level + 1, target, gaps, has_value=has_value)
        return Below(axis, test, condition), within or child

    def condition(
        self, name: str, level: int, target: int, gaps: int, *, has_value: bool
    ) -> Condition:
        """The condition on the element `name`: the path further down, and branches."""
        if level >= target or not self.children(name):
            self.shallowest = min(self.shallowest, level)
            return self.value(name) if has_value else all_of(())
        start = _Start(level, self.children(name))
        step, within = self.below(start, target, gaps, has_value=has_value)
        asked: list[Condition] = [step]
        taken = [within]
        while self.random.random() < self.shape.branch:
            end = self.random.randint(max(level + 1, min(self.shape.depth_min, target)), target)
            if self.branches >= _BRANCHES_MAX or self.steps + end - level >= XPATH_STEPS_MAX:
                break
            beside = self.beside(name, taken)
            if not beside:
                break
            self.branches += 1
            step, within = self.below(_Start(level, beside), end, gaps, has_value=False)
            asked.append(step)
            taken.append(within)
        return all_of(asked)

    def beside(self, name: str, taken: Sequence[str]) -> tuple[str, ...]:
        """The children that the element `name` can have beside those of the walks so far."""
        key = name, tuple(sorted(taken))
        found = self.found.get(key)
        if found is None:
            found = self.found[key] = tuple(
                child
                for child in self.children(name)
                if can_have(self.dtd, name, tuple(sorted((*taken, child))))
            )
        return found

    def value(self, name: str) -> Condition:
        """A comparison with an attribute or the text of the element; nothing if it has neither."""
        element = self.dtd.element(name)
        leaves = [*element.attributes, *([None] if element.holds_text else [])]
        if not leaves:
            return all_of(())
        leaf = self.random.choice(leaves)
        text = value_of(self.random, self.values, leaf)
        relation = self.random.choice(_RELATIONS) if text.isdecimal() else Relation.EQUAL
        literal = text if relation is Relation.EQUAL else float(text)
        comparison = Comparison(relation, literal)
        return Text(comparison) if leaf is None else Attribute(_test(leaf.name), comparison)

    def children(self, name: str) -> tuple[str, ...]:
        return self.dtd.paths.children(name)


def _test(attribute: str) -> NameTest:
    """Names compare by their local part."""
    return NameTest(attribute.rpartition(":")[2])
