"""Boxes and records as points: comparing coordinates is accepting and covering (Shen T-10)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood import parse_filter
from sapwood.matching.published.kdtree.boxes import (
    Box,
    box_of,
    dominates,
    point_of,
    projected,
    region_of,
)
from sapwood.model.filter import EVERYTHING, NOTHING, Filter
from sapwood.model.publication import Record
from tests import strategies as some


@st.composite
def box_filters(draw: st.DrawFn, *, names: tuple[str, ...] = ("a", "b")) -> Filter:
    """One interval for each of some attributes, ends open or closed."""
    parts = []
    for name in draw(st.sets(st.sampled_from(names), min_size=1)):
        low, high = sorted((draw(some.numbers()), draw(some.numbers())))
        left = draw(st.sampled_from((f"{name} >= {low!r}", f"{name} > {low!r}", "")))
        right = draw(st.sampled_from((f"{name} <= {high!r}", f"{name} < {high!r}", "")))
        parts += [part for part in (left, right) if part]
    return parse_filter(" and ".join(parts)) if parts else EVERYTHING


@pytest.mark.parametrize(
    ("text", "attributes", "point", "closed"),
    [
        ("a between 1 and 3", ("a",), (-1, 3), True),
        ("b <= 2 and a >= 5", ("a", "b"), (-5, float("inf"), float("inf"), 2), True),
        ("a > 1 and a <= 3", ("a",), (-1, 3), False),
        ("a = 7", ("a",), (-7, 7), True),
        ("true", (), (), True),
    ],
)
def test_box_of_gives_the_point_of_a_box(
    text: str, attributes: tuple[str, ...], point: tuple[float, ...], closed: bool
) -> None:
    (conjunction,) = parse_filter(text).conjunctions
    assert box_of(conjunction) == Box(attributes, point, closed)


@pytest.mark.parametrize(
    "text", ["a = 'x'", "a", "a <> 3", "a is null", "a is null or a > 3", "exists a", "a in (1, 2)"]
)
def test_box_of_gives_none_for_another_shape(text: str) -> None:
    (conjunction,) = parse_filter(text).conjunctions
    assert box_of(conjunction) is None


@pytest.mark.parametrize("record", [{"a": 1}, {"a": 1, "b": "2"}, {"a": True, "b": 2}, {}])
def test_point_of_gives_none_unless_all_values_are_numbers(record: Record) -> None:
    assert point_of(("a", "b"), record) is None


def test_projected_gives_the_coordinates_of_some_attributes_in_order() -> None:
    box = box_of(parse_filter("a between 1 and 2 and b between 3 and 4 and c = 5").conjunctions[0])
    assert box is not None
    assert projected(box, ("a", "c")) == (-1, 2, -5, 5)
    assert projected(box, box.attributes) == box.point
    assert projected(box, ("a", "d")) is None


@given(wanted=box_filters(), record=st.dictionaries(st.sampled_from("ab"), some.values()))
def test_dominates_is_accepting_for_closed_boxes_and_necessary_for_open_ones(
    wanted: Filter, record: Record
) -> None:
    for conjunction in wanted.conjunctions:
        box = box_of(conjunction)
        assert box is not None
        query = point_of(box.attributes, record)
        inside = query is not None and dominates(box.point, query)
        accepted = conjunction.accepts(record)
        assert inside == accepted if box.closed else inside >= accepted


@given(a=box_filters(), b=box_filters())
def test_region_covers_is_what_filters_say_of_boxes(a: Filter, b: Filter) -> None:
    assert region_of(a).covers(region_of(b)) == a.covers(b)


@given(a=some.filters(), b=some.filters())
def test_region_covers_is_what_filters_say_of_any_shape(a: Filter, b: Filter) -> None:
    assert region_of(a).covers(region_of(b)) == a.covers(b)
    assert region_of(a).covers(region_of(a))


@given(a=box_filters(), b=box_filters(), c=box_filters(), record=some.records())
def test_covering_is_transitive_and_bounds_what_is_accepted(
    a: Filter, b: Filter, c: Filter, record: Record
) -> None:
    if a.covers(b):
        assert a.accepts(record) >= b.accepts(record)
        if b.covers(c):
            assert a.covers(c)


def test_region_of_everything_and_nothing_are_the_ends_of_the_order() -> None:
    every, none = region_of(EVERYTHING), region_of(NOTHING)
    assert every.covers(none)
    assert not none.covers(every)
