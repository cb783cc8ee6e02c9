"""Counting Bloom filters: a counter for each bit, so that elements can be removed (Shen 5.5).

The counters stay beside the set; only bits travel. A removed element must have been added: the
owner of the set knows that, and does not query the filter. Removals of elements that were never
added are counted in `faults`, and a filter with faults is to be made afresh from its set.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sapwood.sketches.bloom import BloomFilter, elements_array
from sapwood.sketches.kernels.choice import kernels
from sapwood.sketches.kernels.layout import U8
from sapwood.sketches.shape import Shape


class CountingBloomFilter:
    """A Bloom filter that follows a set.

    #: counters[i] is the number of probes at i, or 255 where that is or was more
    """

    __slots__ = ("counters", "faults", "shape")

    def __init__(self, shape: Shape, elements: Iterable[int] = ()) -> None:
        self.shape = shape
        self.counters: U8 = np.zeros(shape.size, np.uint8)
        #: the number of decrements of counters that were 0
        self.faults = 0
        self.add_many(elements)

    def add(self, element: int) -> None:
        """Add an element."""
        self.add_many((element,))

    def add_many(self, elements: Iterable[int]) -> None:
        """Add several elements."""
        some, shape = elements_array(elements), self.shape
        if len(some):
            kernels().count_in(self.counters, some, np.uint64(shape.salt), shape.probes)

    def remove(self, element: int) -> None:
        """Remove an element that was added."""
        self.remove_many((element,))

    def remove_many(self, elements: Iterable[int]) -> None:
        """Remove several elements that were added."""
        some, shape = elements_array(elements), self.shape
        if len(some):
            salt = np.uint64(shape.salt)
            self.faults += int(kernels().count_out(self.counters, some, salt, shape.probes))

    def bits(self) -> BloomFilter:
        """The filter of the set as it is now."""
        words = np.zeros(self.shape.words, np.uint64)
        kernels().bits_of(self.counters, words)
        return BloomFilter.of_words(self.shape, words)
