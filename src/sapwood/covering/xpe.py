"""XPEs: tree patterns without branches, as sequences of steps."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from sapwood.model.patterns.conditions import ALWAYS, Axis, Below, Condition, NameTest
from sapwood.model.patterns.pattern import TreePattern


class Step(NamedTuple):
    """One step: its axis below the step before, and a name (`None`: any)."""

    axis: Axis
    test: NameTest | None

    @property
    def key(self) -> tuple[str, str, str]:
        """A sort key."""
        if self.test is None:
            return self.axis.value, "", ""
        return self.axis.value, self.test.local, self.test.namespace or ""


XPE: TypeAlias = tuple[Step, ...]
"""The steps of an XPE, from the document on; a relative one begins with a descendant."""


def steps_of(pattern: TreePattern) -> XPE | None:
    """The steps of a tree pattern; `None` if it has branches, alternatives or reads content."""
    found: list[Step] = []
    condition: Condition = pattern.root
    while isinstance(condition, Below):
        found.append(Step(condition.axis, condition.test))
        condition = condition.condition
    return tuple(found) if condition == ALWAYS else None


def pattern_of(steps: XPE) -> TreePattern:
    """The tree pattern of at least one step."""
    condition: Condition = ALWAYS
    for step in reversed(steps):
        condition = Below(step.axis, step.test, condition)
    assert isinstance(condition, Below), "an XPE has a step"
    return TreePattern(condition)
