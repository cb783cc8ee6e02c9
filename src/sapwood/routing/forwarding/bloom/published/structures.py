"""The published structures for the strategy: bits of predicates, filters as unions of these.

A conjunction has the bits of its predicates, and a filter is counted once for each conjunction: a
publication that has the bits of one goes to the filter's holders. Predicates of records are
identified by attribute and constraint. The work has no documents: a tree pattern is one predicate
here, and the index of the router returns those that match, as there is no order of them to use.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final, Protocol

import numpy as np

from sapwood.errors import InvariantError
from sapwood.model.conjunction import Conjunction
from sapwood.model.constraint import Constraint
from sapwood.model.filter import Filter
from sapwood.model.publication import Publication
from sapwood.routing.digests import DigestBatch
from sapwood.routing.forwarding.bloom.published.sbsposet import SbsPoset
from sapwood.routing.forwarding.bloom.structures import U64, Flags, Matched, Wanted
from sapwood.sketches.elements import element_of
from sapwood.sketches.kernels.layout_of_rows import DENSE, FORM_SHIFT, HEAD_BYTES
from sapwood.sketches.sliced import SlicedShape

_BYTE: Final = 8


class Bits(Protocol):
    """Filters as sets of bits, with the holders of each: any of the three trees."""

    def add(self, bits: Iterable[int], holder: str) -> None:
        """Count a filter of a holder once more."""

    def remove(self, bits: Iterable[int], holder: str) -> None:
        """Count a filter of a holder once less."""

    def match(self, bits: Iterable[int]) -> set[str]:
        """The holders of filters all of whose bits are among the given ones."""
        ...


def predicates_of(wanted: Wanted) -> Iterator[tuple[str, Constraint]]:
    """The predicates of a filter of records, repeated for each conjunction that has them."""
    for conjunction in _conjunctions(wanted):
        yield from conjunction.constraints


def _conjunctions(wanted: Wanted) -> tuple[Conjunction, ...]:
    return wanted.filter.conjunctions if isinstance(wanted.filter, Filter) else ()


def bits_of(predicate: tuple[str, Constraint], shape: SlicedShape) -> list[int]:
    """The bits of a predicate, the same at all routers."""
    [bits] = shape.places([element_of(str(Conjunction((predicate,))).encode())])
    return bits


class PosetDigester:
    """Writes the bits of all predicates that a publication satisfies."""

    __slots__ = ("_patterns", "_poset", "_shape")

    def __init__(self, shape: SlicedShape) -> None:
        self._shape = shape
        self._poset = SbsPoset()
        #: the numbers of tree patterns, with the count of each
        self._patterns: Counter[int] = Counter()

    def learned(self, wanted: Wanted) -> None:
        """Count a filter of a side once more."""
        if not isinstance(wanted.filter, Filter):
            self._patterns[wanted.element] += 1
        for attribute, constraint in predicates_of(wanted):
            self._poset.add(attribute, constraint, bits_of((attribute, constraint), self._shape))

    def forgot(self, wanted: Wanted) -> None:
        """Count a filter of a side once less."""
        if not isinstance(wanted.filter, Filter):
            self._patterns[wanted.element] -= 1
        for attribute, constraint in predicates_of(wanted):
            self._poset.remove(attribute, constraint)

    def write(self, batch: Sequence[Publication], matched: Matched) -> DigestBatch:
        """The digest of each publication; `matched` has the tree patterns that match."""
        written = []
        for one, (first, last) in zip(batch, pairwise(matched.offsets.tolist()), strict=True):
            bits = set() if one.attributes is None else self._poset.match(one.record)
            if one.document is not None:
                found = matched.elements[first:last].tolist()
                patterns = [number for number in found if self._patterns[number]]
                bits.update(bit for some in self._shape.places(patterns) for bit in some)
            written.append(self._written(sorted(bits)))
        return DigestBatch.of(written)

    def _written(self, bits: Sequence[int]) -> bytes:
        shape = self._shape
        size, head = shape.shape.size, shape.head
        if len(bits) * shape.width < size // _BYTE:
            kind = np.dtype(f"<u{shape.width}")
            return head.to_bytes(HEAD_BYTES, "little") + np.array(bits, kind).tobytes()
        every = np.zeros(size, np.uint8)
        every[list(bits)] = 1
        body = np.packbits(every, bitorder="little").tobytes()
        return (head | DENSE << FORM_SHIFT).to_bytes(HEAD_BYTES, "little") + body

    def validate(self, filters: Sequence[Wanted]) -> None:
        """Check the poset, and that it has exactly these predicates."""
        self._poset.validate()
        expected = Counter(one for wanted in filters for one in predicates_of(wanted))
        patterns = Counter(one.element for one in filters if not isinstance(one.filter, Filter))
        if self._poset.counts() != expected or +self._patterns != patterns:
            raise InvariantError("the sbsposet has other predicates than the filters")


class BitsTable:
    """The filters of up to 64 sides in one of the trees."""

    __slots__ = ("_held", "_shape", "_tree")

    def __init__(self, shape: SlicedShape, make: Callable[[], Bits]) -> None:
        self._shape = shape
        self._tree = make()
        self._held: Counter[tuple[int, int]] = Counter()

    def add_many(self, bit: int, filters: Sequence[Wanted]) -> None:
        """Count these filters of a side once more each."""
        for wanted in filters:
            self._held[wanted.element, bit] += 1
            for bits in self._bits(wanted):
                self._tree.add(bits, str(bit))

    def remove(self, bit: int, wanted: Wanted) -> None:
        """Count a filter of a side once less."""
        self._held[wanted.element, bit] -= 1
        for bits in self._bits(wanted):
            self._tree.remove(bits, str(bit))

    def _bits(self, wanted: Wanted) -> Iterator[set[int]]:
        if not isinstance(wanted.filter, Filter):
            yield {*self._shape.places([wanted.element])[0]}
        for conjunction in _conjunctions(wanted):
            some = [bits_of(one, self._shape) for one in conjunction.constraints]
            yield {bit for bits in some for bit in bits}

    def search(self, digests: DigestBatch, wanted: int) -> tuple[U64, Flags]:
        """The sides among `wanted`, as bits, with a filter whose bits are in each digest."""
        found, is_read = np.zeros(len(digests), np.uint64), np.zeros(len(digests), np.bool_)
        for at, digest in enumerate(digests):
            bits = self._shape.places_in(digest)
            if bits is not None:
                is_read[at] = True
                found[at] = sum(map(int, self._tree.match(bits))) & wanted
        return found, is_read

    def validate(self, held: Mapping[int, Sequence[Wanted]]) -> None:
        """Check the holders of each filter, and that each is found by its own bits."""
        expected = Counter((one.element, bit) for bit, some in held.items() for one in some)
        if +self._held != expected:
            raise InvariantError("a tree of bits has other filters than there are")
        for bit, some in held.items():
            for wanted in some:
                if not all(str(bit) in self._tree.match(bits) for bits in self._bits(wanted)):
                    raise InvariantError("a filter is not found by its own bits")
