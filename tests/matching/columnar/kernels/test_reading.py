"""MessagePack as compiled code reads it."""

from __future__ import annotations

import math
import struct

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.matching.columnar.batch import name_table
from sapwood.matching.columnar.columns import U8
from sapwood.matching.columnar.kernels.reading import (
    ARRAY,
    ARRAY_OF_MANY,
    BOOLEAN,
    FLOAT,
    INTEGER,
    MAP,
    MAP_OF_MANY,
    TEXT,
    UNKNOWN,
)
from sapwood.matching.keys import text_bytes
from tests.matching.columnar.kernels.entries import find_name, read_size, read_value, text_order

NAMES = st.text(st.sampled_from("a\0b\xe9\uffff"), max_size=20)


def letters(data: bytes) -> U8:
    return np.frombuffer(data, np.uint8)


@pytest.mark.parametrize("size", [0, 1, 15, 16, 65_535, 65_536])
def test_read_size_knows_all_sizes(size: int) -> None:
    array = msgspec.msgpack.encode([True] * size)
    assert read_size(letters(array), 0, ARRAY, ARRAY_OF_MANY) == (size, len(array) - size)
    whole = msgspec.msgpack.encode(dict.fromkeys(range(size)))
    found, first = read_size(letters(whole), 0, MAP, MAP_OF_MANY)
    assert found == size
    assert whole[first : first + 2] == (b"\x00\xc0" if size else b"")


@given(value=st.integers(-(2**63), 2**63 - 1) | st.sampled_from([-33, -32, -1, 127, 128, 255, 256]))
def test_read_value_reads_integers(value: int) -> None:
    data = letters(b"." + msgspec.msgpack.encode(value))
    assert read_value(data, 1) == (INTEGER, value, float(value), len(data))


@given(value=st.floats(allow_nan=False))
def test_read_value_reads_floats(value: float) -> None:
    kind, _, found, last = read_value(letters(msgspec.msgpack.encode(value)), 0)
    assert (kind, struct.pack("d", found), last) == (FLOAT, struct.pack("d", value), 9)
    assert math.isfinite(found) == math.isfinite(value)


@pytest.mark.parametrize("size", [0, 1, 31, 32, 255, 256, 65_535, 65_536])
def test_read_value_finds_texts(size: int) -> None:
    for text in ("x" * size, b"x" * size):
        data = msgspec.msgpack.encode(text)
        kind, first, _, last = read_value(letters(data), 0)
        assert (kind, data[first:last], last) == (TEXT, b"x" * size, len(data))


def test_read_value_reads_booleans_and_refuses_the_rest() -> None:
    for value in (False, True):
        assert read_value(letters(msgspec.msgpack.encode(value)), 0)[:2] == (BOOLEAN, value)
    for other in (None, [], {}, 2**63, 2**64 - 1, [1] * 20, dict.fromkeys(range(20))):
        assert read_value(letters(msgspec.msgpack.encode(other)), 0)[0] == UNKNOWN
    assert read_value(letters(b"\xca\0\0\0\0"), 0)[0] == UNKNOWN


@given(names=st.lists(NAMES, unique=True, max_size=9), wanted=NAMES, guess=st.integers(0, 9))
def test_find_name_finds_the_number_whatever_the_guess(
    names: list[str], wanted: str, guess: int
) -> None:
    buffer = name_table(names)
    for name in (wanted, *names):
        data = b"<" + text_bytes(name) + b">"
        found = find_name(buffer, letters(data), 1, len(data) - 1, guess)
        assert found == (names.index(name) if name in names else -1)


@given(first=NAMES, second=NAMES)
def test_text_order_is_that_of_bytes(first: str, second: str) -> None:
    one, other = text_bytes(first), text_bytes(second)
    found = text_order(letters(one), 0, len(one), letters(b"x" + other), 1, 1 + len(other))
    assert found == (one > other) - (one < other)
