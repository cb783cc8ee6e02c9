"""Exact containment of small patterns without content, in two ways that share no code with ours.

Canonical models (Miklau and Suciu): one pattern contains another iff it accepts all canonical
models of the other, which are documents with one element for each that is asked for, a fresh name
for each `*`, and up to one level more between the ends of a `//` than the longest run of `*` in the
containing pattern. Exponential.

Paths without predicates are regular languages of label paths; one contains another iff no path is
accepted by the other alone, which the subset construction finds out.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

from sapwood.model.patterns.conditions import AllOf, AnyOf, Axis, Below, Condition
from sapwood.model.patterns.pattern import TreePattern

FRESH = "z"
"""A name that no pattern of the tests asks for."""


def contains(wide: TreePattern, narrow: TreePattern) -> bool:
    """True if every document that `narrow` accepts is accepted by `wide`."""
    levels = longest_wild_run(wide.root) + 1
    return all(wide.matches(model.encode()) for model in models(narrow.root, levels))


def models(condition: Condition, levels: int) -> Iterator[str]:
    """Forms of the elements below, as XML, with up to `levels` fresh ones in each `//`."""
    match condition:
        case Below(axis=axis, test=test, condition=inner):
            name = FRESH if test is None else test.local
            between = range(levels + 1) if axis is Axis.DESCENDANT else (0,)
            for inside, more in product(list(models(inner, levels)), between):
                yield f"<{FRESH}>" * more + f"<{name}>{inside}</{name}>" + f"</{FRESH}>" * more
        case AllOf(operands=operands):
            for parts in product(*(list(models(operand, levels)) for operand in operands)):
                yield "".join(parts)
        case AnyOf(operands=operands):
            for operand in operands:
                yield from models(operand, levels)
        case _:
            raise AssertionError("canonical models are for patterns without content")


def longest_wild_run(condition: Condition) -> int:
    """The most `*` that follow one another on a path from here."""
    match condition:
        case Below(test=None, condition=inner):
            return 1 + longest_wild_run(inner)
        case Below(condition=inner):
            return max(0, longest_wild_run(inner))
        case AllOf(operands=operands) | AnyOf(operands=operands):
            return max(map(longest_wild_run, operands), default=0)
        case _:
            return 0


def path_contains(wide: TreePattern, narrow: TreePattern) -> bool:
    """The same for paths without predicates."""
    first, second = steps(wide), steps(narrow)
    labels = {FRESH, *(label for _, label in (*first, *second) if label is not None)}
    start = (frozenset({0}), frozenset({0}))
    seen, waiting = {start}, [start]
    while waiting:
        ours, theirs = waiting.pop()
        if len(first) in ours:
            continue  # whatever follows is accepted as well
        if len(second) in theirs:
            return False
        for label in sorted(labels):
            after = (moved(first, ours, label), moved(second, theirs, label))
            if after not in seen:
                seen.add(after)
                waiting.append(after)
    return True


def steps(pattern: TreePattern) -> list[tuple[Axis, str | None]]:
    """Axis and label of each step of a path without predicates."""
    found: list[tuple[Axis, str | None]] = []
    condition: Condition = pattern.root
    while isinstance(condition, Below):
        test = condition.test
        found.append((condition.axis, None if test is None else test.local))
        condition = condition.condition
    return found


def moved(
    path: list[tuple[Axis, str | None]], states: frozenset[int], label: str
) -> frozenset[int]:
    """The numbers of steps that may be taken after one more element, for each number before."""
    after: set[int] = set()
    for state in states:
        if state == len(path):
            after.add(state)
            continue
        axis, wanted = path[state]
        if axis is Axis.DESCENDANT:
            after.add(state)
        if wanted in (None, label):
            after.add(state + 1)
    return frozenset(after)
