"""Records as arrays."""

from __future__ import annotations

import numpy as np

from sapwood.matching.columnar.batch import BOOLEAN, KIND_BITS, NUMBER, TEXT, encode


def test_encode_writes_every_known_value_by_its_type() -> None:
    batch = encode([{"a": True, "x": 5, "b": 2.5, "c": "ü"}], {"a": 0, "b": 1, "c": 2})
    assert batch.start.tolist() == [0, 3]
    tags = [0 << KIND_BITS | BOOLEAN, 1 << KIND_BITS | NUMBER, 2 << KIND_BITS | TEXT]
    assert batch.tag.tolist() == tags
    assert batch.number.tolist() == [0.0, 2.5, 0.0]
    assert batch.detail.tolist() == [1, 0, 0]
    assert batch.text_start.tolist() == [0, 2]
    assert batch.text_bytes.tobytes() == "ü".encode() + bytes(8)


def test_encode_keeps_integers_exact() -> None:
    values = [2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63), 7]
    batch = encode([{"a": value} for value in values], {"a": 0})
    found = [int(n) + r for n, r in zip(batch.number.tolist(), batch.detail.tolist(), strict=True)]
    assert found == values


def test_encode_groups_values_by_record() -> None:
    batch = encode([{"a": "x"}, {}, {"b": 1}, {"a": "y", "b": False}], {"a": 0, "b": 1})
    assert batch.start.tolist() == [0, 1, 1, 2, 4]
    assert batch.detail.tolist() == [0, 0, 1, 0]
    assert batch.text_bytes.tobytes()[:2] == b"xy"


def test_encode_has_fixed_types_for_nothing() -> None:
    empty, full = encode([], {}), encode([{"a": 1, "b": "x"}], {"a": 0, "b": 1})
    assert [array.dtype for array in empty] == [array.dtype for array in full]
    assert empty.start.tolist() == [0]


def test_encode_takes_numbers_of_numpy() -> None:
    batch = encode([{"a": np.float64(1.5)}], {"a": 0})
    assert batch.tag.tolist() == [NUMBER]
    assert batch.number.tolist() == [1.5]
