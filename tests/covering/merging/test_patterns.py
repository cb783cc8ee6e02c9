"""Merging of patterns within a budget."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.covering.merging import PathUniverse, PatternMerger
from sapwood.covering.merging.records import Candidate
from sapwood.covering.xpe import XPE, pattern_of, steps_of
from sapwood.language import parse_filter
from sapwood.language.xpath import parse_xpath
from sapwood.model.interest import Interest
from sapwood.model.patterns.pattern import TreePattern
from tests.covering.merging.worlds import LEVELS, accepts, small_dtd, xpe, xpes

PATHS = tuple(small_dtd().paths.up_to(LEVELS))
UNIVERSE = PathUniverse(small_dtd().paths, LEVELS)
PERFECT, LENIENT = PatternMerger(UNIVERSE), PatternMerger(UNIVERSE, 0.9)


def candidates(*texts: str) -> dict[str, Candidate]:
    return {text: Candidate(parse_xpath(text), (parse_xpath(text),)) for text in texts}


def groups(merger: PatternMerger, *texts: str) -> dict[str, list[str]]:
    return {str(one.interest): sorted(one.keys) for one in merger.groups(candidates(*texts))}


def test_perfect_mergers_add_no_path_of_the_dtd() -> None:
    assert groups(PERFECT, "/a/b", "/a/c") == {"/a/*": ["/a/b", "/a/c"]}
    assert groups(PERFECT, "/a/c/d", "/a/c/e") == {}


def test_a_budget_lets_some_paths_in() -> None:
    assert groups(LENIENT, "/a/c/d", "/a/c/e") == {"/a/c/*": ["/a/c/d", "/a/c/e"]}


def test_a_merger_takes_in_whatever_else_it_covers() -> None:
    assert groups(PERFECT, "/a/b", "/a/c", "/a/*/d") == {"/a/*": ["/a/*/d", "/a/b", "/a/c"]}


def test_mergers_are_merged_on_and_judged_by_their_original_members() -> None:
    merged = Candidate(parse_xpath("/a/c/*"), (parse_xpath("/a/c/d"), parse_xpath("/a/c/e")))
    known = {"m": merged, **candidates("/a/b")}
    assert PERFECT.groups(known) == []
    perfect = Candidate(parse_xpath("/a/c"), (parse_xpath("/a/c"),))
    assert len(PERFECT.groups({"m": perfect, **candidates("/a/b")})) == 1


@pytest.mark.parametrize("text", ["/a[b][c]", "/a/b[@k]", "/a[b or c]"])
def test_what_is_no_xpe_is_left_alone(text: str) -> None:
    assert groups(LENIENT, text, "/a/c") == {}
    filters = {"f": Candidate(parse_filter("x = 1"), (parse_filter("x = 1"),))}
    assert LENIENT.groups(filters) == []
    originals: list[Interest] = [parse_xpath(text)]
    assert not LENIENT.may_stand(parse_xpath("/a"), originals)


def test_a_merger_may_stand_as_long_as_the_degree_is_within_the_budget() -> None:
    members: list[Interest] = [parse_xpath("/a/b"), parse_xpath("/a/c")]
    assert PERFECT.may_stand(parse_xpath("/a/*"), members)
    assert not PERFECT.may_stand(parse_xpath("/a/*"), members[:1])
    assert PatternMerger(UNIVERSE, 0.99).may_stand(parse_xpath("/a/*"), members[:1])


@given(st.lists(xpes(), max_size=7, unique=True), st.sampled_from((0.0, 0.2, 0.7)))
def test_mergers_accept_their_members_and_stay_within_the_budget(
    known: list[XPE], budget: float
) -> None:
    patterns = {str(at): pattern_of(one) for at, one in enumerate(known)}
    given_ = {key: Candidate(one, (one,)) for key, one in patterns.items()}
    keys: list[str] = []
    for interest, members in PatternMerger(UNIVERSE, budget).groups(given_):
        assert isinstance(interest, TreePattern)
        merger = steps_of(interest)
        assert merger is not None
        keys += members
        originals = [known[int(key)] for key in members]
        accepted = [path for path in PATHS if accepts(merger, path)]
        wanted = [path for path in PATHS if any(accepts(one, path) for one in originals)]
        assert set(wanted) <= set(accepted)
        assert len(accepted) - len(wanted) <= budget * len(accepted) + 1e-9
        assert len(members) > 1
    assert len(keys) == len(set(keys))


def test_a_merger_that_no_neighbor_could_read_is_not_made() -> None:
    deep = ["/a//b/c//b/c/d", "/a//b//c/b//c/d"]
    for interest in groups(PatternMerger(UNIVERSE, 1.0), *deep, "/a/b//c//b//c//d"):
        parse_xpath(interest)
    assert xpe("/a") == steps_of(parse_xpath("/a"))
