"""Message selectors, against their specification."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import FilterSyntaxError, LimitError
from sapwood.language import parse_filter
from tests.language.dialects import jms_oracle as oracle


@given(oracle.selectors(), st.lists(oracle.records(), min_size=1, max_size=8))
def test_a_selector_selects_what_its_specification_says(
    tree: oracle.Tree, records: list[dict[str, Any]]
) -> None:
    text = oracle.write(tree)
    wanted = parse_filter(text, dialect="jms")
    assert [wanted.accepts(one) for one in records] == [
        oracle.evaluate(tree, one) is True for one in records
    ]


@given(oracle.selectors())
def test_what_a_selector_became_is_read_in_the_language_of_the_house(tree: oracle.Tree) -> None:
    wanted = parse_filter(oracle.write(tree), dialect="jms")
    assert wanted.source is None
    assert parse_filter(str(wanted)) == wanted


@pytest.mark.parametrize(
    ("selector", "filter_text"),
    [
        ("JMSType = 'car' AND color = 'blue' AND weight > 2500", None),
        ("a > 2 * (3 + 4) - 1", "a > 13"),
        ("a = 7 / 2", "a = 3"),
        ("a = -7 / 2", "a = -3"),
        ("a = 7 / 2.0", "a = 3.5"),
        ("a = 0x1F", "a = 31"),
        ("a = 5L", "a = 5"),
        ("a = 2.5f", "a = 2.5"),
        ("a = -+-1", "a = 1"),
        ("10 < a", "a > 10"),
        ("'x' = a", "a = 'x'"),
        ("3 BETWEEN a AND 5", "a <= 3"),
        ("3 BETWEEN 1 AND 5", "true"),
        ("'x' = 'x' and 'x' <> 1", "false"),
        ("1 = 1.0", "true"),
        ("a NOT LIKE 'x%' AND a LIKE '%'", "a not like 'x%'"),
        ("a IS NOT NULL", "exists a"),
        ("a or b and NOT c", "a or b and exists c and not c or b and exists c and c is null"),
        ("not_a = 1 and $b = 2", """not_a = 1 and "$b" = 2"""),
        ("detail.state = 'on'", "detail.state = 'on'"),
    ],
)
def test_a_selector_becomes_this_filter(selector: str, filter_text: str | None) -> None:
    if "NOT c" in selector:
        accepted = parse_filter(selector, dialect="jms")
        assert accepted.matches({"b": True, "c": "x"})
        assert not accepted.matches({"b": True})
        return
    wanted = selector.replace("AND", "and") if filter_text is None else filter_text
    assert parse_filter(selector, dialect="jms") == parse_filter(wanted)


@pytest.mark.parametrize(
    ("selector", "position", "reason"),
    [
        ("", 0, "empty"),
        ("a = b", 4, "compares attributes with constants"),
        ("a + 1 > 2", 0, "cannot reckon with attributes"),
        ("2 > -a", 5, "cannot reckon with attributes"),
        ("a > 'x'", 2, "no order"),
        ("a < TRUE", 2, "no order"),
        ("'a' < 5", 4, "no order"),
        ("a in (1)", 6, "in takes texts only"),
        ("a in ('x'", 9, "comma or )"),
        ("a in 'x'", 5, "list of texts"),
        ("'a' in ('a')", 0, "not of a constant"),
        ("a like 5", 7, "a pattern in single quotes"),
        ("a like 'x!' escape '!'", 7, "must stand before"),
        ("a = null", 4, "nothing compares with null"),
        ("a not = 5", 6, "between, in or like"),
        ("a is 5", 5, "null or not null"),
        ("5", 0, "a condition is needed"),
        ("a = 010", 4, "octal"),
        ("a = 5x", 4, "not a number"),
        ("a = 1e999", 4, "too large"),
        ("a = 9223372036854775808", 4, "64 bits"),
        ("a = 9223372036854775807 + 1", 24, "64 bits"),
        ("a = 1 / 0", 6, "no finite value"),
        ("a = 1e308 * 10", 10, "no finite value"),
        ("a = 'x' + 1", 8, "only numbers"),
        ("a = 'x", 4, "never closed"),
        ("a = (b = 1)", 4, "a value to compare with"),
        ("a # 5", 2, "has no meaning"),
        ("a = 1 b", 6, "expected and, or"),
        ("(a = 1", 6, "a closing parenthesis"),
        ("a = )", 4, "expected an attribute"),
        ("a between 1", 11, "and between the two ends"),
    ],
)
def test_what_no_filter_says_is_refused_at_its_place(
    selector: str, position: int, reason: str
) -> None:
    with pytest.raises(FilterSyntaxError) as caught:
        parse_filter(selector, dialect="jms")
    assert caught.value.position == position
    assert reason in caught.value.reason


@pytest.mark.parametrize(
    "selector", ["(" * 90 + "a" + ")" * 90, "not " * 90 + "a", "a = " + "-" * 90 + "1"]
)
def test_a_selector_that_is_too_deep_is_refused(selector: str) -> None:
    with pytest.raises(LimitError, match="FILTER_NESTING_MAX"):
        parse_filter(selector, dialect="jms")


def test_a_selector_that_is_too_long_is_refused() -> None:
    with pytest.raises(LimitError, match="FILTER_TEXT_CHARS_MAX"):
        parse_filter("a = '" + "x" * 100_000 + "'", dialect="jms")


def test_half_of_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(FilterSyntaxError, match="surrogate"):
        parse_filter("a = '\ud800'", dialect="jms")


@given(st.text("ab1 .()=<>'%+-*/$,\"", max_size=24) | st.text(max_size=8))
def test_any_text_is_a_selector_or_a_documented_error(text: str) -> None:
    with suppress(FilterSyntaxError, LimitError):
        parse_filter(text, dialect="jms")
