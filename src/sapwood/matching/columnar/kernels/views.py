"""The columns of a segment buffer for compiled code, one by one: see `columnar.columns.columns_of`.

A compiled function counts the references to every array that it gets or makes, and counting, which
several threads may do at a time, costs more than most of the work here. So these are pointers,
called arrays as far as types go: they own nothing, have no length and no place before the first,
and cannot be sliced. The caller of a kernel holds the segment buffer meanwhile, and a kernel holds
the arrays that it allocates (`keep_alive`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

import numpy as np
from numba import njit, types
from numba.core import cgutils, config
from numba.extending import intrinsic

from sapwood.matching.columnar.columns import I32, I64, U8, U32, U64
from sapwood.matching.compiling.kernels import Kernel

_generated: Callable[[Callable[..., Any]], Callable[..., Any]] = intrinsic

_TO_READ: Final = 0
_TO_KEEP: Final = 3
_AS_DATA: Final = 1

_ir: Final = cgutils.ir
_WORD: Final = _ir.IntType(64)
_WORD_BYTES: Final = 8

F = TypeVar("F", bound=Callable[..., Any])
K = TypeVar("K", bound=np.generic)


def compiled(function: F) -> F:
    """A kernel: a part of its callers, and called from Python like the plain function."""
    return function if config.DISABLE_JIT else cast("F", Kernel(function))


def borrowing(function: F) -> F:
    """A kernel that makes no array and returns none, so that it need not count references."""
    return function if config.DISABLE_JIT else cast("F", Kernel(function, counts=False))


def inlined(function: F) -> F:
    """`compiled` into each of its callers, so that no references to arrays are counted."""
    return cast("F", njit(nogil=True, inline="always")(function))


def _address_of(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """The address of the first element of an array, or the address that a pointer is."""
    if isinstance(kind, types.Array):
        value = context.make_array(kind)(context, builder, value).data
    return builder.ptrtoint(value, _WORD)


def _is_memory(kind: Any) -> bool:
    """True if a type is that of an array or a pointer."""
    return isinstance(kind, types.Array | types.CPointer)


def _reader(kind: Any) -> Callable[[Any], Any]:
    """An intrinsic that turns an address into a pointer to values of a kind."""

    def read(_context: Any, address: Any) -> tuple[Any, Any] | None:
        pointer = types.CPointer(kind)

        def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            return builder.inttoptr(arguments[0], context.get_value_type(pointer))

        return (pointer(types.uint64), generate) if isinstance(address, types.Integer) else None

    return _generated(read)


def _column(kind: Any) -> Callable[[Any, int], Any]:
    """An intrinsic that finds a column, of values of a kind, in a segment buffer."""

    def find(_context: Any, buffer: Any, _column: Any) -> tuple[Any, Any] | None:
        pointer = types.CPointer(kind)

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            address = _place(context, builder, signature.args[0], *arguments)
            return builder.inttoptr(address, context.get_value_type(pointer))

        return (pointer(buffer, types.int64), generate) if _is_memory(buffer) else None

    return _generated(find)


def _content(  # noqa: PLR0917 - as numba hands it over
    context: Any, builder: Any, kind: Any, buffer: Any, column: Any, which: int
) -> tuple[Any, Any]:
    """The address of a segment buffer, and a word of a column's entry in its table of contents."""
    address = _address_of(context, builder, kind, buffer)
    entry = builder.add(address, builder.mul(column, _WORD(2 * _WORD_BYTES)))
    place = builder.inttoptr(builder.add(entry, _WORD(_WORD_BYTES * which)), _WORD.as_pointer())
    return address, builder.load(place)


def _place(context: Any, builder: Any, kind: Any, buffer: Any, column: Any) -> Any:
    """The address of a column's first element."""
    address, word = _content(context, builder, kind, buffer, column, 0)
    return builder.add(address, builder.mul(word, _WORD(_WORD_BYTES)))


def _prefetched(builder: Any, address: Any) -> None:
    """Code that prefetches the cache line at an address."""
    number = cgutils.int32_t
    kind = _ir.FunctionType(_ir.VoidType(), [cgutils.voidptr_t, number, number, number])
    prefetch = builder.module.declare_intrinsic("llvm.prefetch", [cgutils.voidptr_t], kind)
    pointer = builder.inttoptr(address, cgutils.voidptr_t)
    builder.call(prefetch, [pointer, number(_TO_READ), number(_TO_KEEP), number(_AS_DATA)])


