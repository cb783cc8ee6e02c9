from __future__ import annotations

import math
from functools import cache
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood import parse_filter, parse_xpath
from sapwood.language.forms import encode_form
from sapwood.limits.pipeline import MERGED_MEMBERS_MAX
from sapwood.model.conjunction import Conjunction
from sapwood.model.filter import Filter
from sapwood.model.publication import Record
from sapwood.pipeline.compile.merging import degree, merged, shape_of
from tests.strategies import conjunction_filters, records

BUDGETS = st.sampled_from((0.0, 0.2, 0.5, 0.9))


def box(text: str) -> Conjunction:
    (only,) = parse_filter(text).conjunctions
    return only


def named(texts: list[str]) -> dict[str, Filter]:
    return {f"k{at:02d}": parse_filter(text) for at, text in enumerate(texts)}


@cache
def grids(low: int, high: int) -> st.SearchStrategy[str]:
    ends = st.lists(st.integers(low, high), min_size=2, max_size=2).map(sorted)
    return st.tuples(ends, ends).map(
        lambda sides: " and ".join(
            f"{name} between {first} and {last + 1}"
            for name, (first, last) in zip("xy", sides, strict=True)
        )
    )


@given(st.lists(conjunction_filters(), max_size=8), BUDGETS, st.lists(records(), max_size=8))
def test_mergers_accept_what_their_members_do_and_only_that_without_a_budget(
    wanted: list[Filter], budget: float, published: list[Record]
) -> None:
    by_shape: dict[str, dict[str, Filter]] = {}
    for at, one in enumerate(dict.fromkeys(wanted)):
        shape = shape_of(encode_form(one))
        if shape is not None:
            by_shape.setdefault(shape, {})[f"{at:02d}"] = one
    for filters in by_shape.values():
        keys: list[str] = []
        for told in merged(filters, budget):
            keys += told.keys
            assert len(told.keys) > 1
            assert 0 <= told.degree <= budget
            members = [filters[key] for key in told.keys]
            assert all(told.filter.covers(member) for member in members)
            for record in published:
                accepted = any(member.accepts(record) for member in members)
                assert told.filter.accepts(record) >= accepted
                if told.degree == 0:
                    assert told.filter.accepts(record) == accepted
        assert len(set(keys)) == len(keys)


@given(st.lists(grids(0, 6), min_size=2, max_size=5, unique=True))
def test_the_degree_is_the_share_that_nobody_accepts_or_more(texts: list[str]) -> None:
    members = [box(text) for text in texts]
    filters = [Filter((member,)) for member in members]
    hull = filters[0]
    for one in filters[1:]:
        hull = hull.merge(one).filter
    halves = [at + 0.5 for at in range(8)]
    cells = [{"x": x, "y": y} for x, y in product(halves, halves)]
    inside = [cell for cell in cells if hull.accepts(cell)]
    extra = [cell for cell in inside if not any(one.accepts(cell) for one in filters)]
    exact = len(extra) / len(inside)
    told = degree(hull.conjunctions[0], members)
    assert told >= exact - 1e-9
    if len(members) == 2:
        assert math.isclose(told, exact, abs_tol=1e-9)


@pytest.mark.parametrize(
    ("merger", "members", "expected"),
    [
        ("x between 0 and 2", ["x between 0 and 1", "x between 1 and 2"], 0.0),
        ("x between 0 and 4", ["x between 0 and 1"], 0.75),
        ("s in ('a', 'b', 'c', 'd')", ["s = 'a'"], 0.75),
        ("x > 0 and y between 0 and 2", ["x > 0 and y between 0 and 1"], 0.5),
        ("x > 0", ["x > 1"], 1.0),
        ("s like 'a%'", ["s = 'ab'"], 1.0),
        ("exists x", ["x between 0 and 1"], 1.0),
    ],
)
def test_the_degree_measures_intervals_and_counts_values(
    merger: str, members: list[str], expected: float
) -> None:
    assert degree(box(merger), [box(member) for member in members]) == expected


def test_neighbors_are_merged_as_far_as_the_budget_goes() -> None:
    filters = named(
        [
            "s = 'a' and x between 0 and 10 and y between 0 and 10",
            "s = 'a' and x between 1 and 11 and y between 1 and 11",
            "s = 'a' and x between 50 and 60 and y between 0 and 10",
            "s = 'b' and x between 0 and 10 and y between 0 and 10",
        ]
    )
    assert [one.keys for one in merged(filters, 0.0)] == [("k00", "k03")]
    (only,) = merged(filters, 0.1)
    # Of 2 * 11 * 11 the members have 2 * 10 * 10 and 10 * 10, of which 9 * 9 twice.
    assert only.keys == ("k00", "k01", "k03")
    assert only.degree == pytest.approx(1 - 219 / 242)


def test_perfect_mergers_come_first() -> None:
    filters = named(["x = 1 and y = 1", "x = 1 and y = 2", "x = 2 and y between 5 and 6"])
    (only,) = merged(filters, 0.0)
    assert (only.keys, only.degree) == (("k00", "k01"), 0.0)
    assert only.filter == parse_filter("x = 1 and y in (1, 2)")


def test_a_merger_stands_for_a_bounded_number_of_boxes() -> None:
    count = 2 * MERGED_MEMBERS_MAX
    texts = [
        f"x between {at} and {at + 100} and y between {at} and {at + 100}" for at in range(count)
    ]
    found = merged(named(texts), 0.99)
    assert [len(one.keys) for one in found] == [MERGED_MEMBERS_MAX] * 2


def test_what_is_no_single_box_is_left_alone() -> None:
    for text in ("x = 1 or y = 2", "x like '%a'", "true"):
        assert shape_of(encode_form(parse_filter(text))) is None
    assert shape_of(encode_form(parse_xpath("/a"))) is None
    one, other = (
        shape_of(encode_form(parse_filter(text))) for text in ("b = 1 and a = 2", "a > 1 and b")
    )
    assert one == other is not None
