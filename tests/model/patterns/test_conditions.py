"""The normal form of conditions."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sapwood.model.patterns.conditions import (
    ALWAYS,
    AllOf,
    AnyOf,
    Attribute,
    Axis,
    Below,
    Condition,
    NameTest,
    Text,
    all_of,
    any_of,
    descend,
    parts,
    within,
)

A, B = Attribute(NameTest("a")), Attribute(NameTest("b"))
BELOW = Below(Axis.CHILD, None, A)

conditions: st.SearchStrategy[Condition] = st.recursive(
    st.sampled_from((A, B, Text(), ALWAYS, BELOW)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3).map(all_of),
        st.lists(inner, min_size=1, max_size=3).map(any_of),
        inner.map(lambda one: Below(Axis.DESCENDANT, None, one)),
    ),
    max_leaves=6,
)


@given(st.lists(conditions, min_size=1, max_size=4))
def test_conjunction_and_disjunction_forget_order_grouping_and_repetition(
    operands: list[Condition],
) -> None:
    mixed = [*reversed(operands), operands[0]]
    for join in (all_of, any_of):
        assert join(mixed) == join(operands)
        assert join([operands[0], join(operands[1:] or operands)]) == join(operands)
        assert join([join(operands)]) == join(operands)


def test_what_is_below_comes_last() -> None:
    assert all_of([BELOW, B, A]) == AllOf((A, B, BELOW))


def test_nothing_asked_is_neutral_in_one_and_decides_the_other() -> None:
    assert all_of([A, ALWAYS]) == A
    assert any_of([A, ALWAYS]) == ALWAYS
    assert parts(ALWAYS) == ()
    assert parts(A) == (A,)
    assert parts(AllOf((A, B))) == (A, B)


def test_within_asks_here_and_below() -> None:
    assert within(A) == AnyOf((A, Below(Axis.DESCENDANT, None, A)))


def test_descend_visits_everything() -> None:
    below = Below(Axis.CHILD, None, AnyOf((A, Text())))
    assert list(descend(below)) == [below, below.condition, A, Text()]


def test_name_test_compares_local_names_unless_it_has_a_namespace() -> None:
    assert [NameTest("a").accepts(name) for name in ("a", "{u}a", "b")] == [True, True, False]
    assert [NameTest("a", "").accepts(name) for name in ("a", "{u}a")] == [True, False]
    assert [NameTest("a", "u").accepts(name) for name in ("a", "{u}a", "{v}a")] == [
        *(False, True, False)
    ]
    assert NameTest("a", "u").expanded == "{u}a"
