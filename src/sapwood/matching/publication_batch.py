"""Publications as they arrived: a sequence that makes a publication object only on access.

The publications of one read of a socket are routed together. Kernels find them in the bytes, match
them there, and compose the output of slices of these bytes. So a publication object of Python is
made where a strategy looks into it, a journal writes it down or an error names it, and nowhere
else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from sapwood.matching.encoded_records import EncodedRecords
from sapwood.model.publication import ManyValued, Publication

if TYPE_CHECKING:
    from sapwood.xml import Document

Places: TypeAlias = npt.NDArray[np.int64]


class PublicationBatch(Sequence[Publication]):
    """Publications in one piece of memory, in their order.

    Publication `i` travels as `data[starts[i]:ends[i]]`. `records[i]` is the flat view of its
    record, or an empty one where `bare[i]` is set and it has none. `documents[i]` is its document
    as it was read, or `None`; without `documents` no publication has one. It is worth being
    delivered for `ttls_ms[i]` milliseconds, or for ever where that is 0; without `ttls_ms` all are.
    `read` makes a publication of its bytes and its document. The code that makes a batch has found
    all publications in order, so that `read` raises nothing.
    """

    __slots__ = (
        *("_made", "_read", "_records", "_taken"),
        *("bare", "born", "data", "documents", "ends", "starts", "ttls_ms"),
    )

    def __init__(
        self,
        data: bytes,
        starts: Places,
        ends: Places,
        records: EncodedRecords,
        read: Callable[[bytes, Document | None], Publication],
        *,
        documents: Sequence[Document | None] | None = None,
        bare: npt.NDArray[np.bool_] | None = None,
        ttls_ms: Places | None = None,
        born: int | None = None,
    ) -> None:
        #: `Publication.born` of the oldest publication, which is a bound for each
        self.born = born
        self.data: Final = data
        self.starts: Final = starts
        self.ends: Final = ends
        self.documents: Final = documents
        #: true where a publication has no record; `None` where all have one
        self.bare: Final = bare
        #: `None` where no publication has a time to live
        self.ttls_ms: Final = ttls_ms
        self._records = records
        #: the places of the publications among the records; `None` for all
        self._taken: Places | None = None
        self._read = read
        #: the publications that have been accessed, by place
        self._made: dict[int, Publication] = {}

    def __len__(self) -> int:
        """The number of publications."""
        return len(self.starts)

    @overload
    def __getitem__(self, at: int) -> Publication: ...
    @overload
    def __getitem__(self, at: slice) -> PublicationBatch: ...
    def __getitem__(self, at: int | slice) -> Publication | PublicationBatch:
        """A publication, the same one each time, or the batch of a slice."""
        if isinstance(at, slice):
            first, last, step = at.indices(len(self))
            if not first and last == len(self) and step == 1:
                return self
            return self.take(np.arange(first, last, step))
        place = range(len(self))[at]
        made = self._made.get(place)
        if made is None:
            document = None if self.documents is None else self.documents[place]
            made = self._made[place] = self._read(self.body(place), document)
            made.keep_born(self.born)
        return made

    def __iter__(self) -> Iterator[Publication]:
        """All publications."""
        return (self[at] for at in range(len(self)))

    @property
    def records(self) -> EncodedRecords:
        """The flat views of the records, with an empty one where a publication has none."""
        if self._taken is not None:
            self._records, self._taken = self._records.take(self._taken), None
        return self._records

    def take(self, places: Places) -> PublicationBatch:
        """The publications at `places`, in that order."""
        documents, bare, ttls_ms = self.documents, self.bare, self.ttls_ms
        taken = PublicationBatch(
            *(self.data, self.starts[places], self.ends[places], self._records, self._read),
            documents=documents and [documents[place] for place in places.tolist()],
            bare=bare if bare is None else bare[places],
            ttls_ms=ttls_ms if ttls_ms is None else ttls_ms[places],
            born=self.born,
        )
        taken._taken = places if self._taken is None else self._taken[places]
        return taken

    def body(self, at: int) -> bytes:
        """The bytes that a publication travels as."""
        return self.data[self.starts.item(at) : self.ends.item(at)]


def oldest(publications: Sequence[Publication]) -> int | None:
    """The least `Publication.born` of a batch; `None` where one publication has none."""
    if isinstance(publications, PublicationBatch):
        return publications.born
    born: int | None = None
    for one in publications:
        if one.born is None:
            return None
        born = one.born if born is None else min(born, one.born)
    return born


def take(batch: Sequence[Publication], places: Sequence[int]) -> Sequence[Publication]:
    """The publications at `places`, in that order."""
    if len(places) == len(batch):
        return batch
    if isinstance(batch, PublicationBatch):
        return batch.take(np.asarray(places, np.int64))
    return [batch[place] for place in places]


def rows_in(whole: Sequence[Publication], part: Sequence[Publication]) -> list[int] | None:
    """The rows of the batch `whole` at which the publications of `part` stand.

    `None` where `part` was taken from another batch. The bodies of a batch stand one behind the
    other, so that the begin of a body identifies its row.
    """
    if isinstance(whole, PublicationBatch) and isinstance(part, PublicationBatch):
        rows = np.searchsorted(whole.starts, part.starts)
        is_within = part.data is whole.data and bool((rows < len(whole)).all())
        if not is_within or not np.array_equal(whole.starts[rows], part.starts):
            return None
        return [int(row) for row in rows.tolist()]
    known = {id(publication): row for row, publication in enumerate(whole)}
    found = [known.get(id(publication)) for publication in part]
    return None if None in found else [row for row in found if row is not None]


def may_have_documents(batch: Sequence[Publication]) -> bool:
    """True if any publication of a batch may have a document."""
    return not isinstance(batch, PublicationBatch) or batch.documents is not None


def places_of_several(batch: Sequence[Publication]) -> list[int]:
    """The places of the publications that have an attribute with several values."""
    if isinstance(batch, PublicationBatch):
        several = batch.records.several
        places: list[int] = [] if several is None else several.tolist()
        return places
    return [place for place, one in enumerate(batch) if type(one.record) is ManyValued]


def has_documents(batch: Sequence[Publication]) -> bool:
    """True if one of the publications has a document."""
    if isinstance(batch, PublicationBatch):
        return batch.documents is not None and any(one is not None for one in batch.documents)
    return any(one.document is not None for one in batch)
