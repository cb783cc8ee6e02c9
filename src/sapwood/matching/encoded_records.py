"""Records in MessagePack: a sequence of records that holds their bytes.

Kernels read the bytes as they are (`columnar.batch`), so no Python object is made for any value. To
all other code this is a sequence of records like any other, each of which is decoded when it is
accessed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, overload

import msgspec
import numpy as np
import numpy.typing as npt

from sapwood.model.publication import ManyValued, Record

I64: TypeAlias = npt.NDArray[np.int64]

HEADER_BYTES: Final = 5
"""Bytes before the first record: an array, with the number of its elements in four bytes."""

_ARRAY: Final = b"\xdd"

_RECORD: Final[msgspec.msgpack.Decoder[dict[str, Any]]] = msgspec.msgpack.Decoder(dict[str, Any])
_RECORDS: Final[msgspec.msgpack.Decoder[list[dict[str, Any]]]] = msgspec.msgpack.Decoder(
    list[dict[str, Any]]
)


@dataclass(frozen=True, slots=True, eq=False)
class EncodedRecords(Sequence[Record]):
    """Flat records in one array of MessagePack, as compiled code makes it.

    `encoded` is the array with its header of `HEADER_BYTES`; record `i` is the map
    `encoded[offsets[i]:offsets[i + 1]]`. The code that makes one guarantees that it holds flat
    records, as `model.publication.flatten` returns them. It is not checked again.

    The records at the places in `several`, ascending, have attributes with several values, which
    are arrays in the map: no kernel reads them (`matching.rows`). `None` where there are none.

    The records {"a": 1} and {} are `dd 00 00 00 02  81 a1 61 01  80` with the offsets 5, 9, 10.
    """

    encoded: bytes
    offsets: I64
    several: I64 | None = None

    def __len__(self) -> int:
        """The number of records."""
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, at: int) -> Record: ...
    @overload
    def __getitem__(self, at: slice) -> EncodedRecords: ...
    def __getitem__(self, at: int | slice) -> Record | EncodedRecords:
        """A record, decoded for this call alone, or the records of a slice."""
        if isinstance(at, slice):
            start, stop, step = at.indices(len(self))
            if not start and stop == len(self) and step == 1:
                return self
            return self.take(np.arange(start, stop, step, dtype=np.int64))
        place = range(len(self))[at]
        first, last = self.offsets[place : place + 2].tolist()
        record = _RECORD.decode(memoryview(self.encoded)[first:last])
        if self.several is not None and place in self.several:
            return many_valued(record)
        return record

    def __iter__(self) -> Iterator[Record]:
        """All records, decoded by one call."""
        records: list[dict[str, Any]] = _RECORDS.decode(self.encoded)
        for place in () if self.several is None else self.several.tolist():
            records[place] = many_valued(records[place])
        return iter(records)

    def take(self, places: npt.NDArray[np.integer[Any]]) -> EncodedRecords:
        """The records at `places`, in that order."""
        offsets = np.zeros(len(places) + 1, np.int64)
        firsts, lasts = self.offsets[:-1][places], self.offsets[1:][places]
        np.cumsum(lasts - firsts, out=offsets[1:])
        offsets += HEADER_BYTES
        pieces = zip(firsts.tolist(), lasts.tolist(), strict=True)
        parts = [self.encoded[first:last] for first, last in pieces]
        several = self.several
        if several is not None:
            several = np.flatnonzero(np.isin(places, several))
            several = several if len(several) else None
        return EncodedRecords(b"".join((header(len(places)), *parts)), offsets, several)


def many_valued(record: dict[str, Any]) -> ManyValued:
    """A record whose arrays are the values of attributes, as decoders return them."""
    return ManyValued(
        (name, tuple(value) if type(value) is list else value) for name, value in record.items()
    )


def header(count: int) -> bytes:
    """The header of an array of `count` records."""
    return _ARRAY + count.to_bytes(HEADER_BYTES - 1)
