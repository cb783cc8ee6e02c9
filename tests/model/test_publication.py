"""Publications, their flat view, and what no record may hold."""

from __future__ import annotations

import math
from dataclasses import FrozenInstanceError
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given

from sapwood.errors import InvalidValueError, LimitError
from sapwood.limits import ATTRIBUTES_MAX, INTEGER_MAX, INTEGER_MIN, RECORD_DEPTH_MAX
from sapwood.model.publication import Publication, check_value, flatten
from tests.strategies import nested_records


def nested(levels: int) -> dict[str, Any]:
    record: dict[str, Any] = {"leaf": 1}
    for _ in range(levels - 1):
        record = {"n": record}
    return record


def test_flatten_gives_dotted_names_drops_null_and_counts_arrays() -> None:
    view = flatten({"a": {"b": {"c": 1}, "d": None}, "tags": [1, [2]], "t": ("x",), "e": {}})
    assert view.record == {"a.b.c": 1}
    assert view.invisible == 2


@given(record=nested_records())
def test_flatten_of_a_flat_view_is_itself(record: dict[str, Any]) -> None:
    flat = flatten(record).record
    assert flatten(flat).record == flat


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        ({"a": {"b": 1}, "a.b": 2}, "'a.b': given twice"),
        ({"x": math.nan}, "'x': NaN"),
        ({"a": {"x": math.nan}}, "'a.x': NaN"),
        ({"x": INTEGER_MAX + 1}, "64 bits; send it as text"),
        ({"x": INTEGER_MIN - 1}, "64 bits"),
        ({"x": date(2013, 1, 1)}, "not date; convert it first"),
        ({"x": Decimal(1)}, "not Decimal"),
        ({"x": b"bytes"}, "not bytes"),
        ({1: 2}, "an attribute name is a text"),
        ([1, 2], "an object of named values, not list"),
    ],
)
def test_flatten_refuses_what_no_record_may_hold(record: Any, reason: str) -> None:
    with pytest.raises(InvalidValueError, match=reason):
        flatten(record)


def test_flatten_takes_the_deepest_record_and_refuses_one_level_more() -> None:
    assert flatten(nested(RECORD_DEPTH_MAX)).record
    with pytest.raises(LimitError, match="RECORD_DEPTH_MAX"):
        flatten(nested(RECORD_DEPTH_MAX + 1))


def test_flatten_takes_the_widest_record_and_refuses_one_more() -> None:
    assert len(flatten({str(n): n for n in range(ATTRIBUTES_MAX)}).record) == ATTRIBUTES_MAX
    with pytest.raises(LimitError, match="ATTRIBUTES_MAX"):
        flatten({str(n): n for n in range(ATTRIBUTES_MAX + 1)})


def test_check_value_takes_the_extremes_and_kinds_of_the_types() -> None:
    class Money(float):
        pass

    class Text(str):
        __slots__ = ()

    for value in (INTEGER_MAX, INTEGER_MIN, math.inf, -math.inf, "", True, Money(1.5), Text("a")):
        assert check_value("x", value) == value


def test_publication_keeps_what_was_given_and_cannot_be_changed() -> None:
    publication = Publication("p", {"a": {"b": 1}, "tags": ["x"]})
    assert publication.attributes == {"a": {"b": 1}, "tags": ["x"]}
    assert publication.record == {"a.b": 1}
    assert publication.invisible == 1
    with pytest.raises(FrozenInstanceError):
        publication.id = "q"


@pytest.mark.parametrize("wrong", ["", None, 7])
def test_publication_needs_an_id(wrong: Any) -> None:
    with pytest.raises(InvalidValueError, match="non-empty text"):
        Publication(wrong, {})


def test_flatten_refuses_halves_of_surrogate_pairs_and_takes_other_letters() -> None:
    tree = "\U0001f333"
    assert flatten({tree: tree}).record == {tree: tree}
    for broken in ({"a": "\ud800"}, {"\udc00": 1}):
        with pytest.raises(InvalidValueError, match="surrogate"):
            flatten(broken)
