"""Random path expressions, and their words by way of Python's regular expressions."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import product
from typing import Final

from hypothesis import strategies as st

from sapwood.model.patterns.advertisements import Chain, Choice, Expression, Repeat, Step
from sapwood.model.patterns.advertisements.expressions import chain, choice, repeat
from sapwood.xml import Document

NAMES: Final = ("a", "b", "z")
"""`z` is in no expression: the name that nobody mentions."""

_step = st.sampled_from(("a", "b", "a", "b", None)).map(Step)


@cache
def expressions(leaves: int = 5) -> st.SearchStrategy[Expression]:
    """Expressions over two names, with about so many steps."""
    return st.recursive(
        _step,
        lambda inner: (
            st.lists(inner, min_size=2, max_size=3).map(chain)
            | st.lists(inner, min_size=2, max_size=2).map(choice)
            | inner.map(repeat)
        ),
        max_leaves=leaves,
    )


def pattern_of(expression: Expression) -> str:
    """The expression in Python's notation."""
    match expression:
        case Step(name=name):
            return f"/{name}" if name else "/[a-z]"
        case Chain(parts=parts):
            return "".join(map(pattern_of, parts))
        case Choice(alternatives=alternatives):
            return f"(?:{'|'.join(map(pattern_of, alternatives))})"
        case Repeat(inner=inner):
            return f"(?:{pattern_of(inner)})+"


@cache
def all_words(levels: int) -> tuple[str, ...]:
    return tuple(
        "".join(f"/{name}" for name in path)
        for size in range(1, levels + 1)
        for path in product(NAMES, repeat=size)
    )


def words(expression: Expression, levels: int) -> set[str]:
    """The words of at most so many steps."""
    accepts = re.compile(pattern_of(expression)).fullmatch
    return {word for word in all_words(levels) if accepts(word)}


def document_of(paths: Sequence[str]) -> Document:
    """The smallest document with all these paths, which begin with the same name."""
    places: dict[str, int] = {}
    parents: list[int] = []
    names: list[str] = []
    for path in sorted(paths):
        for end in range(2, len(path) + 1, 2):
            prefix = path[:end]
            if prefix not in places:
                places[prefix] = -1
    for at, prefix in enumerate(sorted(places)):
        places[prefix] = at
        names.append(prefix[-1])
        parents.append(places.get(prefix[:-2], -1))
    return Document(tuple(names), tuple(parents))
