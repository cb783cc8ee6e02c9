"""Matches as rows: what a worker tells about publications, in one of four forms.

Rows go on as texts to the JVM, a bounded number at a time, or as codes into files: a row group at
a time, each column as a dictionary of texts and a code for each row, which is how Parquet has them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from sapwood.limits import (
    MATCHES_HELD_MAX,
    PAIRS_PER_BATCH_MAX,
    RECORDS_PER_MATCH_MAX,
    ROW_GROUP_ROWS_MAX,
)
from sapwood.matching.protocol import SlotBatch
from sapwood.model.publication import Record
from sapwood.pipeline.matching.ids import ByHome, ByRank, BySlot, Ints, Loaded, Names, Numbers
from sapwood.pipeline.tables.schemas import COUNTS, DELIVERIES, HOMES, LISTS
from sapwood.xml import Document

if TYPE_CHECKING:
    import pyarrow as pa

_OFTEN: Final = 8
"""With so many codes for each text of a dictionary, it is not worth while to look for texts that do
not occur."""


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


OUTPUTS: Final = MappingProxyType(
    {
        Output.PAIRS: DELIVERIES,
        Output.LISTS: LISTS,
        Output.COUNTS: COUNTS,
        Output.HOMES: HOMES,
    }
)
"""The columns of each output."""


def columns_of(output: Output) -> list[str]:
    """The names of the columns of an output."""
    return [column.split()[0] for column in OUTPUTS[output].split(", ")]


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


def teller_of(output: Output, parts: Sequence[Loaded], *, coded: bool = False) -> Teller:
    """What turns publications into rows of the output; the parts are indexes of one set.

    With `coded`, rows come as codes, for files; counts do not, which are told of a part of the
    publications and have to be put together.
    """
    columns = columns_of(output)
    if output is Output.COUNTS:
        return _Counts(parts, columns)
    if output is Output.LISTS:
        return (_CodedLists if coded else _Lists)(parts, columns, ByRank(parts))
    names = _names_of_pairs(output, parts)
    return (_CodedPairs if coded else _Pairs)(parts, columns, names)


def _names_of_pairs(output: Output, parts: Sequence[Loaded]) -> Names:
    """What stands beside a publication in a row of pairs or homes."""
    if output is Output.HOMES:
        return ByHome(parts)
    return BySlot(parts[0]) if len(parts) == 1 else ByRank(parts)


class Teller(ABC):
    """Matches publications, some at a time, and tells of the matches in one form.

    At most `MATCHES_HELD_MAX` matches are in memory, beside those of one publication: one that all
    of a million subscriptions want is nothing special.
    """

    def __init__(self, parts: Sequence[Loaded], columns: list[str]) -> None:
        self._parts = parts
        self._columns = columns

    def tell(self, some: Some) -> Iterator[pa.RecordBatch]:
        """The rows that some publications give."""
        start = 0
        while start < len(some):
            piece, found = self._matched(some.part(start, RECORDS_PER_MATCH_MAX))
            yield from self._told(piece, found)
            start += len(piece)

    def rest(self) -> Iterator[pa.RecordBatch]:
        """The rows that all publications together give, and no other has told."""
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

    def _batch(self, columns: tuple[pa.Array, pa.Array]) -> pa.RecordBatch:
        import pyarrow as pa

        return pa.RecordBatch.from_arrays(list(columns), names=self._columns)


def _first_of(batch: SlotBatch, count: int) -> SlotBatch:
    """The matches of the first so many records."""
    return SlotBatch(batch.offsets[: count + 1], batch.slots[: batch.offsets[count]])


class _Counts(Teller):
    def __init__(self, parts: Sequence[Loaded], columns: list[str]) -> None:
        super().__init__(parts, columns)
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
                yield self._batch((part.ids.take(pa.array(slots)), pa.array(totals[slots])))


class _Named(Teller):
    """Tells what publications match by its names, beside the ids of the publications."""

    def __init__(self, parts: Sequence[Loaded], columns: list[str], names: Names) -> None:
        super().__init__(parts, columns)
        self._names = names

    def _told(self, some: Some, found: Sequence[SlotBatch]) -> Iterator[pa.RecordBatch]:
        for columns in self._rows(some.ids, self._names.numbers(found, len(some))):
            yield self._batch(columns)

    @abstractmethod
    def _rows(self, ids: pa.Array, numbers: Numbers) -> Iterator[tuple[pa.Array, pa.Array]]:
        """The two columns of some rows that publications with these ids give."""


class _Pairs(_Named):
    def _rows(self, ids: pa.Array, numbers: Numbers) -> Iterator[tuple[pa.Array, pa.Array]]:
        import pyarrow as pa

        counts, places = numbers
        rows = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
        for start in range(0, len(places), PAIRS_PER_BATCH_MAX):
            end = start + PAIRS_PER_BATCH_MAX
            texts = self._names.texts.take(pa.array(places[start:end]))
            yield ids.take(pa.array(rows[start:end])), texts


class _Lists(_Named):
    def _rows(self, ids: pa.Array, numbers: Numbers) -> Iterator[tuple[pa.Array, pa.Array]]:
        import pyarrow as pa

        counts, places = numbers
        offsets = _offsets(counts)
        (wanted,) = counts.nonzero()
        start = 0
        while start < len(wanted):
            # As many rows as the bound of pairs allows, and one in any case.
            bound = offsets[wanted[start]] + PAIRS_PER_BATCH_MAX
            ends = offsets[wanted[start:] + 1]
            end = start + max(int(np.searchsorted(ends, bound, side="right")), 1)
            rows = wanted[start:end]
            taken = places[offsets[rows[0]] : offsets[rows[-1] + 1]]
            texts = self._names.texts.take(pa.array(taken))
            yield ids.take(pa.array(rows)), _lists(counts[rows], texts)
            start = end


class _Coded(_Named):
    """Holds matches as numbers until they fill a row group."""

    def __init__(self, parts: Sequence[Loaded], columns: list[str], names: Names) -> None:
        super().__init__(parts, columns, names)
        self._forget()

    def rest(self) -> Iterator[pa.RecordBatch]:
        if self._matches:
            yield self._batch(self._group())

    def _rows(self, ids: pa.Array, numbers: Numbers) -> Iterator[tuple[pa.Array, pa.Array]]:
        import pyarrow as pa

        (wanted,) = numbers.counts.nonzero()
        self._ids.append(ids.take(pa.array(wanted)))
        self._counts.append(numbers.counts[wanted])
        self._places.append(numbers.places)
        self._matches += len(numbers.places)
        if self._matches >= ROW_GROUP_ROWS_MAX:
            yield self._group()

    def _group(self) -> tuple[pa.Array, pa.Array]:
        """The columns of a row group of what is held, which is forgotten."""
        import pyarrow as pa

        ids, counts = pa.concat_arrays(self._ids), np.concatenate(self._counts)
        texts = _coded(np.concatenate(self._places), self._names.texts)
        self._forget()
        return self._shaped(ids, counts, texts)

    @abstractmethod
    def _shaped(self, ids: pa.Array, counts: Ints, texts: pa.Array) -> tuple[pa.Array, pa.Array]:
        """The columns for so many of the texts for each of the ids."""

    def _forget(self) -> None:
        self._ids: list[pa.Array] = []
        self._counts: list[Ints] = []
        self._places: list[npt.NDArray[np.int32]] = []
        self._matches = 0


class _CodedPairs(_Coded):
    def _shaped(self, ids: pa.Array, counts: Ints, texts: pa.Array) -> tuple[pa.Array, pa.Array]:
        import pyarrow as pa

        rows = np.repeat(np.arange(len(ids), dtype=np.int32), counts)
        return pa.DictionaryArray.from_arrays(rows, ids), texts


class _CodedLists(_Coded):
    def _shaped(self, ids: pa.Array, counts: Ints, texts: pa.Array) -> tuple[pa.Array, pa.Array]:
        return ids, _lists(counts, texts)


def _lists(counts: Ints, values: pa.Array) -> pa.Array:
    """Lists of so many of the values each."""
    import pyarrow as pa

    return pa.ListArray.from_arrays(pa.array(_offsets(counts), pa.int32()), values)


def _offsets(counts: Ints) -> Ints:
    """Where what is counted begins, and where all of it ends."""
    return np.concatenate(([0], np.cumsum(counts)))


def _coded(codes: npt.NDArray[np.int32], texts: pa.Array) -> pa.Array:
    """The texts at some places, as a dictionary: of those that occur, if most may not."""
    import pyarrow as pa

    if len(codes) < len(texts) * _OFTEN:
        occurs = np.zeros(len(texts), np.bool_)
        occurs[codes] = True
        texts = texts.take(pa.array(np.flatnonzero(occurs)))
        codes = (np.cumsum(occurs, dtype=np.int32) - np.int32(1))[codes]
    return pa.DictionaryArray.from_arrays(codes, texts)
