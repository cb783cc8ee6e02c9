"""What a Python worker does: batches of publications in, deliveries out in one of four forms."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from sapwood.limits import MATCHES_HELD_MAX, PAIRS_PER_BATCH_MAX, RECORDS_PER_MATCH_MAX
from sapwood.matching.index import Index
from sapwood.matching.protocol import SlotBatch
from sapwood.matching.tables import RecordTable
from sapwood.model.publication import Record
from sapwood.pipeline.publications import Carried
from sapwood.pipeline.records import (
    columns_of_record,
    document_or_none,
    holds_nan,
    record_or_none,
    records_of_columns,
    table_of_columns,
)
from sapwood.pipeline.row_groups import GroupReader, Groups
from sapwood.pipeline.schemas import DELIVERY_COLUMNS
from sapwood.pipeline.segments import segment_home
from sapwood.xml import Document

if TYPE_CHECKING:
    import pyarrow as pa

Ints: TypeAlias = npt.NDArray[np.int64]

_RANK_BITS: Final = 32
_RANK_MASK: Final = (1 << _RANK_BITS) - 1
"""Bits of a key that are a subscription's rank; the others are a publication's number."""


class Output(StrEnum):
    """What is told about the matches of publications and subscriptions (`schemas`)."""

    #: A row for each pair.
    PAIRS = "pairs"
    #: A row for each publication that something matches, with the sorted list of subscriptions.
    LISTS = "lists"
    #: A row for each subscription that matches something, with the number of publications.
    COUNTS = "counts"
    #: A row for each publication and home with an entry of a compiled set that matches it.
    HOMES = "homes"


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


def ranked(ids: pa.Array) -> Ranked:
    """Texts in the order of their bytes, as Spark sorts them."""
    import pyarrow.compute as pc

    order = pc.sort_indices(ids).to_numpy()
    ranks = np.empty(len(order), np.int64)
    ranks[order] = np.arange(len(order))
    return Ranked(ids.take(order), ranks)


@dataclass(frozen=True, slots=True)
class MatchBatches:
    """The function for `mapInArrow`: publications in, a part of the `output` out.

    `name` is what the index is called among the files that Spark has brought to this executor. In
    comes the id and then what is `carried`. A text that holds no record, or no document, gives no
    delivery (`rejected_publications` lists it).
    """

    name: str
    carried: Carried
    output: Output = Output.PAIRS

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Match all batches of one task."""
        from pyspark import SparkFiles

        folder = Path(SparkFiles.getRootDirectory()).absolute() / self.name
        teller = teller_of(self.output, load_indexes(str(folder)))
        for batch in batches:
            yield from teller.tell(publications_of(batch, self.carried))
        yield from teller.rest()


