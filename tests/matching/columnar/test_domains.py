"""Constraints as runs on a line."""

from __future__ import annotations

import math

import pytest

from sapwood import parse_filter
from sapwood.matching.columnar.domains import High, Low, Run, runs
from sapwood.model.constraint import ANYTHING, NOTHING, PRESENT, Constraint, equal_to
from sapwood.model.numbers import Interval


def constraint(text: str) -> Constraint:
    ((_, found),) = parse_filter(text).conjunctions[0].constraints
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = 5", [Run(Low.AT_NUMBER, 5, High.AT_NUMBER, 5)]),
        ("a > 5", [Run(Low.AFTER_NUMBER, 5, High.LAST_NUMBER, None)]),
        ("a >= 5", [Run(Low.AT_NUMBER, 5, High.LAST_NUMBER, None)]),
        ("a < 5", [Run(Low.FIRST_NUMBER, None, High.BEFORE_NUMBER, 5)]),
        ("a <= 5", [Run(Low.FIRST_NUMBER, None, High.AT_NUMBER, 5)]),
        (
            "a <> 5",
            [
                Run(Low.FIRST_NUMBER, None, High.BEFORE_NUMBER, 5),
                Run(Low.AFTER_NUMBER, 5, High.LAST_NUMBER, None),
            ],
        ),
        ("a = 'x'", [Run(Low.AT_TEXT, "x", High.AT_TEXT, "x")]),
        ("a = ''", [Run(Low.AT_TEXT, "", High.AT_TEXT, "")]),
        ("a >= 'x'", [Run(Low.AT_TEXT, "x", High.LAST_TEXT, None)]),
        ("a > 'x'", [Run(Low.AT_TEXT, "x\0", High.LAST_TEXT, None)]),
        ("a < 'x'", [Run(Low.FIRST_TEXT, None, High.BEFORE_TEXT, "x")]),
        ("a <= 'x'", [Run(Low.FIRST_TEXT, None, High.BEFORE_TEXT, "x\0")]),
        ("a like 'x%'", [Run(Low.AT_TEXT, "x", High.BEFORE_TEXT, "y")]),
        ("a like '%x%'", [Run(Low.FIRST_TEXT, None, High.LAST_TEXT, None)]),
        ("a", [Run(Low.TRUE, None, High.TRUE, None)]),
        ("not a", [Run(Low.FALSE, None, High.FALSE, None)]),
        ("a is null", [Run(Low.ABSENT, None, High.ABSENT, None)]),
    ],
)
def test_runs_of_one_condition(text: str, expected: list[Run]) -> None:
    assert runs(constraint(text)) == expected


def test_runs_that_touch_are_one() -> None:
    assert runs(PRESENT) == [Run(Low.FALSE, None, High.LAST_TEXT, None)]
    assert runs(ANYTHING) == [Run(Low.ABSENT, None, High.LAST_TEXT, None)]
    assert runs(constraint("a in (true, false)")) == [Run(Low.FALSE, None, High.TRUE, None)]
    assert runs(constraint("a in (true) or a < 5")) == [Run(Low.TRUE, None, High.BEFORE_NUMBER, 5)]
    assert runs(constraint("a > 5 or a < 'x'")) == [Run(Low.AFTER_NUMBER, 5, High.BEFORE_TEXT, "x")]


def test_runs_that_do_not_touch_stay_apart() -> None:
    assert runs(constraint("a is null or a")) == [
        Run(Low.ABSENT, None, High.ABSENT, None),
        Run(Low.TRUE, None, High.TRUE, None),
    ]
    assert len(runs(constraint("a in (1, 2, 'x', false)"))) == 4


def test_infinity_as_a_point_is_a_point() -> None:
    assert runs(equal_to(math.inf)) == [Run(Low.AT_NUMBER, math.inf, High.AT_NUMBER, math.inf)]
    below = Constraint(numbers=(Interval(-math.inf, math.inf, False, True),))
    assert runs(below) == [Run(Low.FIRST_NUMBER, None, High.BEFORE_NUMBER, math.inf)]


def test_nothing_has_no_runs() -> None:
    assert runs(NOTHING) == []
