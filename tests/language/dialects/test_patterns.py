"""Filter policies of SNS and event patterns of EventBridge, against their documentation."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, reject
from hypothesis import strategies as st

from sapwood.errors import FilterSyntaxError, InputError, LimitError
from sapwood.language import parse_filter
from tests.language.dialects import pattern_oracle as oracle

STEPS_MAX = 20_000
"""Alternatives multiply: what takes more is no better example, and takes long."""


@given(oracle.patterns(), st.lists(oracle.records(), min_size=1, max_size=8), st.booleans())
def test_a_pattern_matches_what_its_documentation_says(
    pattern: dict[str, Any], records: list[dict[str, Any]], sns: bool
) -> None:
    dialect = "sns" if sns else "eventbridge"
    try:
        wanted = parse_filter(json.dumps(pattern), dialect=dialect, steps_max=STEPS_MAX)
    except LimitError:
        reject()
    assert [wanted.matches(one) for one in records] == [
        oracle.matches(pattern, one, sns=sns) for one in records
    ]
    assert parse_filter(str(wanted)) == wanted


POLICY = {
    "store": ["example_corp"],
    "event": [{"anything-but": "order_cancelled"}],
    "customer_interests": ["rugby", "football", "baseball"],
    "price_usd": [{"numeric": [">=", 100]}],
}
"""The first example of the guide of SNS."""


def test_the_example_of_a_policy_matches_its_message() -> None:
    wanted = parse_filter(json.dumps(POLICY), dialect="sns")
    message = {
        "customer_interests": "rugby",
        "store": "example_corp",
        "event": "order_placed",
        "price_usd": 210.75,
    }
    assert wanted.matches(message)
    assert not wanted.matches({**message, "event": "order_cancelled"})
    assert not wanted.matches({**message, "price_usd": 99})
    assert not wanted.matches({**message, "price_usd": "210.75"})


def test_keys_nest_as_records_do_and_dots_mean_the_same() -> None:
    nested = parse_filter('{"detail": {"state": ["on"]}}', dialect="eventbridge")
    assert nested == parse_filter('{"detail.state": ["on"]}', dialect="eventbridge")
    assert nested == parse_filter("detail.state = 'on'")


def test_or_is_an_attribute_where_it_holds_no_alternatives() -> None:
    for text in ('{"$or": ["a", "b"]}', '{"$or": {"a": ["b"]}}'):
        wanted = parse_filter(text, dialect="eventbridge")
        assert wanted.attributes[0].startswith("$or")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{}", "says nothing"),
        ("[]", "JSON object, not"),
        ('{"a": {}}', "a: an object without keys"),
        ('{"a": []}', "a: an array without values"),
        ('{"a": "x"}', 'a: values stand in an array; write ["x"]'),
        ('{"a": [null]}', "a[0]: null cannot be told from absent"),
        ('{"a": ["x", {"cidr": "10.0.0.0/8"}]}', "a[1].cidr: addresses are texts"),
        ('{"a": [{"near": 5}]}', "a[0]: there is no operator 'near'"),
        ('{"a": [{}]}', "a[0]: a value, or an object with one operator"),
        ('{"a": [["x"]]}', "a[0]: a value, or an object with one operator"),
        ('{"a": [{"prefix": 5}]}', "a[0].prefix: a text, not a number"),
        ('{"a": [{"prefix": {"x": "y"}}]}', "a[0].prefix: a text, not an object"),
        ('{"a": [{"wildcard": "a**b"}]}', "two wildcards in a row"),
        ('{"a": [{"wildcard": "a\\\\b"}]}', "a backslash stands before"),
        ('{"a": [{"exists": 1}]}', "a[0].exists: true or false"),
        ('{"a": [{"numeric": []}]}', "a[0].numeric: comparisons such as"),
        ('{"a": [{"numeric": ["<", 5, ">", 1]}]}', "a range has > or >= first"),
        ('{"a": [{"numeric": [">", 5, "<", 5]}]}', "the lower end is not below"),
        ('{"a": [{"numeric": ["!=", 5]}]}', "the comparisons are"),
        ('{"a": [{"numeric": [[], 5]}]}', "the comparisons are"),
        ('{"a": [{"numeric": ["=", true]}]}', "a number, not"),
        ('{"a": [{"numeric": ["=", 1e10]}]}', "numbers go from"),
        ('{"a": [1e999]}', "numbers go from"),
        ('{"a": [{"anything-but": []}]}', "excludes nothing"),
        ('{"a": [{"anything-but": ["x", 1]}]}', "a number, not"),
        ('{"a": [{"anything-but": {"numeric": 1}}]}', "takes values, prefix, suffix, wildcard or"),
        ('{"a": [{"anything-but": {"prefix": []}}]}', "excludes nothing"),
        ('{"a": ["x"], "a": ["y"]}', "a: the key stands twice"),
        ('{"a": [NaN]}', "NaN is no number"),
        ('{"": ["x"]}', "no name of an attribute"),
        ('{"a": ["\\ud800"]}', "half of a surrogate pair"),
        ('{"a": [' + "1" * 5000 + "]}", "more digits"),
    ],
)
def test_what_no_filter_says_is_refused_at_its_place(text: str, reason: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_filter(text, dialect="eventbridge")
    assert reason in str(caught.value)


def test_what_is_no_json_is_refused_at_its_place() -> None:
    with pytest.raises(FilterSyntaxError, match="this is no JSON") as caught:
        parse_filter('{"a": [x]}', dialect="sns")
    assert caught.value.position == 7


def test_sns_takes_smaller_numbers_than_eventbridge() -> None:
    text = '{"a": [{"numeric": ["<", 2000000000]}]}'
    assert parse_filter(text, dialect="eventbridge").matches({"a": 1})
    with pytest.raises(InputError, match="from -1,000,000,000 to"):
        parse_filter(text, dialect="sns")


@pytest.mark.parametrize("text", ['{"a":' * 80 + "[1]" + "}" * 80, "[" * 50_000 + "]" * 5000])
def test_a_pattern_that_is_too_deep_is_refused(text: str) -> None:
    with pytest.raises(LimitError):
        parse_filter(text, dialect="sns")


def test_a_pattern_that_is_too_long_is_refused() -> None:
    with pytest.raises(LimitError, match="FILTER_TEXT_CHARS_MAX"):
        parse_filter(json.dumps({"a": ["x" * 100_000]}), dialect="sns")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ("a", "", "$or", "prefix", "anything-but", "numeric", "exists", "suffix")
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=12,
)


@given(JSON)
def test_any_json_is_a_pattern_or_a_documented_error(value: Any) -> None:
    with suppress(InputError):
        parse_filter(json.dumps(value), dialect="eventbridge")
