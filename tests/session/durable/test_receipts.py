"""Receipts of a consumer: each number is seen once, and acknowledged until confirmed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import InputError
from sapwood.session.durable.receipts import Receipts, runs_of


def joined(*acknowledged: int) -> Receipts:
    receipts = Receipts("g", acknowledged)
    receipts.joined("g")
    return receipts


def test_what_is_delivered_again_is_not_seen_again() -> None:
    receipts = joined()
    assert receipts.delivered(1)
    assert not receipts.delivered(1)
    receipts.acknowledge(1)
    assert not receipts.delivered(1)


def test_what_is_acknowledged_is_asked_for_once_and_forgotten_when_confirmed() -> None:
    receipts = joined()
    for number in (1, 2, 3, 9):
        receipts.delivered(number)
        receipts.acknowledge(number)
    assert receipts.take_request() == (1, (1, 3, 9, 9))
    assert receipts.take_request() is None
    assert not receipts.are_settled
    assert sorted(receipts.confirmed(1)) == [1, 2, 3, 9]
    assert receipts.are_settled


def test_what_is_delivered_again_after_its_acknowledgement_is_acknowledged_again() -> None:
    receipts = joined()
    receipts.delivered(1)
    receipts.acknowledge(1)
    receipts.take_request()
    receipts.delivered(1)
    assert receipts.take_request() == (2, (1, 1))
    receipts.confirmed(2)
    assert receipts.are_settled


def test_what_was_acknowledged_and_not_confirmed_is_acknowledged_on_every_connection() -> None:
    receipts = joined(4, 5)
    assert receipts.take_request() == (1, (4, 5))
    assert receipts.joined("g")
    assert receipts.take_request() == (2, (4, 5))


def test_another_subscription_of_the_name_begins_anew() -> None:
    receipts = joined(4)
    receipts.delivered(7)
    assert not receipts.joined("h")
    assert receipts.take_request() is None
    assert receipts.delivered(4)
    assert receipts.delivered(7)


def test_acknowledging_twice_changes_nothing_and_what_was_never_delivered_is_an_error() -> None:
    receipts = joined()
    receipts.delivered(1)
    assert receipts.acknowledge(1)
    assert not receipts.acknowledge(1)
    with pytest.raises(InputError, match="number 2 was never delivered"):
        receipts.acknowledge(2)


@given(st.sets(st.integers(1, 200)), st.integers(1, 20))
def test_runs_are_the_numbers(numbers: set[int], pairs: int) -> None:
    left, found = sorted(numbers), list[int]()
    while left:
        runs, count = runs_of(left, 2 * pairs)
        assert len(runs) <= 2 * pairs
        for first, last in zip(runs[::2], runs[1::2], strict=True):
            found += range(first, last + 1)
        left = left[count:]
    assert found == sorted(numbers)


@given(
    st.lists(st.sampled_from(("deliver", "acknowledge", "send", "confirm", "join")), max_size=60)
)
def test_nothing_acknowledged_is_forgotten_before_it_is_confirmed(steps: list[str]) -> None:
    receipts, told = joined(), dict[int, set[int]]()
    acknowledged, confirmed, number = set[int](), set[int](), 0
    for step in steps:
        if step == "deliver":
            number += 1
            receipts.delivered(number)
        elif step == "acknowledge" and number and number not in acknowledged:
            receipts.acknowledge(number)
            acknowledged.add(number)
        elif step == "send" and (request := receipts.take_request()):
            serial, runs = request
            pairs = zip(runs[::2], runs[1::2], strict=True)
            told[serial] = {one for first, last in pairs for one in range(first, last + 1)}
        elif step == "confirm" and told:
            serial = max(told)
            confirmed |= set().union(*told.values())
            receipts.confirmed(serial)
            told.clear()
        elif step == "join":
            told.clear()
            receipts.joined("g")
    assert set(receipts.unconfirmed) >= acknowledged - confirmed
    assert not set(receipts.unconfirmed) - acknowledged
