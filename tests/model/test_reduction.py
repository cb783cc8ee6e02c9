"""Reduction drops covered boxes and joins adjacent ones, within an allowance."""

from __future__ import annotations

import pytest
from hypothesis import given

from sapwood.errors import LimitError
from sapwood.language import parse_filter
from sapwood.model.conjunction import EVERY_RECORD, Conjunction
from sapwood.model.filter import Filter
from sapwood.model.publication import Record
from sapwood.model.reduction import Allowance, absorb, in_normal_order, reduced
from tests.strategies import filters, records


def boxes(*texts: str) -> list[Conjunction]:
    return [box for text in texts for box in parse_filter(text).conjunctions]


def test_absorb_drops_duplicates_and_covered_boxes() -> None:
    wide, narrow, other = boxes("a > 1", "a > 2 and b = 1", "c = 1")
    assert absorb([narrow, other, wide, other], Allowance(1000)) == [wide, other]
    assert absorb([EVERY_RECORD, wide], Allowance(1000)) == [EVERY_RECORD]


def test_reduced_joins_boxes_that_differ_in_one_attribute() -> None:
    apart = boxes("a = 1 and b = 1", "a = 2 and b = 1", "a = 3 and b = 1")
    assert reduced(apart, Allowance(1000)) == boxes("a in (1, 2, 3) and b = 1")


@given(a=filters(), b=filters(), record=records())
def test_reduced_keeps_the_union_and_has_no_covered_box(
    a: Filter, b: Filter, record: Record
) -> None:
    both = (*a.conjunctions, *b.conjunctions)
    smaller = reduced(both, Allowance(1_000_000))
    assert any(s.accepts(record) for s in smaller) == any(x.accepts(record) for x in both)
    assert not any(x.covers(y) for x in smaller for y in smaller if x is not y)


def test_allowance_is_spent_step_by_step_and_charging_past_it_is_an_error() -> None:
    allowance = Allowance(2)
    assert allowance.spend(2)
    assert not allowance.spend(1)
    with pytest.raises(LimitError, match="NORMAL_FORM_STEPS_MAX"):
        allowance.charge(1)
    with pytest.raises(LimitError, match="NORMAL_FORM_STEPS_MAX"):
        absorb(boxes(*(f"a = {n} and b{n} = 1" for n in range(50))), Allowance(10))


def test_normal_order_puts_few_constraints_first_then_goes_by_text() -> None:
    given = boxes("b = 1 and c = 1", "b = 1", "a = 1")
    assert in_normal_order(given) == given[::-1]
    assert given[0]._text is None, "printed without need"
