"""The columns of a segment buffer for compiled code, one by one: see `columnar.columns.columns_of`.

A compiled function counts the references to every array that it is handed or makes, and counting,
which several threads may do at a time, costs more than most of what happens here. So these are
pointers, called arrays as far as types go: they own nothing, have no length and no place before the
first, and cannot be cut. Whoever calls a kernel holds the segment buffer meanwhile, and so does a
kernel with what it allocates (`keep_alive`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

import numpy as np
import numpy.typing as npt
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from sapwood.matching.columnar.columns import I32, I64, U8, U32, U64

_generated: Callable[[Callable[..., Any]], Callable[..., Any]] = intrinsic

_TO_READ: Final = 0
_TO_KEEP: Final = 3
_AS_DATA: Final = 1

F = TypeVar("F", bound=Callable[..., Any])
K = TypeVar("K", bound=np.generic)


def compiled(function: F) -> F:
    """`numba.njit` with a type: the compiled function is called like the plain one.

    Where no cache can be written (a read-only file system), every process compiles for itself.
    """
    try:
        return cast("F", njit(cache=True, nogil=True)(function))
    except RuntimeError:
        return cast("F", njit(nogil=True)(function))


def inlined(function: F) -> F:
    """`compiled` into each of its callers, so that no references to arrays are counted."""
    return cast("F", njit(nogil=True, inline="always")(function))


def _pointer_to(kind: Any) -> Callable[[Any], Any]:
    """What turns an address into a pointer to values of a kind."""

    @_generated
    def cast_address(_context: Any, address: Any) -> tuple[Any, Any]:
        pointer_type = types.CPointer(kind)

        def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], context.get_value_type(pointer_type))

        return pointer_type(address), generate

    return cast_address


_to_u8, _to_i16, _to_u32 = map(_pointer_to, (types.uint8, types.int16, types.uint32))
_to_i32 = _pointer_to(types.int32)
_to_i64, _to_u64 = map(_pointer_to, (types.int64, types.uint64))
_to_f32, _to_f64 = map(_pointer_to, (types.float32, types.float64))


@_generated
def _as_pointer(_context: Any, array: Any) -> tuple[Any, Any]:
    """A pointer to the first element of an array; a pointer stays what it is."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if isinstance(signature.args[0], types.Array):
            return context.make_array(signature.args[0])(context, builder, arguments[0]).data
        return arguments[0]

    return types.CPointer(array.dtype)(array), generate


@_generated
def _address(_context: Any, pointer: Any) -> tuple[Any, Any]:
    """The address that a pointer is."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.ptrtoint(arguments[0], cgutils.ir.IntType(64))

    return types.uint64(pointer), generate


@_generated
def _prefetch(_context: Any, address: Any) -> tuple[Any, Any]:
    """Prefetch the cache line at an address."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        word, types_of = cgutils.int32_t, cgutils.ir
        kind = types_of.FunctionType(types_of.VoidType(), [cgutils.voidptr_t, word, word, word])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", [cgutils.voidptr_t], kind)
        pointer = builder.inttoptr(arguments[0], cgutils.voidptr_t)
        builder.call(prefetch, [pointer, word(_TO_READ), word(_TO_KEEP), word(_AS_DATA)])
        return None

    return types.void(address), generate


@_generated
def _as_float(_context: Any, bits: Any) -> tuple[Any, Any]:
    """The float that has these bits."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], cgutils.ir.DoubleType())

    return types.float64(bits), generate


@_generated
def _word_at(_context: Any, pointer: Any, _at: Any) -> tuple[Any, Any]:
    """The word that begins at any byte."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        place = builder.gep(arguments[0], [arguments[1]])
        word = builder.load(builder.bitcast(place, cgutils.ir.IntType(64).as_pointer()))
        word.align = 1
        return word

    return types.uint64(pointer, types.int64), generate


@_generated
def _copy(_context: Any, target: Any, _place: Any, source: Any, _at: Any, _size: Any) -> Any:
    """Copy bytes; returns the place behind them."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        target, place, source, at, size = arguments
        into, begin = builder.gep(target, [place]), builder.gep(source, [at])
        cgutils.raw_memcpy(builder, into, begin, size, 1)
        return builder.add(place, size)

    whole = types.int64
    return whole(target, whole, source, whole, whole), generate


@_generated
def _widened(_context: Any, _bits: Any) -> tuple[Any, Any]:
    """The bits of a float of 64 bits that is equal to one of 32."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        single = builder.bitcast(
            builder.trunc(arguments[0], cgutils.int32_t), cgutils.ir.FloatType()
        )
        return builder.bitcast(
            builder.fpext(single, cgutils.ir.DoubleType()), cgutils.ir.IntType(64)
        )

    return types.uint64(types.uint64), generate


@compiled
def word_at(letters: U8, at: int) -> np.uint64:
    """Eight bytes as a number, in the order that the processor reads them in."""
    word: np.uint64 = _word_at(letters, at)
    return word


@inlined
def copy_bytes(target: U8, place: int, source: U8, at: int, size: int) -> int:
    """Copy so many bytes from one place to another, which is not within them; what is behind."""
    behind: int = _copy(target, place, source, at, size)
    return behind


@inlined
def widened(bits: np.uint64) -> np.uint64:
    """The bits of the float of 64 bits that is equal to the float of 32 bits with these."""
    wide: np.uint64 = _widened(bits)
    return wide


