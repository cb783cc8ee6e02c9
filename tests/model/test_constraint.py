"""Constraints are a Boolean algebra of value sets, checked value by value."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.model import constraint as c
from sapwood.model import strings
from sapwood.model.constraint import ABSENT, ANYTHING, NOTHING, PRESENT, Constraint
from sapwood.model.like import Pattern
from sapwood.model.publication import Value
from tests.strategies import like_patterns, literals, values


@cache
def _ordered() -> st.SearchStrategy[Constraint]:
    bounds = literals().filter(lambda value: not isinstance(value, bool))
    side = st.sampled_from((c.above, c.below))
    return st.builds(lambda make, v, inc: make(v, inclusive=inc), side, bounds, st.booleans())


@cache
def _patterned() -> st.SearchStrategy[Constraint]:
    side = st.sampled_from((strings.like, strings.not_like))
    return st.builds(
        lambda make, pattern: Constraint(strings=make(Pattern.parse(*pattern))),
        side,
        like_patterns(),
    )


@cache
def constraints(*, patterns: bool = False) -> st.SearchStrategy[Constraint]:
    leaves = [
        st.sampled_from((ABSENT, PRESENT, NOTHING, ANYTHING)),
        literals().map(c.equal_to),
        literals().map(c.different_from),
        _ordered(),
    ]
    plain = st.one_of(*leaves, *([_patterned()] if patterns else []))
    pairs = st.tuples(plain, plain)
    return st.one_of(
        plain,
        pairs.map(lambda ab: ab[0].intersect(ab[1])),
        pairs.map(lambda ab: ab[0].union(ab[1]) or ab[0]),
    )


PROBES = values() | st.none()


@given(a=constraints(patterns=True), b=constraints(patterns=True))
def test_equal_constraints_have_equal_hashes(a: Constraint, b: Constraint) -> None:
    for one, other in ((a, b), (a.union(b), b.union(a)), (a.intersect(b), b.intersect(a))):
        assert one != other or hash(one) == hash(other)


@given(a=constraints(patterns=True), b=constraints(patterns=True), value=PROBES)
def test_intersection_holds_what_both_hold(
    a: Constraint, b: Constraint, value: Value | None
) -> None:
    assert a.intersect(b).accepts(value) == (a.accepts(value) and b.accepts(value))


@given(a=constraints(patterns=True), b=constraints(patterns=True), value=PROBES)
def test_union_holds_what_either_holds(a: Constraint, b: Constraint, value: Value | None) -> None:
    union = a.union(b)
    if union is not None:
        assert union.accepts(value) == (a.accepts(value) or b.accepts(value))


@given(a=constraints(patterns=True), value=PROBES)
def test_complement_holds_what_the_set_does_not(a: Constraint, value: Value | None) -> None:
    complement = a.complement()
    if complement is not None:
        assert complement.accepts(value) != a.accepts(value)


@given(a=constraints(), b=constraints())
def test_algebra_has_forms_without_patterns_and_obeys_de_morgan(
    a: Constraint, b: Constraint
) -> None:
    union, outside_a, outside_b = a.union(b), a.complement(), b.complement()
    assert union is not None
    assert outside_a is not None
    assert outside_b is not None
    assert union.complement() == outside_a.intersect(outside_b)
    assert outside_a.complement() == a


@given(a=constraints(), b=constraints())
def test_covers_is_inclusion(a: Constraint, b: Constraint) -> None:
    assert a.covers(b) == (a.intersect(b) == b) == (a.union(b) == a)


@given(a=constraints(patterns=True), b=constraints(patterns=True), value=PROBES)
def test_covers_is_never_refuted(a: Constraint, b: Constraint, value: Value | None) -> None:
    if a.covers(b) and b.accepts(value):
        assert a.accepts(value)


@given(a=constraints(patterns=True))
def test_points_are_all_that_is_accepted(a: Constraint) -> None:
    points = a.points()
    if points is not None:
        assert not a.absent
        assert all(a.accepts(point) for point in points)
        assert a.only == (points[0] if len(points) == 1 else None)
        assert c.one_of(points) == a


@given(members=st.lists(literals(), min_size=1))
def test_one_of_and_none_of_are_repeated_equality_and_inequality(members: list[Value]) -> None:
    equal, different = c.equal_to(members[0]), c.different_from(members[0])
    for member in members[1:]:
        union = equal.union(c.equal_to(member))
        assert union is not None
        equal, different = union, different.intersect(c.different_from(member))
    assert c.one_of(members) == equal
    assert c.none_of(members) == different


@given(many=st.lists(constraints(patterns=True), max_size=5), value=PROBES)
def test_united_accepts_what_any_accepts(many: list[Constraint], value: Value | None) -> None:
    united = c.united(many)
    assert any(u.accepts(value) for u in united) == any(m.accepts(value) for m in many)


def test_extremes_know_themselves() -> None:
    assert NOTHING.is_empty
    assert ANYTHING.is_total
    assert not PRESENT.is_total
    assert PRESENT.union(ABSENT) == ANYTHING
    assert PRESENT.complement() == ABSENT


@pytest.mark.parametrize("value", [True, False])
def test_booleans_are_no_numbers(value: bool) -> None:
    assert not c.equal_to(int(value)).accepts(value)
    assert not c.equal_to(value).accepts(int(value))
    assert not c.above(-1, inclusive=True).accepts(value)
