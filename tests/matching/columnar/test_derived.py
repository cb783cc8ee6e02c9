"""Deductions about derived attributes from tests of texts, by the sets that they stand for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood import parse_filter
from sapwood.matching.columnar.derived import Derived, Function, deduced, text_tests
from sapwood.model.constraint import Constraint
from sapwood.model.publication import Value
from tests.matching.columnar.patterned import conditions, pattern_texts

TEXTS = ["", "x", "word", "sword", "SWORD", "12", "-9", "2026-01-31T12:00:00Z", "ǅσΣ"]


def constraint_of(text: str) -> Constraint:
    (conjunction,) = parse_filter(text).conjunctions
    return conjunction.constraint("a")


def derived_value(function: Function, value: Value | None) -> Value | None:
    """By the table at the head of the module."""
    return Derived(function, "a").value(value) if isinstance(value, str) else None


@given(
    text=conditions(),
    value=st.none() | st.booleans() | st.integers(-9, 99) | pattern_texts(),
)
def test_what_is_accepted_satisfies_what_was_deduced(text: str, value: Value | None) -> None:
    for conjunction in parse_filter(text).conjunctions:
        constraint = conjunction.constraint("a")
        found = deduced(constraint)
        holds = all(
            one.accepts(derived_value(function, value)) for function, one in found.constraints
        )
        if constraint.accepts(value):
            assert holds
        # With what is not decided left out, it is all there is to say.
        left = [
            test.matches(value) != fails
            for test, fails in text_tests(constraint.strings)
            if (test, fails) not in found.decided and isinstance(value, str)
        ]
        plain = parse_filter("a is null or not a is null").conjunctions[0].constraint("a")
        assert plain.accepts(value)
        within = any(
            isinstance(value, str) and low <= value and (high is None or value < high)
            for low, high in constraint.strings.ranges
        )
        if isinstance(value, str):
            assert constraint.accepts(value) == (within and holds and all(left))


@pytest.mark.parametrize(
    ("text", "functions", "decided"),
    [
        ("a like '%word'", [Function.REVERSED], 1),
        ("a not like '%word'", [Function.REVERSED], 1),
        ("a like '%wo%rd'", [Function.REVERSED], 0),
        ("a not like '%wo%rd'", [], 0),
        ("a like '%word%'", [], 0),
        ("lower(a) = 'ibm'", [Function.LOWER], 1),
        ("lower(a) like 'ib%'", [Function.LOWER], 1),
        ("lower(a) like '%ibm%'", [], 0),
        ("lower(a) like 'i%bm%'", [Function.LOWER], 0),
        ("integer(a) < 10", [Function.INTEGER], 1),
        ("exists integer(a)", [Function.INTEGER], 1),
        ("integer(a) is null", [Function.INTEGER], 1),
        ("timestamp(a) > '2026-01-31T12:00:00Z' and a like '%Z'", list(Function)[::3], 2),
        (f"a like '%{'x' * 300}'", [Function.REVERSED], 0),
        (f"a not like '%{'x' * 300}'", [], 0),
        (f"lower(a) = '{'x' * 300}'", [], 0),
    ],
)
def test_each_kind_of_test_says_something(
    text: str, functions: list[Function], decided: int
) -> None:
    found = deduced(constraint_of(text))
    assert sorted(function for function, _ in found.constraints) == sorted(functions)
    assert len(found.decided) == decided


def test_keys_are_no_names_of_attributes() -> None:
    keys = {Derived(function, name).key for function in Function for name in ("", "a", "é")}
    assert len(keys) == 12
    for key in keys:
        with pytest.raises(UnicodeDecodeError):
            key.decode("utf-8", "surrogatepass")
