from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from sapwood import parse_filter
from sapwood.covering.batch.boxes import VALUES_MAX, Boxes, box_of, boxes_of
from sapwood.covering.batch.kernels.plain import as_lists, holds
from sapwood.language.forms import encode_form
from sapwood.model.filter import NOTHING, Filter
from tests.strategies import filters


def boxes(wanted: list[Filter]) -> Boxes:
    return boxes_of([encode_form(filter_) for filter_ in wanted])


def inside(found: Boxes, outer: int, inner: int) -> bool:
    return holds(as_lists(found.sides), outer, inner)


@given(filters(), filters())
def test_a_hull_is_held_by_that_of_a_cover_and_holding_is_covering_where_convex(
    one: Filter, other: Filter
) -> None:
    wanted = [f for f in (one, other, one.merge(other).filter) if f != NOTHING]
    found = boxes(wanted)
    for outer, cover in enumerate(wanted):
        for inner, covered in enumerate(wanted):
            if cover.covers(covered):
                assert inside(found, outer, inner), (cover, covered)
            if found.convex[outer] and inside(found, outer, inner):
                assert cover.covers(covered), (cover, covered)


@given(st.lists(filters(), max_size=8))
def test_order_brings_a_holder_first_and_of_equal_ones_the_convex(wanted: list[Filter]) -> None:
    found = boxes([filter_ for filter_ in wanted if filter_ != NOTHING])
    # Whatever comes later holds nothing that came before, but for what is equal.
    for earlier, later in combinations(found.order.tolist(), 2):
        if inside(found, later, earlier):
            assert inside(found, earlier, later)
            assert found.convex[earlier] or not found.convex[later]


def test_hulls_know_what_is_convex_and_which_sides_are_lists() -> None:
    many = ", ".join(str(number) for number in range(VALUES_MAX + 1))
    for text, convex, values in (
        ("a = 1", True, 1),
        ("a = 'x'", True, 1),
        ("a", True, 1),
        ("a > 1", True, 0),
        ("a like 'x%'", True, 0),
        ("a like '%x'", False, 0),
        ("a in (1, 2.5, 'x')", False, 3),
        (f"a in ({many})", False, 0),
        ("a <> 1", False, 0),
        ("a is null", True, 1),
        ("a = 1 or a = 2 and b", False, 2),
        ("a > 1 or a = 'x' and b", False, 0),
    ):
        box = box_of(encode_form(parse_filter(text)))
        assert (box.convex, len(dict(box.spans)["a"].values)) == (convex, values), text


def test_ends_are_compared_exactly() -> None:
    big = 2**53
    wanted = [parse_filter(f"a >= {end}") for end in (big, big + 1, big + 2)]
    wanted += [parse_filter(f"a > {big}"), parse_filter(f"a > {float(big)} and a < 1e300")]
    found = boxes(wanted)
    for outer, cover in enumerate(wanted):
        for inner, covered in enumerate(wanted):
            assert inside(found, outer, inner) == cover.covers(covered)


def test_the_example_of_the_module() -> None:
    texts = ("x > 2", "x >= 2 and x < 5", "x in (3, 'a')")
    found = boxes([parse_filter(text) for text in texts])
    assert (found.lows.tolist(), found.highs.tolist()) == ([5, 4, 7], [7, 3, 10])
    assert (found.values.tolist(), found.convex.tolist()) == ([7, 10], [True, True, False])
    pairs = [(a, b) for a in range(3) for b in range(3) if a != b]
    assert not any(inside(found, a, b) for a, b in pairs)
