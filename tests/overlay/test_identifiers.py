"""Identifiers, their ranges, and how these are split (IRBR: P1, P2, P15)."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import InputError
from sapwood.overlay.identifiers import (
    Identifier,
    IdentifierSpace,
    Range,
    common_digits,
    slot_of,
)

SMALL = IdentifierSpace(4, 3)

spaces = st.builds(IdentifierSpace, st.sampled_from((2, 4, 16)), st.integers(2, 6))


@st.composite
def circles(draw: st.DrawFn, least: int = 1) -> tuple[IdentifierSpace, list[Identifier]]:
    """A space, and different identifiers in it."""
    space = draw(spaces)
    most = min(40, space.size)
    numbers = st.lists(
        st.integers(0, space.size - 1), min_size=min(least, most), max_size=most, unique=True
    )
    return space, [space.written(number) for number in draw(numbers)]


def test_the_example_of_the_module_holds() -> None:
    assert SMALL.bounds("02") == (8, 11)
    assert SMALL.doubled_middle("02") == 19
    assert SMALL.doubled_distance("030", 19) == 5
    assert list(SMALL.slots("021")) == ["1", "2", "3", "00", "01", "03", "020", "022", "023"]
    assert list(SMALL.slots("110", "1")) == ["10", "12", "13", "111", "112", "113"]


def test_two_identifiers_see_each_other_in_slots_of_one_length() -> None:
    assert (slot_of("012", "021"), slot_of("021", "012")) == ("02", "01")
    assert common_digits("012", "021") == 1


def test_distances_go_the_shorter_way_round() -> None:
    assert SMALL.distance("000", "333") == 1
    assert SMALL.distance("000", "200") == 32
    assert SMALL.doubled_distance("333", SMALL.doubled_middle("000")) == 2


def test_a_base_or_a_number_of_digits_that_cannot_be_is_refused() -> None:
    with pytest.raises(InputError, match="one of 2, 4, 16, not 10"):
        IdentifierSpace(10, 4)
    with pytest.raises(InputError, match="one digit at least"):
        IdentifierSpace(4, 0)


def test_only_digits_of_the_base_are_a_range() -> None:
    assert all(map(SMALL.is_range, ("", "3", "123")))
    assert not any(map(SMALL.is_range, ("4", "1230", "a", "-1", " 1")))


def test_where_a_name_is_follows_from_it_alone() -> None:
    assert IdentifierSpace(4, 6).identifier_of("r1") == "310102"
    assert IdentifierSpace(16, 4).identifier_of("r1") == "bd12"


@given(spaces, st.text(max_size=20))
def test_a_name_is_always_at_the_same_identifier(space: IdentifierSpace, name: str) -> None:
    found = space.identifier_of(name)
    assert found == space.identifier_of(name)
    assert len(found) == space.digits
    assert space.is_range(found)


@given(spaces, st.data())
def test_an_identifier_and_its_number_are_the_same(
    space: IdentifierSpace, data: st.DataObject
) -> None:
    number = data.draw(st.integers(0, space.size - 1))
    assert space.number(space.written(number)) == number


@given(circles())
def test_p1_the_slots_and_oneself_are_everything_once(
    circle: tuple[IdentifierSpace, list[Identifier]],
) -> None:
    space, identifiers = circle
    for own in identifiers:
        parts = [space.bounds(slot) for slot in (*space.slots(own), own)]
        assert sorted(parts) == _consecutive(sorted(parts), 0, space.size - 1)


@given(circles(), st.data())
def test_p1_a_range_is_split_into_itself_once(
    circle: tuple[IdentifierSpace, list[Identifier]], data: st.DataObject
) -> None:
    space, identifiers = circle
    for own in identifiers:
        within: Range = own[: data.draw(st.integers(0, space.digits))]
        parts = sorted(space.bounds(slot) for slot in (*space.slots(own, within), own))
        assert parts == _consecutive(parts, *space.bounds(within))


def _consecutive(parts: list[tuple[int, int]], first: int, last: int) -> list[tuple[int, int]]:
    """The same parts as far as one begins where the one before ends, from first to last."""
    found: list[tuple[int, int]] = []
    for begin, end in parts:
        if begin != first:
            return found
        found.append((begin, end))
        first = end + 1
    return found if first == last + 1 else []


@given(circles(least=2))
def test_p2_who_is_in_a_slot_sees_the_other_in_one_of_that_length(
    circle: tuple[IdentifierSpace, list[Identifier]],
) -> None:
    space, identifiers = circle
    for one in identifiers:
        for other in identifiers:
            if one != other:
                slot = slot_of(one, other)
                assert slot in space.slots(one)
                assert slot_of(other, one) == one[: len(slot)]


@given(circles(least=2), st.data())
def test_p15_the_nearest_to_the_middle_is_in_the_range_if_anybody_is(
    circle: tuple[IdentifierSpace, list[Identifier]], data: st.DataObject
) -> None:
    space, identifiers = circle
    own = data.draw(st.sampled_from(identifiers))
    length = data.draw(st.integers(1, space.digits))
    range_ = own[: length - 1] + data.draw(st.sampled_from("0123456789abcdef"[: space.base]))
    middle = space.doubled_middle(range_)
    distances = {one: space.doubled_distance(one, middle) for one in identifiers}
    nearest = [one for one in identifiers if distances[one] == min(distances.values())]
    is_there = any(one.startswith(range_) for one in identifiers)
    assert all(one.startswith(range_) == is_there for one in nearest)
