"""Compressed synopses: no more nodes than allowed, no estimate further off than said."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import InputError
from sapwood.similarity import Synopsis, compressed
from sapwood.similarity.synopsis import synopsis_of
from sapwood.xml import read_document
from tests.similarity.kinds import documents

WORKED = Synopsis(("", "a", "b", "c", "d", "e"), (-1, 0, 1, 1, 1, 4), (10, 10, 9, 2, 1, 1))


def test_the_worked_example_is_that_of_the_module() -> None:
    found = compressed(WORKED, 4)
    assert dict(found.frequent.paths()) == {("a",): 10, ("a", "b"): 9}
    assert (len(found), found.threshold, found.error) == (4, 2, Fraction(4, 3))
    assert found.estimate(("a", "c")) == Fraction(4, 3)
    assert found.estimate(("a", "b")) == 9
    assert found.estimate(("a", "b", "z")) == 0


def test_with_room_for_all_nothing_is_folded() -> None:
    found = compressed(WORKED, len(WORKED))
    assert (found.frequent, found.folded, found.error) == (WORKED, (), Fraction(0))


@given(documents, st.integers(2, 20), st.lists(st.sampled_from("abcd"), max_size=4))
def test_estimates_are_within_the_error_and_nodes_within_the_bound(
    data: list[bytes], nodes_max: int, other: list[str]
) -> None:
    synopsis = synopsis_of(map(read_document, data))
    found = compressed(synopsis, nodes_max)
    assert len(found) <= nodes_max
    assert found.error <= found.threshold
    for path in [*(path for path, _ in synopsis.paths()), tuple(other)]:
        assert abs(found.estimate(path) - synopsis.count(path)) <= found.error


@given(documents, st.integers(2, 20))
def test_no_lower_threshold_would_be_enough(data: list[bytes], nodes_max: int) -> None:
    synopsis = synopsis_of(map(read_document, data))
    found = compressed(synopsis, nodes_max)
    for threshold in range(found.threshold):
        kept = {path for path, count in synopsis.paths() if count > threshold} | {()}
        losing = {path[:-1] for path, count in synopsis.paths() if count <= threshold} & kept
        assert len(kept) + len(losing) > nodes_max


def test_one_node_is_not_enough() -> None:
    with pytest.raises(InputError, match="two or more"):
        compressed(WORKED, 1)
