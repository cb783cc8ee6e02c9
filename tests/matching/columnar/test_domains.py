"""Constraints as ranges on a domain."""

from __future__ import annotations

import math

import pytest

from sapwood import parse_filter
from sapwood.matching.columnar.domains import High, Low, RankRange, ranges
from sapwood.model.constraint import ANYTHING, NOTHING, PRESENT, Constraint, equal_to
from sapwood.model.numbers import Interval


def constraint(text: str) -> Constraint:
    ((_, found),) = parse_filter(text).conjunctions[0].constraints
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = 5", [RankRange(Low.AT_NUMBER, 5, High.AT_NUMBER, 5)]),
        ("a > 5", [RankRange(Low.AFTER_NUMBER, 5, High.LAST_NUMBER, None)]),
        ("a >= 5", [RankRange(Low.AT_NUMBER, 5, High.LAST_NUMBER, None)]),
        ("a < 5", [RankRange(Low.FIRST_NUMBER, None, High.BEFORE_NUMBER, 5)]),
        ("a <= 5", [RankRange(Low.FIRST_NUMBER, None, High.AT_NUMBER, 5)]),
        (
            "a <> 5",
            [
                RankRange(Low.FIRST_NUMBER, None, High.BEFORE_NUMBER, 5),
                RankRange(Low.AFTER_NUMBER, 5, High.LAST_NUMBER, None),
            ],
        ),
        ("a = 'x'", [RankRange(Low.AT_TEXT, "x", High.AT_TEXT, "x")]),
        ("a = ''", [RankRange(Low.AT_TEXT, "", High.AT_TEXT, "")]),
        ("a >= 'x'", [RankRange(Low.AT_TEXT, "x", High.LAST_TEXT, None)]),
        ("a > 'x'", [RankRange(Low.AT_TEXT, "x\0", High.LAST_TEXT, None)]),
        ("a < 'x'", [RankRange(Low.FIRST_TEXT, None, High.BEFORE_TEXT, "x")]),
        ("a <= 'x'", [RankRange(Low.FIRST_TEXT, None, High.BEFORE_TEXT, "x\0")]),
        ("a like 'x%'", [RankRange(Low.AT_TEXT, "x", High.BEFORE_TEXT, "y")]),
        ("a like '%x%'", [RankRange(Low.FIRST_TEXT, None, High.LAST_TEXT, None)]),
        ("a", [RankRange(Low.TRUE, None, High.TRUE, None)]),
        ("not a", [RankRange(Low.FALSE, None, High.FALSE, None)]),
        ("a is null", [RankRange(Low.ABSENT, None, High.ABSENT, None)]),
    ],
)
def test_ranges_of_one_condition(text: str, expected: list[RankRange]) -> None:
    assert ranges(constraint(text)) == expected


def test_ranges_that_touch_are_one() -> None:
    assert ranges(PRESENT) == [RankRange(Low.FALSE, None, High.LAST_TEXT, None)]
    assert ranges(ANYTHING) == [RankRange(Low.ABSENT, None, High.LAST_TEXT, None)]
    assert ranges(constraint("a in (true, false)")) == [RankRange(Low.FALSE, None, High.TRUE, None)]
    assert ranges(constraint("a in (true) or a < 5")) == [
        RankRange(Low.TRUE, None, High.BEFORE_NUMBER, 5)
    ]
    assert ranges(constraint("a > 5 or a < 'x'")) == [
        RankRange(Low.AFTER_NUMBER, 5, High.BEFORE_TEXT, "x")
    ]


def test_ranges_that_do_not_touch_stay_apart() -> None:
    assert ranges(constraint("a is null or a")) == [
        RankRange(Low.ABSENT, None, High.ABSENT, None),
        RankRange(Low.TRUE, None, High.TRUE, None),
    ]
    assert len(ranges(constraint("a in (1, 2, 'x', false)"))) == 4


def test_infinity_as_a_point_is_a_point() -> None:
    assert ranges(equal_to(math.inf)) == [
        RankRange(Low.AT_NUMBER, math.inf, High.AT_NUMBER, math.inf)
    ]
    below = Constraint(numbers=(Interval(-math.inf, math.inf, False, True),))
    assert ranges(below) == [RankRange(Low.FIRST_NUMBER, None, High.BEFORE_NUMBER, math.inf)]


def test_nothing_has_no_ranges() -> None:
    assert ranges(NOTHING) == []
