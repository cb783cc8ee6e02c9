"""Comparisons as XPath 1.0 defines them."""

from __future__ import annotations

import math

import pytest

from sapwood.errors import InputError
from sapwood.model.patterns.comparison import (
    Comparison,
    Relation,
    compares,
    number,
    print_literal,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1), (" 1\n", 1), ("-1.50", -1.5), (".5", 0.5), ("1.", 1), ("01", 1), ("-0", 0)],
)
def test_number_reads_what_xpath_calls_a_number(text: str, value: float) -> None:
    assert number(text) == value


@pytest.mark.parametrize(
    "text", ["", " ", "+1", "1e3", "--1", "1 2", ".", "-", "0x1", "\u00a01", "inf"]
)
def test_number_of_anything_else_is_nan(text: str) -> None:
    assert math.isnan(number(text))


@pytest.mark.parametrize(
    ("relation", "below", "same", "above", "nan"),
    [
        (Relation.EQUAL, False, True, False, False),
        (Relation.DIFFERENT, True, False, True, True),
        (Relation.LESS, True, False, False, False),
        (Relation.AT_MOST, True, True, False, False),
        (Relation.GREATER, False, False, True, False),
        (Relation.AT_LEAST, False, True, True, False),
    ],
)
def test_relation_between_numbers(
    relation: Relation, below: bool, same: bool, above: bool, nan: bool
) -> None:
    outcomes = [compares(value, relation, 1.0) for value in (0.0, 1.0, 2.0, math.nan)]
    assert outcomes == [below, same, above, nan]
    wanted = Comparison(relation, 1.0)
    assert [wanted.accepts(text) for text in ("0", "1", "2", "x")] == outcomes


def test_texts_compare_as_texts() -> None:
    equal, different = (Comparison(r, "1") for r in (Relation.EQUAL, Relation.DIFFERENT))
    assert equal.accepts("1")
    assert not equal.accepts("1.0")
    assert different.accepts("1.0")
    assert not different.accepts("1")


def test_comparisons_without_a_meaning_are_refused() -> None:
    with pytest.raises(InputError, match="order"):
        Comparison(Relation.LESS, "x")
    with pytest.raises(InputError, match="NaN"):
        Comparison(Relation.EQUAL, math.nan)


@pytest.mark.parametrize(
    ("literal", "text"),
    [
        ("x", "'x'"),
        ("it's", '"it\'s"'),
        (1.0, "1"),
        (-0.5, "-0.5"),
        (1e20, "1" + "0" * 20),
        (1e-7, "0.0000001"),
    ],
)
def test_literal_is_printed_without_an_exponent(literal: str | float, text: str) -> None:
    assert print_literal(literal) == text
