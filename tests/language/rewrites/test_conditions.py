"""One condition, or its negation, to the values for which it holds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.language.parser import parse
from sapwood.language.rewrites.conditions import accepted_values
from sapwood.language.syntax import Condition, Not
from sapwood.model.publication import Value
from tests import oracles
from tests.strategies import values


@pytest.mark.parametrize(
    "text",
    [
        "a = 1",
        "a <> 'x'",
        "a < 1.5",
        "a >= 'x'",
        "a between 1 and 2",
        "a between 1 and 'x'",
        "a between 2 and 1",
        "a in (1, 'x', true)",
        "a in (1, 2)",
        "a like 'x%'",
        "a like '%x_'",
        "exists a",
        "a",
    ],
)
@given(value=values() | st.none())
def test_accepted_values_are_those_for_which_the_condition_holds(
    text: str, value: Value | None
) -> None:
    condition = parse(text)
    assert isinstance(condition, Condition)
    record = {} if value is None else {"a": value}
    for negated in (False, True):
        accepted = accepted_values(condition, negated=negated).accepts(value)
        assert accepted == oracles.holds(Not(condition) if negated else condition, record)
