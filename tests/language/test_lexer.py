"""Tokens and their positions, and the first character that begins none."""

from __future__ import annotations

import pytest

from sapwood.errors import FilterSyntaxError, LimitError
from sapwood.language.lexer import Kind, tokenize
from sapwood.limits import FILTER_TEXT_CHARS_MAX


def test_tokenize_tells_kinds_values_and_positions() -> None:
    tokens = list(tokenize("""a.b >= -1.5e3 AND "x ""y" in ('it''s')"""))
    assert [(t.kind, t.text if t.value is None else t.value) for t in tokens] == [
        (Kind.NAME, "a.b"),
        (Kind.OPERATOR, ">="),
        (Kind.NUMBER, -1500.0),
        (Kind.KEYWORD, "and"),
        (Kind.NAME, 'x "y'),
        (Kind.KEYWORD, "in"),
        (Kind.PUNCTUATION, "("),
        (Kind.TEXT, "it's"),
        (Kind.PUNCTUATION, ")"),
        (Kind.END, ""),
    ]
    assert [t.position for t in tokens] == [0, 4, 7, 14, 18, 26, 29, 30, 37, 38]


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1), ("+1", 1), ("-1", -1), (".5", 0.5), ("5.", 5.0), ("1e2", 100.0), ("007", 7)],
)
def test_tokenize_reads_numbers(text: str, value: float) -> None:
    [number, _] = tokenize(text)
    assert number.value == value
    assert type(number.value) is type(value)


@pytest.mark.parametrize(
    ("text", "position", "reason"),
    [
        ("a == 1", 2, "equality is written ="),
        ("a = 1 && b = 1", 6, "write and"),
        ("a = 1 || b = 1", 6, "write or"),
        ("!a", 0, "negation is written not"),
        ("a = 'x", 4, "never closed"),
        ('"a = 1', 0, "never closed"),
        ("a = 1x", 4, "not a number"),
        ("a = 1.2.3", 4, "not a number"),
        ("a = #", 4, "'#' has no meaning"),
        ("a = 9223372036854775808", 4, "more than 64 bits"),
        ("a = " + "9" * 5000, 4, "more than 64 bits"),
        ("a = 1e999", 4, "too large for a float"),
    ],
)
def test_tokenize_names_the_position_and_the_remedy(text: str, position: int, reason: str) -> None:
    with pytest.raises(FilterSyntaxError, match=reason) as caught:
        list(tokenize(text))
    assert caught.value.position == position


def test_tokenize_takes_the_longest_text_and_refuses_one_more() -> None:
    assert list(tokenize(" " * FILTER_TEXT_CHARS_MAX))
    with pytest.raises(LimitError, match="FILTER_TEXT_CHARS_MAX"):
        list(tokenize(" " * (FILTER_TEXT_CHARS_MAX + 1)))


def test_tokenize_refuses_half_of_a_surrogate_pair() -> None:
    with pytest.raises(FilterSyntaxError, match="no character") as caught:
        list(tokenize("name = 'x\ud800'"))
    assert caught.value.position == 9
    assert [t.value for t in tokenize("\u00e4 = '\U0001f333'")][::2] == ["\u00e4", "\U0001f333"]
