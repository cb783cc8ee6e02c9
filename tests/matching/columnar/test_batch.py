"""Records as bytes, and what kernels tell."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import InvalidValueError
from sapwood.matching.columnar.batch import (
    NAME_HEAD,
    REPEATS,
    SegmentMatches,
    encoded,
    name_table,
    refusal,
)
from sapwood.matching.keys import text_bytes
from sapwood.model.publication import Record
from tests.matching.columnar.plain_kernels import names_of
from tests.strategies import records


class Level(IntEnum):
    HIGH = 3


class Name(str):
    __slots__ = ()


def read(*records: Mapping[str, Any]) -> Any:
    return msgspec.msgpack.decode(encoded(records))


@given(asked=st.lists(records(), max_size=4))
def test_encoded_keeps_names_and_values_with_their_types(asked: list[Record]) -> None:
    found = read(*asked)
    assert found == [dict(record) for record in asked]
    assert [[*map(type, each.values())] for each in found] == [
        [*map(type, record.values())] for record in asked
    ]


def test_encoded_takes_whatever_is_a_record() -> None:
    assert read(MappingProxyType({"a": 1}), {"b": True}) == [{"a": 1}, {"b": True}]
    odd = {"a": np.float64(1.5), "b": Level.HIGH, Name("c"): Name("x"), "d": np.float32(2)}
    assert read(odd, {"a": -(2**63)}) == [{"a": 1.5, "b": 3, "c": "x", "d": 2.0}, {"a": -(2**63)}]


def test_encoded_keeps_halves_of_characters_as_bytes() -> None:
    found = read({"a": "\udc00", "\udc00": False, "b": "\xfc"})
    assert found == [{"a": b"\xed\xb0\x80", b"\xed\xb0\x80": False, "b": "\xfc"}]


@pytest.mark.parametrize(
    ("value", "name"),
    [(2**64, "a"), (-(2**63) - 1, "a"), (object(), "record"), ("\udc00", "b")],
)
def test_encoded_refuses_what_no_record_may_hold(value: object, name: str) -> None:
    with pytest.raises(InvalidValueError, match=name):
        encoded([{"x": 1}, {"b": 2**63 if name == "b" else 1, "a": value}])  # type: ignore[dict-item]


def test_refusal_names_what_is_too_large() -> None:
    assert "'a': 9223372036854775808 needs" in str(refusal([{"b": 1}, {"b": 1, "a": 2**63}]))
    assert "flatten it" in str(refusal([{"a": None}]))  # type: ignore[dict-item]


def test_found_is_read_from_what_a_kernel_tells() -> None:
    found = SegmentMatches.of(np.array([REPEATS, 2, 2, 0, 0, 1, 7, 8, 5], np.int32), 2)
    assert found.offsets.tolist() == [0, 2, 2]
    assert found.slots.tolist() == [7, 8]
    assert found.unverified_offsets.tolist() == [0, 0, 1]
    assert found.unverified.tolist() == [5]
    assert found.repeats
    assert not SegmentMatches.of(np.array([0, 1, 0, 0], np.int32), 1).repeats
    early = SegmentMatches.of(np.array([0, 1, 2, -1, 1, -1, 7, 8, 5], np.int32), 2)
    assert [array.tolist() for array in early[:4]] == [[0, 2], [7, 8], [0, 1], [5]]


NAMES = st.lists(st.text(max_size=12), unique=True, max_size=12)


@given(names=NAMES)
def test_name_table_holds_every_name_with_its_number(names: list[str]) -> None:
    buffer = name_table(names)
    assert names_of(buffer) == {text_bytes(name): number for number, name in enumerate(names)}


@given(names=NAMES)
def test_name_table_is_sorted_and_knows_the_place_of_each_name(names: list[str]) -> None:
    buffer = name_table(names)
    assert buffer[0] == len(names)
    prefixes = buffer[NAME_HEAD : NAME_HEAD + len(names)].tolist()
    assert prefixes == sorted(prefixes)
    ordered = sorted(names)
    first = NAME_HEAD + 2 * len(names) + 1
    places = buffer[first : first + len(names)].tolist()
    assert [ordered[place] for place in places] == names
    assert not buffer.flags.writeable
