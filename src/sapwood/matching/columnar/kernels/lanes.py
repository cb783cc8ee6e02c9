"""One comparison of many ranks at a time, compiled: a bit for each rank.

A *lane* is one of `LANES` elements that lie together. They are compared by one vector operation or
a few, as many as the processor needs for `LANES` elements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES: Final = 64

_generated: Callable[[Callable[..., Any]], Callable[..., Any]] = intrinsic
_ir: Final = cgutils.ir
_WORD: Final = _ir.IntType(32)
_WORDS: Final = _ir.VectorType(_WORD, LANES)
_WORD_BYTES: Final = 4


def _load(builder: Any, pointer: Any) -> Any:
    """All lanes, which begin at any word."""
    vector = builder.load(builder.bitcast(pointer, _WORDS.as_pointer()))
    vector.align = _WORD_BYTES
    return vector


def _spread(builder: Any, value: Any) -> Any:
    """A vector with the value in all lanes."""
    nothing = _ir.Constant(_WORDS, _ir.Undefined)
    first = builder.insert_element(nothing, value, _WORD(0))
    return builder.shuffle_vector(first, nothing, _ir.Constant(_WORDS, [0] * LANES))


def _in_ranges(builder: Any, values: Any, firsts: Any, widths: Any) -> Any:
    """A bit for each lane whose value is at most a width beyond the first one of a range."""
    is_within = builder.icmp_unsigned("<=", builder.sub(values, firsts), widths)
    return builder.bitcast(is_within, _ir.IntType(LANES))


@_generated
def within(_context: Any, ranks: Any, _low: Any, _width: Any) -> tuple[Any, Any]:
    """The lanes of `ranks` that are at most a width beyond the first rank of a range."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        values, first, width = arguments
        rank_range = _spread(builder, first), _spread(builder, width)
        return _in_ranges(builder, _load(builder, values), *rank_range)

    return types.uint64(ranks, types.uint32, types.uint32), generate


@_generated
def holding(_context: Any, lows: Any, widths: Any, _value: Any) -> tuple[Any, Any]:
    """The lanes whose range, a lane of `lows` and one of `widths`, holds a value."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        firsts, steps, value = arguments
        ranges = _load(builder, firsts), _load(builder, steps)
        return _in_ranges(builder, _spread(builder, value), *ranges)

    return types.uint64(lows, widths, types.uint32), generate


@_generated
def lowest(_context: Any, _bits_set: Any) -> tuple[Any, Any]:
    """The number of the lowest bit that is set; at least one is."""

    def generate(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], _ir.IntType(1)(1))

    return types.int64(types.uint64), generate
