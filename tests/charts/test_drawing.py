from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.charts.drawing import number, shortened, text, ticks


@pytest.mark.parametrize(
    ("largest", "steps"),
    [
        (0, [0, 1]),
        (1, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (14_632, [0, 5_000, 10_000, 15_000]),
        (100, [0, 20, 40, 60, 80, 100]),
    ],
)
def test_ticks_are_round(largest: float, steps: list[float]) -> None:
    assert ticks(largest) == pytest.approx(steps)


@given(st.floats(1e-9, 1e15))
def test_ticks_reach_over_what_is_plotted_and_are_few(largest: float) -> None:
    steps = ticks(largest)
    assert steps[0] == 0
    assert largest * (1 - 1e-6) <= steps[-1] < 2 * largest
    assert 2 <= len(steps) <= 6


@pytest.mark.parametrize(
    ("value", "written"), [(0, "0"), (1234567, "1,234,567"), (2.0, "2"), (0.12345, "0.123")]
)
def test_numbers_are_written_for_people(value: float, written: str) -> None:
    assert number(value) == written


def test_texts_are_escaped_and_have_their_attributes() -> None:
    element = ElementTree.fromstring(text(1, 2.55, "<a & b>", "end", 'fill="red"'))
    assert element.text == "<a & b>"
    assert element.attrib == {"x": "1.0", "y": "2.5", "text-anchor": "end", "fill": "red"}


def test_long_names_are_shortened_to_the_room_they_have() -> None:
    assert shortened("abcde", 5) == "abcde"
    assert shortened("abcdef", 5) == "abcd…"
