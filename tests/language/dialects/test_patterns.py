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


EVENT: dict[str, Any] = {
    "source": "aws.ec2",
    "detail-type": "EC2 Instance State-change Notification",
    "time": "2017-10-02T16:24:49Z",
    "resources": ["arn:aws:ec2:1", "arn:aws:ec2:2"],
    "detail": {
        "c-count": 5,
        "d-count": 3,
        "x-limit": 301.8,
        "instance-id": "i-000000aaaaaa00000",
        "state": "running",
        "name": "",
        "path": "dir/lib/a*b.PNG",
        "ports": [22, 443],
    },
}
"""An event like those of the guide of EventBridge and of event-ruler's README."""


@pytest.mark.parametrize(
    ("pattern", "is_matched"),
    [
        # values, and arrays on either side
        ({"detail": {"state": ["initializing", "running"]}}, True),
        ({"detail": {"state": ["initializing"]}}, False),
        ({"resources": ["arn:aws:ec2:0", "arn:aws:ec2:2"]}, True),
        ({"resources": ["arn:aws:ec2:0"]}, False),
        ({"source": ["aws.ec2"], "detail": {"state": ["running"], "c-count": [5]}}, True),
        ({"source": ["aws.ec2"], "detail": {"state": ["running"], "c-count": [6]}}, False),
        ({"detail": {"x-limit": [3.018e2]}}, True),
        ({"detail": {"name": [""]}}, True),
        # texts
        ({"time": [{"prefix": "2017-10-02"}]}, True),
        ({"resources": [{"prefix": "arn:aws:s3"}]}, False),
        ({"source": [{"prefix": {"equals-ignore-case": "AWS."}}]}, True),
        ({"source": [{"suffix": "ec2"}]}, True),
        ({"detail": {"path": [{"suffix": ".png"}]}}, False),
        ({"detail": {"path": [{"suffix": {"equals-ignore-case": ".png"}}]}}, True),
        ({"source": [{"equals-ignore-case": "AWS.EC2"}]}, True),
        ({"detail": {"path": [{"wildcard": "dir/*/a\\*b.*"}]}}, True),
        ({"detail": {"path": [{"wildcard": "dir/*.png"}]}}, False),
        ({"resources": [{"wildcard": "arn:*:2"}]}, True),
        # anything but
        ({"detail": {"state": [{"anything-but": "initializing"}]}}, True),
        ({"detail": {"state": [{"anything-but": ["stopped", "running"]}]}}, False),
        ({"detail": {"x-limit": [{"anything-but": [100, 200, 300]}]}}, True),
        ({"detail": {"x-limit": [{"anything-but": 301.8}]}}, False),
        ({"detail": {"state": [{"anything-but": {"prefix": "init"}}]}}, True),
        ({"detail": {"state": [{"anything-but": {"suffix": "ning"}}]}}, False),
        ({"detail": {"state": [{"anything-but": {"equals-ignore-case": "RUNNING"}}]}}, False),
        ({"detail": {"path": [{"anything-but": {"wildcard": "*/lib/*"}}]}}, False),
        ({"detail": {"path": [{"anything-but": {"wildcard": ["*/bin/*", "*/usr/*"]}}]}}, True),
        ({"detail": {"ports": [{"anything-but": [22]}]}}, True),
        ({"detail": {"ports": [{"anything-but": [22, 443]}]}}, False),
        ({"detail": {"nothing": [{"anything-but": "x"}]}}, False),
        # numbers
        ({"detail": {"c-count": [{"numeric": [">", 0, "<=", 5]}]}}, True),
        ({"detail": {"c-count": [{"numeric": [">", 0, "<", 5]}]}}, False),
        ({"detail": {"d-count": [{"numeric": ["<", 10]}], "x-limit": [{"numeric": ["=", 301.8]}]}},
         True),
        ({"detail": {"ports": [{"numeric": [">=", 443]}]}}, True),
        ({"detail": {"ports": [{"numeric": [">", 22, "<", 443]}]}}, False),
        ({"source": [{"numeric": [">", 0]}]}, False),
        # what is there
        ({"detail": {"c-count": [{"exists": True}]}}, True),
        ({"detail": {"nothing": [{"exists": False}]}}, True),
        ({"detail": [{"exists": True}]}, False),
        ({"detail": [{"exists": False}]}, True),
        ({"detail": {"ports": [{"exists": True}]}}, True),
        ({"detail": {"name": [{"exists": True}]}}, True),
        # alternatives
        ({"source": ["x"], "$or": [{"source": ["aws.ec2"]}, {"time": ["y"]}]}, False),
        ({"$or": [{"source": ["x"]}, {"detail": {"d-count": [{"numeric": ["<", 10]}]}}]}, True),
        ({"detail": {"$or": [{"state": ["x"]}, {"c-count": [5], "d-count": [3]}]}}, True),
        ({"detail": {"$or": [{"state": ["x"]}, {"c-count": [5], "d-count": [4]}]}}, False),
        ({"$or": [{"source": ["x"]}, {"$or": [{"time": ["y"]}, {"resources": ["arn:aws:ec2:1"]}]}]},
         True),
        ({"source": ["x", {"suffix": "ec2"}, {"exists": False}]}, True),
    ],
    ids=str,
)  # fmt: skip
def test_patterns_match_as_the_guide_of_eventbridge_has_it(
    pattern: dict[str, Any], is_matched: bool
) -> None:
    wanted = parse_filter(json.dumps(pattern), dialect="eventbridge")
    assert wanted.matches(EVENT) is is_matched
    assert oracle.matches(pattern, EVENT, sns=False) is is_matched


