from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from sapwood import parse_filter
from sapwood.covering.batch.blocking import CELLS_MAX, GRID_CELLS, Grid, Way, access, queried_blocks
from sapwood.covering.batch.boxes import Box, box_of
from sapwood.language.forms import encode_form
from sapwood.model.filter import Filter
from tests.strategies import filters

EMPTY = Grid({})
FINE = Grid({name: tuple(range(-10, 50)) for name in ("n", "x", "price")})


def box(filter_: Filter) -> Box:
    return box_of(encode_form(filter_))


def read(text: str) -> Box:
    return box(parse_filter(text))


def meets(cover: Filter, covered: Filter, grid: Grid) -> bool:
    found = access(box(cover), grid)
    if found is None:
        return True
    way, blocks = found
    asked = queried_blocks(box(covered), grid)
    fewer = queried_blocks(box(covered), grid, {way})
    assert set(fewer) <= set(asked)
    assert queried_blocks(box(covered), grid, ()) == ()
    return not set(blocks).isdisjoint(fewer)


@given(filters(), filters(), st.lists(filters(), max_size=5))
def test_a_cover_is_met_by_what_it_covers(one: Filter, other: Filter, sample: list[Filter]) -> None:
    # Two random filters seldom cover each other; one and its union or narrowing with another do.
    wide = one.merge(other).filter
    grid = Grid.of(box(some) for some in (one, other, *sample) if some.conjunctions)
    for cover, covered in ((one, other), (other, one), (wide, one), (wide, other)):
        if covered.conjunctions and cover != covered and cover.covers(covered):
            for cut in (grid, EMPTY):
                assert meets(cover, covered, cut)


@given(filters())
def test_a_filter_meets_itself_whatever_the_grid(filter_: Filter) -> None:
    assume(filter_.conjunctions)
    for grid in (EMPTY, FINE, Grid.of([box(filter_)])):
        assert meets(filter_, filter_, grid)


@pytest.mark.parametrize(
    ("cover", "covered"),
    [
        ("s = 'a'", "s = 'a' and x > 1"),
        ("s in ('a', 'b')", "s = 'b'"),
        ("s = 'a' or s = 'b' and t = 'c'", "s = 'b' and t = 'c' and u > 1"),
        ("n between 1 and 3", "n = 2"),
        ("n between 1 and 3 or n between 5 and 6", "n between 2 and 3"),
        ("n = 2", "n = 2 and not b"),
        ("exists n", "n = 2"),
        ("true", "b"),
        ("s like 'a%'", "s = 'ab'"),
    ],
)
def test_known_pairs_meet(cover: str, covered: str) -> None:
    wide, narrow = parse_filter(cover), parse_filter(covered)
    assert wide.covers(narrow)
    assert meets(wide, narrow, FINE)


def test_filters_on_other_values_do_not_meet() -> None:
    wide = parse_filter("s = 'a' and n > 1")
    assert not meets(wide, parse_filter("s = 'b' and n > 1"), FINE)
    low, high = parse_filter("n between 1 and 3"), parse_filter("n between 30 and 33")
    assert not meets(low, high, FINE)


def test_what_has_no_access_predicate_is_general() -> None:
    for text in ("true", "n > 1", "exists s", "s like 'a%'", "b", "s = 'a' or n = 1"):
        assert access(read(text), FINE) is None, text
    stored = access(read("s = 'a' and n = 1 and b"), FINE)
    assert stored is not None
    assert stored[0] == Way("n", by_cell=False)
    wide = read(f"n between 0 and {CELLS_MAX + 1}")
    assert access(wide, FINE) is None
    assert access(read("n between 0 and 3"), EMPTY) is None


def test_a_grid_has_cells_of_about_equally_many_ends() -> None:
    sample = [read(f"n between {i * i} and {i * i + 1} and s = 'a'") for i in range(500)]
    grid = Grid.of(sample)
    assert len(grid.cuts["n"]) == GRID_CELLS - 1
    cells = [grid.cell("n", i * i) for i in range(500)]
    assert max(cells.count(cell) for cell in set(cells)) < 12
    assert grid.cell("other", 5) == 0
    assert Grid.of([read("n > 5")]).cuts["n"] == (5,)
