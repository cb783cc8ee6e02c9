"""Sliced Bloom filters: what they hold, how often by chance, and who has it."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import InvariantError
from sapwood.sketches.accuracy import false_in_slices, false_on_link
from sapwood.sketches.shape import Shape
from sapwood.sketches.sliced import FilterWriter, RowTable, SlicedShape

ELEMENTS = st.integers(0, 40).map(lambda one: one * 0x9E3779B97F4A7C15 % 2**64)
STEPS = st.lists(st.tuples(st.booleans(), st.sampled_from([1, 2, 2**63]), ELEMENTS), max_size=60)
SMALL = SlicedShape(Shape(128, 2, 5), 0x62)


def filters_of(shape: SlicedShape, sets: list[list[int]]) -> list[bytes]:
    offsets = np.cumsum([0, *map(len, sets)])
    elements = np.array([e for s in sets for e in s], np.uint64)
    letters, ends = FilterWriter(shape).write(offsets, elements)
    return [letters[first:last] for first, last in pairwise([0, *ends.tolist()])]


def found_in(table: RowTable, digest: bytes, wanted: int) -> int:
    found, is_read = table.search(digest, np.array([0]), np.array([len(digest)]), wanted)
    assert is_read.all()
    return int(found[0])


@given(STEPS, st.lists(ELEMENTS, min_size=1, max_size=8))
def test_rows_follow_who_has_what_however_it_came_and_went(
    steps: list[tuple[bool, int, int]], matched: list[int]
) -> None:
    table, held = RowTable(SMALL), Counter[tuple[int, int]]()
    for is_add, bit, element in steps:
        if is_add:
            table.add_many(bit, [element])
            held[element, bit] += 1
        elif held[element, bit]:
            table.remove(bit, element)
            held[element, bit] -= 1
    holders: dict[int, dict[int, int]] = {}
    for (element, bit), count in held.items():
        if count:
            holders.setdefault(element, {})[bit] = count
    table.validate(holders)
    assert len(table) == len(holders)
    [digest] = filters_of(SMALL, [matched])
    places = SMALL.places_in(digest)
    assert places is not None
    inside = [bits for one, bits in holders.items() if {*SMALL.places([one])[0]} <= {*places}]
    for wanted in (1, 2, 3, 2**63, 2**64 - 1):
        found = found_in(table, digest, wanted)
        assert found == sum({bit for bits in inside for bit in bits if bit & wanted})


def test_a_row_that_is_wrong_is_noticed() -> None:
    table = RowTable(SMALL)
    table.add_many(2, [7, 7, 9])
    held = {7: {2: 2}, 9: {2: 1}}
    table.validate(held)
    for wrong in ({7: {2: 1}, 9: {2: 1}}, {7: {2: 2}}, {7: {1: 2}, 9: {2: 1}}):
        with pytest.raises(InvariantError):
            table.validate(wrong)


def test_a_filter_takes_no_more_than_its_bits_however_large_the_set() -> None:  # P25, P30
    shape = SlicedShape(Shape(4096, 4, 5), 0x62)
    drawn = np.random.default_rng(3).integers(0, 2**63, 5000).tolist()
    first_ten = {place for one in shape.places(drawn[:10]) for place in one}
    sizes = [len(one) for one in filters_of(shape, [drawn[:n] for n in (0, 1, 10, 60, 70, 5000)])]
    assert sizes[:3] == [0, 8 + 4 * 2, 8 + len(first_ten) * 2]
    assert max(sizes) == sizes[-1] == shape.bytes_max == 8 + 512


@pytest.mark.parametrize(("size", "probes", "elements"), [(256, 2, 20), (1024, 4, 150)])
def test_a_filter_wrongly_holds_what_the_formula_says(
    size: int, probes: int, elements: int
) -> None:  # P24
    shape, generator = SlicedShape(Shape(size, probes, 5), 0x62), np.random.default_rng(4)
    tries, rows = 400, 50
    drawn = generator.integers(0, 2**63, (tries, elements + rows)).astype(np.uint64)
    filters = filters_of(shape, drawn[:, :elements].tolist())
    held = linked = 0
    for digest, others in zip(filters, drawn[:, elements:], strict=True):
        places = frozenset(shape.places_in(digest) or ())
        false = sum(places.issuperset(one) for one in shape.places(others.tolist()))
        held, linked = held + false, linked + bool(false)
        if digest is filters[0]:  # a table finds the same
            table = RowTable(shape)
            table.add_many(1, others.tolist())
            assert found_in(table, digest, 1) == bool(false)
    expected = false_in_slices(shape.part, probes, elements)
    assert held / (tries * rows) == pytest.approx(expected, rel=0.12)
    on_link = false_on_link(shape.part, probes, elements, rows)
    assert linked / tries == pytest.approx(
        on_link, abs=4 * (on_link * (1 - on_link) / tries) ** 0.5
    )


def test_the_formula_of_links_is_that_of_filters_for_one_row() -> None:
    assert false_in_slices(2, 2, 1) == 0.25
    for part, probes, elements in ((32, 2, 10), (64, 4, 30)):
        one = false_in_slices(part, probes, elements)
        assert false_on_link(part, probes, elements, 1) == pytest.approx(one, rel=1e-4)
        assert false_on_link(part, probes, elements, 9) < 9 * one
