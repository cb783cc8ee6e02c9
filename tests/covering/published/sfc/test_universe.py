"""Universes: cells of filters, and their bounds."""

from __future__ import annotations

import pytest
from hypothesis import given

from sapwood import parse_filter
from sapwood.covering.published.sfc.axes import NumberAxis, TextAxis
from sapwood.covering.published.sfc.scales import LinearScale, RankScale
from sapwood.covering.published.sfc.universe import Universe
from sapwood.errors import InputError, LimitError
from sapwood.model.filter import Filter
from tests import strategies as some

AXES = (
    NumberAxis("a", LinearScale(-2, 6)),
    NumberAxis("price", RankScale((-1, 0.5, 2**53, 2**53 + 1))),
    TextAxis("a", RankScale(("a", "a\0", "b"))),
    TextAxis("b", RankScale(("ab", "true"))),
)


def test_universe_has_two_dimensions_an_axis() -> None:
    universe = Universe(AXES, 3)
    assert universe.dimensions == 8
    assert universe.cell(parse_filter("a between 0 and 3")) == (5, 5, 7, 7, 0, 0, 7, 7)


@given(some.filters(), some.filters())
def test_cells_keep_every_covering(f: Filter, g: Filter) -> None:
    universe = Universe(AXES, 4)
    union = Filter.from_conjunctions((*f.conjunctions, *g.conjunctions))
    for upper, lower in ((f, g), (g, f), (union, f), (union, g)):
        if upper.covers(lower):
            pairs = zip(universe.cell(upper), universe.cell(lower), strict=True)
            assert all(a >= b for a, b in pairs)


def test_universe_refuses_what_its_limits_exclude() -> None:
    with pytest.raises(LimitError, match="CURVE_DIMENSIONS_MAX is 12"):
        Universe(AXES * 2, 3)
    with pytest.raises(LimitError, match="CURVE_BITS_MAX is 32"):
        Universe(AXES, 33)
    with pytest.raises(InputError, match="at least one axis"):
        Universe((), 3)
    with pytest.raises(InputError, match="one bit"):
        Universe(AXES, 0)
