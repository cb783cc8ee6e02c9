"""Records whose attributes have several values, as rows: one value of each attribute in each.

A conjunction accepts such a record if it accepts one value of each attribute that it constrains. It
looks at attributes one by one, so that is so iff it accepts one of all combinations of values. Each
of these combinations is a *row*: a record as all others are. Engines match rows, and the matches of
the rows of one record are united. The record

    {"tags": ("a", "b"), "price": (1, 2), "size": 5}

has the rows a 1 5, a 2 5, b 1 5 and b 2 5. An attribute that no filter reads makes no rows; its
values are left out. A record with more rows than `RECORD_ROWS_MAX` is not taken apart: it is
compared with filters as it is (`record_store`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Final, overload

import msgspec
import numpy as np
import numpy.typing as npt

from sapwood.limits.arrays import RECORD_ROWS_MAX
from sapwood.matching.encoded_records import HEADER_BYTES, EncodedRecords, header
from sapwood.matching.protocol import SlotBatch
from sapwood.matching.tables import RecordTable
from sapwood.model.publication import ManyValued, Record, Value

I64 = npt.NDArray[np.int64]

Reads = Callable[[str], bool]
"""A predicate of attributes: true if a filter reads an attribute."""

_ENCODER: Final = msgspec.msgpack.Encoder()

_SLOT_BITS: Final = 32
_SLOT_MASK: Final = (1 << _SLOT_BITS) - 1


@dataclass(frozen=True, slots=True, eq=False)
class Rows(Sequence[Record]):
    """Records as rows: record `i` has `rows[offsets[i]:offsets[i + 1]]`.

    A record in `whole`, by its place, has no rows: there would be too many. Read as a sequence,
    this is the records one by one; a record in rows is then made of its rows.
    """

    rows: Sequence[Record]
    offsets: I64  # [n + 1]
    whole: Mapping[int, ManyValued]

    def __len__(self) -> int:
        """The number of records."""
        return len(self.offsets) - 1

    @overload
    def __getitem__(self, at: int) -> Record: ...
    @overload
    def __getitem__(self, at: slice) -> Rows: ...
    def __getitem__(self, at: int | slice) -> Record | Rows:
        """A record, or the records of a slice without steps."""
        places = range(len(self))[at]
        if isinstance(places, int):
            return self._record(places)
        assert places.step == 1, "rows of records that lie apart are not taken out"
        first, last = places.start, max(places.start, places.stop)
        offsets = self.offsets[first : last + 1]
        begin, end = offsets[[0, -1]].tolist()
        whole = {at - first: one for at, one in self.whole.items() if first <= at < last}
        return Rows(self.rows[begin:end], offsets - begin, whole)

    def _record(self, place: int) -> Record:
        if place in self.whole:
            return self.whole[place]
        begin, end = self.offsets[place : place + 2].tolist()
        rows = [dict(self.rows[at]) for at in range(begin, end)]
        if len(rows) == 1:
            return rows[0]
        values: dict[str, dict[tuple[bool, Value], Value]] = {}
        for row in rows:
            for name, value in row.items():
                values.setdefault(name, {}).setdefault((isinstance(value, bool), value), value)
        several = {name: tuple(some.values()) for name, some in values.items()}
        return ManyValued(
            (name, some[0] if len(some) == 1 else some) for name, some in several.items()
        )

    def united(self, found: SlotBatch) -> SlotBatch:
        """The slots of each record, each once, from the slots of the first rows.

        `found` has the matches of the first rows. The result covers the records all of whose rows
        are among these; records without rows have no slots.
        """
        matched = len(found.offsets) - 1
        count = int(np.searchsorted(self.offsets, matched, side="right")) - 1
        ends = self.offsets[: count + 1]
        offsets = found.offsets[ends]
        slots = found.slots[: offsets[-1]]
        is_several = np.diff(ends) > 1
        if not is_several.any():
            return SlotBatch(offsets, slots)
        sizes = np.diff(offsets)
        is_shared = np.repeat(is_several, sizes)
        owners = np.repeat(np.arange(count), sizes)[is_shared]
        pairs = np.unique(owners << _SLOT_BITS | slots[is_shared])
        sizes[is_several] = np.bincount(pairs >> _SLOT_BITS, minlength=count)[is_several]
        together = np.empty(int(sizes.sum()), np.int32)
        is_shared_now = np.repeat(is_several, sizes)
        together[is_shared_now] = pairs & _SLOT_MASK
        together[~is_shared_now] = slots[~is_shared]
        return SlotBatch(np.concatenate(([0], sizes.cumsum())), together)


class InRows(Sequence[Record], ABC):
    """Records of another layout that bring themselves into rows, such as columns of lists."""

    @abstractmethod
    def rows(self, reads: Reads, enough: int) -> Rows:
        """The result of `rows_of` for these records."""


def has_several(records: Sequence[Record]) -> bool:
    """True if one of the flat records may have an attribute with several values."""
    if isinstance(records, EncodedRecords):
        return records.several is not None
    if isinstance(records, RecordTable):
        return False
    return isinstance(records, Rows | InRows) or ManyValued in {*map(type, records)}


def rows_of(records: Sequence[Record], reads: Reads, enough: int) -> Rows:
    """Records as rows: all records, or the first ones that together have `enough` rows.

    `reads` is the predicate of the attributes that filters read.
    """
    if isinstance(records, Rows):
        return records
    if isinstance(records, InRows):
        return records.rows(reads, enough)
    if isinstance(records, EncodedRecords):
        several = () if records.several is None else records.several.tolist()
        return _of_encoded(records, several, reads, enough)
    rows: list[Record] = []
    offsets = [0]
    whole: dict[int, ManyValued] = {}
    for place, record in enumerate(records):
        if type(record) is ManyValued:
            own = one_by_one(record, reads)
            if own is None:
                whole[place] = record
            else:
                rows += own
        else:
            rows.append(record)
        offsets.append(len(rows))
        if len(rows) >= enough:
            break
    return Rows(rows, np.array(offsets, np.int64), whole)


def one_by_one(record: ManyValued, reads: Reads) -> Iterator[Record] | None:
    """The rows of a record; `None` where there are more than `RECORD_ROWS_MAX`."""
    several = {
        name: value for name, value in record.items() if type(value) is tuple and reads(name)
    }
    if prod(map(len, several.values())) > RECORD_ROWS_MAX:
        return None
    rest = {name: value for name, value in record.items() if type(value) is not tuple}
    return (
        {**rest, **dict(zip(several, values, strict=True))} for values in product(*several.values())
    )


def _of_encoded(records: EncodedRecords, several: Sequence[int], reads: Reads, enough: int) -> Rows:
    """`rows_of` for records in MessagePack: a record that is one row stays as it is."""
    encoded, bounds = records.encoded, records.offsets.tolist()
    lengths = np.diff(records.offsets)
    counts = np.ones(len(records), np.int64)
    pieces: list[bytes] = []
    sizes: list[I64] = []
    whole: dict[int, ManyValued] = {}
    done = extra = 0
    for place in several:
        record = records[place]
        assert type(record) is ManyValued, "those with several values are known"
        own = one_by_one(record, reads)
        rows = [] if own is None else [_ENCODER.encode(row) for row in own]
        if own is None:
            whole[place] = record
        pieces += (encoded[bounds[done] : bounds[place]], *rows)
        sizes += (lengths[done:place], np.array([len(row) for row in rows], np.int64))
        counts[place] = len(rows)
        done, extra = place + 1, extra + len(rows)
        if extra >= enough:
            break
    else:
        pieces.append(encoded[bounds[done] : bounds[-1]])
        sizes.append(lengths[done:])
        done = len(records)
    ends = np.concatenate((np.zeros(1, np.int64), *sizes)).cumsum() + HEADER_BYTES
    offsets = np.concatenate((np.zeros(1, np.int64), counts[:done].cumsum()))
    rows_there = EncodedRecords(b"".join((header(len(ends) - 1), *pieces)), ends)
    return Rows(rows_there, offsets, whole)
