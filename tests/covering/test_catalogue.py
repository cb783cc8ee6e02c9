"""Names of indexes, graphs and combinations."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sapwood import parse_filter
from sapwood.covering.catalogue import (
    COVERING_INDEXES,
    COVERINGS,
    DEFAULT_COVERING,
    RELATION_GRAPHS,
    covering_manager,
)
from sapwood.covering.interests import InterestIndex
from sapwood.covering.published.sfc import SpaceFillingIndex
from sapwood.errors import InputError, UnknownNameError


def test_catalogue_combines_every_graph_with_every_index_it_can_use() -> None:
    alone = {name for name, info in RELATION_GRAPHS.items() if info.searches_itself}
    pairs = {f"{g},{i}" for g in RELATION_GRAPHS.keys() - alone for i in COVERING_INDEXES}
    assert set(COVERINGS) == alone | pairs
    assert {"poset", "forest", "flat-1,columnar", "flat-8,kdtree", "dense,counting"} <= set(
        COVERINGS
    )


@pytest.mark.parametrize("name", sorted(COVERINGS))
def test_catalogue_makes_new_empty_managers(name: str) -> None:
    info = COVERINGS[name]
    first, second = covering_manager(name), info.make()
    assert first is not second
    assert len(first) == len(second) == 0
    assert info.name == name
    assert info.summary


@pytest.mark.parametrize("name", sorted(RELATION_GRAPHS))
def test_graphs_say_whether_they_search_themselves(name: str) -> None:
    info = RELATION_GRAPHS[name]
    assert info.make().searches_itself == info.searches_itself


def test_an_unknown_covering_is_refused_with_the_names_there_are() -> None:
    with pytest.raises(UnknownNameError, match="flat-1,columnar"):
        covering_manager("flat-1,column")


@pytest.mark.parametrize("name", ["sfc-z", "sfc-hilbert", "sfc-z-cubes"])
def test_what_a_curve_looked_up_can_be_read_from_the_manager(name: str) -> None:
    manager = covering_manager(f"flat-1,{name}")
    both = manager.index
    assert isinstance(both, InterestIndex)
    index = both.records
    assert isinstance(index, SpaceFillingIndex)
    for width in range(100):
        manager.subscribe(parse_filter(f"a between {-width} and {width}"))
    totals = index.totals
    assert totals.searches == manager.work.subscribe_queries == 100
    assert totals.candidates > 0
    is_by_cubes = name == "sfc-z-cubes"
    assert (totals.cubes > 0, totals.runs > 0, totals.steps > 0) == (
        is_by_cubes,
        is_by_cubes,
        not is_by_cubes,
    )
    assert totals.cubes >= totals.runs


def test_a_graph_that_searches_itself_has_no_index() -> None:
    assert covering_manager("poset").index is None


def test_only_an_index_that_misses_covers_is_not_exact() -> None:
    assert [name for name, info in COVERING_INDEXES.items() if not info.exact] == ["sfc-z-cubes"]
    assert COVERINGS["flat-8,sfc-z-cubes"].exact is False
    assert DEFAULT_COVERING in COVERINGS


def test_an_index_on_a_curve_is_told_what_share_it_may_leave_out() -> None:
    assert COVERINGS["flat-1,sfc-z:0"].exact
    approximate = COVERINGS["flat-8,sfc-hilbert:1/20"]
    assert (approximate.name, approximate.exact) == ("flat-8,sfc-hilbert:1/20", False)
    manager = covering_manager("flat-1,sfc-z:0.3+subscription-tree")
    assert isinstance(manager.index, InterestIndex)
    assert isinstance(manager.index.records, SpaceFillingIndex)
    assert manager.index.records.epsilon == Fraction("0.3")


@pytest.mark.parametrize("text", ["", "1", "-0.1", "half", "1/0", "nan"])
def test_a_share_that_is_none_is_refused_with_what_is_one(text: str) -> None:
    with pytest.raises(InputError, match=r"from 0 .* to below 1, as in sfc-z:0\.05"):
        covering_manager(f"flat-1,sfc-z:{text}")


def test_an_index_without_an_argument_says_so() -> None:
    with pytest.raises(InputError, match="kdtree takes no argument: leave :3 out"):
        covering_manager("flat-1,kdtree:3")
