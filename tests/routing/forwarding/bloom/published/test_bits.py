"""The sbstree, the counting sbstree and the skiptree find the filters whose bits are all there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.routing.forwarding.bloom.published.counting_sbstree import CountingSbsTree
from sapwood.routing.forwarding.bloom.published.sbstree import SbsTree
from sapwood.routing.forwarding.bloom.published.skiptree import SkipTree

Bits = frozenset[int]

SIZE: Final = 2**14
MAKERS: Final[tuple[Callable[[], SbsTree | CountingSbsTree | SkipTree], ...]] = (
    SbsTree,
    CountingSbsTree,
    lambda: SkipTree(SIZE),
)
BIT: Final = st.sampled_from([0, 1, 127, 128, 130, 2047, 2048, 4096, 5000, 8191, 8192, SIZE - 1])
SETS: Final = st.frozensets(BIT | st.integers(0, SIZE - 1), max_size=5)
FEW: Final = st.sampled_from(
    [frozenset({0}), frozenset({SIZE - 1}), frozenset({0, 5}), frozenset()]
)

TABLE_5_1: Final = {
    "f1": {6066, 8581},
    "f2": {2787, 12518},
    "f3": {6441, 10582},
    "f4": {5037, 8516},
    "f5": {5001, 8507},
    "f6": {6441, 10582, 5102, 8636},
}


@given(
    st.lists(st.tuples(st.booleans(), FEW | SETS, st.sampled_from(["r1", "r2"])), max_size=25),
    st.lists(st.frozensets(BIT, max_size=12), max_size=4),
)
def test_all_find_exactly_the_holders_of_subsets_whatever_came_and_went(
    steps: list[tuple[bool, Bits, str]], searches: list[Bits]
) -> None:  # P27, P31
    structures = [make() for make in MAKERS]
    held: Counter[tuple[Bits, str]] = Counter()
    for is_add, bits, holder in steps:
        if is_add or not held[bits, holder]:
            held[bits, holder] += 1
            for one in structures:
                one.add(bits, holder)
        else:
            held[bits, holder] -= 1
            for one in structures:
                one.remove(bits, holder)
    for bits in [*searches, *(some for _, some, _ in steps)]:
        expected = {holder for (own, holder), count in held.items() if count and own <= bits}
        assert [one.match(bits) for one in structures] == [expected] * 3


@given(st.lists(st.tuples(SETS, st.sampled_from(["r1", "r2"])), max_size=8), st.randoms())
def test_the_order_in_which_filters_come_leaves_no_trace(
    filters: list[tuple[Bits, str]], random: Random
) -> None:  # P28
    shuffled = sorted(filters, key=lambda _: random.random())
    shapes = []
    for some in (filters, shuffled):
        tree = SbsTree()
        for bits, holder in some:
            tree.add(bits, holder)
        shapes.append(tree.shape())
    assert shapes[0] == shapes[1]
    for bits, holder in filters:
        tree.remove(bits, holder)
    assert tree.shape() == SbsTree().shape()


@pytest.mark.parametrize("make", MAKERS)
def test_table_5_1_leads_where_the_work_says(
    make: Callable[[], SbsTree | CountingSbsTree | SkipTree],
) -> None:
    structure = make()
    for name, bits in TABLE_5_1.items():
        structure.add(bits, name)
    bits = {2787, 5037, 6066, 8516, 8581, 12518}  # equation 5.6
    assert structure.match(bits) == {"f1", "f2", "f4"}
    assert structure.match({2787, 12518}) == {"f2"}
    assert structure.match(set()) == set()


def test_a_counting_match_looks_at_the_postings_of_its_bits_alone() -> None:  # P32
    tree = CountingSbsTree()
    for number in range(200):
        tree.add({number, 200 + number % 4}, f"r{number}")
    for bits in ({7}, {200}, {3, 203}, {3, 203}):
        before = tree.steps
        found = tree.match(bits)
        assert found == ({"r3"} if len(bits) == 2 else set())
        assert tree.steps - before == sum(50 if bit >= 200 else 1 for bit in bits)
