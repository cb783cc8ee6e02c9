"""Text to syntax tree, and errors that name the place."""

from __future__ import annotations

from typing import Any

import pytest

from sapwood.errors import FilterSyntaxError, InputError, LimitError
from sapwood.language.parser import parse
from sapwood.language.syntax import (
    And,
    Between,
    Comparison,
    Constant,
    Exists,
    In,
    Like,
    Not,
    Operator,
    Or,
)
from sapwood.limits import FILTER_NESTING_MAX

A, B, C = (Comparison(name, Operator.EQUAL, 1) for name in "abc")


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("a = 1 or b = 1 and c = 1", Or((A, And((B, C))))),
        ("(a = 1 or b = 1) and c = 1", And((Or((A, B)), C))),
        ("not a = 1 and b = 1", And((Not(A), B))),
        ("not (a = 1 and b = 1)", Not(And((A, B)))),
        ("NOT NOT a = 1", Not(Not(A))),
        ("a = 1 and b = 1 and c = 1", And((A, B, C))),
        ("a", Comparison("a", Operator.EQUAL, value=True)),
        ("a != 'x'", Comparison("a", Operator.DIFFERENT, "x")),
        ("a <= 1.5", Comparison("a", Operator.AT_MOST, 1.5)),
        ("a between 1 and 'b'", Between("a", 1, "b")),
        ("a not between 1 and 2", Not(Between("a", 1, 2))),
        ("a in (1, 'x', false)", In("a", (1, "x", False))),
        ("a not in (1)", Not(In("a", (1,)))),
        ("a like 'x%' escape '!'", Like("a", "x%", "!")),
        ("a not like 'x'", Not(Like("a", "x", None))),
        ("exists a.b", Exists("a.b")),
        ("a is null", Not(Exists("a"))),
        ("a Is Not Null", Exists("a")),
        ("true", Constant(value=True)),
        ("False or a = 1", Or((Constant(value=False), A))),
        ('"between" between 1 and 2', Between("between", 1, 2)),
    ],
)
def test_parse_gives_the_tree(text: str, tree: object) -> None:
    assert parse(text) == tree


@pytest.mark.parametrize(
    ("text", "position", "reason"),
    [
        ("", 0, "a filter is empty"),
        ("   ", 3, "a filter is empty"),
        ("a = 1 b = 2", 6, "expected and, or, or the end"),
        ("(a = 1", 6, "closing parenthesis"),
        ("a =", 3, "expected a number, a text in single quotes"),
        ("a = b", 4, "expected a number, a text in single quotes"),
        ("a = null", 4, "write is null"),
        ("a = nan", 4, "nan is no value"),
        ("a < true", 4, "booleans have no order"),
        ("a between false and true", 10, "booleans have no order"),
        ("a between 1 or 2", 12, "expected and between the two ends"),
        ("a in 1", 5, "expected ( and a list"),
        ("a in ()", 6, "expected a number"),
        ("a in (1 2)", 8, "a comma or )"),
        ("a like 5", 7, "a pattern in single quotes"),
        ("a like 'x' escape 'ab'", 18, "one character"),
        ("a like 'x!' escape '!'", 7, "must stand before"),
        ("a like 'x' escape 5", 18, "one character in single quotes"),
        ("a is 5", 5, "expected null or not null"),
        ("a not 5", 6, "between, in or like after not"),
        ("10 < a", 0, "begins with an attribute name"),
        ("exists 5", 7, "an attribute name after exists"),
        ("in = 5", 0, 'as a name it needs quotes: "in"'),
        ('"" = 5', 0, "never empty"),
        ("and", 0, "expected an attribute name"),
    ],
)
def test_parse_names_the_position_and_what_was_expected(
    text: str, position: int, reason: str
) -> None:
    with pytest.raises(FilterSyntaxError) as caught:
        parse(text)
    assert caught.value.position == position
    assert reason in str(caught.value)


@pytest.mark.parametrize(("opening", "closing"), [("(", ")"), ("not ", "")])
def test_parse_takes_the_deepest_nesting_and_refuses_one_more(opening: str, closing: str) -> None:
    most = opening * FILTER_NESTING_MAX + "a = 1" + closing * FILTER_NESTING_MAX
    parse(most)
    with pytest.raises(LimitError, match="FILTER_NESTING_MAX"):
        parse(opening + most + closing)


@pytest.mark.parametrize("wrong", [None, 5, b"a = 1"])
def test_parse_refuses_what_is_no_text(wrong: Any) -> None:
    with pytest.raises(InputError, match="a filter is a text, not"):
        parse(wrong)
