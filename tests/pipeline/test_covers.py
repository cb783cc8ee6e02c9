from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood import parse_filter
from sapwood.covering.indexes.reference import ReferenceCovering
from sapwood.model.filter import NOTHING, Filter
from sapwood.pipeline.blocking import Grid
from sapwood.pipeline.covers import Member, Role, covered, place
from tests.strategies import filters

BOTH = Role.COVER | Role.ASKS


def members(wanted: list[Filter]) -> list[Member]:
    distinct = dict.fromkeys(filter_ for filter_ in wanted if filter_ != NOTHING)
    return [Member(f"{n:08x}", BOTH, filter_) for n, filter_ in enumerate(distinct)]


@given(st.lists(filters(), max_size=12))
def test_what_is_kept_covers_the_rest_and_nothing_more_can_go(wanted: list[Filter]) -> None:
    group = members(wanted)
    by_key = {member.key: member.filter for member in group}
    gone = dict(covered(group, ReferenceCovering()))
    kept = by_key.keys() - gone.keys()
    assert set(gone.values()) <= kept
    assert all(by_key[cover].covers(by_key[key]) for key, cover in gone.items() if key in by_key)
    for key in kept:
        assert not any(by_key[other].covers(by_key[key]) for other in kept if other != key), by_key[
            key
        ]


@given(st.lists(filters(), max_size=12), st.integers(2, 4))
def test_groups_miss_no_cover(wanted: list[Filter], slots: int) -> None:
    group = members(wanted)
    grid = Grid.of(member.filter for member in group)
    gone: set[str] = set()
    places = {member.key: place(member.key, member.filter, grid, slots) for member in group}
    for slot in range(slots):
        part = [m._replace(role=places[m.key][slot]) for m in group if slot in places[m.key]]
        gone |= {key for key, _ in covered(part, ReferenceCovering())}
    assert gone == {key for key, _ in covered(group, ReferenceCovering())}


def test_covered_names_the_last_cover_on_the_way() -> None:
    texts = ("x = 3 and y = 1", "x = 3", "x > 2", "y = 5")
    group = members([parse_filter(text) for text in texts])
    pairs = dict(covered(group, ReferenceCovering()))
    assert pairs == {"00000000": "00000002", "00000001": "00000002"}


class Circle:
    """An index that finds each filter covered by the next one, and the last by the first."""

    def __init__(self, length: int) -> None:
        self.filters: dict[Filter, int] = {}
        self.length = length

    def __len__(self) -> int:
        return len(self.filters)

    def add(self, key: int, filter: Filter) -> None:  # noqa: A002
        self.filters[filter] = key

    def remove(self, key: int) -> None:
        raise AssertionError(key)

    def cov(self, filter: Filter, limit: int) -> list[int]:  # noqa: A002
        key = self.filters[filter]
        # The last filter leads into the circle of the others.
        return [0] if key == self.length else [(key + 1) % self.length]

    def covered(self, filter: Filter) -> list[int]:  # noqa: A002
        raise AssertionError(filter)

    def validate(self) -> None:
        pass


@pytest.mark.parametrize("length", [2, 3, 5])
def test_covered_keeps_one_of_a_circle(length: int) -> None:
    group = members([parse_filter(f"x = {number}") for number in range(length + 1)])
    pairs = dict(covered(group, Circle(length)))
    assert pairs.keys() == {member.key for member in group[1:]}
    assert set(pairs.values()) == {"00000000"}


def test_only_one_of_two_forms_of_one_set_goes() -> None:
    one, other = parse_filter("s like '%'"), parse_filter("s not like 'a' or s like '%_'")
    assert one != other
    assert one.covers(other)
    assert other.covers(one)
    group = [Member("b", BOTH, one), Member("a", BOTH, other)]
    assert covered(group, ReferenceCovering()) == [("b", "a")]
    assert covered(group[::-1], ReferenceCovering()) == [("b", "a")]


def test_a_member_that_does_not_ask_is_not_given_up() -> None:
    wide, narrow = parse_filter("x > 1"), parse_filter("x > 2")
    asks = [Member("a", Role.COVER, narrow), Member("b", Role.COVER, wide)]
    assert covered(asks, ReferenceCovering()) == []
    stored = [Member("a", Role.ASKS, narrow), Member("b", Role.ASKS, wide)]
    assert covered(stored, ReferenceCovering()) == []


def test_place_puts_general_filters_everywhere_and_lets_them_ask_once() -> None:
    grid = Grid({})
    roles = place("0000000a", parse_filter("true"), grid, 4)
    assert set(roles) == {0, 1, 2, 3}
    assert [slot for slot, role in roles.items() if role & Role.ASKS] == [2]
    lone = place("0000000a", parse_filter("s = 'a'"), grid, 4)
    assert list(lone.values()) == [BOTH]
