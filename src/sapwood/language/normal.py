"""Syntax tree to filter: the rewrites in their order."""

from __future__ import annotations

from sapwood.errors import LimitError
from sapwood.language.rewrites.distribution import distribute
from sapwood.language.rewrites.negation import push_negation
from sapwood.language.syntax import Node
from sapwood.limits import FILTER_TEXT_CHARS_MAX, NORMAL_FORM_STEPS_MAX
from sapwood.model.filter import Filter
from sapwood.model.printing import constraint_chars_max
from sapwood.model.reduction import Allowance


def normal_form(
    tree: Node, source: str | None = None, *, steps_max: int = NORMAL_FORM_STEPS_MAX
) -> Filter:
    """The filter that a syntax tree describes, as a disjunction of conjunctions in normal form.

    Raises `LimitError` beyond `limits.CONJUNCTIONS_MAX` conjunctions, `steps_max` of work or
    `limits.LIKE_PATTERNS_MAX` patterns, and for a normal form whose own text is longer than
    `limits.FILTER_TEXT_CHARS_MAX`: it could not be read again.
    """
    boxes = distribute(push_negation(tree), Allowance(steps_max))
    normal = Filter.from_conjunctions(boxes, source, steps_max=steps_max)
    length = _chars_max(normal)
    if length > FILTER_TEXT_CHARS_MAX:
        length = len(str(normal))
    if length > FILTER_TEXT_CHARS_MAX:
        raise LimitError(
            "FILTER_TEXT_CHARS_MAX",
            FILTER_TEXT_CHARS_MAX,
            length,
            "the length of the filter's normal form",
        )
    return normal


def _chars_max(of: Filter) -> int:
    """An upper bound of the length of a filter's text: printing costs more than all other steps."""
    return sum(
        len(" or true")
        + sum(len(" and ") + constraint_chars_max(*side) for side in conjunction.constraints)
        for conjunction in of.conjunctions
    )
