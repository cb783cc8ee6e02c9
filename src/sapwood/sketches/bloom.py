"""Bloom filters: the bits of a set, as they travel (Shen 5.5, equations 5.1 and 5.2)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import numpy as np

from sapwood.errors import InputError
from sapwood.sketches.kernels.choice import kernels
from sapwood.sketches.kernels.layout import U64
from sapwood.sketches.shape import Shape

_LITTLE: Final = np.dtype("<u8")


def elements_array(elements: Iterable[int]) -> U64:
    """Elements as an array for kernels."""
    return np.fromiter(elements, np.uint64)


class BloomFilter:
    """A set that never misses an element that it has, and may have some that were not added.

    The union of two filters of one shape is the filter of the union of their sets, bit for bit.
    Filters of one shape that differ are of different sets; equal ones most likely of equal sets
    (`accuracy.equal_bits`). Filters are compared by shape and bits, and are not hashed.

    #: the words have `shape.size` bits
    """

    __slots__ = ("_words", "shape")

    def __init__(self, shape: Shape, elements: Iterable[int] = ()) -> None:
        self.shape = shape
        self._words: U64 = np.zeros(shape.words, np.uint64)
        self.add_many(elements)

    @classmethod
    def of_words(cls, shape: Shape, words: U64) -> BloomFilter:
        """The filter of `words`, which it keeps."""
        made = cls.__new__(cls)
        made.shape, made._words = shape, words
        return made

    @classmethod
    def of_bytes(cls, shape: Shape, data: bytes) -> BloomFilter:
        """The filter that `to_bytes` wrote; raises `InputError` for one of another size."""
        if len(data) * 8 != shape.size:
            raise InputError(f"a sketch of {shape.size} bits came as {len(data)} bytes")
        return cls.of_words(shape, np.frombuffer(data, _LITTLE).astype(np.uint64))

    def to_bytes(self) -> bytes:
        """The bits, 8 a byte, the lowest first (`kernels.layout`)."""
        return self._words.astype(_LITTLE, copy=False).tobytes()

    def add(self, element: int) -> None:
        """Add an element."""
        self.add_many((element,))

    def add_many(self, elements: Iterable[int]) -> None:
        """Add several elements."""
        some, shape = elements_array(elements), self.shape
        if len(some):
            kernels().mark(self._words, some, np.uint64(shape.salt), shape.probes, shape.size)

    def __contains__(self, element: int) -> bool:
        return self.has([element])[0]

    def has(self, elements: Iterable[int]) -> list[bool]:
        """True for each element that may be in the set, and for all that are in it."""
        some, shape = elements_array(elements), self.shape
        found = np.zeros(len(some), np.uint8)
        salt = np.uint64(shape.salt)
        kernels().find(self._words, some, salt, shape.probes, shape.size, found)
        return [bool(one) for one in found]

    def __or__(self, other: BloomFilter) -> BloomFilter:
        if self.shape != other.shape:
            raise InputError(f"sketches of different shapes have no union: {self} and {other}")
        return BloomFilter.of_words(self.shape, self._words | other._words)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BloomFilter):
            return NotImplemented
        return self.shape == other.shape and np.array_equal(self._words, other._words)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<BloomFilter {self.ones} of {self.shape.size} bits, salt {self.shape.salt:#x}>"

    @property
    def ones(self) -> int:
        """The number of bits that are set."""
        return int(np.bitwise_count(self._words).sum())
