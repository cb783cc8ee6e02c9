"""`like` patterns, against a matcher by recursion and a brute search for counter-examples."""

from __future__ import annotations

import copy
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.errors import InputError
from sapwood.model.like import Pattern, Wildcard
from tests import oracles
from tests import strategies as some
from tests.examples import examples

LETTERS = st.lists(st.sampled_from("aab%%_"), max_size=6).map("".join)
SUBJECTS = ["".join(chars) for n in range(5) for chars in product("abc", repeat=n)]


@settings(max_examples=examples(400))
@given(some.like_patterns(), some.texts())
def test_matches_agrees_with_the_recursive_matcher(
    pattern: tuple[str, str | None], text: str
) -> None:
    assert Pattern.parse(*pattern).matches(text) == oracles.like(*pattern, text)


@settings(max_examples=examples(400))
@given(LETTERS, st.text("ab", max_size=8))
def test_matches_agrees_with_the_recursive_matcher_on_repetitive_texts(
    pattern: str, text: str
) -> None:
    assert Pattern.parse(pattern).matches(text) == oracles.like(pattern, None, text)


@settings(deadline=None)
@given(LETTERS, LETTERS)
def test_covers_and_excludes_are_never_refuted(a: str, b: str) -> None:
    first, second = Pattern.parse(a), Pattern.parse(b)
    fits = [(first.matches(text), second.matches(text)) for text in SUBJECTS]
    if first.covers(second):
        assert all(in_first or not in_second for in_first, in_second in fits)
    if first.excludes(second):
        assert not any(in_first and in_second for in_first, in_second in fits)


@given(LETTERS, LETTERS, LETTERS)
def test_covers_is_reflexive_and_transitive(a: str, b: str, c: str) -> None:
    first, second, third = map(Pattern.parse, (a, b, c))
    assert first.covers(first)
    if first.covers(second) and second.covers(third):
        assert first.covers(third)


@pytest.mark.parametrize(
    ("wide", "narrow"),
    [
        ("%", "a%b"),
        ("%a%", "ba%a"),
        ("_%", "a"),
        ("_%", "_"),
        ("a%", "a_%"),
        ("%b", "a_b"),
        ("%", ""),
    ],
)
def test_covers_knows_the_plain_cases(wide: str, narrow: str) -> None:
    assert Pattern.parse(wide).covers(Pattern.parse(narrow))
    assert not Pattern.parse(narrow).covers(Pattern.parse(wide))


@pytest.mark.parametrize(("a", "b"), [("_", "%"), ("a_c%", "a%c%"), ("_a%", "%a%"), ("%_b", "%b")])
def test_covers_does_not_let_a_single_character_stand_for_a_run(a: str, b: str) -> None:
    assert not Pattern.parse(a).covers(Pattern.parse(b))


@pytest.mark.parametrize(
    ("a", "b", "excluded"),
    [("a%", "b%", True), ("%a", "%b", True), ("a%", "ab%", False), ("%a%", "%b%", False)],
)
def test_excludes_looks_at_both_literal_ends(a: str, b: str, excluded: bool) -> None:
    assert Pattern.parse(a).excludes(Pattern.parse(b)) is excluded


@pytest.mark.parametrize(
    ("spelled", "tokens"),
    [
        ("%%", (Wildcard.ANY_RUN,)),
        ("%_", (Wildcard.ANY_CHAR, Wildcard.ANY_RUN)),
        ("_%_%a", (Wildcard.ANY_CHAR, Wildcard.ANY_CHAR, Wildcard.ANY_RUN, "a")),
        ("", ()),
    ],
)
def test_parse_gives_runs_of_wildcards_one_form(
    spelled: str, tokens: tuple[str | Wildcard, ...]
) -> None:
    assert Pattern.parse(spelled).tokens == tokens


@pytest.mark.parametrize(
    ("text", "escape", "fitting"),
    [
        ("100!%", "!", "100%"),
        ("a!_b", "!", "a_b"),
        ("a!!b", "!", "a!b"),
        ("50%%", "%", "50%"),
        ("a__", "_", "a_"),
        ("back\\\\slash", "\\", "back\\slash"),
    ],
)
def test_parse_takes_an_escaped_character_literally(text: str, escape: str, fitting: str) -> None:
    pattern = Pattern.parse(text, escape)
    assert pattern.literal == fitting
    assert pattern.matches(fitting)
    assert not pattern.matches(fitting + "x")


@pytest.mark.parametrize("escape", ["", "ab"])
def test_parse_refuses_an_escape_that_is_not_one_character(escape: str) -> None:
    with pytest.raises(InputError, match="one character, not"):
        Pattern.parse("a", escape)


@pytest.mark.parametrize("text", ["a!", "!a", "!!!"])
def test_parse_refuses_an_escape_before_nothing_to_escape(text: str) -> None:
    with pytest.raises(InputError, match="must stand before %, _ or itself"):
        Pattern.parse(text, "!")


@pytest.mark.parametrize(
    ("text", "literal", "is_prefix", "prefix", "suffix"),
    [
        ("abc", "abc", False, "abc", "abc"),
        ("", "", False, "", ""),
        ("abc%", None, True, "abc", ""),
        ("%", None, True, "", ""),
        ("%abc", None, False, "", "abc"),
        ("a%b", None, False, "a", "b"),
        ("a_", None, False, "a", ""),
        ("a_%", None, False, "a", ""),
    ],
)
def test_parts_of_a_pattern(
    text: str, literal: str | None, is_prefix: bool, prefix: str, suffix: str
) -> None:
    pattern = Pattern.parse(text)
    assert (pattern.literal, pattern.is_prefix) == (literal, is_prefix)
    assert (pattern.prefix, pattern.suffix) == (prefix, suffix)


@pytest.mark.parametrize("text", ["\U0001f600", "\0", "\n", "é", "\U0010ffff"])
def test_matches_counts_a_code_point_as_one_character(text: str) -> None:
    assert Pattern.parse("_").matches(text)
    assert not Pattern.parse("__").matches(text)
    assert Pattern.parse("%_b").matches(f"a{text}b")


def test_sort_key_tells_literals_from_wildcards() -> None:
    patterns = (Pattern.parse("a%"), Pattern.parse("a!%", "!"), Pattern.parse("a_"))
    assert len({pattern.sort_key() for pattern in patterns}) == 3


def test_equality_hash_and_copies_depend_on_the_tokens_only() -> None:
    a, b = Pattern.parse("a%_b"), Pattern.parse("a_%%b")
    assert a == b
    assert hash(a) == hash(b)
    assert repr(a) == repr(b)
    assert copy.copy(a).matches("a--b")
    assert copy.deepcopy(a) == a


@pytest.mark.parametrize(
    "pattern",
    [
        "%a" * 8000 + "b",
        "%" + "a" * 16000 + "b%",
        "%" + "a_" * 255 + "b%",
        "%" + "a%_" * 5000 + "b",
    ],
    ids=["many runs", "one long segment", "one long segment with gaps", "gaps and runs"],
)
def test_matches_and_covers_stay_linear_on_hostile_patterns(pattern: str) -> None:
    hostile = Pattern.parse(pattern)
    assert not hostile.matches("a" * 30000)
    assert not hostile.covers(Pattern.parse("%" + "a" * 30000 + "%"))
    assert hostile.covers(hostile)
