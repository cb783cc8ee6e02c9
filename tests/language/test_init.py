"""`parse_filter` gives a filter or one of two documented errors, and never takes long."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import FilterSyntaxError, InputError, LimitError
from sapwood.language import parse_filter
from sapwood.limits import CONJUNCTIONS_MAX

WORDS = st.sampled_from(
    [*"ab()<>=!,.%_'\"\\-+1 ", "and ", "or ", "not ", "in ", "like ", "is ", "null ", "between "]
)


@given(text=st.text(max_size=60) | st.lists(WORDS, max_size=25).map("".join))
def test_any_text_is_a_filter_or_a_documented_error(text: str) -> None:
    try:
        wanted = parse_filter(text)
    except (FilterSyntaxError, LimitError):
        return
    assert parse_filter(str(wanted)) == wanted


@pytest.mark.parametrize("wrong", [5, None, b"a = 1", ["a = 1"]])
def test_what_is_no_text_is_refused_with_what_is_accepted(wrong: Any) -> None:
    with pytest.raises(
        InputError, match='a text such as "price > 10", not ' + type(wrong).__name__
    ):
        parse_filter(wrong)


def test_distribution_stops_at_the_limit_instead_of_growing() -> None:
    pairs = " and ".join(f"(a{n} = 1 or b{n} = 1)" for n in range(64))
    with pytest.raises(LimitError, match=r"CONJUNCTIONS_MAX|NORMAL_FORM_STEPS_MAX"):
        parse_filter(pairs)


@pytest.mark.parametrize(
    "text",
    [
        " or ".join(f"a{n} = 1" for n in range(CONJUNCTIONS_MAX)),
        f"a in ({', '.join(str(n) for n in range(10_000))})",
        f"a not in ({', '.join(str(n) for n in range(10_000))})",
        " and ".join(f"a <> {n}" for n in range(4_000)),
        " or ".join(f"a = 1 and b = {n}" for n in range(3_000)),
        " or ".join(f"a like '%{n}%'" for n in range(500)),
    ],
    ids=["wide or", "long in", "long not in", "many holes", "joinable", "patterns"],
)
def test_large_filters_within_the_limits_are_read(text: str) -> None:
    wanted = parse_filter(text)
    assert wanted.conjunctions
