"""The Python workers of a match: batches of publications in, deliveries out (`output`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sapwood.matching.index import Index
from sapwood.matching.tables import RecordTable
from sapwood.model.publication import Record
from sapwood.pipeline.matching.ids import LoadedIndex
from sapwood.pipeline.matching.output import Output, PublicationBatch, writer_for
from sapwood.pipeline.tables.lists import ListTable, is_list
from sapwood.pipeline.tables.publications import Carried
from sapwood.pipeline.tables.records import (
    columns_of_record,
    document_or_none,
    holds_nan,
    record_or_none,
    records_of_columns,
    table_of_columns,
)
from sapwood.pipeline.tables.row_groups import PartReader

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, slots=True)
class MatchWorker:
    """The function for `mapInArrow` that matches: publications in, a part of the `output` out.

    `name` is the folder of the index among the files that Spark has brought to this executor. The
    columns that come in are the id and then what is `carried`. A text that holds no record, or no
    document, gives no delivery (`rejected_publications` lists it). With `coded`, rows come as
    Parquet stores them: a row group at a time, texts as a dictionary and a code for each.
    """

    name: str
    carried: Carried
    output: Output = Output.PAIRS
    coded: bool = False

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Match all batches of one task."""
        from pyspark import SparkFiles

        folder = Path(SparkFiles.getRootDirectory()).absolute() / self.name
        writer = writer_for(self.output, load_indexes(str(folder)), coded=self.coded)
        for batch in batches:
            yield from writer.write(publications_of(batch, self.carried))
        yield from writer.flush()


@dataclass(frozen=True, slots=True)
class RowGroupMatchWorker:
    """A match worker that reads the row groups itself: numbers of a lake's parts in."""

    read: PartReader
    match: MatchWorker

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Match all publications of one task."""
        return self.match(self.read.batches(batches))


def publications_of(batch: pa.RecordBatch, carried: Carried) -> PublicationBatch:
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
        if any(is_list(column.type) for column in rest):
            records = [*ListTable.of(rest, carried.attributes, batch.num_rows)]
        else:
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
        return PublicationBatch(ids, records, documents)
    rows = [row for row, is_good in enumerate(good) if is_good]
    kept = None if documents is None else [documents[row] for row in rows]
    return PublicationBatch(ids.take(rows), [records[row] for row in rows], kept)


def _in_columns(batch: pa.RecordBatch, carried: Carried) -> PublicationBatch:
    """The publications of a batch that has the id, and a record or a column for each attribute."""
    table = _table_of(batch, carried)
    bad = holds_nan(table.scalars() if isinstance(table, ListTable) else table)
    if bad is None:
        return PublicationBatch(batch.column(0), table)
    good = batch.take(np.flatnonzero(~bad))
    return PublicationBatch(good.column(0), _table_of(good, carried))


def _table_of(batch: pa.RecordBatch, carried: Carried) -> RecordTable | ListTable:
    assert carried.attributes is not None, "records are no texts here"
    columns = columns_of_record(batch.column(1)) if carried.whole else batch.columns[1:]
    if any(is_list(column.type) for column in columns):
        return ListTable.of(columns, carried.attributes, batch.num_rows)
    return table_of_columns(columns, carried.attributes, batch.num_rows)


@lru_cache(maxsize=2)
def load_indexes(folder: str) -> tuple[LoadedIndex, ...]:
    """The index in a folder, or the indexes in the folders within, mapped once a worker process.

    The cache depends on the folder's name alone, which holds a digest of its content, so nothing
    ever invalidates it. Two are kept: a job that works with two sets takes turns.
    """
    path = Path(folder)
    parts = [path] if (path / "index.json").is_file() else sorted(path.iterdir())
    return tuple(LoadedIndex(Index.load(part)) for part in parts)
