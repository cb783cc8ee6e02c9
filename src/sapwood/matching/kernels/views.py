"""The columns of an image for compiled code, one by one: see `columnar.columns.columns_of`.

Kernels take what they need before they begin to loop. Numba counts the references to an array
whenever it is handed on, be it as part of a tuple, and counting costs more than most of what
happens in a loop here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt
from numba import njit

from sapwood.matching.columnar.columns import I64, U8, U32, U64

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """`numba.njit` with a type: the compiled function is called like the plain one.

    Where no cache can be written (a read-only file system), every process compiles for itself.
    """
    try:
        return cast("F", njit(cache=True, nogil=True)(function))
    except RuntimeError:
        return cast("F", njit(nogil=True)(function))


@compiled
def u8(image: U64, column: int) -> U8:
    """A column of unsigned 8-bit integers."""
    return u64(image, column, 8).view(np.uint8)[: length(image, column)]


@compiled
def i16(image: U64, column: int) -> npt.NDArray[np.int16]:
    """A column of signed 16-bit integers."""
    return u64(image, column, 4).view(np.int16)[: length(image, column)]


@compiled
def u32(image: U64, column: int) -> U32:
    """A column of unsigned 32-bit integers."""
    return u64(image, column, 2).view(np.uint32)[: length(image, column)]


@compiled
def f32(image: U64, column: int) -> npt.NDArray[np.float32]:
    """A column of 32-bit floats."""
    return u64(image, column, 2).view(np.float32)[: length(image, column)]


@compiled
def f64(image: U64, column: int) -> npt.NDArray[np.float64]:
    """A column of 64-bit floats."""
    return u64(image, column, 1).view(np.float64)


@compiled
def i64(image: U64, column: int) -> I64:
    """A column of signed 64-bit integers."""
    return u64(image, column, 1).view(np.int64)


@compiled
def u64(image: U64, column: int, in_word: int) -> U64:
    """The words of a column of which `in_word` elements fill a word."""
    start = np.int64(image[2 * column])
    return image[start : start + (length(image, column) + in_word - 1) // in_word]


@compiled
def length(image: U64, column: int) -> int:
    """How many elements a column has."""
    return np.int64(image[2 * column + 1])  # type: ignore[return-value]
