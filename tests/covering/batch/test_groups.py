from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sapwood.covering.batch.groups import ALONE, COVERS, QUERIES, last_covers, with_queries

KEYS = "fedcba"


def test_asking_in_one_group_is_asking_alone() -> None:
    assert with_queries({1: COVERS, 2: COVERS}, {2}) == {1: COVERS, 2: COVERS | QUERIES | ALONE}
    assert with_queries({1: COVERS}, {1, 3}) == {1: COVERS | QUERIES, 3: QUERIES}


def test_the_last_cover_on_the_way_is_told() -> None:
    assert dict(last_covers({0: 1, 1: 2, 4: 1}, KEYS)) == {0: 2, 1: 2, 4: 2}


def test_a_circle_is_opened_at_its_smallest_key() -> None:
    assert dict(last_covers({0: 1, 1: 2, 2: 1}, KEYS)) == {0: 2, 1: 2}


@given(st.dictionaries(st.integers(0, 5), st.integers(0, 5), max_size=6))
def test_what_is_told_to_cover_is_kept(cover: dict[int, int]) -> None:
    arrows = {number: other for number, other in cover.items() if number != other}
    told = dict(last_covers(dict(arrows), KEYS))
    assert told.keys() <= arrows.keys()
    assert told.keys().isdisjoint(told.values())
    for number, last in told.items():
        at = number
        for _ in KEYS:
            at = arrows.get(at, at) if at != last else at
        assert at == last
