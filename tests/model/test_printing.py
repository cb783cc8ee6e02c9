"""Printed filters, each next to what was written."""

from __future__ import annotations

import pytest
from hypothesis import given

from sapwood.language import parse_filter
from sapwood.model.constraint import equal_to
from sapwood.model.filter import Filter
from sapwood.model.printing import (
    constraint_chars_max,
    print_attribute,
    print_constraint,
    print_value,
)
from tests.strategies import filters


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("true", "true"),
        ("false", "false"),
        ("x = 1.0", "x = 1"),
        ("x = 2.50", "x = 2.5"),
        ("x = 1e300", "x = 1e+300"),
        ("x = -0.0", "x = 0"),
        ("x != 5", "x <> 5"),
        ("x not in (5, 7)", "x not in (5, 7)"),
        ("x IN (2, 1, 2)", "x in (1, 2)"),
        ("x in (1, 'a', true)", "x in (true, 1, 'a')"),
        ("x > 1 and x <= 2", "x > 1 and x <= 2"),
        ("x >= 1 and x <= 2", "x between 1 and 2"),
        ("x between 1 and 10 and x <> 5", "x between 1 and 10 and x <> 5"),
        ("x < 1 or x > 2", "(x < 1 or x > 2)"),
        ("x < 1 or x >= 1", "(x <= 0 or x > 0)"),
        ("x = true or x = false", "x in (false, true)"),
        ("x is null", "x is null"),
        ("x is not null", "exists x"),
        ("x is null or x > 5", "(x is null or x > 5)"),
        ("x = 'it''s'", "x = 'it''s'"),
        ("x > 'a'", "x > 'a'"),
        ("x >= 'a' and x < 'c'", "x >= 'a' and x < 'c'"),
        ("x between 'a' and 'c'", "x >= 'a' and x <= 'c'"),
        ("x <> 'a'", "x <> 'a'"),
        ("x not in ('b', 'a')", "x not in ('a', 'b')"),
        ("x like '%'", "x like '%'"),
        ("x like 'ab%'", "x like 'ab%'"),
        ("x like 'ab'", "x = 'ab'"),
        ("x like 'ab%' and x <> 'abc'", "x like 'ab%' and x <> 'abc'"),
        ("x like '%ab'", "x like '%ab'"),
        ("x not like '%ab'", "x not like '%ab'"),
        ("x like '%%_b'", "x like '_%b'"),
        ("x like '50!%%' escape '!'", r"x like '50\%%' escape '\'"),
        (r"x like 'a\_%_' escape '\'", r"x like 'a\_%' escape '\' and x like 'a\__%' escape '\'"),
        ('"unit price" > 1', '"unit price" > 1'),
        ('"in" = 1', '"in" = 1'),
        ('"say ""hi""" = 1', '"say ""hi""" = 1'),
        ("detail.state = 'up'", "detail.state = 'up'"),
        ("größe > 1", "größe > 1"),
        ("b = 1 and a = 1", "a = 1 and b = 1"),
        ("b = 1 or a = 1 and c = 1", "b = 1 or a = 1 and c = 1"),
    ],
)
def test_filter_prints_its_normal_form(written: str, printed: str) -> None:
    assert str(parse_filter(written)) == printed


@pytest.mark.parametrize("name", ["a", "a.b", "_x", "größe", "a.b.c"])
def test_plain_names_are_printed_bare(name: str) -> None:
    assert print_attribute(name) == name


@pytest.mark.parametrize("name", ["", "1a", "a b", "a.", ".a", "a..b", "and", "a.or", 'q"', "a\n"])
def test_other_names_are_quoted(name: str) -> None:
    assert print_attribute(name) == '"' + name.replace('"', '""') + '"'


def test_values_print_as_literals() -> None:
    printed = [print_value(value) for value in (True, False, 3, 2.5, "a'b")]
    assert printed == ["true", "false", "3", "2.5", "'a''b'"]


def keeps_its_bound(printed: Filter) -> bool:
    return all(
        len(print_constraint(name, constraint)) <= constraint_chars_max(name, constraint)
        for conjunction in printed.conjunctions
        for name, constraint in conjunction.constraints
    )


@given(printed=filters())
def test_no_constraint_is_longer_than_its_bound(printed: Filter) -> None:
    assert keeps_its_bound(printed)


@pytest.mark.parametrize(
    "text",
    [
        "\"a\"\"\"\"\"\"b\" not in (1, 2, 3, 'it''''s', '%')",
        "x > -2.2250738585072014e-308 and x < 2.2250738585072014e-308 and x <> 0",
        "x between -9223372036854775808 and 9223372036854775807",
        "x like '!%!%!%%' escape '!' and x not like '%!_!_!_' escape '!'",
        "x like '''''''%' or x is null or x in (true, false)",
        "x = 1 or x = 'a'",
        "exists x",
    ],
)
def test_bounds_hold_where_much_is_escaped(text: str) -> None:
    assert keeps_its_bound(parse_filter(text))


def test_bound_grows_with_numbers_that_are_never_read() -> None:
    constraint = equal_to(10**400)
    assert len(print_constraint("x", constraint)) <= constraint_chars_max("x", constraint)
