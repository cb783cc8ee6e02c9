"""Sets of texts, compared with the comparisons they are made of."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.model.patterns.comparison import Comparison, Literal, Relation
from sapwood.model.patterns.texts import ALL_TEXTS, NO_TEXTS, Texts, texts

NUMBERS = (-1.0, 0.0, 1.0, math.nextafter(1.0, 2.0), 2.0)
STRINGS = ("", "x", "1", "1.0", "01", "0.5", " 2 ")

_comparisons = st.lists(
    st.one_of(
        st.builds(Comparison, st.sampled_from(list(Relation)), st.sampled_from(NUMBERS)),
        st.builds(
            Comparison,
            st.sampled_from((Relation.EQUAL, Relation.DIFFERENT, Relation.DIFFERENT)),
            st.sampled_from(STRINGS),
        ),
    ),
    max_size=4,
)


def written(value: float) -> list[str]:
    """Texts with this number, more than any set here leaves out."""
    if math.isinf(value):
        digits = "1" * 400
        return [f"{'-' if value < 0 else ''}{digits}{zeros}" for zeros in ("", "0", "00")]
    plain = format(Decimal(repr(value)), "f")
    plain = plain if "." in plain else f"{plain}."
    return [f"{plain}{'0' * zeros}" for zeros in range(4)]


WITNESSES = [
    *STRINGS,
    "y",
    *(
        text
        for value in (
            *NUMBERS,
            *(math.nextafter(one, math.inf) for one in NUMBERS),
            *(math.nextafter(one, -math.inf) for one in NUMBERS),
            *(-5.0, 0.5, 1.5, 5.0, math.inf, -math.inf),
        )
        for text in written(value)
    ),
]
"""Between, at and beside every number that is compared with: enough to refute any claim."""


def accepted(comparisons: list[Comparison]) -> set[str]:
    return {text for text in WITNESSES if all(one.accepts(text) for one in comparisons)}


@given(_comparisons)
def test_texts_accept_what_every_comparison_accepts(comparisons: list[Comparison]) -> None:
    found = texts(comparisons)
    assert {text for text in WITNESSES if found.accepts(text)} == accepted(comparisons)
    assert found.is_empty is (not accepted(comparisons))


@given(_comparisons, _comparisons)
def test_inclusion_and_overlap_are_exact(one: list[Comparison], other: list[Comparison]) -> None:
    assert texts(one).includes(texts(other)) is (accepted(other) <= accepted(one))
    assert texts(one).meets(texts(other)) is bool(accepted(one) & accepted(other))


@given(_comparisons, _comparisons)
def test_equal_sets_have_one_form(one: list[Comparison], other: list[Comparison]) -> None:
    same = accepted(one) == accepted(other)
    assert (texts(one) == texts(other)) is same


@pytest.mark.parametrize(
    ("relation", "literal"), [(Relation.LESS, -math.inf), (Relation.GREATER, math.inf)]
)
def test_nothing_lies_beyond_the_infinities(relation: Relation, literal: Literal) -> None:
    assert texts((Comparison(relation, literal),)) == NO_TEXTS


def test_infinities_can_be_left_out() -> None:
    finite = texts(
        (Comparison(Relation.AT_MOST, math.inf), Comparison(Relation.DIFFERENT, math.inf))
    )
    assert finite == Texts(numeric=True, high=math.nextafter(math.inf, 0.0))
    above = (Comparison(Relation.AT_LEAST, math.inf), Comparison(Relation.DIFFERENT, math.inf))
    assert texts(above) == NO_TEXTS
    assert ALL_TEXTS.includes(finite)
    assert not finite.includes(ALL_TEXTS)
