"""Conjunctions are boxes: one constraint for each attribute, all of which must hold."""

from __future__ import annotations

from copy import copy

from hypothesis import given

from sapwood.language import parse_filter
from sapwood.model.conjunction import EVERY_RECORD, Conjunction, conjunction
from sapwood.model.constraint import ABSENT, ANYTHING, NOTHING, PRESENT, equal_to
from sapwood.model.filter import Filter
from sapwood.model.publication import Record
from tests.strategies import conjunction_filters, records


def box(text: str) -> Conjunction:
    [only] = parse_filter(text).conjunctions
    return only


def test_conjunction_sorts_drops_total_and_refuses_empty_constraints() -> None:
    made = conjunction([("b", PRESENT), ("a", equal_to(1)), ("c", ANYTHING)])
    assert made is not None
    assert made.attributes == ("a", "b")
    assert made.constraint("c") == ANYTHING
    assert conjunction([("a", equal_to(1)), ("b", NOTHING)]) is None
    assert conjunction([]) == EVERY_RECORD


def test_conjunction_accepts_an_absent_attribute_only_where_absence_is_accepted() -> None:
    assert box("a = 1 and b is null").accepts({"a": 1})
    assert not box("a = 1 and b is null").accepts({"a": 1, "b": 2})
    assert not box("a = 1").accepts({})


@given(a=conjunction_filters(), b=conjunction_filters(), record=records())
def test_intersect_accepts_what_both_accept(a: Filter, b: Filter, record: Record) -> None:
    if a.conjunctions and b.conjunctions:
        both = a.conjunctions[0].intersect(b.conjunctions[0])
        accepted = both is not None and both.accepts(record)
        assert accepted == (a.accepts(record) and b.accepts(record))
        assert (both is not None) == a.conjunctions[0].intersects(b.conjunctions[0])


def test_without_and_with_constraint_change_one_attribute() -> None:
    both = box("a = 1 and b = 2")
    assert both.without("b") == box("a = 1")
    assert both.without("z") == both
    assert both.with_constraint("b", ABSENT) == box("a = 1 and b is null")
    assert both.with_constraint("c", equal_to(3)) == box("a = 1 and b = 2 and c = 3")


def test_extent_of_a_cover_is_not_greater() -> None:
    assert box("a > 1").covers(box("a > 2 and b = 1"))
    assert box("a > 1").extent <= box("a > 2 and b = 1").extent


def test_every_record_prints_as_true() -> None:
    assert str(EVERY_RECORD) == "true"
    assert EVERY_RECORD.covers(box("a = 1"))
    assert not box("a = 1").covers(EVERY_RECORD)


def test_text_is_kept_and_left_behind_by_copies() -> None:
    both = box("a = 1 and b = 2")
    assert str(both) is str(both)
    assert copy(both) == both
    assert copy(both)._text is None
