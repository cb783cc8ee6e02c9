from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sapwood.errors import InputError
from sapwood.overlay.fields import Fields

TABLE = {
    "text": "a",
    "texts": ["a", "b"],
    "number": 2,
    "nothing": None,
    "mapping": {"a": 1},
    "tables": [{"a": 1}],
}
KEYS = (*TABLE, "absent")


def test_fields_are_read_with_their_types() -> None:
    fields = Fields("here", TABLE, KEYS)
    assert fields.text("text") == "a"
    assert fields.texts("texts") == ("a", "b")
    assert fields.pair("texts") == ("a", "b")
    assert fields.number("number") == 2.0
    assert fields.integer("number") == 2
    assert fields.mapping("mapping") == {"a": 1}
    assert fields.tables("tables") == [{"a": 1}]


def test_fields_that_are_null_count_as_left_out() -> None:
    fields = Fields("here", TABLE, KEYS)
    assert "text" in fields
    assert "nothing" not in fields
    assert "absent" not in fields
    assert fields.number("nothing", 0.5) == 0.5
    assert fields.tables("nothing") == []


def test_fields_left_out_take_the_default_where_there_is_one() -> None:
    fields = Fields("here", TABLE, KEYS)
    assert fields.text("absent", "b") == "b"
    assert fields.number("absent", 0.5) == 0.5
    assert fields.integer("absent", 3) == 3
    assert fields.tables("absent") == []


@pytest.mark.parametrize(
    "read", [Fields.text, Fields.texts, Fields.pair, Fields.number, Fields.integer, Fields.mapping]
)
def test_fields_left_out_without_default_are_missing(read: Callable[..., Any]) -> None:
    with pytest.raises(InputError, match=r"here: `absent` must be .*; it is missing"):
        read(Fields("here", TABLE, KEYS), "absent")


@pytest.mark.parametrize(
    ("read", "value"),
    [
        (Fields.text, 1),
        (Fields.text, ""),
        (Fields.texts, "ab"),
        (Fields.texts, [""]),
        (Fields.pair, ["a"]),
        (Fields.pair, ["a", 1]),
        (Fields.number, True),
        (Fields.number, "1"),
        (Fields.number, float("inf")),
        (Fields.integer, True),
        (Fields.integer, 1.5),
        (Fields.mapping, [1]),
        (Fields.tables, {"a": 1}),
    ],
)
def test_fields_of_another_type_are_refused(read: Callable[..., Any], value: object) -> None:
    with pytest.raises(InputError, match=r"here: `key` must be .*; not "):
        read(Fields("here", {"key": value}, ("key",)), "key")


def test_fields_that_nobody_knows_are_refused() -> None:
    with pytest.raises(InputError, match="here has no field 'kye'; it has key, other"):
        Fields("here", {"kye": 1}, ("key", "other"))