@_generated
def as_pointer(_context: Any, array: Any) -> tuple[Any, Any] | None:
    """A pointer to the elements of an array, without owner and length; a pointer stays one."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if isinstance(signature.args[0], types.Array):
            return context.make_array(signature.args[0])(context, builder, arguments[0]).data
        return arguments[0]

    return (types.CPointer(array.dtype)(array), generate) if _is_memory(array) else None


@_generated
def word_at(_context: Any, pointer: Any, _at: Any) -> tuple[Any, Any]:
    """Eight bytes as a number, in the order that the processor reads them in."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        start = builder.gep(arguments[0], [arguments[1]])
        word = builder.load(builder.bitcast(start, _WORD.as_pointer()))
        word.align = 1
        return word

    return types.uint64(pointer, types.int64), generate


@_generated
def _address(_context: Any, pointer: Any, _at: Any) -> tuple[Any, Any]:
    """The address of a byte."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        begin = _address_of(context, builder, signature.args[0], arguments[0])
        return builder.add(begin, arguments[1])

    return types.int64(pointer, types.int64), generate


address_of: Final = cast("Callable[[U8, int], int]", _address)


@_generated
def copy_bytes(_context: Any, target: Any, _place: Any, source: Any, _at: Any, _size: Any) -> Any:
    """Copy bytes from one place to another that does not overlap; returns the place behind."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        target, place, source, at, size = arguments
        into, begin = builder.gep(target, [place]), builder.gep(source, [at])
        cgutils.raw_memcpy(builder, into, begin, size, 1)
        return builder.add(place, size)

    whole = types.int64
    return whole(target, whole, source, whole, whole), generate


@_generated
def widened(_context: Any, _bits: Any) -> tuple[Any, Any]:
    """The bits of the 64-bit float that is equal to the 32-bit float with the given bits."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        bits = builder.trunc(arguments[0], cgutils.int32_t)
        wide = builder.fpext(builder.bitcast(bits, _ir.FloatType()), _ir.DoubleType())
        return builder.bitcast(wide, _WORD)

    return types.uint64(types.uint64), generate


@_generated
def as_float(_context: Any, _bits: Any) -> tuple[Any, Any]:
    """The float that has these 64 bits."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], _ir.DoubleType())

    return types.float64(types.uint64), generate


@_generated
def as_bits(_context: Any, _number: Any) -> tuple[Any, Any]:
    """The 64 bits of a float."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], _WORD)

    return types.uint64(types.float64), generate


@_generated
def keep_alive(_context: Any, array: Any) -> tuple[Any, Any]:
    """Keep an array alive up to here, as a pointer to its memory was in use."""

    def generate(context: Any, _builder: Any, _signature: Any, _arguments: Any) -> Any:
        return context.get_dummy_value()

    return types.void(array), generate


@_generated
def _signed(_context: Any, value: Any) -> tuple[Any, Any] | None:
    """A signed integer: numba's `int` keeps unsigned types, and differences would wrap round."""

    def generate(_context: Any, _builder: Any, _signature: Any, arguments: Any) -> Any:
        return arguments[0]

    # The argument is converted to an `int64` on the way.
    return (types.int64(types.int64), generate) if isinstance(value, types.Integer) else None


signed: Final = cast("Callable[[Any], int]", _signed)

bytes_at, words_at, places_at, integers_at, floats_at = (
    _reader(kind) for kind in (types.uint8, types.uint64, types.int64, types.int32, types.float64)
)
"""The bytes, words, signed words, signed 32-bit integers and 64-bit floats from an address on."""

u8, i16, u32, i64, u64, f32, f64 = (
    _column(kind)
    for kind in (
        *(types.uint8, types.int16, types.uint32, types.int64, types.uint64),
        *(types.float32, types.float64),
    )
)
"""A column of unsigned or signed integers, or floats, of a size in bits: `u32(buffer, place)`."""


