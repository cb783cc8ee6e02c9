"""Names of indexes, graphs and combinations."""

from __future__ import annotations

import pytest

from sapwood.covering.catalogue import (
    COVERING_INDEXES,
    COVERINGS,
    RELATION_GRAPHS,
    covering_manager,
)
from sapwood.errors import UnknownNameError


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
