"""Values in MessagePack, counted: against what a decoder makes of the same bytes."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from sapwood.wire.counting import values_in

_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    st.floats(allow_nan=False),
    st.text(max_size=300),
    st.binary(max_size=300),
    st.builds(msgspec.msgpack.Ext, st.integers(-128, 127), st.binary(max_size=40)),
)
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=20), st.dictionaries(st.text(max_size=40), inner, max_size=20)
    ),
    max_leaves=60,
)


def _count(value: Any) -> int:
    if isinstance(value, list):
        return 1 + sum(map(_count, value))
    if isinstance(value, dict):
        return 1 + sum(1 + _count(inner) for inner in value.values())
    return 1


@given(_VALUES)
def test_all_values_are_counted(value: Any) -> None:
    encoded = msgspec.msgpack.encode(value)
    assert values_in(encoded, 2**31) == _count(msgspec.msgpack.decode(encoded))


def test_the_worked_example() -> None:
    assert values_in(bytes.fromhex("93A17881A16190C0"), 100) == 6


def test_long_headers_are_read() -> None:
    for value in (
        "x" * 70_000,
        b"x" * 70_000,
        ["x" * 300] * 70_000,
        {str(n): n for n in range(16)},
    ):
        encoded = msgspec.msgpack.encode(value)
        assert values_in(encoded, 2**31) == _count(value)


def test_counting_stops_at_the_bound() -> None:
    read = []

    class Bytes(bytes):
        def __getitem__(self, key: Any) -> Any:
            read.append(key)
            return super().__getitem__(key)

    assert values_in(Bytes(b"\x80" * 1_000_000), 100) == 101
    assert len(read) <= 101


@given(st.binary(max_size=200))
def test_whatever_the_bytes_are_counting_ends(data: bytes) -> None:
    assert 0 <= values_in(data, 1000) <= len(data)