@dataclass(frozen=True, slots=True)
class MatchGroups:
    """The function for `mapInArrow` that reads what it matches: numbers of parts in.

    `parts` are the row groups that go by these numbers.
    """

    reader: GroupReader
    parts: Sequence[Sequence[Groups]]
    match: MatchBatches

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Match all publications of one task."""
        numbers = (number for batch in batches for number in batch.column(0).to_pylist())
        read = (groups for number in numbers for groups in self.parts[number])
        return self.match(batch for groups in read for batch in self.reader.batches(groups))


class Some(NamedTuple):
    """Some publications: ids, flat records (`None`: none), and documents where they are needed."""

    ids: pa.Array
    records: Sequence[Record | None]
    documents: Sequence[Document | None] | None = None

    def __len__(self) -> int:
        """How many."""
        return len(self.records)

    def part(self, start: int, count: int) -> Some:
        """At most `count` of them, from number `start` on."""
        end = min(start + count, len(self.records))
        documents = None if self.documents is None else self.documents[start:end]
        return Some(self.ids.slice(start, end - start), self.records[start:end], documents)


def publications_of(batch: pa.RecordBatch, carried: Carried) -> Some:
    """The good publications in a batch that has the id and what is `carried`.

    Where there are columns and no documents, the records stay in columns.
    """
    if carried.attributes is not None and not carried.documents:
        return _in_columns(batch, carried)
    ids, rest = batch.column(0), batch.columns[1:]
    texts: list[str | None] = [None] * batch.num_rows
    present: list[bool] | None = None
    if carried.documents:
        texts, present, rest = rest[0].to_pylist(), rest[1].to_pylist(), rest[2:]
    records: Sequence[Record | None]
    good: list[bool] | None = None
    if carried.attributes is not None:
        records = records_of_columns(rest, carried.attributes, batch.num_rows)
        if present is not None:
            records = [r if there else None for r, there in zip(records, present, strict=True)]
    else:
        written = rest[0].to_pylist()
        views = [None if text is None else record_or_none(text) for text in written]
        records = [None if view is None else view.record for view in views]
        good = [(v is None) == (t is None) for v, t in zip(views, written, strict=True)]
    documents = None
    if carried.documents:
        documents = [None if text is None else document_or_none(text) for text in texts]
        read = [(d is None) == (t is None) for d, t in zip(documents, texts, strict=True)]
        good = read if good is None else [a and b for a, b in zip(good, read, strict=True)]
    if good is None or all(good):
        return Some(ids, records, documents)
    rows = [row for row, is_good in enumerate(good) if is_good]
    kept = None if documents is None else [documents[row] for row in rows]
    return Some(ids.take(rows), [records[row] for row in rows], kept)


def _in_columns(batch: pa.RecordBatch, carried: Carried) -> Some:
    """The publications of a batch that has the id, and a record or a column for each attribute."""
    table = _table_of(batch, carried)
    bad = holds_nan(table)
    if bad is None:
        return Some(batch.column(0), table)
    good = batch.take(np.flatnonzero(~bad))
    return Some(good.column(0), _table_of(good, carried))


def _table_of(batch: pa.RecordBatch, carried: Carried) -> RecordTable:
    assert carried.attributes is not None, "records are no texts here"
    columns = columns_of_record(batch.column(1)) if carried.whole else batch.columns[1:]
    return table_of_columns(columns, carried.attributes, batch.num_rows)


@lru_cache(maxsize=2)
def load_indexes(folder: str) -> tuple[Loaded, ...]:
    """The index in a folder, or those in the folders within, mapped once a worker process.

    The cache depends on the folder's name alone, which holds a digest of its content, so nothing
    ever invalidates it. Two are kept: a job that works with two sets takes turns.
    """
    path = Path(folder)
    parts = [path] if (path / "index.json").is_file() else sorted(path.iterdir())
    return tuple(loaded_of(Index.load(part)) for part in parts)


def loaded_of(index: Index) -> Loaded:
    """An index with its ids as a column."""
    import pyarrow as pa

    return Loaded(index, pa.array(list(index.ids), pa.string()))


def teller_of(output: Output, parts: Sequence[Loaded]) -> _Teller:
    """What turns publications into rows of the output; the parts are indexes of one set."""
    tellers: dict[Output, type[_Teller]] = {
        Output.PAIRS: _Pairs,
        Output.LISTS: _Lists,
        Output.COUNTS: _Counts,
        Output.HOMES: _Homes,
    }
    return tellers[output](parts)


class _Teller(ABC):
    """Matches publications, some at a time, and tells of the matches in one form.

    At most `MATCHES_HELD_MAX` matches are in memory, beside those of one publication: one that all
    of a million subscriptions want is nothing special.
    """

    def __init__(self, parts: Sequence[Loaded]) -> None:
        self._parts = parts

    def tell(self, some: Some) -> Iterator[pa.RecordBatch]:
        """The rows that some publications give."""
        start = 0
        while start < len(some):
            piece, found = self._matched(some.part(start, RECORDS_PER_MATCH_MAX))
            yield from self._told(piece, found)
            start += len(piece)

    def rest(self) -> Iterator[pa.RecordBatch]:
        """The rows that all publications together give."""
        return iter(())

    @abstractmethod
    def _told(self, some: Some, found: Sequence[SlotBatch]) -> Iterator[pa.RecordBatch]:
        """The rows that a few publications give, of which each part has found something."""

    def _matched(self, some: Some) -> tuple[Some, list[SlotBatch]]:
        """What each part finds for the first of some publications, one at least."""
        most = max(MATCHES_HELD_MAX // max(len(self._parts), 1), 1)
        found: list[SlotBatch] = []
        for part in self._parts:
            batch = part.filters.match_slots(
                some.records, some.documents, in_order=False, most=most
            )
            some = some.part(0, len(batch.offsets) - 1)
            found.append(batch)
        return some, [_first_of(batch, len(some)) for batch in found]


def _first_of(batch: SlotBatch, count: int) -> SlotBatch:
    """The matches of the first so many records."""
    return SlotBatch(batch.offsets[: count + 1], batch.slots[: batch.offsets[count]])


class _Pairs(_Teller):
    def _told(self, some: Some, found: Sequence[SlotBatch]) -> Iterator[pa.RecordBatch]:
        for part, batch in zip(self._parts, found, strict=True):
            yield from deliveries(part, some, batch)


class _Lists(_Teller):
    def __init__(self, parts: Sequence[Loaded]) -> None:
        import pyarrow as pa

        super().__init__(parts)
        ids = [part.ids for part in parts]
        order = parts[0].ranked() if len(parts) == 1 else ranked(pa.concat_arrays(ids))
        self._ids = order.ids
        #: slot to rank, for each part
        self._ranks = np.split(order.ranks, np.cumsum(list(map(len, ids)))[:-1])

    def _told(self, some: Some, found: Sequence[SlotBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        keys = np.concatenate(
            [
                np.repeat(np.arange(len(some)) << _RANK_BITS, np.diff(offsets)) | ranks[slots]
                for ranks, (offsets, slots) in zip(self._ranks, found, strict=True)
            ]
        )
        keys.sort()
        offsets = np.sum([batch.offsets for batch in found], axis=0)
        counts = np.diff(offsets)
        (wanted,) = counts.nonzero()
        start = 0
        while start < len(wanted):
            # As many rows as the bound of pairs allows, and one in any case.
            bound = offsets[wanted[start]] + PAIRS_PER_BATCH_MAX
            ends = offsets[wanted[start:] + 1]
            end = start + max(int(np.searchsorted(ends, bound, side="right")), 1)
            rows = wanted[start:end]
            taken = keys[offsets[rows[0]] : offsets[rows[-1] + 1]] & _RANK_MASK
            lists = pa.ListArray.from_arrays(
                pa.array(np.concatenate(([0], np.cumsum(counts[rows]))), pa.int32()),
                self._ids.take(pa.array(taken)),
            )
            names = ["publication", "subscriptions"]
            yield pa.RecordBatch.from_arrays([some.ids.take(pa.array(rows)), lists], names=names)
            start = end


class _Counts(_Teller):
    def __init__(self, parts: Sequence[Loaded]) -> None:
        super().__init__(parts)
        self._totals = [np.zeros(len(part.ids), np.int64) for part in parts]

    def _told(self, some: Some, found: Sequence[SlotBatch]) -> Iterator[pa.RecordBatch]:  # noqa: ARG002 - whose they are does not matter
        for totals, (_, slots) in zip(self._totals, found, strict=True):
            np.add.at(totals, slots, 1)
        return iter(())

    def rest(self) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for part, totals in zip(self._parts, self._totals, strict=True):
            (found,) = totals.nonzero()
            for start in range(0, len(found), PAIRS_PER_BATCH_MAX):
                slots = found[start : start + PAIRS_PER_BATCH_MAX]
                columns = [part.ids.take(pa.array(slots)), pa.array(totals[slots])]
                yield pa.RecordBatch.from_arrays(columns, names=["subscription", "publications"])


class _Homes(_Teller):
    def __init__(self, parts: Sequence[Loaded]) -> None:
        super().__init__(parts)
        numbers: dict[str, int] = {}
        self._codes: list[Ints] = []
        for part in parts:
            homes = (segment_home(id_) for id_ in part.ids.to_pylist())
            codes = [numbers.setdefault(home, len(numbers)) for home in homes]
            self._codes.append(np.array(codes, np.int64))
        self._homes = tuple(numbers)

    def _told(self, some: Some, found: Sequence[SlotBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        width = max(len(self._homes), 1)
        pieces = [np.empty(0, np.int64)]
        for codes, (offsets, slots) in zip(self._codes, found, strict=True):
            rows = np.repeat(np.arange(len(some)), np.diff(offsets))
            pieces.append(np.unique(rows * width + codes[slots]))
        both = np.unique(np.concatenate(pieces))
        homes = pa.array(self._homes, pa.string())
        for start in range(0, len(both), PAIRS_PER_BATCH_MAX):
            rows, codes = np.divmod(both[start : start + PAIRS_PER_BATCH_MAX], width)
            columns = [some.ids.take(pa.array(rows)), homes.take(pa.array(codes))]
            yield pa.RecordBatch.from_arrays(columns, names=["publication", "home"])


def deliveries(loaded: Loaded, some: Some, found: SlotBatch) -> Iterator[pa.RecordBatch]:
    """The pairs of publication and subscription, at most `PAIRS_PER_BATCH_MAX` a batch."""
    import pyarrow as pa

    offsets, slots = found
    rows = np.repeat(np.arange(len(some), dtype=np.int32), np.diff(offsets))
    for start in range(0, len(slots), PAIRS_PER_BATCH_MAX):
        end = start + PAIRS_PER_BATCH_MAX
        yield pa.RecordBatch.from_arrays(
            [
                some.ids.take(pa.array(rows[start:end])),
                loaded.ids.take(pa.array(slots[start:end])),
            ],
            names=list(DELIVERY_COLUMNS),
        )