@pytest.mark.parametrize(
    ("values", "matched", "others"),
    [
        (["rugby", "tennis"], ["rugby", "tennis", ["rugby", "tennis"]], ["baseball", ["baseball"]]),
        (
            [{"anything-but": ["rugby", "tennis"]}],
            ["baseball", "football", ["rugby", "baseball"]],
            ["rugby", ["rugby"], ["tennis", "rugby"]],
        ),
        ([{"anything-but": {"prefix": "order-"}}], ["data-entry"], ["order-cancelled"]),
        ([{"anything-but": {"suffix": "-entry"}}], ["order-cancelled"], ["data-entry"]),
        ([{"equals-ignore-case": "tennis"}], ["TENNIS", "Tennis"], ["tennis ", "rugby"]),
        ([{"prefix": "bas"}], ["baseball", "basketball"], ["rugby", "Baseball"]),
        ([{"suffix": "ball"}], ["baseball", ["rugby", "football"]], ["ballet"]),
        ([{"wildcard": "*ball*game"}], ["football game"], ["football", "game"]),
        ([{"numeric": ["=", 301.5]}], [301.5, 3.015e2, [1, 301.5]], [301, "301.5"]),
        ([{"anything-but": [100, 500]}], [101, 100.1, [100, 50]], [100, [500, 100]]),
        ([{"numeric": ["<", 0]}], [-1, [5, -0.5]], [0, "-1"]),
        ([{"numeric": [">", 0, "<=", 150]}], [0.1, 150], [0, 151, [0, 151]]),
        ([True], [True, [False, True]], [False, "true", 1]),
        ([{"exists": True}], ["x", 0, False, ["", "x"]], ["", [], [[]]]),
        ([{"exists": False}], ["", []], ["x", [0]]),
        (["rugby", {"prefix": "bas"}, {"numeric": [">", 5]}], ["rugby", "basic", 6], ["x", 5]),
    ],
    ids=str,
)
def test_policies_match_as_the_guide_of_sns_has_it(
    values: list[Any], matched: list[Any], others: list[Any]
) -> None:
    wanted = parse_filter(json.dumps({"a": values}), dialect="sns")
    for is_matched, value in [(True, one) for one in matched] + [(False, one) for one in others]:
        message = {"a": value, "b": 1}
        assert wanted.matches(message) is is_matched, value
        assert oracle.matches({"a": values}, message, sns=True) is is_matched, value


def test_all_keys_of_a_policy_and_one_of_its_alternatives_have_to_match() -> None:
    policy = {
        "source": ["aws.cloudwatch"],
        "$or": [
            {"metricName": ["CPUUtilization"]},
            {"metricType": ["MetricType"], "$or": [{"metricId": [1234]}, {"spaceId": [1000]}]},
            {"scope": ["Service"]},
        ],
    }
    wanted = parse_filter(json.dumps(policy), dialect="sns")
    message: dict[str, Any] = {"source": "aws.cloudwatch"}
    for more, is_matched in (
        ({"metricName": "CPUUtilization"}, True),
        ({"metricName": "ReadLatency"}, False),
        ({"metricType": "MetricType"}, False),
        ({"metricType": "MetricType", "spaceId": 1000}, True),
        ({"scope": ["Topic", "Service"]}, True),
        ({"scope": "Service", "source": "aws.ec2"}, False),
    ):
        assert wanted.matches(message | more) is is_matched, more


def test_keys_into_one_array_of_objects_are_looked_at_one_by_one() -> None:
    wanted = parse_filter('{"items": {"sku": ["a"], "price": [5]}}', dialect="eventbridge")
    assert wanted.matches({"items": [{"sku": "a", "price": 5}]})
    assert wanted.matches({"items": [{"sku": "a", "price": 9}, {"sku": "b", "price": 5}]})
    assert not wanted.matches({"items": [{"sku": "a", "price": 9}]})


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
        ('{"a": [{"anything-but": {"cidr": "10.0.0.0/8"}}]}', "takes values, prefix, suffix, wild"),
        ('{"a": [{"anything-but": null}]}', "a[0].anything-but: a number, not null"),
        ('{"a": [{"anything-but": true}]}', "a[0].anything-but: a number, not"),
        ('{"a": [{"prefix": "x", "suffix": "y"}]}', "a[0]: a value, or an object with one operat"),
        ('{"a": [{"equals-ignore-case": ["x"]}]}', "a[0].equals-ignore-case: a text, not"),
        ('{"a": {"exists": true}}', 'a: operators stand in an array; write [{"exists": true}]'),
        ('{"a": {"prefix": "x"}}', 'a: operators stand in an array; write [{"prefix": "x"}]'),
        ('{"prefix": "x"}', 'prefix: values stand in an array; write ["x"]'),
        ('{"$or": [{"a": ["x"]}]}', "$or[0]: there is no operator 'a'"),
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
