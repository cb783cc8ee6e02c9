"""Columns for compiled code are those for Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from sapwood.matching.columnar.columns import U64, Columns
from sapwood.matching.kernels import views
from tests.matching.columnar.made import made


def test_views_are_the_columns() -> None:
    segment = made(["a in (1, 2.5) and b > 0.1", f"a <> {2**53 + 1} or b like 'x%'"]).segment()

    def whole_words(image: U64, place: int) -> npt.NDArray[Any]:
        return views.u64(image, place)

    readers: dict[np.dtype[Any], Callable[[U64, int], npt.NDArray[Any]]] = {
        np.dtype(np.uint8): views.u8,
        np.dtype(np.int16): views.i16,
        np.dtype(np.uint32): views.u32,
        np.dtype(np.float32): views.f32,
        np.dtype(np.float64): views.f64,
        np.dtype(np.int64): views.i64,
    }
    for place, name in enumerate(Columns._fields):
        column = getattr(segment.columns, name)
        assert views.length(segment.image, place) == len(column)
        read = readers.get(column.dtype, whole_words)
        assert read(segment.image, place).tolist() == column.tolist(), name
