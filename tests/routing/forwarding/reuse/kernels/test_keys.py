"""The kernels of lookup reuse: compiled and plain ones do the same, as the layout says."""

from __future__ import annotations

from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.routing.digests import DigestBatch
from sapwood.routing.forwarding.reuse.digest import ALL, KEY_BYTES, SOME
from sapwood.routing.forwarding.reuse.kernels import compiled, plain
from sapwood.routing.forwarding.reuse.kernels.layout import GONE, NUMBER_BITS, SHARED, UNKNOWN

KERNELS = (compiled, plain)
ROWS = 32
KEYS = st.integers(0, 12) | st.integers(0, 2**64 - 1)
PLACES = st.sampled_from([SHARED, 0, 1, 1 << NUMBER_BITS, 3 << NUMBER_BITS | 5])
TABLES = st.dictionaries(KEYS, PLACES, max_size=ROWS // 2)
DIGESTS = st.lists(
    st.builds(
        lambda head, keys, more: (
            head + b"".join(k.to_bytes(KEY_BYTES, "little") for k in keys) + more
        ),
        st.sampled_from([SOME, ALL, b"", b"r", b"r\2", b"b\0"]),
        st.lists(KEYS, max_size=4),
        st.sampled_from([b"", b"", b"", b"x"]),
    ),
    max_size=5,
)


class Table:
    """The rows of some keys, put in by the kernels of a module."""

    def __init__(self, kernels: ModuleType, keys: dict[int, int], gone: int = 0) -> None:
        self.kernels = kernels
        self.hashes, self.places = np.zeros(ROWS, np.uint64), np.full(ROWS, UNKNOWN, np.int64)
        self.taken = self.put(keys)
        for key in [*keys][:gone]:
            assert kernels.change(self.hashes, self.places, np.uint64(key), GONE) == keys[key]

    def put(self, keys: dict[int, int]) -> int:
        some, places = np.array([*keys], np.uint64), np.array([*keys.values()], np.int64)
        self.before = np.zeros(len(keys), np.int64)
        taken = self.kernels.put_in(self.hashes, self.places, some, places, self.before)
        return int(taken)

    def found(self, keys: list[int]) -> list[int]:
        found = np.zeros(len(keys), np.int64)
        self.kernels.find(self.hashes, self.places, np.array(keys, np.uint64), found)
        return found.tolist()

    def read(self, digests: DigestBatch) -> tuple[list[list[int]], list[int], list[int], int]:
        columns = np.zeros((3, sum(map(len, digests)) // KEY_BYTES), np.int64)
        told, whole = np.zeros((2, len(digests)), np.uint8)
        kept, looked = self.kernels.read_keys(
            *(digests.data, digests.starts, digests.ends, self.hashes, self.places),
            *(*columns, told, whole),
        )
        return columns[:, :kept].tolist(), told.tolist(), whole.tolist(), looked


@pytest.mark.parametrize("kernels", KERNELS)
def test_keys_lie_as_the_layout_says(kernels: ModuleType) -> None:
    hashes, places = np.zeros(8, np.uint64), np.full(8, UNKNOWN, np.int64)
    keys, before = np.array([0x12, 0x0A, 0x15], np.uint64), np.zeros(3, np.int64)
    assert kernels.put_in(hashes, places, keys, np.array([7, 9, 4]), before) == 3
    assert hashes.tolist() == [0, 0, 0x12, 0x0A, 0, 0x15, 0, 0]
    assert places.tolist() == [-1, -1, 7, 9, -1, 4, -1, -1]
    assert kernels.change(hashes, places, np.uint64(0x12), GONE) == 7
    found = np.zeros(3, np.int64)
    kernels.find(hashes, places, keys, found)
    assert found.tolist() == [UNKNOWN, 9, 4]
    # The row is taken again, and what stands behind it stays known.
    assert kernels.put_in(hashes, places, keys[:2], np.array([8, 8]), before) == 0
    assert places.tolist()[:4] == [-1, -1, 8, 9]


@given(TABLES, st.integers(0, 5), TABLES)
def test_keys_that_are_put_in_are_found_and_those_that_are_there_stay(
    keys: dict[int, int], gone: int, more: dict[int, int]
) -> None:
    tables = [Table(kernels, keys, gone) for kernels in KERNELS]
    left = dict([*keys.items()][gone:])
    asked = [*keys, *more, 99]
    for table in tables:
        assert table.taken == len(keys)
        assert table.found(asked) == [left.get(key, UNKNOWN) for key in asked]
    if len(keys) + len(more) < ROWS:
        taken = [table.put(more) for table in tables]
        assert taken[0] == taken[1] <= len(more)
        for table in tables:
            assert table.before.tolist() == [left.get(key, UNKNOWN) for key in more]
            assert table.found(asked) == [{**more, **left}.get(key, UNKNOWN) for key in asked]
    assert tables[0].places.tolist() == tables[1].places.tolist()


@given(TABLES, DIGESTS)
def test_digests_are_read_alike_and_what_is_damaged_says_nothing(
    keys: dict[int, int], digests: list[bytes]
) -> None:
    batch = DigestBatch.of([b"gap", *digests])[1:]
    first, second = (Table(kernels, keys).read(batch) for kernels in KERNELS)
    assert first == second
    (owners, found, where), told, whole, looked = first
    expected: list[tuple[int, int, int]] = []
    for at, one in enumerate(digests):
        is_right = one[:2] in {SOME, ALL} and len(one) % KEY_BYTES == 2
        named = [
            int.from_bytes(one[begin : begin + KEY_BYTES], "little")
            for begin in range(2, len(one), KEY_BYTES)
        ]
        places = [keys.get(key, UNKNOWN) for key in named] if is_right else []
        looked -= len(places)
        assert told[at] == (is_right and SHARED not in places)
        assert whole[at] == (told[at] and one.startswith(ALL))
        if told[at]:
            begin = batch.starts.item(at) + 2
            expected += [
                (at, place, begin + KEY_BYTES * number)
                for number, place in enumerate(places)
                if place >= 0
            ]
    assert looked == 0
    assert [*zip(owners, found, where, strict=True)] == expected


@given(TABLES, DIGESTS, st.sampled_from([0, 1, 3]))
def test_digests_that_go_on_have_the_keys_of_one_side(
    keys: dict[int, int], digests: list[bytes], serial: int
) -> None:
    batch = DigestBatch.of(digests)
    for kernels in KERNELS:
        columns, _, _, _ = Table(kernels, keys).read(batch)
        owners, found, where = (np.array(one, np.int64) for one in columns)
        out = np.zeros(sum(map(len, digests)), np.uint8)
        begins, finishes = np.ones((2, len(digests)), np.int64)
        size = kernels.pass_on(
            batch.data, batch.starts, owners, found, where, serial, out, begins, finishes
        )
        going = DigestBatch(out[:size].tobytes(), begins, finishes)
        for at, one in enumerate(digests):
            named = b"".join(
                one[begin - batch.starts.item(at) :][:KEY_BYTES]
                for owner, place, begin in zip(*columns, strict=True)
                if owner == at and place >> NUMBER_BITS == serial
            )
            assert going[at] == (one[:2] + named if named else b"")


@given(TABLES, st.lists(st.lists(KEYS, max_size=5), max_size=4), st.integers(1, 5), st.booleans())
def test_digests_are_written_with_so_many_keys_and_none_that_is_shared(
    keys: dict[int, int], sets: list[list[int]], most: int, tells_all: bool
) -> None:
    offsets = np.cumsum([0, *map(len, sets)])
    every = np.array([key for some in sets for key in some], np.uint64)
    for kernels in KERNELS:
        table = Table(kernels, keys)
        out = np.zeros(2 * len(sets) + KEY_BYTES * len(every), np.uint8)
        begins, finishes = np.zeros((2, len(sets)), np.int64)
        size = kernels.write_keys(
            *(every, offsets, most, int(tells_all), int(SHARED in keys.values())),
            *(table.hashes, table.places, out, begins, finishes),
        )
        written = DigestBatch(out[:size].tobytes(), begins, finishes)
        for some, digest in zip(sets, written, strict=True):
            named = [key for key in some[:most] if keys.get(key) != SHARED]
            head = ALL if tells_all and named == some else SOME
            letters = b"".join(key.to_bytes(KEY_BYTES, "little") for key in named)
            assert digest == (head + letters if named else b"")
