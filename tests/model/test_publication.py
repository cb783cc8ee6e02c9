"""Publications, their flat view, and what no record may hold."""

from __future__ import annotations

import math
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError
from datetime import date
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import given

from sapwood.errors import InvalidValueError, LimitError
from sapwood.language import parse_filter
from sapwood.limits import ATTRIBUTES_MAX, INTEGER_MAX, INTEGER_MIN, RECORD_DEPTH_MAX
from sapwood.model.publication import ManyValued, Publication, check_value, flatten
from tests.strategies import nested_records


class Whole(IntEnum):
    ONE = 1


class Name(StrEnum):
    ONE = "one"


class MixedIn(str, Enum):  # noqa: UP042 - it prints otherwise than `StrEnum` does
    ONE = "one"


def nested(levels: int) -> dict[str, Any]:
    record: dict[str, Any] = {"leaf": 1}
    for _ in range(levels - 1):
        record = {"n": record}
    return record


def test_flatten_gives_dotted_names_drops_null_and_has_elements_as_values() -> None:
    view = flatten({"a": {"b": {"c": 1}, "d": None}, "tags": [1, [2]], "t": ("x",), "e": {}})
    assert view.record == {"a.b.c": 1, "tags": (1, 2), "t": "x"}
    assert type(view.record) is ManyValued
    assert view.has_arrays


@pytest.mark.parametrize(
    ("record", "flat"),
    [
        ({"a": []}, {}),
        ({"a": [None, [], [[]], {}]}, {}),
        ({"a": [1, 1.0, 1]}, {"a": 1}),
        ({"a": [1, True, "1"]}, {"a": (1, True, "1")}),
        ({"a": [0, False, -0.0]}, {"a": (0, False)}),
        ({"a": [{"b": 1}, {"b": 2, "c": "x"}, 3]}, {"a.b": (1, 2), "a.c": "x", "a": 3}),
        ({"a": [[{"b": [1, [2]]}], {"b": {"c": 3}}]}, {"a.b": (1, 2), "a.b.c": 3}),
        ({"a": {"b": [1]}, "a.b": 2}, {"a.b": (1, 2)}),
        ({"a": {"b": [1, 2]}, "a.b": [2, 3]}, {"a.b": (1, 2, 3)}),
        ({"a": (Whole.ONE, 2)}, {"a": (1, 2)}),
    ],
)
def test_elements_of_arrays_are_values(record: dict[str, Any], flat: dict[str, Any]) -> None:
    view = flatten(record)
    assert view.has_arrays
    assert view.record == flat
    assert {name: repr(value) for name, value in view.record.items()} == {
        name: repr(value) for name, value in flat.items()
    }
    several = any(isinstance(value, tuple) for value in flat.values())
    assert (type(view.record) is ManyValued) is several


@pytest.mark.parametrize(
    "element",
    [math.nan, 2**63, "\ud800", b"x", object(), {1: 2}, {"\ud800": 1}, {"x" * 4096: 1}],
    ids=lambda element: type(element).__name__,
)
def test_elements_that_no_attribute_may_hold_are_carried_unseen(element: object) -> None:
    assert dict[str, Any](flatten({"a": [element]}).record) == {}
    assert dict[str, Any](flatten({"a": [1, element, 2]}).record) == {"a": (1, 2)}


def test_elements_too_deep_to_travel_are_not_seen() -> None:
    deep: Any = [1]
    for _ in range(RECORD_DEPTH_MAX - 1):
        deep = [deep]
    assert flatten({"a": deep}).record == {"a": 1}
    assert flatten({"a": [deep, 2]}).record == {"a": 2}
    circle: list[Any] = [3]
    circle.append(circle)
    assert flatten({"a": circle}).record == {"a": 3}


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
        checked = check_value("x", value)
        assert checked == value
        assert type(checked) in (bool, int, float, str)


