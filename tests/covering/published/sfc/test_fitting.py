"""Fitting takes the attributes that tell most filters apart."""

from __future__ import annotations

from sapwood import parse_filter
from sapwood.covering.published.sfc.axes import NumberAxis, TextAxis
from sapwood.covering.published.sfc.fitting import fitted
from sapwood.covering.published.sfc.scales import RankScale
from sapwood.covering.published.sfc.universe import Universe


def fitted_to(*texts: str) -> Universe | None:
    return fitted(map(parse_filter, texts), bits=4)


def test_fitted_universe_has_an_axis_for_each_bounded_attribute() -> None:
    universe = fitted_to("a < 5 and symbol = 'IBM'", "a > 2", "a = 5", "b <> 3", "exists c")
    assert universe == Universe(
        (NumberAxis("a", RankScale((2, 5))), TextAxis("symbol", RankScale(("IBM", "IBM\0")))), 4
    )


def test_fitted_universe_takes_the_most_used_attributes_first() -> None:
    texts = [f"x{i} < {j}" for i in range(9) for j in range(i + 1)]
    universe = fitted_to(*texts)
    assert universe is not None
    assert [axis.attribute for axis in universe.axes] == ["x8", "x7", "x6", "x5", "x4", "x3"]


def test_fitted_universe_does_not_depend_on_the_order_of_filters() -> None:
    texts = ["a < 5", "b > 3", "c = 'x' or c = 2", "b = 4", "a in (1, 2)"]
    assert fitted_to(*texts) == fitted_to(*reversed(texts))


def test_no_universe_is_fitted_where_nothing_is_bounded() -> None:
    assert fitted_to("exists a", "not b", "c is null", "true", "false", "d like '%x'") is None
    assert fitted_to() is None