@_generated
def _place_of(_context: Any, buffer: Any, _column: Any) -> tuple[Any, Any]:
    """The address of a column's first element."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return _place(context, builder, signature.args[0], *arguments)

    return types.uint64(buffer, types.int64), generate


@_generated
def _length(_context: Any, buffer: Any, _column: Any) -> tuple[Any, Any]:
    """The number of elements of a column."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        buffer, column = arguments
        return _content(context, builder, signature.args[0], buffer, column, 1)[1]

    return types.int64(buffer, types.int64), generate


place: Final = cast("Callable[[U64, int], int]", _place_of)
length: Final = cast("Callable[[U64, int], int]", _length)


@_generated
def offset(_context: Any, array: Any, _first: Any) -> tuple[Any, Any]:
    """An array, or the elements behind a pointer, from element `first` on."""
    pointer = types.CPointer(array.dtype)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        address = _address_of(context, builder, signature.args[0], arguments[0])
        start = builder.inttoptr(address, context.get_value_type(pointer))
        return builder.gep(start, [arguments[1]])

    return pointer(array, types.int64), generate


@_generated
def prefetch(_context: Any, _address: Any) -> tuple[Any, Any]:
    """Prefetch the cache line at an address."""

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        _prefetched(builder, arguments[0])
        return context.get_dummy_value()

    return types.void(types.uint64), generate


@_generated
def prefetch_column(_context: Any, buffer: Any, _column: Any, _offset: Any) -> tuple[Any, Any]:
    """Prefetch the cache line at a number of bytes into a column."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        begin = _place(context, builder, signature.args[0], *arguments[:2])
        _prefetched(builder, builder.add(begin, arguments[2]))
        return context.get_dummy_value()

    return types.void(buffer, types.int64, types.int64), generate


@_generated
def all_bytes(_context: Any, data: Any) -> tuple[Any, Any]:
    """A pointer to the bytes, which the caller of the kernel holds."""
    pointer = types.CPointer(types.uint8)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        # Bytes are laid out as an array of their own.
        return context.make_array(signature.args[0])(context, builder, arguments[0]).data

    return pointer(data), generate


@_generated
def bytes_from(_context: Any, words: Any, _first: Any) -> tuple[Any, Any]:
    """The bytes of all words but the `first` ones."""
    pointer = types.CPointer(types.uint8)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        begin = _address_of(context, builder, signature.args[0], arguments[0])
        skipped = builder.mul(arguments[1], _WORD(_WORD_BYTES))
        return builder.inttoptr(builder.add(begin, skipped), context.get_value_type(pointer))

    return pointer(words, types.int64), generate


@compiled
def half(scratch: U32, which: int) -> U32:
    """The first or the second half of an array."""
    pointer: U32 = offset(scratch, len(scratch) // 2 * which)
    return pointer


@compiled
def new_u8(size: int) -> U8:
    """An array that the caller has to fill, as those of the following functions.

    Each of these functions compiles the making of an array once; `np.empty` does so at every call
    site.
    """
    return np.empty(size, np.uint8)


@compiled
def new_u32(size: int) -> U32:
    """See `new_u8`."""
    return np.empty(size, np.uint32)


@compiled
def new_u64(size: int) -> U64:
    """See `new_u8`."""
    return np.empty(size, np.uint64)


@compiled
def new_i32(size: int) -> I32:
    """See `new_u8`."""
    return np.empty(size, np.int32)


@compiled
def new_i64(size: int) -> I64:
    """See `new_u8`."""
    return np.empty(size, np.int64)


@compiled
def zeros_u8(size: int) -> U8:
    """See `new_u8`."""
    array = new_u8(size)
    array[:] = 0
    return array


@compiled
def zeros_u32(size: int) -> U32:
    """See `new_u8`."""
    array = new_u32(size)
    array[:] = 0
    return array


@compiled
def zeros_i32(size: int) -> I32:
    """See `new_u8`."""
    array = new_i32(size)
    array[:] = 0
    return array


@compiled
def zeros_i64(size: int) -> I64:
    """See `new_u8`."""
    array = new_i64(size)
    array[:] = 0
    return array


@compiled
def prefetch_objects(address: int, size: int, places: I64, nothing: int) -> bool:
    """Prefetch the objects at `places` of an array of `size` objects that begins at `address`.

    Returns true if one of them is the object at the address `nothing`, or is missing.
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
