"""The flattening kernel: it accepts only what Python accepts, and reads nothing but the record.

Python's way (`wire.publications.decode_publication`) is the judge. A second one runs the kernel's
own text without compiler, on memory that knows its bounds.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from types import FunctionType
from typing import Any, Final

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import InputError
from sapwood.limits import ATTRIBUTES_MAX, INTEGER_MAX, INTEGER_MIN, RECORD_DEPTH_MAX
from sapwood.matching.columnar.flat_records import (
    DOUBTFUL,
    GROWTH,
    NONE,
    READ,
    ROOM_BYTES,
    SCRATCH,
    WITH_ARRAYS,
    FlatRecords,
    Flattener,
)
from sapwood.matching.columnar.kernels import flattening
from sapwood.matching.encoded_records import HEADER_BYTES
from sapwood.model.publication import Record
from sapwood.wire.publications import decode_publication
from tests.strategies import nested_records, texts, values

FLATTENER: Final = Flattener(flattening.flatten_records)
SURROUNDINGS: Final = (b"", b"\xc0", b"\xff\xff\xff\xff\xff\xff\xff\xff\xff")


def flattened(*records: bytes) -> FlatRecords:
    sizes = np.array([len(record) for record in records], np.int64)
    ends = np.cumsum(sizes)
    starts = ends - sizes
    return FLATTENER.flatten(b"".join(records), starts, ends)


def by_python(record: bytes) -> Record | None:
    """The flat view that Python gives, or nothing for what it refuses."""
    try:
        return decode_publication(b"\x92\xa1p" + record).record
    except InputError:
        return None


def exact(record: Record) -> dict[str, object]:
    return {
        name: [*map(_exact, value)] if isinstance(value, tuple) else _exact(value)
        for name, value in record.items()
    }


def _exact(value: object) -> tuple[type, object]:
    return type(value), struct.pack("d", value) if isinstance(value, float) else value


def check(record: bytes) -> int:
    """Judge what the kernel makes of some bytes; returns the verdict."""
    found = flattened(record)
    verdict = found.verdicts.item(0)
    [flat] = found.records
    if verdict == READ:
        judged = by_python(record)
        assert judged is not None
        assert exact(flat) == exact(judged)
        assert type(flat) is type(judged)
    else:
        assert flat == {}
        assert (verdict == NONE) == (record == b"\xc0")
    for before in SURROUNDINGS:
        data = before + record + before
        start, end = np.array([len(before)]), np.array([len(before) + len(record)])
        again = FLATTENER.flatten(data, start, end)
        assert (again.encoded, again.verdicts.item(0)) == (found.encoded, verdict)
    return verdict


def wide(value: object) -> bytes:
    """A value in its longest form."""
    if isinstance(value, str):
        return b"\xdb" + len(value.encode()).to_bytes(4) + value.encode()
    if isinstance(value, dict):
        members = [wide(name) + wide(member) for name, member in value.items()]
        return b"\xdf" + len(members).to_bytes(4) + b"".join(members)
    if isinstance(value, list):
        return b"\xdd" + len(value).to_bytes(4) + b"".join(map(wide, value))
    if isinstance(value, int) and not isinstance(value, bool):
        return b"\xd3" + value.to_bytes(8, signed=True)
    return msgspec.msgpack.encode(value)


@cache
def hostile_values() -> st.SearchStrategy[Any]:
    """Values of MessagePack that a record must not have, among those that it may."""
    odd = st.one_of(
        values(),
        st.none(),
        st.binary(max_size=3),
        st.just(2**64 - 1),
        st.just(float("nan")),
        st.just(msgspec.msgpack.Ext(5, b"x")),
    )
    keys = st.one_of(texts(), st.sampled_from(("a", "b", "a.b")), st.integers(0, 2))
    return st.recursive(
        odd, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4)
    )


@st.composite
def hostile_bytes(draw: st.DrawFn) -> bytes:
    """A record that some bytes of were changed, removed or added."""
    record = bytearray(msgspec.msgpack.encode(draw(nested_records() | hostile_values())))
    for _ in range(draw(st.integers(0, 3))):
        at = draw(st.integers(0, len(record)))
        put = draw(
            st.binary(max_size=2) | st.sampled_from((b"\xca", b"\xdf", b"\xdb\xff", b"\xc3"))
        )
        record[at : at + draw(st.integers(0, 2))] = put
    return bytes(record)


@given(record=nested_records())
def test_records_as_json_has_them_are_read(record: dict[str, Any]) -> None:
    encoded = msgspec.msgpack.encode(record)
    if by_python(encoded) is not None:
        assert check(encoded) == READ
        assert check(wide(record)) == READ


@given(record=hostile_bytes())
def test_what_is_read_python_accepts_with_the_same_flat_view(record: bytes) -> None:
    check(record)


@given(records=st.lists(hostile_bytes() | nested_records().map(msgspec.msgpack.encode), max_size=5))
def test_records_of_a_batch_are_judged_one_by_one(records: list[bytes]) -> None:
    found = flattened(*records)
    alone = [flattened(record) for record in records]
    assert found.verdicts.tolist() == [one.verdicts.item(0) for one in alone]
    assert msgspec.msgpack.decode(found.encoded) == [
        msgspec.msgpack.decode(one.encoded)[0] for one in alone
    ]
    maps = [found.encoded[first:last] for first, last in pairwise(found.offsets.tolist())]
    assert maps == [one.encoded[HEADER_BYTES:] for one in alone]


def nested(levels: int, innermost: object, *, arrays: bool = False) -> dict[str, Any]:
    value: Any = innermost
    for _ in range(levels):
        value = [value] if arrays else {"a": value}
    return {"a": value}


@pytest.mark.parametrize("arrays", [False, True])
def test_depth_is_bounded_as_in_python(arrays: bool) -> None:
    for levels in (RECORD_DEPTH_MAX - 2, RECORD_DEPTH_MAX - 1, RECORD_DEPTH_MAX):
        record = msgspec.msgpack.encode(nested(levels, 1, arrays=arrays))
        assert (check(record) == READ) == (by_python(record) is not None)
    mixed = {"a": nested(RECORD_DEPTH_MAX, {"x": [1]})}
    assert check(msgspec.msgpack.encode(mixed)) == DOUBTFUL


def test_as_many_attributes_are_read_as_a_record_may_have() -> None:
    most = {f"attribute {number}": number for number in range(ATTRIBUTES_MAX)}
    assert check(msgspec.msgpack.encode(most)) == READ
    assert check(msgspec.msgpack.encode({**most, "one more": 1})) == DOUBTFUL


@pytest.mark.parametrize(
    "record",
    [
        b"\x82\xa1a\x01\xa1a\x02",
        b"\x82\xa1a\xc0\xa1a\x01",
        b"\x82\xa1a\x01\xa1a\xc0",
        b"\x82\xa1a\x90\xa1a\x01",
        b"\x82\xa1a\x81\xa1b\x01\xa3a.b\x02",
        b"\x82\xa1a\x81\xa1b\x01\xa1a\x81\xa1c\x02",
    ],
)
def test_names_that_stand_twice_are_for_python_to_judge(record: bytes) -> None:
    assert check(record) == DOUBTFUL


def test_names_that_differ_in_one_letter_anywhere_are_told_apart() -> None:
    stem = "a" * 40
    names = [stem[:at] + letter + stem[at + 1 : size] for size in (1, 7, 8, 9, 16, 17, 40)
             for at in range(size) for letter in "bcé"]  # fmt: skip
    record = dict.fromkeys(names, 1)
    assert check(msgspec.msgpack.encode(record)) == READ


@pytest.mark.parametrize("number", [INTEGER_MIN, INTEGER_MAX, -1, -33, 127, 128, 2**32, -(2**31)])
def test_integers_of_64_bits_are_read(number: int) -> None:
    assert check(msgspec.msgpack.encode({"a": number, "b": [number]})) == READ


@given(single=st.floats(width=32))
def test_floats_of_32_bits_become_equal_ones_of_64(single: float) -> None:
    packed = b"\xca" + struct.pack(">f", single)
    for record in (b"\x82\xa1a" + packed + b"\xa1b\x01", b"\x81\xa1d\x81\xa1a" + packed):
        assert check(record) == (READ if single == single else DOUBTFUL)
    # Filters do not see arrays: what is in them needs no order.
    assert check(b"\x81\xa1a\x91" + packed) == READ


@given(raw=st.binary(min_size=1, max_size=12) | texts().map(str.encode))
def test_texts_are_utf_8(raw: bytes) -> None:
    text = b"\xd9" + bytes([len(raw)]) + raw
    check(b"\x81\xa1a" + text)
    check(b"\x81" + text + b"\x01")
    check(b"\x81\xa1a\x91" + text)


@pytest.mark.parametrize("planes", [range(0x80, 0x900), range(0xD7F0, 0xE010), (0xFFFF, 0x10FFFF)])
def test_every_character_is_read(planes: Sequence[int]) -> None:
    letters = "".join(chr(code) for code in planes if not 0xD800 <= code < 0xE000)
    assert check(msgspec.msgpack.encode({"a": letters, letters: 1})) == READ


def test_members_of_deep_objects_with_long_names_take_bounded_room() -> None:
    record = {"name " * 50: {"name " * 50: dict.fromkeys(map(str, range(400)), 1)}}
    encoded = msgspec.msgpack.encode(record)
    found = flattened(encoded)
    assert found.verdicts.item(0) == DOUBTFUL
    assert len(found.encoded) < GROWTH * len(encoded) + ROOM_BYTES


def test_slices_that_are_not_in_the_data_are_doubtful() -> None:
    record = b"\x81\xa1a\x01"
    slices = [(0, 4), (-1, 3), (2, 9), (3, 2), (4, 4), (1 << 62, 1 << 63 - 1), (0, 4)]
    starts, ends = (np.array(column) for column in zip(*slices, strict=True))
    found = FLATTENER.flatten(record, starts, ends)
    assert found.verdicts.tolist()[:-1] == [READ, *[DOUBTFUL] * 5]
    assert len(msgspec.msgpack.decode(found.encoded)) == len(slices)


@dataclass
class Watched:
    """Memory of which only some places may be used."""

    memory: Any
    first: int
    last: int
    used: set[int] = field(default_factory=set)

    def __getitem__(self, at: Any) -> Any:
        assert self.first <= at < self.last, f"{at} is not in {self.first}..{self.last}"
        return self.memory[int(at)]

    def __setitem__(self, at: Any, value: Any) -> None:
        assert self.first <= at < self.last, f"{at} is not in {self.first}..{self.last}"
        self.memory[int(at)] = int(value) & 0xFF if isinstance(self.memory, bytearray) else value


def _signed(value: Any) -> int:
    return (int(value) + 2**63) % 2**64 - 2**63


def _read_whole(letters: Watched, at: int, size: int) -> np.uint64:
    return np.uint64(int.from_bytes([letters[at + step] for step in range(size)]))


def _copy_bytes(target: Watched, place: int, source: Watched, at: int, size: int) -> int:
    assert size >= 0
    for step in range(size):
        target[place + step] = source[at + step]
    return place + size


def _widened(bits: np.uint64) -> np.uint64:
    [single] = struct.unpack("f", int(bits).to_bytes(4, "little"))
    return np.uint64(int.from_bytes(struct.pack("d", single), "little"))


def plain(name: str) -> Callable[..., Any]:
    """A function of the kernel without compiler, and all that it calls."""
    namespace = dict(vars(flattening))
    for other, function in vars(flattening).items():
        text = getattr(function, "py_func", None)
        if text is not None and text.__module__ == flattening.__name__:
            namespace[other] = FunctionType(text.__code__, namespace)
    namespace.update(
        signed=_signed,
        read_whole=_read_whole,
        word_at=lambda letters, at: _read_whole(letters, at, 8).byteswap(),
        copy_bytes=_copy_bytes,
        widened=_widened,
    )
    found: Callable[..., Any] = namespace[name]
    return found


@given(record=hostile_bytes())
def test_nothing_but_the_record_is_read_and_nothing_but_its_room_is_written(record: bytes) -> None:
    room = GROWTH * len(record) + ROOM_BYTES
    flat, scratch = Watched(bytearray(room), 0, room), Watched([0] * SCRATCH, 0, SCRATCH)
    letters = Watched(b".." + record + b"..", 2, 2 + len(record))
    flatten = plain("_flatten")
    with np.errstate(over="ignore"):
        verdict, end = flatten(letters, 2, 2 + len(record), flat, 0, room, scratch)
    found = flattened(record)
    assert found.verdicts.item(0) == (READ if verdict == WITH_ARRAYS else verdict)
    if verdict == READ:
        assert bytes(flat.memory[:end]) == found.encoded[HEADER_BYTES:]
    assert not any(scratch.memory[: 2 * ATTRIBUTES_MAX])
