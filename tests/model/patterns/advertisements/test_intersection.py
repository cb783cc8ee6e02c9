"""Intersection and inclusion, against one document that holds everything and against words."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood import parse_xpath
from sapwood.language.advertisements import parse_advertisement
from sapwood.model.patterns.advertisements import Advertisement, Expression
from sapwood.model.patterns.advertisements import advertisement as values
from sapwood.model.patterns.advertisements import intersection as module
from sapwood.model.patterns.advertisements.automaton import Automaton
from sapwood.model.patterns.twigs import Twig
from tests.examples import examples
from tests.model.patterns.advertisements.made import document_of, expressions, words

LEVELS = 9
"""Three times round a loop of three steps, for patterns that ask for three more."""

_names = st.sampled_from(("a", "a", "b", "b", "z", "*"))
_axes = st.sampled_from(("/", "/", "//"))


@st.composite
def linear(draw: st.DrawFn) -> str:
    """Absolute and relative path expressions of up to three steps."""
    text = draw(st.sampled_from(("/", "//", "/")))
    for at in range(draw(st.integers(1, 3))):
        text += (draw(_axes) if at else "") + draw(_names)
    return text


@st.composite
def branching(draw: st.DrawFn) -> str:
    """Patterns with predicates."""
    text = draw(st.sampled_from(("/", "//")))
    for at in range(draw(st.integers(1, 2))):
        text += (draw(_axes) if at else "") + draw(_names)
        for _ in range(draw(st.integers(0, 2))):
            start = draw(st.sampled_from(("", ".//")))
            inner = draw(_names) + draw(st.sampled_from(("", "/a", "//b", "/*", "[a]/b")))
            text += f"[{start}{inner}]"
    return text


def accepts_some(expression: Expression, text: str) -> bool:
    """The truth: whether the pattern accepts the document with every beginning of every word.

    What accepts a document accepts any larger one, so one document for each root is enough. Longer
    words than these bring nothing new: expressions and patterns are small.
    """
    pattern = parse_xpath(text)
    found = words(expression, LEVELS)
    return any(
        pattern.accepts(document_of(paths))
        for root in "abz"
        if (paths := [word for word in found if word.startswith(f"/{root}")])
    )


@given(expressions(3), linear())
@settings(max_examples=examples(60))
def test_intersects_is_exact_for_path_expressions(expression: Expression, text: str) -> None:
    found = Advertisement(expression).intersects(parse_xpath(text))
    assert found == accepts_some(expression, text)


@given(expressions(3), branching())
@settings(max_examples=examples(60))
def test_intersects_is_exact_for_tree_patterns(expression: Expression, text: str) -> None:
    found = Advertisement(expression).intersects(parse_xpath(text))
    assert found == accepts_some(expression, text)


@given(expressions(3), expressions(3))
@settings(max_examples=examples(60))
def test_covers_is_inclusion_of_words(wide: Expression, narrow: Expression) -> None:
    covers = Advertisement(wide).covers(Advertisement(narrow))
    assert covers == (words(narrow, 7) <= words(wide, 7))


@given(expressions(), expressions(), branching())
def test_what_intersects_the_covered_intersects_the_cover(
    wide: Expression, narrow: Expression, text: str
) -> None:
    cover, covered = Advertisement(wide), Advertisement(narrow)
    if cover.covers(covered) and covered.intersects(parse_xpath(text)):
        assert cover.intersects(parse_xpath(text))


# The examples of the work, repaired where the print lost characters, and the counterexamples to
# its printed algorithms (1.4.2 to 1.4.4).
PRINTED = (
    ("/b/*/*/c/c/d", "/*/c/*/b/c", False),
    ("/a/*/e/*/d/*/c/b", "*/a//d/*/c//b", True),
    ("/a/*/c(/e/d)+/*/c/e", "/*/a/c/*/d/e/d/*", True),
    ("/a/b/a/b", "a/*/b", False),
    ("/a/*/b/a", "a/b/a", True),
    ("/a(/a)+/a", "/a/a/a/b", False),
    ("/a(/b)+/b/a", "/a/b/b/b/a", True),
    ("/a", "/a/b", False),
    ("/a/b", "/a", True),
)


@pytest.mark.parametrize(("advertised", "wanted", "intersects"), PRINTED)
def test_intersects_holds_for_the_examples_of_the_work(
    advertised: str, wanted: str, intersects: bool
) -> None:
    assert parse_advertisement(advertised).intersects(parse_xpath(wanted)) is intersects


def test_branches_may_need_different_words_with_one_beginning() -> None:
    pattern = parse_xpath("/a/b[c]/d")
    assert parse_advertisement("/a/b/c|/a/b/d").intersects(pattern)
    assert parse_advertisement("/a/*/c|/a/b/d").intersects(pattern)
    assert not parse_advertisement("/a/x/c|/a/b/d").intersects(pattern)


def test_too_many_states_give_the_careful_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    advertised = other = parse_advertisement("/a/b/c")
    pattern = parse_xpath("/a[b/d]/b/c")
    assert not advertised.intersects(pattern)
    assert parse_advertisement("/a/b/*").covers(other)
    monkeypatch.setattr(module, "ADVERTISEMENT_STATES_MAX", 1)
    assert parse_advertisement("/a/b/c").intersects(pattern)
    assert not advertised.intersects(pattern)  # it remembers
    assert not parse_advertisement("/a/b/*").covers(other)
    assert not advertised.intersects(parse_xpath("/a/b/d"))


def test_of_many_patterns_the_answers_to_the_last_are_remembered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[Twig] = []

    def may_accept(automaton: Automaton, twig: Twig) -> bool:
        asked.append(twig)
        return module.may_accept(automaton, twig)

    monkeypatch.setattr(values, "_ASKED_MAX", 2)
    monkeypatch.setattr(values, "may_accept", may_accept)
    advertised = parse_advertisement("/a/b")
    one, two, three = map(parse_xpath, ("/a", "/a/c", "//b"))
    for pattern in (one, two, one, two, three, two, one):
        assert advertised.intersects(pattern) is (pattern != two)
    assert asked == [*one.twigs, *two.twigs, *three.twigs, *one.twigs]


def test_too_many_reads_give_the_careful_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    advertised = parse_advertisement("/a/b/c")
    monkeypatch.setattr(module, "ADVERTISEMENT_READS_MAX", 1)
    assert advertised.intersects(parse_xpath("/a/b/d"))
    assert not parse_advertisement("/a/b/*").covers(advertised)
