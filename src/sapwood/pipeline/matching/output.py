"""Matches as rows, in one of four forms: the writers of a match worker.

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

from sapwood.limits.pipeline import (
    MATCHES_HELD_MAX,
    PAIRS_PER_BATCH_MAX,
    RECORDS_PER_MATCH_MAX,
    ROW_GROUP_ROWS_MAX,
)
from sapwood.matching.protocol import SlotBatch
from sapwood.model.publication import Record
from sapwood.pipeline.matching.ids import (
    CodedMatches,
    HomeIds,
    IdDictionary,
    Ints,
    LoadedIndex,
    SlotIds,
    SortedIds,
)
from sapwood.pipeline.tables.schemas import COUNTS, DELIVERIES, HOMES, LISTS
from sapwood.xml import Document

if TYPE_CHECKING:
    import pyarrow as pa

_CODES_PER_TEXT: Final = 8
"""With more codes than this for each text of a dictionary, looking for texts that do not occur is
not worth while."""


class Output(StrEnum):
    """The form of the deliveries: which columns, and a row for what (`schemas`)."""

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


class PublicationBatch(NamedTuple):
    """Publications: ids, flat records (`None`: none), and documents if some filter reads them."""

    ids: pa.Array
    records: Sequence[Record | None]
    documents: Sequence[Document | None] | None = None

    def __len__(self) -> int:
        """The number of publications."""
        return len(self.records)

    def part(self, start: int, count: int) -> PublicationBatch:
        """At most `count` of the publications, from row `start` on."""
        end = min(start + count, len(self.records))
        documents = None if self.documents is None else self.documents[start:end]
        ids = self.ids.slice(start, end - start)
        return PublicationBatch(ids, self.records[start:end], documents)


def writer_for(output: Output, parts: Sequence[LoadedIndex], *, coded: bool = False) -> MatchWriter:
    """The writer that turns publications into rows of the output; `parts` are a set's indexes.

    With `coded`, rows come as codes, for files; counts do not, since a writer sees a part of the
    publications, and the counts of all writers have to be added up.
    """
    columns = columns_of(output)
    if output is Output.COUNTS:
        return _CountWriter(parts, columns)
    if output is Output.LISTS:
        return (_CodedListWriter if coded else _ListWriter)(parts, columns, SortedIds(parts))
    ids = _ids_of_pairs(output, parts)
    return (_CodedPairWriter if coded else _PairWriter)(parts, columns, ids)


def _ids_of_pairs(output: Output, parts: Sequence[LoadedIndex]) -> IdDictionary:
    """The texts of the second column of pairs or homes."""
    if output is Output.HOMES:
        return HomeIds(parts)
    return SlotIds(parts[0]) if len(parts) == 1 else SortedIds(parts)


class MatchWriter(ABC):
    """Matches publications, batch by batch, and gives the matches as rows of one form.

    At most `MATCHES_HELD_MAX` matches are in memory, beside those of one publication, so that a
    publication that each of a million subscriptions accepts is nothing special.
    """

    def __init__(self, parts: Sequence[LoadedIndex], columns: list[str]) -> None:
        self._parts = parts
        self._columns = columns

    def write(self, batch: PublicationBatch) -> Iterator[pa.RecordBatch]:
        """The rows of a batch, as far as they are complete."""
        start = 0
        while start < len(batch):
            chunk, found = self._matched(batch.part(start, RECORDS_PER_MATCH_MAX))
            yield from self._rows_of(chunk, found)
            start += len(chunk)

    def flush(self) -> Iterator[pa.RecordBatch]:
        """The rows that the writer has held back; called once, after the last batch."""
        return iter(())

    @abstractmethod
    def _rows_of(
        self, batch: PublicationBatch, found: Sequence[SlotBatch]
    ) -> Iterator[pa.RecordBatch]:
        """The rows of publications, from the slots found in each index."""

    def _matched(self, batch: PublicationBatch) -> tuple[PublicationBatch, list[SlotBatch]]:
        """The first publications of a batch, one at least, and their slots in each index."""
        max_matches = max(MATCHES_HELD_MAX // max(len(self._parts), 1), 1)
        found: list[SlotBatch] = []
        for part in self._parts:
            slots = part.index.match_slots(
                batch.records, batch.documents, in_order=False, max_matches=max_matches
            )
            batch = batch.part(0, len(slots.offsets) - 1)
            found.append(slots)
        return batch, [_first_of(slots, len(batch)) for slots in found]

    def _batch(self, columns: tuple[pa.Array, pa.Array]) -> pa.RecordBatch:
        import pyarrow as pa

        return pa.RecordBatch.from_arrays(list(columns), names=self._columns)


def _first_of(batch: SlotBatch, count: int) -> SlotBatch:
    """The matches of the first `count` records."""
    return SlotBatch(batch.offsets[: count + 1], batch.slots[: batch.offsets[count]])


class _CountWriter(MatchWriter):
    def __init__(self, parts: Sequence[LoadedIndex], columns: list[str]) -> None:
        super().__init__(parts, columns)
        self._totals = [np.zeros(len(part.ids), np.int64) for part in parts]

    def _rows_of(
        self,
        batch: PublicationBatch,  # noqa: ARG002 - counts are of all publications together
        found: Sequence[SlotBatch],
    ) -> Iterator[pa.RecordBatch]:
        for totals, (_, slots) in zip(self._totals, found, strict=True):
            np.add.at(totals, slots, 1)
        return iter(())

    def flush(self) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for part, totals in zip(self._parts, self._totals, strict=True):
            (found,) = totals.nonzero()
            for start in range(0, len(found), PAIRS_PER_BATCH_MAX):
                slots = found[start : start + PAIRS_PER_BATCH_MAX]
                yield self._batch((part.ids.take(pa.array(slots)), pa.array(totals[slots])))


class _IdWriter(MatchWriter):
    """Writes ids of publications beside texts of a dictionary."""

    def __init__(self, parts: Sequence[LoadedIndex], columns: list[str], ids: IdDictionary) -> None:
        super().__init__(parts, columns)
        self._dictionary = ids

    def _rows_of(
        self, batch: PublicationBatch, found: Sequence[SlotBatch]
    ) -> Iterator[pa.RecordBatch]:
        matches = self._dictionary.encode(found, len(batch))
        for columns in self._columns_of(batch.ids, matches):
            yield self._batch(columns)

    @abstractmethod
    def _columns_of(
        self, ids: pa.Array, matches: CodedMatches
    ) -> Iterator[tuple[pa.Array, pa.Array]]:
        """The two columns, some rows at a time, of the matches of publications with these ids."""


class _PairWriter(_IdWriter):
    def _columns_of(
        self, ids: pa.Array, matches: CodedMatches
    ) -> Iterator[tuple[pa.Array, pa.Array]]:
        import pyarrow as pa

        counts, codes = matches
        rows = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
        for start in range(0, len(codes), PAIRS_PER_BATCH_MAX):
            end = start + PAIRS_PER_BATCH_MAX
            texts = self._dictionary.texts.take(pa.array(codes[start:end]))
            yield ids.take(pa.array(rows[start:end])), texts


class _ListWriter(_IdWriter):
    def _columns_of(
        self, ids: pa.Array, matches: CodedMatches
    ) -> Iterator[tuple[pa.Array, pa.Array]]:
        import pyarrow as pa

        counts, codes = matches
        offsets = _offsets(counts)
        (matched,) = counts.nonzero()
        start = 0
        while start < len(matched):
            # As many rows as the bound of pairs allows, and one in any case.
            bound = offsets[matched[start]] + PAIRS_PER_BATCH_MAX
            ends = offsets[matched[start:] + 1]
            end = start + max(int(np.searchsorted(ends, bound, side="right")), 1)
            rows = matched[start:end]
            taken = codes[offsets[rows[0]] : offsets[rows[-1] + 1]]
            texts = self._dictionary.texts.take(pa.array(taken))
            yield ids.take(pa.array(rows)), _lists(counts[rows], texts)
            start = end


class _CodedWriter(_IdWriter):
    """Holds matches as codes until they fill a row group."""

    def __init__(self, parts: Sequence[LoadedIndex], columns: list[str], ids: IdDictionary) -> None:
        super().__init__(parts, columns, ids)
        self._clear()

    def flush(self) -> Iterator[pa.RecordBatch]:
        if self._matches:
            yield self._batch(self._group())

    def _columns_of(
        self, ids: pa.Array, matches: CodedMatches
    ) -> Iterator[tuple[pa.Array, pa.Array]]:
        import pyarrow as pa

        (matched,) = matches.counts.nonzero()
        self._ids.append(ids.take(pa.array(matched)))
        self._counts.append(matches.counts[matched])
        self._codes.append(matches.codes)
        self._matches += len(matches.codes)
        if self._matches >= ROW_GROUP_ROWS_MAX:
            yield self._group()

    def _group(self) -> tuple[pa.Array, pa.Array]:
        """The columns of a row group with all that is held; nothing is held afterwards."""
        import pyarrow as pa

        ids, counts = pa.concat_arrays(self._ids), np.concatenate(self._counts)
        texts = _coded(np.concatenate(self._codes), self._dictionary.texts)
        self._clear()
        return self._shaped(ids, counts, texts)

    @abstractmethod
    def _shaped(self, ids: pa.Array, counts: Ints, texts: pa.Array) -> tuple[pa.Array, pa.Array]:
        """The columns of a row group; each id has as many of the texts as its count."""

    def _clear(self) -> None:
        self._ids: list[pa.Array] = []
        self._counts: list[Ints] = []
        self._codes: list[npt.NDArray[np.int32]] = []
        self._matches = 0


class _CodedPairWriter(_CodedWriter):
    def _shaped(self, ids: pa.Array, counts: Ints, texts: pa.Array) -> tuple[pa.Array, pa.Array]:
        import pyarrow as pa

        rows = np.repeat(np.arange(len(ids), dtype=np.int32), counts)
        return pa.DictionaryArray.from_arrays(rows, ids), texts


class _CodedListWriter(_CodedWriter):
    def _shaped(self, ids: pa.Array, counts: Ints, texts: pa.Array) -> tuple[pa.Array, pa.Array]:
        return ids, _lists(counts, texts)


def _lists(counts: Ints, values: pa.Array) -> pa.Array:
    """Lists of values: of the counts `2 1` and the values `a b c` the lists `[a b] [c]`."""
    import pyarrow as pa

    return pa.ListArray.from_arrays(pa.array(_offsets(counts), pa.int32()), values)


def _offsets(counts: Ints) -> Ints:
    """The beginning of each run, and the end of the last one: of the counts `2 0 3`, `0 2 2 5`."""
    return np.concatenate(([0], np.cumsum(counts)))


def _coded(codes: npt.NDArray[np.int32], texts: pa.Array) -> pa.Array:
    """A dictionary column; texts that no code names are left out where there may be many of them.

    The codes `3 1 3` of the texts `a b c d` become the codes `1 0 1` of the texts `b d`.
    """
    import pyarrow as pa

    if len(codes) < len(texts) * _CODES_PER_TEXT:
        occurs = np.zeros(len(texts), np.bool_)
        occurs[codes] = True
        texts = texts.take(pa.array(np.flatnonzero(occurs)))
        codes = (np.cumsum(occurs, dtype=np.int32) - np.int32(1))[codes]
    return pa.DictionaryArray.from_arrays(codes, texts)
