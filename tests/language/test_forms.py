from __future__ import annotations

import pytest
from hypothesis import given

from sapwood import parse_filter
from sapwood.language.forms import decode_form, encode_form
from sapwood.model.filter import EVERYTHING, NOTHING, Filter
from tests.strategies import filters


@given(filters())
def test_a_form_is_read_back_as_an_equal_filter(filter_: Filter) -> None:
    read = decode_form(encode_form(filter_))
    assert read == filter_
    assert str(read) == str(filter_)
    assert encode_form(read) == encode_form(filter_)


@pytest.mark.parametrize("filter_", [EVERYTHING, NOTHING])
def test_the_extremes_have_forms(filter_: Filter) -> None:
    assert decode_form(encode_form(filter_)) == filter_


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x = 1", "x = 1.0"),
        ("x = 0", "x = -0.0"),
        ("a > 1 and b = 'c'", "b = 'c' and not a <= 1"),
        ("a like 'x_y%' or b", "b or a like 'x_y%'"),
        ("a in ('x', 'y')", "a = 'y' or a = 'x'"),
    ],
)
def test_equal_filters_have_equal_forms(one: str, other: str) -> None:
    assert encode_form(parse_filter(one)) == encode_form(parse_filter(other))


@pytest.mark.parametrize("text", ["a like '\ud7ff%'", "a like '\U0010ffff%'", "x > 1e300"])
def test_ends_at_the_edge_of_what_is_there_are_kept(text: str) -> None:
    filter_ = parse_filter(text)
    assert decode_form(encode_form(filter_)) == filter_
