"""Kinds of options: the values that they take, from a text and from TOML."""

from __future__ import annotations

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.broker.configuration.kinds import (
    Choice,
    Kind,
    Number,
    Place,
    Several,
    Switch,
    Text,
    Whole,
    near,
    written,
)
from sapwood.errors import InputError
from tests.broker.configuration.strategies import refusal, spoken, values

KINDS: tuple[Kind, ...] = (
    Text(),
    Place(),
    Whole(),
    Number(),
    Switch(),
    Choice(("one", "two")),
    Several("WORD"),
)


@given(st.data(), st.sampled_from(KINDS))
def test_what_is_written_is_read_again(data: st.DataObject, kind: Kind) -> None:
    value = data.draw(values(kind))
    assert kind.of_toml(tomllib.loads(f"x = {written(value)}")["x"]) == value
    assert kind.of_text(spoken(value)) == value


@given(st.sampled_from(KINDS), st.text())
def test_any_text_is_a_value_or_an_error_that_says_what_is_taken(kind: Kind, text: str) -> None:
    refused = refusal(lambda: kind.of_text(text))
    assert refused is None or kind.takes in refused


TOML = st.recursive(
    st.booleans() | st.integers() | st.floats() | st.text() | st.datetimes(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=4,
)


@given(st.sampled_from(KINDS), TOML)
def test_any_value_of_toml_is_one_or_an_error_that_says_what_is_taken(
    kind: Kind, value: object
) -> None:
    refused = refusal(lambda: kind.of_toml(value))
    assert refused is None or kind.takes in refused


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        (Whole(), True, "true is not what it takes: a whole number"),
        (Whole(), 1.0, "1.0 is not"),
        (Whole(), "1", "'1' is not"),
        (Whole(), 10**400, None),
        (Number(), 10**400, "a number of so many digits is not what it takes: a number"),
        (Number(), "1", "'1' is not"),
        (Switch(), 1, "1 is not what it takes: true or false"),
        (Choice(("one", "two")), "three", "'three' is not what it takes: one or two"),
        (Choice(("one", "two")), 1, "1 is not"),
        (Text(), 1, "1 is not what it takes: a text, in quotation marks"),
        (Text(), " ", "an empty text is no value"),
        (Place(), {}, "a table is not"),
        (Place(), "a\0b", "is no path"),
        (Several("WORD"), ["a", 1], "an array is not what it takes: a text, or an array of texts"),
        (Several("WORD"), ["a b"], "'a b' is empty or has spaces"),
        (Text(), ["x" * 100], "an array is not"),
        (Switch(), "x" * 100, "x…"),
    ],
)
def test_a_wrong_value_is_named(kind: Kind, value: object, said: str | None) -> None:
    if said is None:
        assert kind.of_toml(value) == value
        return
    with pytest.raises(InputError) as refused:
        kind.of_toml(value)
    assert said in str(refused.value)


@pytest.mark.parametrize("text", ["1" * 5000, "\u0661", "1.5", "many", ""])
def test_a_text_that_is_no_whole_number_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="a whole number"):
        Whole().of_text(text)


def test_a_text_that_is_not_unicode_cannot_be_written() -> None:
    with pytest.raises(InputError, match="is not Unicode"):
        written("a\udc80")


def test_a_name_that_is_near_is_found() -> None:
    assert near("keep_bites", ["keep_bytes", "keep_age"]) == "; did you mean keep_bytes?"
    assert near("nothing_like_it", ["keep_bytes"]) == ""
