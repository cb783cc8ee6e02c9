"""Small patterns of structure alone, on which exact containment can be computed."""

from __future__ import annotations

from functools import cache
from typing import Final

from hypothesis import strategies as st

from sapwood.language.xpath import XPathBounds, parse_xpath
from sapwood.model.patterns.pattern import TreePattern

LABELS: Final = ("a", "b", "*")
AXES: Final = ("/", "//")
LARGE: Final = XPathBounds(text=100_000, steps=1000, predicates=1000, nesting=100, descendants=100)
"""Bounds that are out of reach: drawn patterns are small, and the bounds are not what is tested."""


@cache
def xpes(labels: tuple[str, ...] = LABELS, steps: int = 5) -> st.SearchStrategy[TreePattern]:
    """Absolute and relative paths without predicates."""
    step = st.tuples(st.sampled_from(AXES), st.sampled_from(labels))
    paths = st.lists(step, min_size=1, max_size=steps)
    return paths.map(lambda path: parse_xpath("".join(map("".join, path)), bounds=LARGE))


@st.composite
def structures(
    draw: st.DrawFn,
    labels: tuple[str, ...] = LABELS,
    axes: tuple[str, ...] = AXES,
    *,
    disjunctions: bool = False,
) -> TreePattern:
    """Patterns of about five elements, with branches."""
    left = draw(st.integers(1, 5))

    def path(depth: int) -> str:
        nonlocal left
        left -= 1
        text = draw(st.sampled_from(labels))
        while left > 0 and depth < 3 and draw(st.booleans()):
            text += f"[{condition(depth + 1)}]"
        if left > 0 and draw(st.booleans()):
            text += draw(st.sampled_from(axes)) + path(depth + 1)
        return text

    def condition(depth: int) -> str:
        operands = [relative(depth)]
        if disjunctions and left > 0 and draw(st.booleans()):
            operands.append(relative(depth))
        return " or ".join(operands)

    def relative(depth: int) -> str:
        return {"/": "", "//": ".//"}[draw(st.sampled_from(axes))] + path(depth)

    return parse_xpath(draw(st.sampled_from(axes)) + path(0), bounds=LARGE)
