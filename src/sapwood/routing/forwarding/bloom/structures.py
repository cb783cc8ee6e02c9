"""The parts of Bloom forwarding: the digester writes bits of publications, tables compare them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from sapwood.model.interest import Interest
from sapwood.model.kept import kept
from sapwood.model.publication import Publication
from sapwood.routing.digests import DigestBatch
from sapwood.sketches.elements import element_of

I64 = npt.NDArray[np.int64]
U64 = npt.NDArray[np.uint64]
Flags = npt.NDArray[np.bool_]


class Wanted(NamedTuple):
    """A filter, and the number that stands for it at all routers."""

    element: int
    filter: Interest


class Matched(NamedTuple):
    """The filters of neighbors that each of some publications match.

    Publication `i` matches `elements[offsets[i]:offsets[i + 1]]`.
    """

    offsets: I64
    elements: U64


class Digester(Protocol):
    """Writes the bits of publications at the router where these enter."""

    def learned(self, wanted: Wanted) -> None:
        """Count a filter of a side once more."""
        ...

    def forgot(self, wanted: Wanted) -> None:
        """Count a filter of a side once less."""
        ...

    def write(self, batch: Sequence[Publication], matched: Matched) -> DigestBatch:
        """The digest of each publication; `b""` for one that matches nothing."""
        ...

    def validate(self, filters: Sequence[Wanted]) -> None:
        """Check the state kept of all filters of all sides; raises `InvariantError`."""
        ...


class Table(Protocol):
    """The bits of the filters of up to 64 sides, each of which has a bit of its own."""

    def add_many(self, bit: int, filters: Sequence[Wanted]) -> None:
        """Count these filters of a side once more each."""
        ...

    def remove(self, bit: int, wanted: Wanted) -> None:
        """Count a filter of a side once less."""
        ...

    def search(self, digests: DigestBatch, wanted: int) -> tuple[U64, Flags]:
        """The sides among `wanted`, as bits, with a filter whose bits are in each digest.

        The flags are true for digests that could be read.
        """
        ...

    def validate(self, held: Mapping[int, Sequence[Wanted]]) -> None:
        """Check the state kept of the filters by bit; raises `InvariantError`."""
        ...


def number_of(filter: Interest) -> int:
    """The number that stands for a filter, the same at all routers and for equal filters."""
    content = kept(filter)
    if isinstance(content, bytes):
        return element_of(b"\x00" + content)
    return element_of(type(content).__name__.encode() + b" " + str(content).encode())
