"""Records as arrays."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from sapwood.errors import InvalidValueError
from sapwood.matching.columnar.batch import BOOLEAN, FLOAT, INTEGER, TEXT, Encoder, Found


def words(encoder: Encoder, *records: Mapping[str, object]) -> tuple[list[int], list[list[int]]]:
    """Where records begin; and attributes, kinds and values."""
    batch = encoder.batch(records)  # type: ignore[arg-type]
    found = np.frombuffer(batch.words, np.int64)
    assert found[0] == len(records)
    return found[1 : 2 + len(records)].tolist(), found[2 + len(records) :].reshape(3, -1).tolist()


def test_batch_writes_every_value_by_its_type() -> None:
    encoder = Encoder({"a": 0, "b": 1, "c": 2})
    start, (attributes, kinds, values) = words(encoder, {"a": True, "x": 5, "b": 2.5, "c": "\xfc"})
    assert start == [0, 4]
    assert attributes == [0, -1, 1, 2]
    assert kinds == [BOOLEAN, INTEGER, FLOAT, TEXT]
    assert values == [1, 5, np.array(2.5).view(np.int64), 0]
    assert encoder.batch(({"c": "\xfc", "a": "x", "b": ""},)).texts == b"\xc3\xbc\xffx\xff"


def test_batch_keeps_integers_exact() -> None:
    values = [2**53, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63), 7]
    _, found = words(Encoder({"a": 0}), *({"a": value} for value in values))
    assert found[2] == values


def test_batch_refuses_what_no_record_may_hold() -> None:
    for value, name in ((2**63, "a"), (-(2**63) - 1, "a"), (object(), "record")):
        with pytest.raises(InvalidValueError, match=name):
            words(Encoder({"a": 0}), {"b": 1, "a": value})


def test_batch_groups_values_by_record() -> None:
    encoder = Encoder({"a": 0, "b": 1})
    start, found = words(encoder, {"a": "x"}, {}, {"b": 1}, {"a": "", "b": False})
    assert start == [0, 1, 1, 2, 4]
    assert found == [[0, 1, 0, 1], [TEXT, INTEGER, TEXT, BOOLEAN], [0, 1, 0, 0]]
    assert encoder.batch(({"a": "x"}, {}, {"a": ""}, {"a": "y"})).texts == b"x\xff\xffy"


def test_batch_takes_halves_of_characters_as_they_are() -> None:
    assert Encoder({}).batch(({"a": "\udc00"},)).texts == b"\xed\xb0\x80"


def test_batch_takes_numbers_of_numpy() -> None:
    _, found = words(Encoder({"a": 0}), {"a": np.float64(1.5)})
    assert found[1] == [FLOAT]
    assert found[2] == [np.array(1.5).view(np.int64)]


def test_batch_of_nothing_has_no_values() -> None:
    assert words(Encoder({})) == ([0], [[], [], []])
    assert words(Encoder({}), {}) == ([0, 0], [[], [], []])


def test_names_are_looked_up_again_when_told_to() -> None:
    numbers = {"a": 0}
    encoder = Encoder(numbers)
    assert words(encoder, {"b": 1})[1][0] == [-1]
    numbers["b"] = 1
    encoder.forget()
    assert words(encoder, {"b": 1})[1][0] == [1]


def test_many_shapes_of_records_are_written_and_few_remembered() -> None:
    encoder = Encoder({"a1999": 3})
    for number in range(2000):
        names = {f"a{number}": 1} | {f"x{at}": (1, "x")[number >> at & 1] for at in range(11)}
        _, found = words(encoder, names)
        assert found[0][0] == (3 if number == 1999 else -1)
        assert found[1][1:] == [(INTEGER, TEXT)[number >> at & 1] for at in range(11)]
    assert len(encoder._names) <= 1024
    assert len(encoder._forms) <= 1024


def test_found_is_read_from_what_a_kernel_tells() -> None:
    found = Found.of(np.array([1, 2, 0, 0, 1, 7, 8, 5], np.int32), 2)
    assert found.offsets.tolist() == [0, 2, 2]
    assert found.slots.tolist() == [7, 8]
    assert found.doubt_offsets.tolist() == [0, 0, 1]
    assert found.doubts.tolist() == [5]
    assert found.repeats
