"""Near pairs: exactly those that are near, pair by pair; blocks miss none."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood import parse_filter, parse_xpath
from sapwood.errors import InputError
from sapwood.model.filter import Filter
from sapwood.model.interest import Interest
from sapwood.model.patterns.pattern import TreePattern
from sapwood.similarity import Constants, Knowledge, Similarity
from sapwood.similarity.boxes import box_similarity
from sapwood.similarity.kernels.choice import SIMILARITY
from sapwood.similarity.near.bounds import least_similarity
from sapwood.similarity.near.boxes import search_labels, stored_labels
from sapwood.similarity.near.pairs import near_pairs
from sapwood.similarity.near.patterns import PatternBlock, growth, stored_label
from sapwood.similarity.synopsis import synopsis_of
from sapwood.xml import read_document
from sapwood.xml.dtd import read_dtd
from tests import strategies
from tests.similarity.kinds import LOOSE, STRICT, documents, patterns

THRESHOLDS = st.sampled_from([0.501, 0.55, 0.6, 0.75, 0.9, 1.0])

DTDS = tuple(read_dtd(text, "a") for text in (LOOSE, STRICT))

VALUES = st.integers(0, 5)


@st.composite
def boxes(draw: st.DrawFn) -> str:
    """A conjunction over three attributes, of which pairs share values often."""
    names = draw(st.lists(st.sampled_from("xyz"), min_size=1, unique=True))
    some = []
    for name in names:
        low, length = draw(VALUES), draw(VALUES)
        kinds = [f"{name} = {low}", f"{name} between {low} and {low + length}", f"{name} > {low}"]
        some.append(draw(st.sampled_from(kinds)))
    return " and ".join(some)


RECORDS = st.one_of(
    st.lists(boxes(), min_size=1, max_size=3).map(" or ".join).map(parse_filter),
    strategies.filters(patterns=False),
).filter(lambda one: bool(one.conjunctions))


def brute(some: list[Any], threshold: float, measure: Any) -> dict[tuple[int, int], float]:
    """Each pair by itself."""
    found = {}
    for one, other in combinations(range(len(some)), 2):
        there, back = measure(some[one], some[other]), measure(some[other], some[one])
        if (there + back) / 2 >= threshold - 1e-9:
            found[one, other] = (there + back) / 2
    return found


def check(found: list[Any], expected: dict[tuple[int, int], float], threshold: float) -> None:
    by_pair = {(near.one, near.other): near.proximity for near in found}
    for pair in by_pair.keys() ^ expected.keys():
        # Sums in another order differ in the last digit: only at the threshold itself.
        assert abs(by_pair.get(pair, expected.get(pair, 0.0)) - threshold) < 2e-9
    for pair in by_pair.keys() & expected.keys():
        assert by_pair[pair] == pytest.approx(expected[pair], abs=1e-9)


@given(
    st.lists(patterns(), min_size=2, max_size=7, unique=True),
    st.sampled_from((None, *DTDS)),
    documents,
    THRESHOLDS,
    st.sampled_from([0.2, 1.0]),
)
def test_no_near_pair_of_patterns_is_missed(
    some: list[TreePattern], dtd: Any, data: list[bytes], threshold: float, conflict: float
) -> None:
    synopsis = synopsis_of(map(read_document, data)) if data or dtd is None else None
    constants = Constants(conflict=conflict)
    knowledge = Knowledge(dtd, synopsis)
    found = near_pairs(some, threshold, Similarity(knowledge, constants))
    check(found, brute(some, threshold, Similarity(knowledge, constants)), threshold)


@given(st.lists(RECORDS, min_size=2, max_size=8, unique=True), THRESHOLDS)
def test_no_near_pair_of_record_filters_is_missed(some: list[Filter], threshold: float) -> None:
    check(near_pairs(some, threshold), brute(some, threshold, box_similarity), threshold)


@given(st.lists(RECORDS, min_size=2, max_size=6, unique=True), THRESHOLDS)
def test_similar_record_filters_meet_under_a_label(some: list[Filter], threshold: float) -> None:
    least = least_similarity(threshold)
    labels = frozenset[str]().union(*map(stored_labels, some))
    for one in some:
        asked = search_labels(one, labels, least)
        for other in some:
            if box_similarity(one, other) >= least:
                assert asked & stored_labels(other)


@given(
    st.lists(patterns(), min_size=2, max_size=6, unique=True),
    st.sampled_from(DTDS),
    documents,
    THRESHOLDS,
)
def test_similar_patterns_meet_under_a_label(
    some: list[TreePattern], dtd: Any, data: list[bytes], threshold: float
) -> None:
    least = least_similarity(threshold)
    synopsis = synopsis_of(map(read_document, data)) if data else None
    similarity = Similarity(Knowledge(dtd, synopsis))
    block = PatternBlock(similarity, some, least)
    for number, one in enumerate(some):
        asked = block.labels(number)
        for at, other in enumerate(some):
            if similarity(one, other) >= least:
                assert stored_label(block.required[at].names, {}) in asked


@given(st.integers(1, 4), st.integers(1, 3), st.floats(0, 1), st.data())
def test_ways_to_place_branches_add_up_to_no_more_than_their_growth(
    branches: int, kinds: int, conflict: float, data: st.DataObject
) -> None:
    """All ways summed by brute force, over alternatives with any shares."""
    shares = [
        [one / 8 for one in data.draw(st.lists(st.integers(0, 8), min_size=1, max_size=3))]
        for _ in range(kinds)
    ]
    shares = [[one / max(1.0, sum(some)) for one in some] for some in shares]
    taken = [data.draw(st.integers(0, kinds - 1)) for _ in range(branches)]
    ways: list[tuple[tuple[int, int], ...]] = [()]
    for kind in taken:
        ways = [(*way, (kind, at)) for way in ways for at in range(len(shares[kind]))]
    total = 0.0
    for way in ways:
        weight = 1.0
        used = set(way)
        for kind, at in used:
            weight *= shares[kind][at]
        for one, other in combinations(sorted(used), 2):
            if one[0] == other[0]:
                weight *= conflict
        total += weight
    assert total <= growth(branches, conflict) + 1e-9


def test_a_threshold_by_which_nothing_is_ruled_out_is_refused() -> None:
    for threshold in (0.5, 0.0, 1.1):
        with pytest.raises(InputError, match=r"above 0\.5"):
            near_pairs([], threshold)


def test_patterns_need_what_is_known_of_documents() -> None:
    with pytest.raises(InputError, match="bring that"):
        near_pairs([parse_xpath("/a")], 0.9)


def test_both_languages_at_once() -> None:
    similarity = Similarity(Knowledge(DTDS[0]))
    some: list[Interest] = [
        *(parse_xpath("/a/b"), parse_filter("x > 1")),
        *(parse_xpath("//b"), parse_filter("x > 1 and y > 1")),
    ]
    found = near_pairs(some, 0.6, similarity)
    assert [(near.one, near.other) for near in found] == [(0, 2), (1, 3)]
    assert (found[1].there, found[1].back) == (0.5, 1.0)


@given(
    st.lists(patterns(), min_size=4, max_size=8, unique=True),
    st.sampled_from((None, *DTDS)),
    documents,
    THRESHOLDS,
)
def test_compiled_comparisons_miss_none_either(
    some: list[TreePattern], dtd: Any, data: list[bytes], threshold: float
) -> None:
    SIMILARITY.load()
    synopsis = synopsis_of(map(read_document, data)) if data or dtd is None else None
    knowledge = Knowledge(dtd, synopsis)
    found = near_pairs(some, threshold, Similarity(knowledge))
    check(found, brute(some, threshold, Similarity(knowledge)), threshold)
