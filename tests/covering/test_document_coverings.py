"""Managers that hold both kinds, by name."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood import parse_filter, parse_xpath
from sapwood.covering.catalogue import (
    DEFAULT_DOCUMENT_COVERING,
    DOCUMENT_COVERINGS,
    covering_manager,
    covering_named,
    document_covering_named,
)
from sapwood.covering.reference import ReferenceCovering
from sapwood.errors import UnknownNameError
from sapwood.model.interest import Interest
from tests.covering.histories import Neighbor
from tests.covering.patterns import patterns
from tests.examples import examples

RECORDS = tuple(map(parse_filter, ("x > 1", "x > 2", "x > 2 and y = 1", "y = 1", "y > 0")))

NAMES = (
    *(f"{records}+{documents}" for records in ("flat-1,counting", "poset") for documents in
      DOCUMENT_COVERINGS),
    "flat-1,counting",
    "poset",
)  # fmt: skip


@cache
def interests() -> st.SearchStrategy[Interest]:
    return st.one_of(patterns(), patterns(), st.sampled_from(RECORDS))


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=examples(25))
@given(st.lists(st.one_of(interests(), st.integers(0, 20)), min_size=4, max_size=18), st.booleans())
@pytest.mark.one_in(3)
def test_the_neighbor_always_knows_a_cover(
    name: str, steps: list[Interest | int], is_maximal: bool
) -> None:
    manager, neighbor = covering_named(name).make(is_maximal=is_maximal), Neighbor()
    subscribed: list[Interest] = []
    for step in steps:
        if not isinstance(step, int):
            subscribed.append(step)
            neighbor.hear(manager.subscribe(step), set(subscribed))
        elif subscribed:
            gone = subscribed.pop(step % len(subscribed))
            neighbor.hear(manager.unsubscribe(gone), set(subscribed))
        manager.validate()
    assert set(neighbor.known) == set(manager.propagated)
    for wanted in subscribed:
        assert manager.representative(wanted).covers(wanted)


@pytest.mark.parametrize("name", sorted(DOCUMENT_COVERINGS))
def test_every_name_makes_something_new_and_empty(name: str) -> None:
    info = document_covering_named(name)
    assert info.name == name
    assert info.summary
    assert info.make_graph() is not info.make_graph()
    assert len(info.make_index()) == len(info.make_graph()) == 0
    combined = covering_named(f"flat-1,columnar+{name}")
    assert combined.name == f"flat-1,columnar+{name}"
    assert info.summary in combined.summary
    assert combined.exact is info.exact


@pytest.mark.parametrize("name", ["subscription-tree", "subscription-tree-lazy"])
def test_what_is_withdrawn_is_asked_of_the_tree_and_not_of_all_patterns(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> list[int]:
        raise AssertionError("every pattern would be asked")

    monkeypatch.setattr(ReferenceCovering, "covered", never)
    monkeypatch.setattr(ReferenceCovering, "cov", never)
    link = covering_named(f"flat-1,columnar+{name}").make(is_maximal=True)
    paths = [parse_xpath(text) for text in ("/a/b/c", "/a/b/d", "//e", "/a/b", "/a")]
    assert [link.subscribe(path).withdraw for path in paths] == [
        *((), (), (), (paths[0], paths[1]), (paths[3],))
    ]
    assert link.unsubscribe(paths[4]).propagate == (paths[3],)


def test_what_misses_covers_among_records_is_not_exact() -> None:
    assert not covering_named("flat-1,sfc-z-cubes+xsearch").exact


def test_unknown_names_are_refused_with_the_names_there_are() -> None:
    with pytest.raises(UnknownNameError, match="subscription-tree"):
        covering_manager("flat-1,columnar+tree")
    with pytest.raises(UnknownNameError, match="flat-1,columnar"):
        covering_manager("flat,columnar+xsearch")
    assert DEFAULT_DOCUMENT_COVERING in DOCUMENT_COVERINGS
