"""The columns of an image for compiled code, one by one: see `columnar.columns.columns_of`.

A slice of an array is an array that somebody counts the references to, and counting, which several
threads may do at a time, costs more than most of what happens in a loop here. So these are arrays
made of an address: they own nothing, and whoever calls a kernel holds the image meanwhile.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

import numpy as np
import numpy.typing as npt
from numba import carray, njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from sapwood.matching.columnar.columns import I64, U8, U32, U64

_generated: Callable[[Callable[..., Any]], Callable[..., Any]] = intrinsic

_TO_READ: Final = 0
_TO_KEEP: Final = 3
_AS_DATA: Final = 1

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """`numba.njit` with a type: the compiled function is called like the plain one.

    Where no cache can be written (a read-only file system), every process compiles for itself.
    """
    try:
        return cast("F", njit(cache=True, nogil=True)(function))
    except RuntimeError:
        return cast("F", njit(nogil=True)(function))


@_generated
def _pointer(_context: Any, address: Any) -> tuple[Any, Any]:
    """An address as a pointer to anything."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.inttoptr(arguments[0], cgutils.voidptr_t)

    return types.voidptr(address), generate


@_generated
def _fetch(_context: Any, address: Any) -> tuple[Any, Any]:
    """Ask for the cache line at an address, without waiting for it."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        word, types_of = cgutils.int32_t, cgutils.ir
        kind = types_of.FunctionType(types_of.VoidType(), [cgutils.voidptr_t, word, word, word])
        ask = builder.module.declare_intrinsic("llvm.prefetch", [cgutils.voidptr_t], kind)
        pointer = builder.inttoptr(arguments[0], cgutils.voidptr_t)
        builder.call(ask, [pointer, word(_TO_READ), word(_TO_KEEP), word(_AS_DATA)])
        return None

    return types.void(address), generate


@_generated
def _as_float(_context: Any, bits: Any) -> tuple[Any, Any]:
    """The float that has these bits."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], cgutils.ir.DoubleType())

    return types.float64(bits), generate


@compiled
def as_float(bits: np.uint64) -> float:
    """The float that has these 64 bits."""
    value: float = _as_float(bits)
    return value


@compiled
def all_bytes(data: bytes) -> U8:
    """The bytes as an array."""
    buffer = np.frombuffer(data, np.uint8)
    view: U8 = carray(_pointer(buffer.ctypes.data), (len(buffer),), np.uint8)
    return view


@compiled
def words_at(address: np.uint64, size: int) -> U64:
    """So many words from an address on."""
    view: U64 = carray(_pointer(address), (size,), np.uint64)
    return view


@compiled
def last_bytes(words: U64, first: int) -> U8:
    """The bytes of all words but the `first` ones."""
    address = words.ctypes.data + np.uint64(8 * first)
    view: U8 = carray(_pointer(address), (8 * (len(words) - first),), np.uint8)
    return view


@compiled
def half(scratch: U32, which: int) -> U32:
    """The first or the second half of an array."""
    size = len(scratch) // 2
    address = scratch.ctypes.data + np.uint64(4 * size * which)
    view: U32 = carray(_pointer(address), (size,), np.uint32)
    return view


@compiled
def ask(address: np.uint64) -> None:
    """Ask for the cache line at an address, without waiting for it."""
    _fetch(address)


@compiled
def fetch(image: U64, column: int, offset: int) -> None:
    """Ask for what lies so many bytes into a column, without waiting for it."""
    _fetch(place(image, column) + np.uint64(offset))


@compiled
def u8(image: U64, column: int) -> U8:
    """A column of unsigned 8-bit integers."""
    view: U8 = carray(_pointer(place(image, column)), (length(image, column),), np.uint8)
    return view


@compiled
def i16(image: U64, column: int) -> npt.NDArray[np.int16]:
    """A column of signed 16-bit integers."""
    view: npt.NDArray[np.int16] = carray(
        _pointer(place(image, column)), (length(image, column),), np.int16
    )
    return view


@compiled
def u32(image: U64, column: int) -> U32:
    """A column of unsigned 32-bit integers."""
    view: U32 = carray(_pointer(place(image, column)), (length(image, column),), np.uint32)
    return view


@compiled
def f32(image: U64, column: int) -> npt.NDArray[np.float32]:
    """A column of 32-bit floats."""
    view: npt.NDArray[np.float32] = carray(
        _pointer(place(image, column)), (length(image, column),), np.float32
    )
    return view


@compiled
def f64(image: U64, column: int) -> npt.NDArray[np.float64]:
    """A column of 64-bit floats."""
    view: npt.NDArray[np.float64] = carray(
        _pointer(place(image, column)), (length(image, column),), np.float64
    )
    return view


@compiled
def i64(image: U64, column: int) -> I64:
    """A column of signed 64-bit integers."""
    view: I64 = carray(_pointer(place(image, column)), (length(image, column),), np.int64)
    return view


@compiled
def u64(image: U64, column: int) -> U64:
    """A column of unsigned 64-bit integers."""
    view: U64 = carray(_pointer(place(image, column)), (length(image, column),), np.uint64)
    return view


@compiled
def place(image: U64, column: int) -> int:
    """The address of a column's first element."""
    address: int = image.ctypes.data + np.uint64(8) * image[2 * column]
    return address


@compiled
def length(image: U64, column: int) -> int:
    """How many elements a column has."""
    return np.int64(image[2 * column + 1])  # type: ignore[return-value]


@compiled
def signed(value: np.integer[Any]) -> int:
    """A signed integer: numba's `int` keeps what is unsigned, and differences would wrap round."""
    return np.int64(value)  # type: ignore[return-value]
