"""The kernels of sliced filters: compiled and plain ones do the same, as the layout says."""

from __future__ import annotations

from itertools import pairwise
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.sketches.kernels import compiled, plain_sliced
from sapwood.sketches.kernels.layout_of_rows import DENSE, FORM_SHIFT, HEAD_BYTES, NONE

HEAD = 0x04_0200_62
SALT = np.uint64(7)
ELEMENTS = st.integers(0, 2**64 - 1)
SHAPES = st.sampled_from([(64, 1), (64, 3), (640, 2), (1 << 17, 2)])
Shape = tuple[int, int]


class Rows:
    """Rows of some elements, each for one holder, linked by the kernels of a module."""

    def __init__(self, kernels: ModuleType, elements: list[int], shape: Shape) -> None:
        self.kernels, (self.size, self.probes) = kernels, shape
        self.elements = np.array(elements, np.uint64)
        self.masks = np.array([1 << at % 64 for at in range(len(elements))], np.uint64)
        self.heads = np.full(self.size // self.probes, NONE, np.int32)
        self.nexts = np.full(len(elements), NONE, np.int32)
        self.words = np.zeros(self.size // 64, np.uint64)
        rows = np.arange(len(elements))
        kernels.link_in(self.heads, self.nexts, self.elements, rows, SALT)

    def search(self, filters: list[bytes], wanted: int) -> tuple[list[int], list[int]]:
        found, is_read = np.zeros(len(filters), np.uint64), np.zeros(len(filters), np.uint8)
        sizes = np.array([len(one) for one in filters], np.int64)
        ends = np.cumsum(sizes + len("gap")) - len("gap")
        starts = ends - sizes
        self.kernels.search_rows(
            *(b"gap".join(filters), starts, ends, np.uint64(HEAD), SALT, self.probes, self.size),
            *(self.words, self.heads, self.nexts, self.elements, self.masks),
            *(np.uint64(wanted), found, is_read),
        )
        assert not self.words.any()
        return found.tolist(), is_read.tolist()


def written(kernels: ModuleType, sets: list[list[int]], shape: Shape) -> list[bytes]:
    size, probes = shape
    offsets = np.cumsum([0, *map(len, sets)])
    elements = np.array([one for some in sets for one in some], np.uint64)
    out = np.zeros(len(sets) * (HEAD_BYTES + size // 8), np.uint8)
    ends, words = np.zeros(len(sets), np.int64), np.zeros(size // 64, np.uint64)
    taken = np.zeros(size // 4096 + 1, np.uint64)
    kernels.write_filters(
        *(offsets, elements, SALT, probes, size, np.uint64(HEAD), words, taken, out, ends)
    )
    assert not words.any()
    assert not taken.any()
    starts = [0, *ends.tolist()]
    return [out[a:b].tobytes() for a, b in pairwise(starts)]


SETS = st.lists(st.lists(ELEMENTS, max_size=30), min_size=1, max_size=4)


@given(SETS, st.lists(ELEMENTS, max_size=30), SHAPES)
def test_compiled_and_plain_kernels_do_the_same(
    sets: list[list[int]], others: list[int], shape: Shape
) -> None:
    filters = written(compiled, sets, shape)
    assert filters == written(plain_sliced, sets, shape)
    every = [one for some in sets for one in some] + others
    both = [Rows(kernels, every, shape) for kernels in (compiled, plain_sliced)]
    wanted = 2**64 - 1 if len(every) >= 64 else (1 << len(every)) - 1
    first, second = (rows.search(filters, wanted) for rows in both)
    assert first == second
    at = 0
    for some, found, is_read in zip(sets, *first, strict=True):
        bits = {1 << (at + number) % 64 for number in range(len(some))}
        assert is_read == bool(some)  # of nothing there is no filter
        assert all(found & bit for bit in bits)  # P24: nothing is missed
        at += len(some)
    for row in range(0, len(every), 2):
        for rows in both:
            rows.kernels.link_out(rows.heads, rows.nexts, rows.elements, row, SALT)
    assert both[0].heads.tolist() == both[1].heads.tolist()
    assert both[0].search(filters, wanted) == both[1].search(filters, wanted)


@given(st.lists(st.binary(max_size=24), min_size=1), st.sampled_from([0, 1, 2]), SHAPES)
def test_damaged_filters_are_read_by_none_and_nothing_is_found_in_them(
    bodies: list[bytes], form: int, shape: Shape
) -> None:
    head = (HEAD | form << FORM_SHIFT).to_bytes(8, "little")
    filters = [head + body for body in bodies] + [head[:5], bodies[0]]
    first, second = (
        Rows(kernels, [1, 2, 3], shape).search(filters, 7) for kernels in (compiled, plain_sliced)
    )
    assert first == second
    for one, found, is_read in zip(filters, *first, strict=True):
        places = plain_sliced.filter_places(one, HEAD, shape[0])
        assert is_read == (places is not None)
        assert is_read or not found
        assert form != DENSE or not is_read or len(one) == 8 + shape[0] // 8


@pytest.mark.parametrize("kernels", [compiled, plain_sliced])
def test_filters_and_rows_lie_as_the_layout_says(kernels: ModuleType) -> None:
    size, probes = 64, 2
    drawn = np.random.default_rng(1).integers(0, 2**63, 100_000).astype(np.uint64)
    places = plain_sliced.sliced_places(drawn, int(SALT), probes, size).tolist()
    a, b, c = (int(drawn[places.index(pair)]) for pair in ([3, 40], [3, 51], [17, 40]))
    [whole] = written(kernels, [[a, b]], (size, probes))
    assert whole[HEAD_BYTES:].hex(" ", 2) == "0300 2800 3300"
    rows = Rows(kernels, [a, b, c], (size, probes))
    rows.masks[:] = [3, 2, 4]
    assert [rows.heads[3], rows.heads[17]] == [1, 2]
    assert rows.nexts.tolist() == [NONE, 0, NONE]
    assert rows.search([whole], 7) == ([3], [1])
    bits = bytes.fromhex("0800000000010800")
    dense = (HEAD | DENSE << FORM_SHIFT).to_bytes(8, "little") + bits
    assert rows.search([dense], 7) == ([3], [1])
