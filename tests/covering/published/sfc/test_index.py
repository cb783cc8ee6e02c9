"""`SpaceFillingIndex`: sound for every filter, exact without epsilon, and it adapts its grid."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood import parse_filter
from sapwood.covering.protocol import CoveringIndex
from sapwood.covering.published.sfc.axes import NumberAxis, TextAxis
from sapwood.covering.published.sfc.curves import CURVES
from sapwood.covering.published.sfc.fitting import fitted
from sapwood.covering.published.sfc.index import SpaceFillingIndex, Totals
from sapwood.covering.published.sfc.scales import LinearScale, RankScale
from sapwood.covering.published.sfc.universe import Universe
from sapwood.errors import InputError, InvariantError, UnknownNameError
from sapwood.model.filter import Filter
from tests.covering.laws import MIXED, IndexMachine, check_all_pairs, covers_of
from tests.covering.published.sfc.boxes import boxes, unit
from tests.examples import examples
from tests.matching.published.posets.nesting import any_filters

every_curve = pytest.mark.parametrize("curve", CURVES)

AIRLINES = Universe(
    (
        NumberAxis("price", LinearScale(0, 1000)),
        NumberAxis("seats", RankScale((1, 2, 3, 5))),
        TextAxis("airline", RankScale(("LH", "UA"))),
    ),
    3,
)
"""A coarse grid for some of the attributes of `MIXED`: many filters share their cells."""


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(partial(SpaceFillingIndex, "z", fit_from=5), id="z fitted"),
        pytest.param(partial(SpaceFillingIndex, "hilbert", fit_from=5), id="hilbert fitted"),
        pytest.param(partial(SpaceFillingIndex, "z", universe=AIRLINES), id="z coarse"),
        pytest.param(
            partial(
                SpaceFillingIndex,
                "hilbert",
                cube_budget=4**6,
                universe=replace(AIRLINES, bits=2),
            ),
            id="hilbert by cubes",
        ),
    ],
)
@pytest.mark.one_in(4)
def test_index_without_epsilon_answers_for_every_shape(
    make: Callable[[], SpaceFillingIndex],
) -> None:
    index = make()
    check_all_pairs(index)
    assert index.totals.spent == 0


class Machine(IndexMachine):
    def index(self) -> CoveringIndex[Filter]:
        return SpaceFillingIndex("z", fit_from=3)


class HilbertMachine(IndexMachine):
    def index(self) -> CoveringIndex[Filter]:
        return SpaceFillingIndex("hilbert", universe=AIRLINES)


TestMachine = Machine.TestCase
TestMachine.settings = settings(max_examples=examples(15), stateful_step_count=15)
TestHilbertMachine = HilbertMachine.TestCase
TestHilbertMachine.settings = settings(max_examples=examples(15), stateful_step_count=15)


@every_curve
@given(
    filters=st.lists(st.one_of(any_filters(), st.sampled_from(MIXED)), unique=True, max_size=12),
    wanted=st.one_of(any_filters(), st.sampled_from(MIXED)),
    epsilon=st.fractions(0, Fraction(99, 100)),
    cube_budget=st.one_of(st.none(), st.integers(1, 50)),
    limit=st.integers(1, 12),
)
def test_index_never_claims_a_cover_that_does_not_hold(
    curve: str,
    filters: list[Filter],
    wanted: Filter,
    epsilon: Fraction,
    cube_budget: int | None,
    limit: int,
) -> None:
    index = SpaceFillingIndex(curve, epsilon, cube_budget, fit_from=2)
    for key, held in enumerate(filters):
        index.add(key, held)
    found = index.cov(wanted, limit)
    assert len(found) == len(set(found)) <= limit
    assert set(found) <= covers_of(dict(enumerate(filters)), wanted)


@every_curve
def test_index_finds_less_as_epsilon_grows(curve: str) -> None:
    random = Random(5)
    fresh = boxes(random, 2)
    filters = [next(fresh) for _ in range(400)]
    queries = [next(fresh) for _ in range(60)]
    found: list[set[tuple[int, int]]] = []
    for epsilon in (0, 0.05, 0.3, 0.7, 0.95):
        index = SpaceFillingIndex(curve, epsilon, universe=unit(2, 10))
        for key, held in enumerate(filters):
            index.add(key, held)
        found.append({(q, k) for q, f in enumerate(queries) for k in index.cov(f, len(filters))})
    assert found[0] > found[1] > found[2] > found[3] > found[4]
    exact = dict(enumerate(filters))
    assert found[0] == {(q, k) for q, f in enumerate(queries) for k in covers_of(exact, f)}
    assert len(found[1]) > 0.9 * len(found[0])


@every_curve
def test_budget_of_cubes_is_kept_and_counted(curve: str) -> None:
    index = SpaceFillingIndex(curve, Fraction(1, 20), cube_budget=7, universe=unit(2, 10))
    index.add(0, parse_filter("x0 between 0 and 1 and x1 between 0 and 1"))
    index.add(1, parse_filter("x0 between 0.4 and 0.6 and x1 between 0.4 and 0.6"))
    found = index.search(parse_filter("x0 = 0.5 and x1 = 0.5"), 3)
    assert (set(found.hits), found.cubes, found.spent) == ({0, 1}, 1, False)
    missed = index.search(parse_filter("x0 between 0.41 and 0.59 and x1 between 0.41 and 0.59"), 3)
    assert (missed.hits, missed.cubes, missed.spent) == ((0,), 7, True)
    assert missed.share < Fraction(19, 20)
    totals = index.totals
    assert (totals.cubes, totals.runs, totals.spent) == (8, 1 + missed.runs, 1)


def test_totals_add_up_what_searches_took() -> None:
    index = SpaceFillingIndex(universe=unit(1, 4))
    assert index.totals == Totals()
    index.add(0, parse_filter("x0 between 0.5 and 0.52"))
    index.add(1, parse_filter("x0 > 0.2"))
    one = index.search(parse_filter("x0 = 0.51"), 5)
    two = index.search(parse_filter("x0 between 0.505 and 0.53"), 5)
    assert (set(one.hits), set(two.hits)) == ({0, 1}, {1})
    assert two.candidates == 2, "both share the cell; verification tells them apart"
    assert index.totals == Totals(2, 3, 4, steps=one.steps + two.steps)
    assert one.steps > 0


def test_index_fits_a_grid_as_it_grows() -> None:
    random = Random(7)
    fresh = boxes(random, 3)
    index, held = SpaceFillingIndex(), {}
    for key in range(300):
        assert (index.universe is None) == (key < 64)
        held[key] = next(fresh)
        index.add(key, held[key])
        if key in (63, 127, 255):
            assert index.universe == fitted(held.values())
    for key in range(0, 300, 3):
        index.remove(key)
        del held[key]
    index.validate()
    assert len(index) == len(held) == 200
    for wanted in (*list(held.values())[:20], *(next(fresh) for _ in range(20))):
        assert set(index.cov(wanted, 300)) == covers_of(held, wanted)
    assert index.totals.candidates < 2 * index.totals.hits + 40


def test_index_fits_another_grid_when_its_filters_were_replaced() -> None:
    index = SpaceFillingIndex(fit_from=4)
    for key in range(10):
        index.add(key, parse_filter(f"a < {key}"))
    for key in range(10):
        index.remove(key)
        index.add(key, parse_filter(f"b < {key}"))
    assert index.universe is not None
    assert {axis.attribute for axis in index.universe.axes} == {"b", "a"}
    for key in range(10):
        index.remove(key)
        index.add(key, parse_filter(f"c < {key}"))
    assert "a" not in {axis.attribute for axis in index.universe.axes}
    assert set(index.cov(parse_filter("c < 7"), 10)) == {8, 9}
    index.validate()


def test_index_tries_all_filters_where_no_grid_fits() -> None:
    index = SpaceFillingIndex(fit_from=1)
    filters = {key: parse_filter(text) for key, text in enumerate(("a", "not a", "exists a"))}
    for key, held in filters.items():
        index.add(key, held)
    assert index.universe is None
    assert index.cov(filters[0], 3) == [2]
    assert index.covered(filters[2]) == [0, 1]
    index.validate()


def test_grid_on_texts_tells_equalities_apart() -> None:
    index = SpaceFillingIndex()
    for key in range(500):
        index.add(key, parse_filter(f"symbol = 'S{key}'"))
    index.add(500, parse_filter("symbol like 'S4%'"))
    assert index.cov(parse_filter("symbol = 'S42' and price > 3"), 10) == [500, 42]
    assert index.totals.candidates <= 4


@pytest.mark.parametrize("epsilon", [-0.1, 1, 1.5, float("nan")])
def test_index_refuses_an_epsilon_that_is_no_share(epsilon: float) -> None:
    with pytest.raises(InputError, match="give a share"):
        SpaceFillingIndex(epsilon=epsilon)


def test_index_refuses_other_parameters_that_make_no_sense() -> None:
    with pytest.raises(InputError, match="a budget of 0 cubes"):
        SpaceFillingIndex(cube_budget=0)
    with pytest.raises(InputError, match="from 0 filters on"):
        SpaceFillingIndex(fit_from=0)
    with pytest.raises(UnknownNameError, match="no curve is called 'gray'"):
        SpaceFillingIndex("gray")


def test_a_float_epsilon_is_the_decimal_it_prints_as() -> None:
    boundary = parse_filter("x0 between 0.3 and 0.9")
    found = [
        SpaceFillingIndex(epsilon=epsilon, universe=unit(1, 4)).search(boundary, 1)
        for epsilon in (0.1, Fraction(1, 10))
    ]
    assert found[0] == found[1]


def test_validate_finds_a_filter_outside_its_cell() -> None:
    index = SpaceFillingIndex(universe=unit(1, 4))
    index.add(0, parse_filter("x0 = 0.5"))
    index.add(1, parse_filter("x0 = 0.9"))
    index._regions[0], index._regions[1] = index._regions[1], index._regions[0]
    with pytest.raises(InvariantError, match="key 0 is not in the cell"):
        index.validate()


def test_validate_finds_a_filter_that_is_missing_from_the_array() -> None:
    index = SpaceFillingIndex(universe=unit(1, 4))
    index.add(0, parse_filter("x0 = 0.5"))
    assert index._grid is not None
    index._grid.array.remove(0)
    with pytest.raises(InvariantError, match="does not hold exactly the keys"):
        index.validate()