@compiled
def as_float(bits: np.uint64) -> float:
    """The float that has these 64 bits."""
    value: float = _as_float(bits)
    return value


@_generated
def keep_alive(_context: Any, array: Any) -> tuple[Any, Any]:
    """Keep an array alive up to here, as a pointer to its memory was in use."""

    def generate(context: Any, _builder: Any, _signature: Any, _arguments: Any) -> Any:
        return context.get_dummy_value()

    return types.void(array), generate


@compiled
def as_pointer(array: npt.NDArray[K]) -> npt.NDArray[K]:
    """A pointer to the elements of an array, without owner and length."""
    pointer: npt.NDArray[K] = _as_pointer(array)
    return pointer


@compiled
def all_bytes(data: bytes) -> U8:
    """The bytes."""
    buffer = np.frombuffer(data, np.uint8)
    pointer: U8 = _to_u8(buffer.ctypes.data)
    return pointer


@compiled
def words_at(address: np.uint64) -> U64:
    """The words from an address on."""
    pointer: U64 = _to_u64(address)
    return pointer


@compiled
def floats_at(address: np.uint64) -> npt.NDArray[np.float64]:
    """The 64-bit floats from an address on."""
    pointer: npt.NDArray[np.float64] = _to_f64(address)
    return pointer


@compiled
def places_at(address: np.uint64) -> I64:
    """The signed words from an address on."""
    pointer: I64 = _to_i64(address)
    return pointer


@compiled
def integers_at(address: np.uint64) -> I32:
    """The signed 32-bit integers from an address on."""
    pointer: I32 = _to_i32(address)
    return pointer


@compiled
def bytes_at(address: np.uint64) -> U8:
    """The bytes from an address on."""
    pointer: U8 = _to_u8(address)
    return pointer


@compiled
def bytes_from(words: U64, first: int) -> U8:
    """The bytes of all words but the `first` ones."""
    pointer: U8 = _to_u8(_address(_as_pointer(words)) + np.uint64(8 * first))
    return pointer


@compiled
def offset(array: U32, first: int) -> U32:
    """An array from its element `first` on."""
    pointer: U32 = _to_u32(_address(_as_pointer(array)) + np.uint64(4 * first))
    return pointer


@compiled
def words_offset(array: I64, first: int) -> I64:
    """An array of signed words from its element `first` on."""
    pointer: I64 = _to_i64(_address(_as_pointer(array)) + np.uint64(8 * first))
    return pointer


@compiled
def half(scratch: U32, which: int) -> U32:
    """The first or the second half of an array."""
    return offset(scratch, len(scratch) // 2 * which)


@compiled
def prefetch(address: np.uint64) -> None:
    """Prefetch the cache line at an address."""
    _prefetch(address)


@compiled
def prefetch_column(buffer: U64, column: int, offset: int) -> None:
    """Prefetch the cache line so many bytes into a column."""
    _prefetch(place(buffer, column) + np.uint64(offset))


@compiled
def u8(buffer: U64, column: int) -> U8:
    """A column of unsigned 8-bit integers."""
    pointer: U8 = _to_u8(place(buffer, column))
    return pointer


@compiled
def i16(buffer: U64, column: int) -> npt.NDArray[np.int16]:
    """A column of signed 16-bit integers."""
    pointer: npt.NDArray[np.int16] = _to_i16(place(buffer, column))
    return pointer


@compiled
def u32(buffer: U64, column: int) -> U32:
    """A column of unsigned 32-bit integers."""
    pointer: U32 = _to_u32(place(buffer, column))
    return pointer


@compiled
def f32(buffer: U64, column: int) -> npt.NDArray[np.float32]:
    """A column of 32-bit floats."""
    pointer: npt.NDArray[np.float32] = _to_f32(place(buffer, column))
    return pointer


@compiled
def f64(buffer: U64, column: int) -> npt.NDArray[np.float64]:
    """A column of 64-bit floats."""
    pointer: npt.NDArray[np.float64] = _to_f64(place(buffer, column))
    return pointer


@compiled
def i64(buffer: U64, column: int) -> I64:
    """A column of signed 64-bit integers."""
    pointer: I64 = _to_i64(place(buffer, column))
    return pointer


@compiled
def u64(buffer: U64, column: int) -> U64:
    """A column of unsigned 64-bit integers."""
    pointer: U64 = _to_u64(place(buffer, column))
    return pointer


@compiled
def place(buffer: U64, column: int) -> int:
    """The address of a column's first element."""
    address: int = _address(_as_pointer(buffer)) + np.uint64(8) * buffer[2 * column]
    return address


@compiled
def length(buffer: U64, column: int) -> int:
    """How many elements a column has."""
    return np.int64(buffer[2 * column + 1])  # type: ignore[return-value]


@compiled
def signed(value: np.integer[Any]) -> int:
    """A signed integer: numba's `int` keeps what is unsigned, and differences would wrap round."""
    return np.int64(value)  # type: ignore[return-value]


@compiled
def prefetch_objects(address: int, size: int, places: I64, nothing: int) -> bool:
    """Prefetch the objects at some places of an array of `size` objects that begins at `address`.

    Returns whether one of them is the object at the address `nothing`, or is not there.
    """
    objects = words_at(np.uint64(address))
    found = False
    for place in places:
        if not 0 <= place < size:
            found = True
            continue
        prefetch(objects[place])
        found |= objects[place] == np.uint64(nothing)
    return found
