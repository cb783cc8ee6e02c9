"""Columns for compiled code are those for Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sapwood.matching.columnar.columns import Columns
from sapwood.matching.columnar.kernels import views
from sapwood.matching.columnar.kernels.views import (
    as_pointer,
    compiled,
    keep_alive,
    prefetch_objects,
)
from tests.matching.columnar.kernels.entries import COPIERS, length_of
from tests.matching.columnar.made import made

Array = npt.NDArray[Any]


def test_views_are_the_columns() -> None:
    segment = made(["a in (1, 2.5) and b > 0.1", f"a <> {2**53 + 1} or b like 'x%'"]).segment()
    for place, name in enumerate(Columns._fields):
        column = getattr(segment.columns, name)
        assert length_of(segment.buffer, place) == len(column)
        found = np.zeros_like(column)
        COPIERS[column.dtype](segment.buffer, place, found)
        assert found.tolist() == column.tolist(), name


def test_what_an_array_has_lent_is_there_until_the_array_has_been_kept() -> None:
    @compiled
    def squares(size: int) -> Array:
        owner, copied = np.empty(size, np.int64), np.empty(size, np.int64)
        pointer = as_pointer(owner)
        for at in range(size):
            pointer[at] = at * at
        for at in range(size):
            copied[at] = pointer[at]
        keep_alive(owner)
        return copied

    assert squares(1000).tolist() == [at * at for at in range(1000)]


def test_arrays_are_read_where_they_are() -> None:
    @compiled
    def read(address: np.uint64, at: int, ranks: Array) -> tuple[float, ...]:
        return (
            views.places_at(address)[at],
            views.floats_at(address)[at],
            views.integers_at(address)[at],
            views.bytes_at(address)[at],
            views.offset(ranks, 2 * at)[1],
        )

    longs = np.array([1, 2**62 + 5, 3], np.int64)
    for at in range(3):
        found = read(np.uint64(longs.ctypes.data), at, np.arange(6, dtype=np.uint32))
        whole = [longs.view(kind)[at] for kind in (np.int64, np.float64, np.int32, np.uint8)]
        assert list(found) == [*whole, 2 * at + 1]


OBJECTS = np.array([*(f"text {number}" for number in range(100)), None], np.object_)


def is_missing(places: list[int]) -> bool:
    wanted = np.array(places, np.int64)
    return prefetch_objects(OBJECTS.ctypes.data, len(OBJECTS), wanted, id(None))


def test_objects_are_asked_for_and_nothing_changes() -> None:
    before = OBJECTS.tolist()
    assert not is_missing([])
    assert not is_missing([0, 99, 7, 7])
    assert OBJECTS.tolist() == before


def test_nothing_is_told_of_and_what_is_not_there() -> None:
    assert is_missing([0, 100, 1])
    assert is_missing([0, 101])
    assert is_missing([-1])
    assert is_missing([1 << 62, -(1 << 62)])
