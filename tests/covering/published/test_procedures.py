"""The work's procedures, against all words of small advertisements and against the automaton."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood import parse_advertisement, parse_xpath
from sapwood.covering.published.procedures import meets
from sapwood.errors import InputError
from sapwood.model.patterns.advertisements import Advertisement, Expression, Step
from sapwood.model.patterns.advertisements.expressions import chain, choice, repeat
from tests.examples import examples

_names = st.sampled_from(("a", "b", None))
_steps = st.lists(_names, min_size=1, max_size=3).map(
    lambda names: chain(Step(name) for name in names)
)


@st.composite
def advertised(draw: st.DrawFn) -> Expression:
    """Non-recursive, simple, series, embedded or mixed; at the top perhaps a choice."""
    inner = draw(_steps)
    if draw(st.booleans()):
        inner = chain((*draw(st.lists(_steps, max_size=1)), repeat(inner), draw(_steps)))
    parts = [*draw(st.lists(_steps, max_size=1)), inner]
    if draw(st.booleans()):
        parts = [repeat(chain(parts)), *draw(st.lists(_steps, max_size=1))]
    if draw(st.booleans()):
        parts.append(repeat(draw(_steps)))
    return choice((chain(parts), *draw(st.lists(_steps, max_size=1))))


@st.composite
def xpes(draw: st.DrawFn) -> str:
    """Absolute, relative and descendant XPEs of up to four steps."""
    text = ""
    for _ in range(draw(st.integers(1, 4))):
        text += draw(st.sampled_from(("/", "/", "//"))) + (draw(_names) or "*")
    return text


@given(advertised(), xpes())
@settings(max_examples=examples(300))
def test_meets_agrees_with_the_product_automaton(expression: Expression, text: str) -> None:
    advertisement, pattern = Advertisement(expression), parse_xpath(text)
    assert meets(advertisement, pattern) == advertisement.intersects(pattern)


@pytest.mark.parametrize(
    ("advertisement", "xpe", "expected"),
    [
        ("/b/*/*/c/c/d", "/*/c/*/b/c", False),
        ("/a/*/e/*/d/*/c/b", "*/a//d/*/c//b", True),
        ("/a/*/c(/e/d)+/*/c/e", "/*/a/c/*/d/e/d/*", True),
        # where the print goes wrong: borders with `*`, skipped copies, a whole number of copies
        ("/a/b/a/b", "a/*/b", False),
        ("/a/*/b/a", "a/b/a", True),
        ("/a/b/a/b/b", "a/*/b", True),
        ("/a(/a)+/a", "/a/a/a/b", False),
        ("/a(/b)+/b/a", "/a/b/b/b/a", True),
        ("/a(/b)+(/c)+/d", "/a/b/b/c/d", True),
        ("/a(/b)+(/c)+/d", "/a/c", False),
        ("/a(/b(/c)+/d)+/e", "/a/b/c/c/d/b/c/d/e", True),
        ("/a(/b(/c)+/d)+/e", "/a/b/c/d/c", False),
    ],
)
def test_meets_holds_for_the_examples(advertisement: str, xpe: str, expected: bool) -> None:
    assert meets(parse_advertisement(advertisement), parse_xpath(xpe)) is expected


def test_meets_refuses_what_the_work_has_no_procedure_for() -> None:
    with pytest.raises(InputError, match="is no XPE"):
        meets(parse_advertisement("/a/b"), parse_xpath("/a[b]/c"))
    with pytest.raises(InputError, match="repeated choice"):
        meets(parse_advertisement("/a(/b|/c)+"), parse_xpath("/a/b"))
