"""Filters held against what records are declared to be."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood import parse_filter
from sapwood.model.constraint import ABSENT, ANYTHING, Constraint, one_of
from sapwood.model.schema import ANY_BOOLEAN, ANY_NUMBER, ANY_TEXT, Schema
from tests.examples import examples


def optional(constraint: Constraint) -> Constraint:
    union = constraint.union(ABSENT)
    assert union is not None
    return union


FLIGHT = Schema(
    "Flight",
    {
        "carrier": ANY_TEXT,
        "dep_delay": optional(ANY_NUMBER),
        "late": ANY_BOOLEAN,
        "state": one_of(["up", "down"]),
        "more": ANYTHING,
    },
    frozenset({"more"}),
)


@pytest.mark.parametrize(
    "filter_",
    [
        "carrier = 'AA' and dep_delay > 60",
        "carrier like 'A%'",
        "dep_delay is null",
        "exists dep_delay and exists carrier and exists late",
        "not dep_delay > 3 or late",
        "state = 'up' or state <> 'up'",
        "more = 3 and more.deep.name = 'x'",
        "more is null",
    ],
)
def test_what_records_can_meet_is_not_doubted(filter_: str) -> None:
    assert FLIGHT.doubts(parse_filter(filter_)) == ()


@pytest.mark.parametrize(
    ("filter_", "doubts"),
    [
        (
            "dep_dealy > 60",
            ["Flight has no attribute 'dep_dealy'; did you mean 'dep_delay'?"],
        ),
        ("tail.number = 'N1'", ["Flight has no attribute 'tail.number'"]),
        (
            "dep_delay > '60'",
            ["attribute 'dep_delay' of Flight is a number, and is compared with a text"],
        ),
        (
            "carrier in ('AA', 1) and late = 'yes'",
            [
                "attribute 'carrier' of Flight is a text, and is compared with a number",
                "attribute 'late' of Flight is a boolean, and is compared with a text",
            ],
        ),
        ("carrier", ["attribute 'carrier' of Flight is a text, and is compared with a boolean"]),
        (
            "state = 'gone'",
            ["no Flight meets state = 'gone': it may have state in ('down', 'up')"],
        ),
        (
            "carrier is null",
            ["no Flight meets carrier is null: it may have a text, and is always there"],
        ),
        ("carrier = 'AA' or dep_delay > 1 and number = 3", ["Flight has no attribute 'number'"]),
    ],
)
def test_what_no_record_can_meet_is_said(filter_: str, doubts: list[str]) -> None:
    assert list(FLIGHT.doubts(parse_filter(filter_))) == doubts


def test_the_same_doubt_is_said_once() -> None:
    assert len(FLIGHT.doubts(parse_filter("gate = 1 and late or gate = 1 and not late"))) == 1


_RECORDS = st.fixed_dictionaries(
    {
        "carrier": st.sampled_from(["AA", "UA", ""]),
        "late": st.booleans(),
        "state": st.sampled_from(["up", "down"]),
    },
    optional={
        "dep_delay": st.one_of(st.integers(-3, 3), st.floats(-3, 3)),
        "more": st.one_of(st.integers(0, 1), st.sampled_from(["x", "y"])),
        "more.a": st.booleans(),
    },
)
_CONDITIONS = st.sampled_from(
    [
        *("carrier = 'AA'", "carrier > 'B'", "carrier = 3", "carrier", "not exists carrier"),
        *("dep_delay > 1", "dep_delay = 'x'", "dep_delay is null", "not dep_delay > 2"),
        *("late", "late = 'x'", "state <> 'up'", "state = 'no'", "more = 1", "more.a", "gate = 1"),
    ]
)


@given(_RECORDS, _CONDITIONS)
@settings(max_examples=examples(200))
def test_a_single_condition_that_a_record_meets_is_never_doubted(
    record: dict[str, bool | int | float | str], condition: str
) -> None:
    filter_ = parse_filter(condition)
    if filter_.matches(record):
        assert FLIGHT.doubts(filter_) == ()
