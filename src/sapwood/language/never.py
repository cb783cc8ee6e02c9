"""The reasons why an interest accepts nothing, for its author."""

from __future__ import annotations

import warnings
from itertools import combinations
from typing import Final

from sapwood.errors import InputError, NeverMatchesWarning
from sapwood.language.normal import normal_form
from sapwood.language.parser import parse
from sapwood.language.syntax import And, Node
from sapwood.limits import FILTER_STEPS_AT_ONCE
from sapwood.model.filter import Filter
from sapwood.model.interest import Interest

_OPERANDS_MAX: Final = 32
"""Operands of `and` of which each pair is compared: filters that people write have fewer."""

_SHOWN_CHARS_MAX: Final = 200
"""A part of a filter that is longer is not repeated."""


def why_never(interest: Interest) -> str | None:
    """The reason why no publication can match, in a sentence; `None` where none is found."""
    if not interest.accepts_nothing:
        return None
    if isinstance(interest, Filter):
        source = interest.source
        if source is None or len(source) > _SHOWN_CHARS_MAX:
            return _why_no_record(source) or "no record can match it"
        return _why_no_record(source) or f"no record can match {source}"
    return "no document can match it: a text would have to be two things at once"


def warn_if_never(id: str, interest: Interest, *, stacklevel: int) -> None:
    """Warn of a filter that can never match, as if from `stacklevel` calls further out."""
    why = why_never(interest)
    if why is not None:
        words = f"filter {id!r} can never match: {why}"
        warnings.warn(words, NeverMatchesWarning, stacklevel=stacklevel + 1)


def _why_no_record(source: str | None) -> str | None:
    """The first part of a filter that accepts nothing, or the first two that exclude each other."""
    if source is None:
        return None
    try:
        parts = [normal_form(one, steps_max=FILTER_STEPS_AT_ONCE) for one in _parts(parse(source))]
    except InputError:
        return None
    for one in parts:
        if one.accepts_nothing and len(parts) > 1:
            return "one of its conditions accepts no record by itself"
    for one, other in combinations(parts[:_OPERANDS_MAX], 2):
        if not one.intersects(other):
            said = f"{one} and {other} exclude each other"
            return (
                said
                if len(said) <= _SHOWN_CHARS_MAX
                else "two of its conditions exclude each other"
            )
    return None


def _parts(node: Node) -> list[Node]:
    """The operands of `and` at any depth."""
    if not isinstance(node, And):
        return [node]
    return [part for operand in node.operands for part in _parts(operand)]
