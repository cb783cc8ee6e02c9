"""The kernels: compiled and plain ones do the same, and lie as `layout` says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.sketches.kernels import compiled, plain
from sapwood.sketches.kernels.choice import SKETCHES, kernels
from sapwood.sketches.kernels.constants import SATURATED

ELEMENTS = st.lists(st.integers(0, 2**64 - 1), max_size=40).map(lambda it: np.array(it, np.uint64))
SALTS = st.integers(0, 2**64 - 1).map(np.uint64)


@given(ELEMENTS, ELEMENTS, SALTS, st.integers(1, 4), st.sampled_from([64, 128, 640]))
def test_compiled_and_plain_kernels_do_the_same(
    some: np.ndarray, others: np.ndarray, salt: np.uint64, probes: int, size: int
) -> None:
    left = []
    for kernel in (compiled, plain):
        counters = np.zeros(size, np.uint8)
        kernel.count_in(counters, some, salt, probes)
        after = counters.copy()
        wrong = kernel.count_out(counters, others, salt, probes)
        words = np.zeros(size // 64, np.uint64)
        kernel.bits_of(after, words)
        marked = np.zeros(size // 64, np.uint64)
        kernel.mark(marked, some, salt, probes, size)
        found = np.zeros(len(others), np.uint8)
        kernel.find(words, others, salt, probes, size, found)
        left.append((counters.tolist(), wrong, words.tolist(), marked.tolist(), found.tolist()))
    assert left[0] == left[1]
    assert left[0][2] == left[0][3]


@pytest.mark.parametrize("kernel", [compiled, plain])
def test_a_counter_that_is_full_stays_full(kernel: object) -> None:
    counters = np.zeros(64, np.uint8)
    element, salt = np.array([7], np.uint64), np.uint64(0)
    for _ in range(SATURATED + 5):
        kernel.count_in(counters, element, salt, 1)  # type: ignore[attr-defined]
    assert counters.max() == SATURATED
    for _ in range(SATURATED + 5):
        assert kernel.count_out(counters, element, salt, 1) == 0  # type: ignore[attr-defined]
    assert counters.max() == SATURATED


def test_bits_lie_as_the_layout_says() -> None:
    counters = np.zeros(128, np.uint8)
    counters[[3, 64, 70]] = 2, 1, 1
    for kernel in (compiled, plain):
        words = np.zeros(2, np.uint64)
        kernel.bits_of(counters, words)
        assert words.tolist() == [0x8, 0x41]
        assert words.tobytes().hex(" ") == "08 00 00 00 00 00 00 00 41 00 00 00 00 00 00 00"


def test_compiled_kernels_are_taken_when_they_are_at_hand() -> None:
    SKETCHES.load()
    assert kernels() is compiled
