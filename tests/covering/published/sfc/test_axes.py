"""Axes look at hulls; a filter that covers another has a hull around the other's."""

from __future__ import annotations

import math

import pytest
from hypothesis import given

from sapwood import parse_filter
from sapwood.covering.published.sfc.axes import (
    EVERY_NUMBER,
    EVERY_TEXT,
    NumberAxis,
    NumberHull,
    TextAxis,
    TextHull,
    number_hull,
    text_hull,
)
from sapwood.covering.published.sfc.scales import LinearScale, RankScale
from sapwood.model.filter import Filter
from tests import strategies as some


@pytest.mark.parametrize(
    ("text", "hull"),
    [
        ("a between 2 and 5", (2, 5)),
        ("a > 2 and a < 5", (2, 5)),
        ("a < 2 or a > 5 and a <= 9", (-math.inf, 9)),
        ("a = 1 or a = 7 and b = 2", (1, 7)),
        ("a <> 3", EVERY_NUMBER),
        ("b = 1", EVERY_NUMBER),
        ("exists a", EVERY_NUMBER),
        ("a = 4 or b = 1", EVERY_NUMBER),
        ("a = 'x'", None),
        ("a is null", None),
        ("a = 'x' or a = 3", (3, 3)),
        ("true", EVERY_NUMBER),
        ("false", None),
    ],
)
def test_number_hull_goes_from_the_lowest_to_the_highest_number(
    text: str, hull: NumberHull | None
) -> None:
    assert number_hull(parse_filter(text), "a") == hull


@pytest.mark.parametrize(
    ("text", "hull"),
    [
        ("a = 'x'", ("x", "x\0")),
        ("a in ('x', 'b')", ("b", "x\0")),
        ("a like 'In%'", ("In", "Io")),
        ("a like 'In%l'", ("In", "Io")),
        ("a >= 'k'", ("k", None)),
        ("a < 'b' or a > 'x'", ("", None)),
        ("a = 3", None),
        ("b = 1", EVERY_TEXT),
        ("false", None),
    ],
)
def test_text_hull_goes_from_the_lowest_text_to_the_end(text: str, hull: TextHull | None) -> None:
    assert text_hull(parse_filter(text), "a") == hull


def test_number_axis_gives_the_cells_of_the_hull() -> None:
    axis = NumberAxis("a", LinearScale(0, 16))
    assert axis.span(parse_filter("a > 2 and a < 9"), 4) == (2, 9)
    assert axis.span(parse_filter("b = 2"), 4) == (0, 15)
    assert axis.span(parse_filter("a = 'x'"), 4) is None


def test_text_axis_gives_the_cells_of_the_hull() -> None:
    axis = TextAxis("a", RankScale(("b", "x")))
    assert axis.span(parse_filter("a = 'b'"), 4) == (7, 7)
    assert axis.span(parse_filter("a >= 'x'"), 4) == (15, 15)
    assert axis.span(parse_filter("b = 2"), 4) == (0, 15)
    assert axis.span(parse_filter("a = 2"), 4) is None


@given(some.filters(), some.filters())
def test_hulls_of_a_covering_filter_hold_those_of_the_covered_one(f: Filter, g: Filter) -> None:
    wide, narrow = Filter.from_conjunctions((*f.conjunctions, *g.conjunctions)), f
    if not wide.covers(narrow):
        return
    for attribute in {*wide.attributes, *narrow.attributes}:
        numbers, inner_numbers = number_hull(wide, attribute), number_hull(narrow, attribute)
        if inner_numbers is not None:
            assert numbers is not None
            assert numbers[0] <= inner_numbers[0]
            assert inner_numbers[1] <= numbers[1]
        texts, inner_texts = text_hull(wide, attribute), text_hull(narrow, attribute)
        if inner_texts is not None:
            assert texts is not None
            assert texts[0] <= inner_texts[0]
            assert texts[1] is None or (inner_texts[1] is not None and inner_texts[1] <= texts[1])
