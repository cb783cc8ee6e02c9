"""Publications in a log, as a batch again: decoded only where they are used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from sapwood.matching.columnar.flat_records import READ, flat_records
from sapwood.matching.publication_batch import PublicationBatch
from sapwood.matching.readiness import RECORDS
from sapwood.model.publication import Publication
from sapwood.wire.publications import decode_publication
from sapwood.wire.runs import FRAMES

I64: TypeAlias = npt.NDArray[np.int64]

_NIL: Final = 0xC0
_THREE: Final = 0x93
"""The first byte of a publication whose document is given, if only as none."""

_SHORT_TEXT: Final = 0xA0
_SHORT_TEXT_MAX: Final = 32
_TEXT_8: Final = 0xD9
_TEXT_16: Final = 0xDA


class StoredPublications(Sequence[Publication]):
    """Publications in one piece of memory, each decoded when it is accessed.

    Publication `i` is `bodies[ends[i - 1]:ends[i]]`.
    """

    __slots__ = ("_bodies", "_bounds")

    def __init__(self, bodies: bytes, bounds: Sequence[tuple[int, int]]) -> None:
        self._bodies = bodies
        self._bounds = bounds

    def __len__(self) -> int:
        """The number of publications."""
        return len(self._bounds)

    @overload
    def __getitem__(self, at: int) -> Publication: ...
    @overload
    def __getitem__(self, at: slice) -> StoredPublications: ...
    def __getitem__(self, at: int | slice) -> Publication | StoredPublications:
        """A publication, or those of a slice."""
        if isinstance(at, slice):
            return StoredPublications(self._bodies, self._bounds[at])
        begin, end = self._bounds[at]
        return decode_publication(self._bodies[begin:end])


def stored_publications(bodies: bytes, ends: I64) -> Sequence[Publication]:
    """The publications with these ends: a batch for compiled code, where kernels are at hand."""
    starts = np.concatenate((np.zeros(1, np.int64), ends))[:-1]
    if RECORDS.compiled is not None and FRAMES.compiled is not None and len(ends):
        data = np.frombuffer(bodies, np.uint8)
        begins = id_ends(data, starts)
        has_document = (data[starts] == _THREE) & (data[ends - 1] == _NIL)
        flat = flat_records(bodies, begins, ends - has_document)
        if bool(np.all(flat.verdicts == READ)):
            return PublicationBatch(bodies, starts, ends, flat.records, decode_publication)
    return StoredPublications(bodies, list(zip(starts.tolist(), ends.tolist(), strict=True)))


def id_starts(data: npt.NDArray[np.uint8], starts: I64) -> I64:
    """The start of the text of the id, for each publication that begins at `starts`."""
    kind = data[starts + 1]
    begins: I64 = starts + 2 + (kind == _TEXT_8) + 2 * (kind == _TEXT_16)
    return begins


def id_ends(data: npt.NDArray[np.uint8], starts: I64) -> I64:
    """The end of the id, where the record begins, for each publication that begins at `starts`."""
    kind = data[starts + 1].astype(np.int64)
    size = kind - _SHORT_TEXT
    for at in np.flatnonzero(kind >= _TEXT_8).tolist():
        begin, width = int(starts[at]) + 2, 1 if kind[at] == _TEXT_8 else 2
        size[at] = int.from_bytes(data[begin : begin + width].tobytes(), "big")
    size += id_starts(data, starts)
    return size


def pieces(data: bytes, starts: I64, size: int) -> npt.NDArray[np.void]:
    """The pieces of `size` bytes, at least one, that begin at `starts`."""
    every = np.ndarray((len(data) - size + 1,), f"V{size}", data, strides=(1,))
    found: npt.NDArray[np.void] = every[starts]
    return found


def ids_in(bodies: bytes, starts: I64) -> list[bytes]:
    """The id of each publication that begins at `starts`, as the text's bytes."""
    size = bodies[starts.item(0) + 1] - _SHORT_TEXT if len(starts) else 0
    if 0 < size < _SHORT_TEXT_MAX:  # most often the ids are equally long
        heads = np.frombuffer(bodies, np.uint8)[starts + 1]
        if bool((heads == heads[0]).all()):
            found: list[bytes] = pieces(bodies, starts + 2, size).tolist()
            return found
    data = np.frombuffer(bodies, np.uint8)
    bounds = zip(id_starts(data, starts).tolist(), id_ends(data, starts).tolist(), strict=True)
    return [bodies[begin:end] for begin, end in bounds]
