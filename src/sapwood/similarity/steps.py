"""Tree patterns as the work's algorithms take them: steps, each below another one.

A pattern with `or` is a union of patterns without (`model.patterns.alternatives`); each of those is
a tree of steps. Conditions on the text of an element, by `text()` or by its string-value, are a set
of texts that a step's element must have; an attribute is a step of its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

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
from sapwood.model.patterns.pattern import TreePattern
from sapwood.model.patterns.texts import Texts, texts
from sapwood.similarity.knowledge import Place


@dataclass(frozen=True, slots=True)
class Step:
    """An element (or attribute) that must be there, below the one of the step above.

    Its text must be in all of `texts`; with `needs_text` it must have text of its own. `steps` are
    required below it.
    """

    axis: Axis
    test: NameTest | None
    steps: tuple[Step, ...] = ()
    texts: tuple[Texts, ...] = ()
    needs_text: bool = False
    is_attribute: bool = False

    def accepts(self, place: Place) -> bool:
        """True if the name of a place passes."""
        if place.is_attribute is not self.is_attribute:
            return False
        name = place.name[1:] if self.is_attribute else place.name
        return self.test is None or self.test.accepts(name)


def steps_of(pattern: TreePattern) -> tuple[Step, ...]:
    """The steps at the document, one for each pattern without `or` of the union.

    Raises `LimitError` beyond `limits.COVERING_ALTERNATIVES_MAX` of them.
    """
    limit, most = "COVERING_ALTERNATIVES_MAX", COVERING_ALTERNATIVES_MAX
    found = alternatives(pattern.root, limit=limit, most=most)
    return tuple(_step(one) for conditions in found for one in conditions if isinstance(one, Below))


def _step(below: Below) -> Step:
    return _made(below.axis, below.test, parts(below.condition))


def _made(axis: Axis, test: NameTest | None, conditions: Iterable[Condition]) -> Step:
    below: list[Step] = []
    wanted: list[Texts] = []
    needs_text = False
    for one in conditions:
        match one:
            case Below():
                below.append(_step(one))
            case Attribute(test=name, comparison=comparison):
                sets = () if comparison is None else (texts([comparison]),)
                below.append(Step(Axis.CHILD, name, texts=sets, is_attribute=True))
            case Text(comparison=comparison):
                needs_text = True
                some = Comparison(Relation.DIFFERENT, "")
                wanted.append(texts([some] if comparison is None else [some, comparison]))
            case StringValue(comparison=comparison):
                wanted.append(texts([comparison]))
            case _:
                message = f"a condition that was not multiplied out: {one!r}"
                raise AssertionError(message)
    return Step(axis, test, tuple(below), tuple(wanted), needs_text)
