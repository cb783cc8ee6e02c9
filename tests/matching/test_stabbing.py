"""The interval tree against trying every interval."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import InvariantError
from sapwood.matching.keys import number_order
from sapwood.matching.stabbing import Span, StabbingIndex
from sapwood.model.numbers import Number

VALUES = st.one_of(
    st.integers(-4, 4),
    st.sampled_from((2**53, 2**53 + 1, float(2**53 + 2), 0.5, -math.inf, math.inf, 5e-324)),
)


@st.composite
def spans(draw: st.DrawFn) -> Span[Number]:
    low, high = sorted((draw(VALUES), draw(VALUES)))
    return Span(low, high, draw(st.booleans()), draw(st.booleans()))


def holds(span: Span[Number], value: Number) -> bool:
    above = value > span.low if span.low_open else value >= span.low
    return above and (value < span.high if span.high_open else value <= span.high)


@given(
    held=st.lists(spans(), max_size=12),
    removed=st.sets(st.integers(0, 11)),
    values=st.lists(VALUES, min_size=1, max_size=5),
)
def test_stab_finds_the_intervals_that_hold_the_value(
    held: list[Span[Number]], removed: set[int], values: list[Number]
) -> None:
    index: StabbingIndex[Number] = StabbingIndex(number_order)
    for item, span in enumerate(held):
        index.add(span, item)
        index.validate()
    left = {item: span for item, span in enumerate(held) if item not in removed}
    for item in sorted(removed & set(range(len(held)))):
        index.remove(held[item], item)
        index.validate()
    assert len(index) == len(left)
    for value in values:
        wanted = [item for item, span in left.items() if holds(span, value)]
        assert sorted(index.stab(value)) == wanted


def test_stab_tells_values_with_the_same_key_apart() -> None:
    index: StabbingIndex[Number] = StabbingIndex(number_order)
    index.add(Span(2**53, 2**53 + 1, False, True), 1)
    index.add(Span(2**53, 2**53 + 1, True, False), 2)
    assert list(index.stab(2**53)) == [1]
    assert list(index.stab(2**53 + 1)) == [2]


def test_remove_refuses_what_was_never_added() -> None:
    index: StabbingIndex[Number] = StabbingIndex(number_order)
    index.add(Span(1, 5, False, False), 1)
    with pytest.raises(InvariantError):
        index.remove(Span(1, 5, False, False), 2)


def test_validate_finds_a_wrong_count_and_a_wrong_order() -> None:
    index: StabbingIndex[Number] = StabbingIndex(number_order)
    index.add(Span(1, 5, False, False), 1)
    index.add(Span(1.5, 6, False, False), 2)
    index._length = 3
    with pytest.raises(InvariantError, match="counted"):
        index.validate()
    index._length = 2
    next(iter(index._nodes.values())).by_low.reverse()
    with pytest.raises(InvariantError, match="out of order"):
        index.validate()
    index._sizes.clear()
    with pytest.raises(InvariantError, match="node sizes"):
        index.validate()
