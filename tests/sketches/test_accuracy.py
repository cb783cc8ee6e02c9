"""Errors of sketches: formulas, exact values and counted ones."""

from __future__ import annotations

import itertools
from random import Random

import pytest

from sapwood.sketches import accuracy
from sapwood.sketches.bloom import BloomFilter
from sapwood.sketches.shape import Shape

MEASURED = 4000


@pytest.mark.parametrize("bits_each", [4, 8, 16])
def test_equation_5_2_is_what_is_counted(bits_each: int) -> None:
    generator = Random(bits_each)
    inside, outside = ([generator.getrandbits(64) for _ in range(n)] for n in (500, 20_000))
    shape = Shape.of(500, bits_each, 2, 1)
    counted = sum(
        sum(BloomFilter(Shape(shape.size, 2, salt), inside).has(outside)) for salt in range(10)
    ) / (10 * len(outside))
    assert counted == pytest.approx(accuracy.false_membership(shape.size, 2, 500), rel=0.1)


@pytest.mark.parametrize(("only_a", "only_b"), [(1, 0), (2, 0), (1, 1)])
def test_the_exact_value_is_what_is_counted_and_theorem_6_is_above_it(
    only_a: int, only_b: int
) -> None:
    generator = Random(7)
    common = [generator.getrandbits(64) for _ in range(64)]
    a, b = ([generator.getrandbits(64) for _ in range(n)] for n in (only_a, only_b))
    equal = 0
    for salt in range(MEASURED):
        shape = Shape(256, 2, salt)
        base = BloomFilter(shape, common)
        equal += base | BloomFilter(shape, a) == base | BloomFilter(shape, b)
    exact = accuracy.equal_bits(256, 2, 64, only_a, only_b)
    assert equal / MEASURED == pytest.approx(exact, abs=4 * (exact / MEASURED) ** 0.5)
    assert exact < accuracy.theorem_6(256, 2, 64, only_a, only_b)


def test_the_exact_value_is_that_of_all_throws_one_by_one() -> None:
    size, alike, tried = 3, 0, 0
    for throws in itertools.product(range(size), repeat=4):
        common, a, b = set(throws[:2]), {throws[2]}, {throws[3]}
        alike += common | a == common | b
        tried += 1
    assert accuracy.equal_bits(size, 1, 2, 1, 1) == pytest.approx(alike / tried)


def test_the_published_case_is_seven_times_better_than_theorem_6_says() -> None:
    assert accuracy.theorem_6(4000, 2, 1000, 3) == pytest.approx(0.0263, abs=1e-4)
    assert accuracy.equal_bits(4000, 2, 1000, 3) == pytest.approx(0.0037, abs=1e-4)
    assert accuracy.theorem_6(4000, 2, 1000, 3, 3) == pytest.approx(0.0007, abs=1e-4)


def test_errors_fall_with_the_difference_and_with_the_size() -> None:
    by_difference = [accuracy.equal_bits(1024, 2, 200, n) for n in range(1, 6)]
    by_size = [accuracy.equal_bits(size, 2, 200, 2) for size in (512, 1024, 2048)]
    assert by_difference == sorted(by_difference, reverse=True)
    assert by_size == sorted(by_size, reverse=True)


def test_chances_of_occupancy_add_up() -> None:
    assert accuracy.occupied(4, 2).tolist() == [0.0, 0.25, 0.75, 0.0, 0.0]
    assert accuracy.occupied(64, 200).sum() == pytest.approx(1.0)


def test_a_thousand_entries_at_four_bits_are_500_bytes() -> None:
    assert accuracy.sketch_bytes(1000, 4) == 500
