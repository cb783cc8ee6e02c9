"""Dicts and lines of JSON are matched by compiled code as Python would, and refused alike."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from functools import cache
from types import MappingProxyType
from typing import Any, Final
from uuid import UUID

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood import parse_filter
from sapwood.errors import InputError
from sapwood.limits import ATTRIBUTES_MAX, RECORD_DEPTH_MAX
from sapwood.matching.encoded_records import EncodedRecords
from sapwood.matching.index import Index
from tests.strategies import nested_records, texts, values

FILTERS: Final = (
    *("a > 1", "a = 1", "a = 'a'", "a is null", "b = 'ab'", "b < 2", "a", "not b", "true"),
    *("exists detail.state", "a.b >= 0", "price between -1 and 2", "a like '%b%'"),
    *("größe is null", "\"in\" = true"),
)  # fmt: skip


class Kind(Enum):
    TEXT = "a"


class Text(StrEnum):
    A = "a"


class Whole(IntEnum):
    ONE = 1


class Struct(msgspec.Struct):
    b: int = 1


ODD: Final[tuple[object, ...]] = (
    datetime(2026, 1, 1, tzinfo=UTC),
    datetime(2026, 1, 1),  # noqa: DTZ001 - without a zone it would be written as text
    *(Decimal(1), UUID(int=1), Kind.TEXT, Text.A, Whole.ONE, Struct(), b"a", bytearray(b"a")),
    *({"a"}, frozenset({1}), (1, {2}), [Struct()], [float("nan")], [2**70], object(), 1j),
    *(np.float64(1.5), np.int64(1), np.bool_(True), np.str_("a"), np.datetime64("2026")),
    *(float("nan"), float("inf"), 2**63, 2**64, -(2**63) - 1, "\ud800", "a\udfff"),
    *(MappingProxyType({"b": 1}), {1: 2}, {"b": Kind.TEXT}, {UUID(int=1): 1}, {"b": [{"c": {1}}]}),
)


@cache
def indexes() -> tuple[Index, Index]:
    """The same filters in the default engine's successor, which kernels search, and in plain."""
    compiled, plain = Index(records="columnar"), Index(records="counting")
    for index in (compiled, plain):
        for number, text in enumerate(FILTERS):
            index.add(f"s{number:02}", parse_filter(text))
        index.fold()
    return compiled, plain


def outcome(index: Index, method: str, argument: object) -> object:
    try:
        return getattr(index, method)(argument)
    except InputError as error:
        return type(error), str(error)


def check(record: Any) -> None:
    compiled, plain = indexes()
    for method in ("match", "match_any", "match_count"):
        assert outcome(compiled, method, record) == outcome(plain, method, record)
    many = [record, {"a": 1}, record]
    assert outcome(compiled, "match_many", many) == outcome(plain, "match_many", many)


@given(record=nested_records())
def test_records_match_as_in_python(record: dict[str, Any]) -> None:
    check(record)


@given(
    record=st.dictionaries(
        st.one_of(
            texts(), st.sampled_from(("a", "b", "a.b")), st.sampled_from((1, Kind.TEXT, Text.A))
        ),
        st.one_of(values(), st.sampled_from(ODD), nested_records()),
        max_size=4,
    )
)
def test_what_python_refuses_is_refused_with_the_same_words(record: dict[Any, Any]) -> None:
    check(record)


def _named(odd: object) -> str:
    """The same name in every process."""
    return "an object" if type(odd) is object else repr(odd)


@pytest.mark.parametrize("odd", ODD, ids=_named)
def test_values_that_messagepack_would_write_as_others_are_left_to_python(odd: object) -> None:
    check({"a": odd})
    check({"a": {"b": odd}})
    check({"b": 1, "a": [odd]})


def test_bounds_are_those_of_python() -> None:
    check({f"a{number}": 1 for number in range(ATTRIBUTES_MAX)})
    check({f"a{number}": 1 for number in range(ATTRIBUTES_MAX + 1)})
    for levels in range(RECORD_DEPTH_MAX - 2, RECORD_DEPTH_MAX + 2):
        deep: dict[str, Any] = {"a": 1}
        for _ in range(levels):
            deep = {"a": deep}
        check(deep)
    circle: dict[str, Any] = {}
    circle["a"] = circle
    check(circle)


def test_python_flattens_no_dict_that_compiled_code_can(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled, _ = indexes()
    monkeypatch.setattr("sapwood.matching.given_records.flatten", None)
    assert "s01" in compiled.match({"a": 1, "detail": {"state": "up"}, "note": None})
    assert "s01" in compiled.match_many([{"a": 1}])[0]


def test_batches_reach_the_engine_in_messagepack(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled, _ = indexes()
    seen: list[type] = []
    whole = Index.match_slots

    def watched(index: Index, records: Any, *args: Any, **options: Any) -> Any:
        seen.append(type(records))
        return whole(index, records, *args, **options)

    monkeypatch.setattr(Index, "match_slots", watched)
    compiled.match_many([{"a": 1}] * 70)
    assert seen == [EncodedRecords, EncodedRecords]


@given(record=nested_records(), is_spaced=st.booleans())
def test_a_line_of_json_matches_as_what_it_says(record: dict[str, Any], is_spaced: bool) -> None:
    line = json.dumps(record, separators=(" , ", " : ") if is_spaced else (",", ":"))
    for index in indexes():
        if "Infinity" not in line:
            expected = outcome(index, "match", record)
            assert outcome(index, "match_json", line) == expected
            assert outcome(index, "match_json", line.encode()) == expected


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"", "blank"),
        (b"[1]", "one JSON object, not an array"),
        (b'{"a":1,"a":2}', "stands twice"),
        (b'{"a":1,"a" :2}', "stands twice"),
        (b'{"a":NaN}', "NaN is not JSON"),
        (b'{"a":9223372036854775808}', "more than 64 bits"),
        ('{"a":"\ud800"}', "not UTF-8"),
        (b'{"a":"\\ud800"}', "surrogate"),
        (b'{"a":1', "not JSON"),
    ],
)
def test_a_line_that_is_no_record_is_refused_with_the_reason(
    line: bytes | str, reason: str
) -> None:
    for index in indexes():
        with pytest.raises(InputError, match=reason):
            index.match_json(line)
