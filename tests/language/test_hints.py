"""Hints for people who come with the habits of other filter languages."""

from __future__ import annotations

import pytest

from sapwood.errors import FilterSyntaxError
from sapwood.language import parse_filter


@pytest.mark.parametrize(
    ("wrong", "remedy"),
    [
        ("exists(x)", "exists price"),
        ("x exists", "exists x"),
        ("isnull(x)", "not exists x"),
        ("x missing", "x is null"),
        ("upper(x) = 'A'", "lower(x) = 'text'"),
        ("x ilike 'A%'", "lower(x) = 'text'"),
        ("x contains 'a'", "x like '%text%'"),
        ("not (contains(x, 'a'))", "x like '%text%'"),
        ("a = 1 and (x starts_with 'a')", "x like 'text%'"),
        ("ends_with(x, 'a')", "x like '%text'"),
        ("x regexp 'a.*'", "x like 'a%b_c'"),
        ("x =~ 'a.*'", "like 'a%b_c'"),
        ("x betwen 1 and 2", "between"),
        ("x in [1]", "parentheses"),
        ("length(x) > 1", "no functions"),
        ("//news[title]", "parse_xpath"),
    ],
)
def test_the_reason_names_what_to_write_in_its_place(wrong: str, remedy: str) -> None:
    with pytest.raises(FilterSyntaxError) as caught:
        parse_filter(wrong)
    assert remedy in caught.value.reason


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ("symbol = IBM", "'IBM'"),
        ('symbol = "O\'Neill"', "'O''Neill'"),
        ("symbol in ('SAP', IBM.N)", "'IBM.N'"),
        ("symbol like IBM%", "'IBM'"),
        ("symbol between a and b", "'a'"),
    ],
)
def test_a_name_in_the_place_of_a_text_is_shown_as_one(wrong: str, text: str) -> None:
    with pytest.raises(FilterSyntaxError) as caught:
        parse_filter(wrong)
    assert caught.value.reason.endswith(f"; as a text it is {text}")


@pytest.mark.parametrize(
    "remedy",
    [
        "exists x",
        "x is not null",
        "not exists x",
        "x in ('a', 'A')",
        "x like '%text%'",
        "x like 'a%b_c'",
        "x = 'text'",
        "symbol = 'O''Neill'",
    ],
)
def test_what_is_advised_is_a_filter(remedy: str) -> None:
    parse_filter(remedy)


@pytest.mark.parametrize("word", ["contains", "lower", "missing", "ilike", "betwen", "has"])
def test_words_of_other_languages_are_names_of_attributes(word: str) -> None:
    assert parse_filter(f"{word} and ({word}.x > 1 or not {word}.y)").conjunctions


def test_a_long_word_is_not_repeated() -> None:
    with pytest.raises(FilterSyntaxError) as caught:
        parse_filter(f"x = {'a' * 100}")
    assert "aaa" not in caught.value.reason
