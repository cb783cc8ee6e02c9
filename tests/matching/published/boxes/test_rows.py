"""Conjunctions as rows, and records as points."""

from __future__ import annotations

import math

import pytest

from sapwood import parse_filter
from sapwood.errors import InvariantError
from sapwood.matching.published.boxes.kernels.layout import NEEDS_MAX
from sapwood.matching.published.boxes.rows import BoxRows, ExactBox, exact_box_of


def box_of(text: str) -> ExactBox | None:
    [conjunction] = parse_filter(text).conjunctions
    return exact_box_of(conjunction)


def test_an_open_end_is_the_next_double_inwards() -> None:
    assert box_of("b > 5 and a <= 7") == (
        ("a", "b"),
        ((-math.inf, 7), (math.nextafter(5, 6), math.inf)),
    )
    assert box_of("a < -5") == (("a",), ((-math.inf, math.nextafter(-5, -6)),))


@pytest.mark.parametrize(
    "text",
    [
        "a = 'x'",
        "a != 3",
        "a = true",
        "a is null or a > 5",
        "true",
        f"a > {2**53}",
        f"a = {2**53 + 1}",
        f"a > 5 and a < {math.nextafter(5, 6)!r}",
        " and ".join(f"a{number} > 1" for number in range(NEEDS_MAX + 1)),
    ],
)
def test_other_shapes_and_ends_are_no_boxes(text: str) -> None:
    assert box_of(text) is None


def test_a_whole_number_that_is_no_double_lies_between_two() -> None:
    rows = BoxRows()
    for name in "abcd":
        rows.add(0, ExactBox((name,), ((0, 1),)))
    floors, ceilings = rows.point_of({"a": 2**53 + 1, "b": 3, "c": "x", "e": 5})
    assert floors.tolist()[:2] == [2**53, 3]
    assert ceilings.tolist()[:2] == [2**53 + 2, 3]
    assert all(map(math.isnan, [*floors[2:], *ceilings[2:]]))


def test_validate_finds_a_miscounted_row() -> None:
    rows = BoxRows()
    rows.add(7, ExactBox(("a",), ((0, 1),)))
    rows.validate()
    rows.living = 2
    with pytest.raises(InvariantError, match="miscounted"):
        rows.validate()
    rows.living = 1
    rows.arrays.needs[0] = 3
    with pytest.raises(InvariantError, match="need"):
        rows.validate()