@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        (np.int64(-1), -1),
        (np.uint8(200), 200),
        (np.float64(1.5), 1.5),
        (np.float32(0.5), 0.5),
        (np.float16(0.1), 0.0999755859375),
        (np.bool_(True), True),
        (np.str_("größe"), "größe"),
        (Whole.ONE, 1),
        (Name.ONE, "one"),
        (MixedIn.ONE, "one"),
    ],
)
def test_a_value_under_another_name_is_taken_as_what_it_is(scalar: Any, value: Any) -> None:
    record = flatten({"a": {"b": scalar}}).record
    assert record == {"a.b": value}
    assert type(record["a.b"]) is type(value)
    assert parse_filter(f"a.b = {value!r}" if value is not True else "a.b = true").accepts(record)


@pytest.mark.parametrize(
    "scalar",
    [
        np.datetime64(1, "ns"),
        np.timedelta64(1, "ns"),
        np.complex128(1),
        np.bytes_(b"a"),
        np.longdouble(1),
        np.array([1]),
        np.float32("nan"),
        np.uint64(2**64 - 1),
        np.str_("\ud800"),
    ],
)
def test_other_scalars_of_numpy_are_refused(scalar: Any) -> None:
    with pytest.raises(InvalidValueError, match="attribute 'a'"):
        flatten({"a": scalar})


def test_publication_keeps_what_was_given_and_cannot_be_changed() -> None:
    publication = Publication("p", {"a": {"b": 1}, "tags": ["x"]})
    assert publication.attributes == {"a": {"b": 1}, "tags": ["x"]}
    assert publication.record == {"a.b": 1, "tags": "x"}
    assert publication.has_arrays
    with pytest.raises(FrozenInstanceError):
        publication.id = "q"


def test_publications_are_equal_iff_id_record_and_document_are() -> None:
    one = Publication("p", {"a": 1}, b"<a/>")
    again = Publication("p", {"a": 1}, b"<a/>")
    again.keep_encoded(b"bytes")
    again.read_document()
    assert (one, hash(one), repr(one)) == (again, hash(again), repr(again))
    others = [
        Publication("q", {"a": 1}, b"<a/>"),
        Publication("p", {"a": 2}, b"<a/>"),
        Publication("p", {"a": 1}, b"<b/>"),
        Publication("p", {"a": 1}),
        Publication("p", {"a": 1}, b"<a/>", b""),
        Publication("p", {"a": 1}, b"<a/>", b"", is_blind=True),
        "p",
    ]
    assert one not in others


def test_what_goes_on_of_a_blind_publication_is_its_payload() -> None:
    blind = Publication("p", {"a": 1}, b"<a/>", b"\xff", is_blind=True)
    blind.keep_born(7)
    beyond = blind.beyond()
    assert beyond == Publication("p", payload=b"\xff")
    assert (beyond.born, beyond.record, beyond.beyond()) == (7, {}, beyond)
    assert pickle.loads(pickle.dumps(blind)) == blind == blind.renamed("q").renamed("p")
    clear = Publication("p", {"a": 1}, payload=b"\xff")
    assert clear.beyond() is clear


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: Publication("p", {}, payload=cast("Any", "x")), "a payload is bytes, not str"),
        (lambda: Publication("p", {}, is_blind=True), "give it one"),
        (lambda: Publication("p", payload=b"x", is_blind=True), "a record or a document"),
    ],
)
def test_a_payload_that_is_none_is_refused(make: Callable[[], object], reason: str) -> None:
    with pytest.raises(InvalidValueError, match=reason):
        make()


def test_a_publication_keeps_what_it_travels_as_and_copies_do_not() -> None:
    publication = Publication("p", {"a": 1}, b"<a/>")
    publication.keep_encoded(b"bytes")
    assert publication.encoded == b"bytes"
    copied = pickle.loads(pickle.dumps(publication))
    renamed = publication.renamed("q")
    assert (copied.encoded, renamed.encoded) == (None, None)
    assert copied == publication == renamed.renamed("p")
    assert copied.record == publication.record


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
