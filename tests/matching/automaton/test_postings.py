"""Lists by key, against a dictionary."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import InvariantError
from sapwood.matching.automaton.postings import GAP, Postings


def held(postings: Postings, keys: int) -> dict[int, set[int]]:
    """The values of each key, read as a kernel reads them."""
    starts, values, tail_keys, tail_values = postings.lists()
    found: dict[int, set[int]] = {key: set() for key in range(keys)}
    for key in range(len(starts) - 1):
        found[key].update(values[starts[key] : starts[key + 1]].tolist())
    for key, value in zip(tail_keys.tolist(), tail_values.tolist(), strict=True):
        found[key].add(value)
    return {key: values - {GAP} for key, values in found.items()}


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 40), st.booleans()), max_size=120))
def test_postings_hold_what_was_added_and_not_removed(
    changes: list[tuple[int, int, bool]],
) -> None:
    postings = Postings()
    keys: dict[int, int] = {}
    for key, value, sorts in changes:
        if value in keys:
            assert postings.remove(value) == keys.pop(value)
        else:
            postings.add(key, value)
            keys[value] = key
        if sorts:
            postings._sort()
        postings.validate()
        assert postings.key(value) == keys.get(value, GAP)
        assert len(postings) == len(keys)
    assert held(postings, 6) == {
        key: {value for value, its in keys.items() if its == key} for key in range(6)
    }


def test_lists_are_sorted_by_key_when_the_tail_has_grown() -> None:
    postings = Postings()
    for value in range(2000):
        postings.add(value % 7, value)
    lists = postings.lists()
    assert len(lists.tail_keys) == 0
    assert lists.values[lists.starts[3] : lists.starts[4]].tolist() == list(range(3, 2000, 7))
    postings.add(50, 2000)
    assert len(postings.lists().tail_keys) == 1
    postings.remove(3)
    postings.validate()
    assert 3 not in held(postings, 51)[3]
    assert held(postings, 51)[50] == {2000}


def test_value_that_is_there_is_not_added_again() -> None:
    postings = Postings()
    postings.add(0, 0)
    with pytest.raises(AssertionError):
        postings.add(1, 0)
    with pytest.raises(AssertionError):
        postings.remove(1)


def test_validate_finds_a_lost_value() -> None:
    postings = Postings()
    postings.add(0, 0)
    postings._count = 2
    with pytest.raises(InvariantError):
        postings.validate()
