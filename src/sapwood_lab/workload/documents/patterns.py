"""Tree patterns from a DTD: random walks down its paths (XNet, table 6.1; XPE dissemination, 4.1).

A walk goes down from the root of the DTD; each element that it stops at becomes a step, so that
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

_BRANCHES_MAX: Final = XPATH_PREDICATES_MAX // 2 - 1
"""A branch takes two conditions, and the value one."""

_TRIES: Final = 1000
_RELATIONS: Final = (Relation.EQUAL, Relation.AT_LEAST, Relation.AT_MOST)


@dataclass(frozen=True, slots=True)
class PatternShape:
    """How patterns look. Chances are between 0 and 1; depths in levels of elements.

    A pattern reaches `depth_min` (m) to `depth_max` (h) levels deep, uniformly, less where a walk
    ends early; a `//` skips up to `gap_max` - 1 levels (d). `descendant` (p_//, DO) and `wildcard`
    (p_*, W) are chances of each step, `branch` (p_lambda) that of one more path below an element,
    `value` that the last step asks for a value. `skew` is the Zipf exponent of names, and
    `distinct` leaves out what was made before.

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
    """So many patterns, equal ones among them.

    Raises `InputError` if the DTD has no path as deep as `depth_min`.
    """
    walk = _Walk(dtd, shape, scalar_random(random))
    return [walk.pattern() for _ in range(count)]


class _Walk:
    """Draws one pattern after the other; counts the steps and branches of the present one."""

    def __init__(self, dtd: Dtd, shape: PatternShape, random: Random) -> None:
        self.dtd = dtd
        self.shape = shape
        self.random = random
        self.names = Skew(shape.skew)
        self.values = Skew(1.0)
        self.steps = self.branches = self.deepest = 0

    def pattern(self) -> TreePattern:
        shape = self.shape
        for _ in range(_TRIES):
            self.steps = self.branches = self.deepest = 0
            target = self.random.randint(shape.depth_min, shape.depth_max)
            has_value = self.random.random() < shape.value
            root = self.below(None, 0, target, XPATH_DESCENDANTS_MAX, has_value=has_value)
            if self.deepest >= shape.depth_min:
                return TreePattern(root)
        raise InputError(f"hardly a path of the DTD is {shape.depth_min} levels deep; ask for less")

    def below(
        self, name: str | None, level: int, target: int, gaps: int, *, has_value: bool
    ) -> Below:
        """A step below the element `name` at `level`, and what follows it down to `target`."""
        shape, random = self.shape, self.random
        axis = Axis.CHILD
        if gaps and random.random() < shape.descendant:
            axis, gaps = Axis.DESCENDANT, gaps - 1
            for _ in range(random.randrange(shape.gap_max)):
                passed = self.names.choose(random, self.children(name))
                if level + 2 > target or not self.children(passed):
                    break
                name, level = passed, level + 1
        child = self.names.choose(random, self.children(name))
        self.steps += 1
        self.deepest = max(self.deepest, level + 1)
        test = None if random.random() < shape.wildcard else NameTest(child)
        condition = self.condition(child, level + 1, target, gaps, has_value=has_value)
        return Below(axis, test, condition)

    def condition(
        self, name: str, level: int, target: int, gaps: int, *, has_value: bool
    ) -> Condition:
        """What is asked of the element `name`: the path further down, and branches."""
        if level >= target or not self.children(name):
            return self.value(name) if has_value else all_of(())
        asked: list[Condition] = [self.below(name, level, target, gaps, has_value=has_value)]
        while self.random.random() < self.shape.branch:
            end = self.random.randint(level + 1, target)
            if self.branches >= _BRANCHES_MAX or self.steps + end - level >= XPATH_STEPS_MAX:
                break
            self.branches += 1
            asked.append(self.below(name, level, end, gaps, has_value=False))
        return all_of(asked)

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

    def children(self, name: str | None) -> tuple[str, ...]:
        paths = self.dtd.paths
        return (paths.root,) if name is None else paths.children(name)


def _test(attribute: str) -> NameTest:
    """Names compare by their local part."""
    return NameTest(attribute.rpartition(":")[2])
