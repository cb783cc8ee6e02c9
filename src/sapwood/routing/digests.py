"""Digests as they came: a sequence that makes Python bytes only for items that are read.

The digests of a batch of publications lie in one piece of memory, that of the read they came with
or of a kernel's output. Kernels search it there, and outgoing digests are composed of slices of it.
The digests ``b"k7"``, none and ``b"k"``:

    data     k  7  k
    starts   0  2  2
    ends     2  2  3
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from sapwood.limits import DIGEST_BYTES_MAX

I64: TypeAlias = npt.NDArray[np.int64]


class DigestBatch(Sequence[bytes]):
    """Digests in one piece of memory: digest `i` is `data[starts[i]:ends[i]]`.

    Equal to every sequence of the same bytes, a tuple of them included.
    """

    __slots__ = ("data", "ends", "starts")

    def __init__(self, data: bytes, starts: I64, ends: I64) -> None:
        self.data: Final = data
        self.starts: Final = starts
        self.ends: Final = ends

    @classmethod
    def of(cls, digests: Iterable[bytes]) -> DigestBatch:
        """A batch of digests, put together unless they are one already."""
        if isinstance(digests, DigestBatch):
            return digests
        every = [*digests]
        bounds = np.zeros(len(every) + 1, np.int64)
        np.cumsum([len(one) for one in every], out=bounds[1:])
        return cls(b"".join(every), bounds[:-1], bounds[1:])

    def __len__(self) -> int:
        """The number of digests, empty ones included."""
        return len(self.starts)

    @overload
    def __getitem__(self, at: int) -> bytes: ...
    @overload
    def __getitem__(self, at: slice) -> DigestBatch: ...
    def __getitem__(self, at: int | slice) -> bytes | DigestBatch:
        """The digest at a place, or the batch of a slice."""
        if isinstance(at, slice):
            starts, ends = (np.ascontiguousarray(one[at]) for one in (self.starts, self.ends))
            return DigestBatch(self.data, starts, ends)
        return self.data[self.starts.item(at) : self.ends.item(at)]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and [*self] == [*other]

    __hash__ = None  # type: ignore[assignment]  # it equals tuples, which hash by their items

    def __repr__(self) -> str:
        return f"DigestBatch({[*self]!r})"

    @property
    def sizes(self) -> I64:
        """The bytes of each digest."""
        sizes: I64 = self.ends - self.starts
        return sizes

    def take(self, places: Sequence[int]) -> DigestBatch:
        """The digests at some places, which ascend."""
        if len(places) == len(self):
            return self
        some = np.asarray(places, np.int64)
        return DigestBatch(self.data, self.starts[some], self.ends[some])

    def put(self, places: I64, digests: DigestBatch) -> DigestBatch:
        """The batch with `digests` at `places` in the place of its own."""
        starts, ends = self.starts.copy(), self.ends.copy()
        starts[places] = digests.starts + len(self.data)
        ends[places] = digests.ends + len(self.data)
        return DigestBatch(self.data + digests.data, starts, ends)


def longest(digests: Sequence[bytes]) -> int:
    """The number of bytes of the longest digest; 0 where none has any."""
    if isinstance(digests, DigestBatch):
        return int(digests.sizes.max(initial=0))
    return max(map(len, digests), default=0)


def as_sent(digests: Sequence[bytes]) -> Sequence[bytes]:
    """The digests in the form that is sent: none, where no digest has any bytes."""
    size = longest(digests)
    assert size <= DIGEST_BYTES_MAX, "a digest is longer than neighbors read"
    return digests if size else ()
