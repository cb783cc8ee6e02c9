"""The ids of matches: dictionaries of texts, and matches as codes that point into them.

An index finds slots, small integers. A dictionary maps a slot to a text, and turns the slots that
were found into places among its texts, which is how Arrow and Parquet have columns of texts. With
the ids `["b", "a", "c"]` of the slots 0, 1, 2, two publications of which the first matches slots 0
and 1 and the second slot 2::

    found       offsets [0, 2, 3]   slots [0, 1, 2]
    SlotIds     texts ["b", "a", "c"]    counts [2, 1]   codes [0, 1, 2]     b a | c
    SortedIds   texts ["a", "b", "c"]    counts [2, 1]   codes [0, 1, 2]     a b | c
"""

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
"""The lower bits of a key are a subscription's rank, the others a publication's row.

Row 2 and rank 5 have the key `2 << 32 | 5`, so that sorted keys are sorted by row, then by rank.
"""


class CodedMatches(NamedTuple):
    """The matches of a batch: their number for each publication, and codes in a dictionary.

    The codes of the first publication come first, and so on: with the counts `[2, 0, 1]` and the
    codes `[7, 9, 7]` the first publication has the texts 7 and 9, and the third has 7.
    """

    counts: Ints
    codes: npt.NDArray[np.int32]


class IdDictionary(ABC):
    """The texts of matches, and the codes of slots: a code is a place among the texts."""

    texts: pa.Array

    @abstractmethod
    def encode(self, found: Sequence[SlotBatch], count: int) -> CodedMatches:
        """The matches of `count` publications, from the slots found in each index of the set."""


class SortedTexts(NamedTuple):
    """Texts in order, and for each place before sorting the rank: the place in this order."""

    texts: pa.Array
    ranks: Ints


class LoadedIndex:
    """An index, and its ids as an Arrow column: slot to id."""

    __slots__ = ("_sorted_ids", "ids", "index")

    def __init__(self, index: Index) -> None:
        import pyarrow as pa

        self.index = index
        self.ids = pa.array(list(index.ids), pa.string())
        self._sorted_ids: SortedTexts | None = None

    def sorted_ids(self) -> SortedTexts:
        """The ids in order; they are sorted at the first call."""
        if self._sorted_ids is None:
            self._sorted_ids = sorted_texts(self.ids)
        return self._sorted_ids


def sorted_texts(texts: pa.Array) -> SortedTexts:
    """Texts in the order of their bytes, as Spark sorts them: of `b a c` the ranks are `1 0 2`."""
    import pyarrow.compute as pc

    order = pc.sort_indices(texts).to_numpy()
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    return SortedTexts(texts.take(order), ranks)


class SlotIds(IdDictionary):
    """The ids of a single index in the order of its slots: slots are codes as they are."""

    def __init__(self, part: LoadedIndex) -> None:
        self.texts = part.ids

    def encode(self, found: Sequence[SlotBatch], count: int) -> CodedMatches:  # noqa: ARG002 - the offsets have the count
        """The matches in the order in which the index has found them."""
        ((offsets, slots),) = found
        return CodedMatches(np.diff(offsets), slots)


class SortedIds(IdDictionary):
    """The ids of all indexes of a set, sorted."""

    def __init__(self, parts: Sequence[LoadedIndex]) -> None:
        import pyarrow as pa

        ids = [part.ids for part in parts]
        none = pa.array([], pa.string())
        order = (
            parts[0].sorted_ids()
            if len(parts) == 1
            else sorted_texts(pa.concat_arrays([none, *ids]))
        )
        self.texts = order.texts
        #: slot to rank, for each index
        ends = np.cumsum(list(map(len, ids)), dtype=np.int64)
        self._ranks = [
            order.ranks[end - len(own) : end] for own, end in zip(ids, ends, strict=True)
        ]

    def encode(self, found: Sequence[SlotBatch], count: int) -> CodedMatches:
        """The matches, those of each publication sorted."""
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
        return CodedMatches(counts, keys.astype(np.int32))


class HomeIds(IdDictionary):
    """The home routers of all entries of a compiled set."""

    def __init__(self, parts: Sequence[LoadedIndex]) -> None:
        import pyarrow as pa

        known: dict[str, int] = {}
        #: slot to the code of its home, for each index
        self._homes: list[Ints] = []
        for part in parts:
            homes = (segment_home(id_) for id_ in part.ids.to_pylist())
            codes = [known.setdefault(home, len(known)) for home in homes]
            self._homes.append(np.array(codes, np.int64))
        self.texts = pa.array(known, pa.string())

    def encode(self, found: Sequence[SlotBatch], count: int) -> CodedMatches:
        """The homes of each publication, each once."""
        width = max(len(self.texts), 1)
        # With three homes, home 2 of row 4 has the key 4 * 3 + 2.
        keys = [np.empty(0, np.int64)]
        for homes, (offsets, slots) in zip(self._homes, found, strict=True):
            rows = np.repeat(np.arange(count), np.diff(offsets))
            keys.append(np.unique(rows * width + homes[slots]))
        rows, homes = np.divmod(np.unique(np.concatenate(keys)), width)
        return CodedMatches(np.bincount(rows, minlength=count), homes.astype(np.int32))
