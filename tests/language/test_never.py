"""Filters that accept nothing: that they are known, and why is said."""

from __future__ import annotations

import pytest
from hypothesis import given

from sapwood import parse_filter, parse_xpath
from sapwood.language.never import why_never
from sapwood.model.filter import Filter
from tests.strategies import filters, records


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x > 3 and x < 2", "x > 3 and x < 2 exclude each other"),
        ("(x > 3 and y = 1) and (z = 1 and y = 2)", "y = 1 and y = 2 exclude each other"),
        ("x between 5 and 1", "no record can match x between 5 and 1"),
        ("x = 1 and x between 5 and 1", "one of its conditions accepts no record by itself"),
        (
            "a = 1 and a = 2 or b = 1 and b = 2",
            "no record can match a = 1 and a = 2 or b = 1 and b = 2",
        ),
        ("false", "no record can match false"),
        (f"x = '{'a' * 200}' and x = 'b'", "two of its conditions exclude each other"),
        ("x = 1 and x = 2" + " and y = 3" * 20, "x = 1 and x = 2 exclude each other"),
    ],
)
def test_why_no_record_can_match_is_said(text: str, why: str) -> None:
    assert why_never(parse_filter(text)) == why


@pytest.mark.parametrize("text", ["x > 3", "true", "x > 3 and x < 5", "a = 1 and a = 2 or b = 1"])
def test_a_filter_that_a_record_can_match_is_left_alone(text: str) -> None:
    assert why_never(parse_filter(text)) is None


def test_a_filter_without_its_text_is_known_all_the_same() -> None:
    packed = parse_filter("x > 3 and x < 2").packed
    assert packed is not None
    assert why_never(Filter.of_packed(packed)) == "no record can match it"


@pytest.mark.parametrize(
    ("xpath", "is_idle"),
    [
        ("/a", False),
        ("/a[. = 'x']", False),
        ("/a[. = 'x'][. = 'y']", True),
        ("//a[text() = '']", True),
        ("/a[@b = 'x'][@b = 'y']", False),  # two attributes of two namespaces
        ("/a[b = 'x' or (. = 'y' and . = 'z')]", False),
        ("/a[b = 'x' and (. = 'y' and . = 'z')]", True),
    ],
)
def test_a_pattern_that_no_document_can_match_is_known(xpath: str, is_idle: bool) -> None:
    pattern = parse_xpath(xpath)
    assert pattern.accepts_nothing == is_idle
    assert (why_never(pattern) is not None) == is_idle


@given(filters(), records())
def test_what_accepts_nothing_matches_nothing_and_meets_nothing(
    one: Filter, record: dict[str, object]
) -> None:
    if one.accepts_nothing:
        assert not one.matches(record)
    assert one.accepts_nothing == (not one.intersects(one))
