"""The data-parallel form: whole filters as elements, rows of bits, one kernel for a batch.

XSiena hashes predicates and puts together the bits of all that a publication satisfies (5.2), as it
knows no quicker way to find the matches. Here the first router has its compiled index, which
returns the *filters* that match, and the digest is the Bloom filter of these. So a filter that does
not match shares no bits with those that do but by chance, the number of elements is that of the
matches instead of that of all predicates in question, and the share of false positives is the one
of the formula.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from sapwood.model.publication import Publication
from sapwood.routing.digests import DigestBatch
from sapwood.routing.forwarding.bloom.structures import U64, Flags, Matched, Wanted
from sapwood.sketches.sliced import FilterWriter, RowTable, SlicedShape


class MatrixDigester:
    """Writes the Bloom filter of the filters that a publication matches."""

    __slots__ = ("_writer",)

    def __init__(self, shape: SlicedShape) -> None:
        self._writer = FilterWriter(shape)

    def learned(self, wanted: Wanted) -> None:
        """Do nothing: the index of the router has the filter."""

    def forgot(self, wanted: Wanted) -> None:
        """Do nothing: nothing is kept."""

    def write(
        self,
        batch: Sequence[Publication],  # noqa: ARG002 - the matches suffice
        matched: Matched,
    ) -> DigestBatch:
        """The digest of each publication."""
        letters, ends = self._writer.write(*matched)
        return DigestBatch(letters, np.concatenate(([0], ends[:-1])), ends)

    def validate(self, filters: Sequence[Wanted]) -> None:
        """Do nothing: nothing is kept."""


class Matrix:
    """The rows of some sides."""

    __slots__ = ("_rows",)

    def __init__(self, shape: SlicedShape) -> None:
        self._rows = RowTable(shape)

    def add_many(self, bit: int, filters: Sequence[Wanted]) -> None:
        """Add these filters to a side, once more each."""
        self._rows.add_many(bit, [one.element for one in filters])

    def remove(self, bit: int, wanted: Wanted) -> None:
        """Remove a filter from a side once."""
        self._rows.remove(bit, wanted.element)

    def search(self, digests: DigestBatch, wanted: int) -> tuple[U64, Flags]:
        """The sides among `wanted`, as bits, with a filter whose bits are in each digest."""
        return self._rows.search(digests.data, digests.starts, digests.ends, wanted)

    def validate(self, held: Mapping[int, Sequence[Wanted]]) -> None:
        """Check the rows."""
        holders: dict[int, Counter[int]] = {}
        for bit, filters in held.items():
            for one in filters:
                holders.setdefault(one.element, Counter())[bit] += 1
        self._rows.validate({element: dict(bits) for element, bits in holders.items()})
