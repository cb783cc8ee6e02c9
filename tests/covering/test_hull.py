"""Hulls: necessary for covering, and sufficient where they say so."""

from __future__ import annotations

from math import inf

import pytest
from hypothesis import given

from sapwood import parse_filter
from sapwood.covering.hull import (
    ANY_VALUE,
    KINDS,
    NO_VALUE,
    NUMBER,
    TEXT,
    Hull,
    Side,
    hull_of,
    written_hull,
)
from sapwood.language.forms import encode_form, read_form
from sapwood.model.conjunction import Conjunction
from sapwood.model.constraint import Constraint, equal_to
from sapwood.model.filter import Filter
from sapwood.model.packing import ABSENT, FALSE, HIGH_OPEN, LOW_OPEN, TRUE
from sapwood.model.publication import Record, Value
from tests.matching.published.posets.nesting import any_filters
from tests.strategies import filters, records


def side(text: str, attribute: str = "a") -> Side:
    return hull_of(parse_filter(text)).side(attribute)


@pytest.mark.parametrize(
    ("text", "low", "high", "open_ends", "is_whole"),
    [
        ("a between 2 and 5", 2, 5, 0, True),
        ("a > 2 and a < 5", 2, 5, LOW_OPEN | HIGH_OPEN, True),
        ("a < 2 or a > 5 and a <= 9", -inf, 9, 0, False),
        ("a > 2 and a <= 3 and b = 1 or a >= 2 and a < 9 and b = 2", 2, 9, HIGH_OPEN, False),
        ("a > 2 and b = 1 or a > 2 and c = 2", 2, inf, LOW_OPEN, False),
        ("a = 1 or a = 7 and b = 2", 1, 7, 0, False),
        ("a <> 3", -inf, inf, 0, False),
    ],
)
def test_numbers_go_from_the_lowest_to_the_highest(
    text: str, low: float, high: float, open_ends: int, *, is_whole: bool
) -> None:
    assert side(text) == ("a", NUMBER, low, high, open_ends, "", "", is_whole)


@pytest.mark.parametrize(
    ("text", "low", "end", "is_whole"),
    [
        ("a = 'x'", "x", "x\0", True),
        ("a in ('x', 'b')", "b", "x\0", False),
        ("a like 'In%'", "In", "Io", True),
        ("a like 'In%l'", "In", "Io", True),
        ("a >= 'k'", "k", None, True),
        ("a < 'b' or a > 'x'", "", None, False),
        ("a = 'k' and b = 1 or a < 'c' and b = 2", "", "k\0", False),
        ("a >= 'k' and b = 1 or a < 'c' and b = 2", "", None, False),
    ],
)
def test_texts_go_from_the_lowest_to_the_end_of_all(
    text: str, low: str, end: str | None, is_whole: bool
) -> None:
    assert side(text) == ("a", TEXT, inf, -inf, 0, low, end, is_whole)


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("a", TRUE),
        ("a <> true", FALSE),
        ("a is null", ABSENT),
        ("a = 'x' or a = 3", NUMBER | TEXT),
        ("a or a = 3 and b = 1", NUMBER | TRUE),
        ("exists a", KINDS & ~ABSENT),
    ],
)
def test_kinds_are_those_of_the_values(text: str, kinds: int) -> None:
    assert side(text)[1] == kinds


@pytest.mark.parametrize("text", ["b = 1", "a = 4 or b = 1", "true"])
def test_what_some_conjunction_leaves_free_may_have_any_value(text: str) -> None:
    assert side(text) == ANY_VALUE


def test_what_accepts_nothing_has_no_values_and_is_held_by_all() -> None:
    nothing, anything = hull_of(parse_filter("false")), hull_of(parse_filter("true"))
    assert nothing == Hull([], 0, is_exact=False)
    assert nothing.side("a") == NO_VALUE
    assert anything.holds(nothing)
    assert nothing.holds(nothing)
    assert not nothing.holds(anything)


def test_the_example_of_the_module() -> None:
    first = "price > 10 and price <= 20 and symbol in ('ABB', 'IBM')"
    hull = hull_of(parse_filter(f"{first} or price = 40 and halted"))
    assert hull == Hull([("price", NUMBER, 10, 40, LOW_OPEN, "", "", False)], 2, is_exact=False)
    assert hull_of(parse_filter(first)).sides == [
        ("price", NUMBER, 10, 20, LOW_OPEN, "", "", True),
        ("symbol", TEXT, inf, -inf, 0, "ABB", "IBM\0", False),
    ]
    wide, holed = hull_of(parse_filter("price > 5")), hull_of(parse_filter("price <> 30"))
    assert wide.is_exact
    assert wide.holds(hull)
    assert not holed.is_exact
    assert holed.holds(hull)


@pytest.mark.parametrize(
    ("outer", "inner", "holds"),
    [
        ("a >= 1", "a > 1", True),
        ("a > 1", "a >= 1", False),
        ("a <= 1", "a < 1", True),
        ("a < 1", "a <= 1", False),
        ("a > 1", "a > 1 and b = 2", True),
        ("a > 1 and b = 2", "a > 1", False),
        ("a < 'k'", "a < 'c'", True),
        ("a < 'c'", "a < 'k'", False),
        ("a < 'c'", "a >= 'a'", False),
        ("a >= 'c'", "a >= 'a'", False),
        ("a >= 'c'", "a = 1", False),
        ("exists a", "a = 1 or a = 'x'", True),
        ("exists a", "a is null", False),
        (f"a >= {2**53}", f"a >= {2**53 + 1}", True),
        (f"a >= {2**53 + 1}", f"a >= {2**53}", False),
    ],
)
def test_a_side_holds_what_is_nowhere_wider(outer: str, inner: str, holds: bool) -> None:
    assert hull_of(parse_filter(outer)).holds(hull_of(parse_filter(inner))) is holds


@pytest.mark.parametrize(
    ("text", "is_exact"),
    [
        ("a > 1 and b = 'x'", True),
        ("exists a", True),
        ("true", True),
        ("a like 'x%'", True),
        ("a like '%x'", False),
        ("a in (1, 2)", False),
        ("a = 1 or b = 1", False),
    ],
)
def test_a_filter_without_gaps_is_its_own_hull(text: str, is_exact: bool) -> None:
    assert hull_of(parse_filter(text)).is_exact is is_exact


@given(a=any_filters(), b=any_filters())
def test_holding_is_necessary_for_covering_and_sufficient_where_a_hull_is_exact(
    a: Filter, b: Filter
) -> None:
    outer, inner = hull_of(a), hull_of(b)
    assert outer.holds(inner) >= a.covers(b)
    if outer.is_exact:
        assert outer.holds(inner) == a.covers(b)


@given(filters())
def test_the_hull_of_a_normal_form_is_that_of_the_filter(filter: Filter) -> None:
    assert written_hull(*read_form(encode_form(filter))) == hull_of(filter)


@given(filters(), records())
def test_what_a_filter_accepts_is_in_its_hull(filter: Filter, record: Record) -> None:
    if filter.accepts(record):
        exactly = Conjunction(
            tuple((name, one_of_value(record.get(name))) for name in sorted(filter.attributes))
        )
        assert hull_of(filter).holds(hull_of(Filter((exactly,))))


def one_of_value(value: Value | None) -> Constraint:
    """The set of a single value; `None` stands for an absent attribute."""
    return Constraint(absent=True) if value is None else equal_to(value)
