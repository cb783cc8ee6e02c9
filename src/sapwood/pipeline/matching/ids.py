"""What matches are called: texts, and numbers that stand for them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from sapwood.matching.index import Index
from sapwood.matching.protocol import SlotBatch
from sapwood.pipeline.matching.segments import segment_home

if TYPE_CHECKING:
    import pyarrow as pa

Ints: TypeAlias = npt.NDArray[np.int64]

_RANK_BITS: Final = 32
"""The lower bits of a key are a subscription's rank, the others a publication's number."""


class Numbers(NamedTuple):
    """The matches of some publications: how many each has, and their places among some texts.

    Those of the first publication come first, and so on.
    """

    counts: Ints
    places: npt.NDArray[np.int32]


class Names(ABC):
    """Texts, and how the slots that indexes find become places among them."""

    texts: pa.Array

    @abstractmethod
    def numbers(self, found: Sequence[SlotBatch], count: int) -> Numbers:
        """The matches of so many publications, of which each index has found something."""


class Ranked(NamedTuple):
    """Ids in order, and the place that the id of each slot has among them."""

    ids: pa.Array
    ranks: Ints


class Loaded:
    """A set of filters and what they are called, as an Arrow column: slot to name."""

    __slots__ = ("_ranked", "filters", "ids")

    def __init__(self, filters: Index, ids: pa.Array) -> None:
        self.filters = filters
        self.ids = ids
        self._ranked: Ranked | None = None

    def ranked(self) -> Ranked:
        """The ids in order, found out once."""
        if self._ranked is None:
            self._ranked = ranked(self.ids)
        return self._ranked


def loaded_of(index: Index) -> Loaded:
    """An index with its ids as a column."""
    import pyarrow as pa

    return Loaded(index, pa.array(list(index.ids), pa.string()))


def ranked(ids: pa.Array) -> Ranked:
    """Texts in the order of their bytes, as Spark sorts them."""
    import pyarrow.compute as pc

    order = pc.sort_indices(ids).to_numpy()
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    return Ranked(ids.take(order), ranks)


class BySlot(Names):
    """The ids of one index, in the order of its slots: its matches are their own numbers."""

    def __init__(self, part: Loaded) -> None:
        self.texts = part.ids

    def numbers(self, found: Sequence[SlotBatch], count: int) -> Numbers:  # noqa: ARG002 - offsets tell
        """The matches as they were found."""
        ((offsets, slots),) = found
        return Numbers(np.diff(offsets), slots)


class ByRank(Names):
    """The sorted ids of all indexes."""

    def __init__(self, parts: Sequence[Loaded]) -> None:
        import pyarrow as pa

        ids = [part.ids for part in parts]
        none = pa.array([], pa.string())
        order = parts[0].ranked() if len(parts) == 1 else ranked(pa.concat_arrays([none, *ids]))
        self.texts = order.ids
        #: slot to rank, for each part
        ends = np.cumsum(list(map(len, ids)), dtype=np.int64)
        self._ranks = [
            order.ranks[end - len(own) : end] for own, end in zip(ids, ends, strict=True)
        ]

    def numbers(self, found: Sequence[SlotBatch], count: int) -> Numbers:
        """Those of each publication sorted."""
        keys = np.concatenate(
            [
                np.empty(0, np.int64),
                *(
                    np.repeat(np.arange(count) << _RANK_BITS, np.diff(offsets)) | ranks[slots]
                    for ranks, (offsets, slots) in zip(self._ranks, found, strict=True)
                ),
            ]
        )
        keys.sort()
        counts = sum((np.diff(batch.offsets) for batch in found), np.zeros(count, np.int64))
        return Numbers(counts, keys.astype(np.int32))


class ByHome(Names):
    """The home routers of all entries."""

    def __init__(self, parts: Sequence[Loaded]) -> None:
        import pyarrow as pa

        known: dict[str, int] = {}
        #: slot to home, for each part
        self._homes: list[Ints] = []
        for part in parts:
            homes = (segment_home(id_) for id_ in part.ids.to_pylist())
            codes = [known.setdefault(home, len(known)) for home in homes]
            self._homes.append(np.array(codes, np.int64))
        self.texts = pa.array(known, pa.string())

    def numbers(self, found: Sequence[SlotBatch], count: int) -> Numbers:
        """Each home of a publication once."""
        width = max(len(self.texts), 1)
        pieces = [np.empty(0, np.int64)]
        for homes, (offsets, slots) in zip(self._homes, found, strict=True):
            rows = np.repeat(np.arange(count), np.diff(offsets))
            pieces.append(np.unique(rows * width + homes[slots]))
        rows, homes = np.divmod(np.unique(np.concatenate(pieces)), width)
        return Numbers(np.bincount(rows, minlength=count), homes.astype(np.int32))
