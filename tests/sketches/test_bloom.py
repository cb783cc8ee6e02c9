"""Bloom filters, and counting ones: their laws."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import InputError
from sapwood.sketches.bloom import BloomFilter
from sapwood.sketches.counting import CountingBloomFilter
from sapwood.sketches.elements import element_of
from sapwood.sketches.shape import Shape

NAMES = st.sets(st.text(max_size=4), max_size=30)
SHAPES = st.builds(
    Shape,
    size=st.sampled_from([64, 128, 1024]),
    probes=st.integers(1, 5),
    salt=st.integers(0, 2**64 - 1),
)


def elements(names: set[str]) -> list[int]:
    return [element_of(name.encode()) for name in names]


@given(NAMES, SHAPES)
def test_a_filter_misses_no_element(names: set[str], shape: Shape) -> None:
    made = BloomFilter(shape, elements(names))
    assert all(made.has(elements(names)))
    assert all(element in made for element in elements(names))


@given(NAMES, NAMES, SHAPES)
def test_the_union_is_the_filter_of_the_union(a: set[str], b: set[str], shape: Shape) -> None:
    union = BloomFilter(shape, elements(a)) | BloomFilter(shape, elements(b))
    assert union == BloomFilter(shape, elements(a | b))
    assert union.ones <= shape.size


@given(NAMES, NAMES, SHAPES)
def test_what_comes_and_goes_leaves_the_filter_of_what_is_left(
    stays: set[str], goes: set[str], shape: Shape
) -> None:
    followed = CountingBloomFilter(shape, elements(stays | goes))
    for element in elements(goes - stays):
        followed.remove(element)
    assert followed.bits() == BloomFilter(shape, elements(stays))
    assert followed.faults == 0


@given(NAMES, SHAPES)
def test_equal_sets_have_equal_filters_in_whatever_order_they_came(
    names: set[str], shape: Shape
) -> None:
    one, other = CountingBloomFilter(shape), BloomFilter(shape)
    for element in elements(names):
        one.add(element)
    other.add_many(reversed(elements(names)))
    other.add_many(elements(names))
    assert one.bits() == other
    assert BloomFilter.of_bytes(shape, other.to_bytes()) == other


def test_two_sets_that_one_salt_confuses_another_one_tells_apart() -> None:
    a, b = [element_of(b"a")], [element_of(b"a"), element_of(b"b")]
    told_apart = [
        BloomFilter(Shape(64, 2, salt), range(30)) | BloomFilter(Shape(64, 2, salt), a)
        != BloomFilter(Shape(64, 2, salt), range(30)) | BloomFilter(Shape(64, 2, salt), b)
        for salt in range(40)
    ]
    assert 0 < sum(told_apart) < 40


def test_what_goes_without_having_come_is_a_fault() -> None:
    followed = CountingBloomFilter(Shape(64, 2, 0))
    followed.remove(7)
    assert followed.faults == 2
    assert followed.bits().ones == 0


def test_filters_of_different_shapes_are_neither_joined_nor_equal() -> None:
    one, other = BloomFilter(Shape(64, 2, 0)), BloomFilter(Shape(64, 2, 1))
    assert one != other
    assert one != 7
    with pytest.raises(InputError, match="no union"):
        _ = one | other


def test_bytes_of_another_size_are_refused() -> None:
    with pytest.raises(InputError, match="64 bits came as 7 bytes"):
        BloomFilter.of_bytes(Shape(64, 2, 0), b"1234567")


@pytest.mark.parametrize(
    ("size", "probes", "salt"),
    [(0, 1, 0), (65, 1, 0), (2**32, 1, 0), (64, 0, 0), (64, 17, 0), (64, 1, -1), (64, 1, 2**64)],
)
def test_a_shape_that_no_sketch_has_is_refused(size: int, probes: int, salt: int) -> None:
    with pytest.raises(InputError):
        Shape(size, probes, salt)


def test_a_shape_has_room_for_its_elements() -> None:
    assert Shape.of(1000, 4, 2, 9) == Shape(4032, 2, 9)
    assert Shape.of(0, 4, 2, 9).size == 64
    assert "0 of 64 bits" in repr(BloomFilter(Shape.of(0, 4, 2, 9)))
