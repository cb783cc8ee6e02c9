"""The sbsposet gathers the bits of exactly the predicates that a record satisfies."""

from __future__ import annotations

from random import Random
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import InvariantError
from sapwood.language import parse_filter
from sapwood.model.constraint import Constraint
from sapwood.routing.forwarding.bloom.published.sbsposet import SbsPoset

TEXTS: Final = (
    *("x > 1", "x >= 1", "x > 3", "x < 2", "x between 2 and 5", "x != 3", "x = 3", "x in (1, 3)"),
    *("x like 'a%'", "x = 'ab'", "x is null", "exists x", "y > 1", "y = 2", "x in (1, 'ab')"),
)
RECORDS: Final = [{"x": value, "y": 2} for value in (0, 1, 2, 3, 4, 6, "ab", "b")] + [{"y": 1}, {}]


def predicate(text: str) -> tuple[str, Constraint]:
    [conjunction] = parse_filter(text).conjunctions
    [only] = conjunction.constraints
    return only


PREDICATES: Final = [predicate(text) for text in TEXTS]
SHARED: Final = 11
"""So few bits that predicates share some."""


def bits_of(number: int) -> tuple[int, ...]:
    return (number, 100 + number % SHARED)


@given(st.lists(st.integers(0, len(TEXTS) - 1), max_size=30))
def test_the_bits_are_those_of_all_predicates_that_hold(steps: list[int]) -> None:  # P26
    poset, held = SbsPoset(), list[int]()
    for number in steps:
        if held.count(number) == 2:
            held.remove(number)
            held.remove(number)
            poset.remove(*PREDICATES[number])
            poset.remove(*PREDICATES[number])
        else:
            held.append(number)
            poset.add(*PREDICATES[number], bits_of(number))
    poset.validate()
    for record in RECORDS:
        expected = {
            bit
            for number in held
            if PREDICATES[number][1].accepts(record.get(PREDICATES[number][0]))
            for bit in bits_of(number)
        }
        assert poset.match(record) == expected


@given(st.lists(st.integers(0, len(TEXTS) - 1), max_size=12), st.randoms())
def test_the_order_in_which_predicates_come_leaves_no_trace(  # P28
    numbers: list[int], random: Random
) -> None:
    shuffled = sorted(numbers, key=lambda _: random.random())
    shapes = []
    for some in (numbers, shuffled):
        poset = SbsPoset()
        for number in some:
            poset.add(*PREDICATES[number], bits_of(number))
        shapes.append(poset.shape())
    assert shapes[0] == shapes[1]
    for number in numbers:
        poset.remove(*PREDICATES[number])
    assert poset.shape() == {}


def test_table_5_1_has_the_bits_that_the_work_says() -> None:
    poset = SbsPoset()
    for text, bits in (
        ("x > 5", (6066, 8581)),
        ("x >= 0.7", (2787, 12518)),
        ("x > 15", (6441, 10582)),
        ("y < 5", (5037, 8516)),
        ("y >= 0", (5001, 8507)),
        ("x > 15", (6441, 10582)),
        ("y > 0", (5102, 8636)),
    ):
        poset.add(*predicate(text), bits)
    assert poset.match({"x": 7, "y": -2}) == {2787, 5037, 6066, 8516, 8581, 12518}  # (5.6)
    assert poset.match({"x": 3}) == {2787, 12518}


def test_an_edge_that_is_missing_is_noticed() -> None:
    poset = SbsPoset()
    for number in (0, 2):
        poset.add(*PREDICATES[number], bits_of(number))
    poset.validate()
    first = next(iter(poset._posets["x"].nodes.values()))
    first.below.clear()
    with pytest.raises(InvariantError):
        poset.validate()
