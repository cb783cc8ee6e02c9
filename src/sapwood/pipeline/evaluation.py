"""What a Python worker does: batches of publications in, deliveries out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from sapwood.limits import PAIRS_PER_BATCH_MAX, RECORDS_PER_MATCH_MAX
from sapwood.matching.index import Index
from sapwood.model.publication import Record
from sapwood.pipeline.records import record_or_none, records_of_columns
from sapwood.pipeline.schemas import DELIVERY_COLUMNS

if TYPE_CHECKING:
    import pyarrow as pa


class Loaded(NamedTuple):
    """A set of filters and their ids as an Arrow column: slot to id."""

    filters: Index
    ids: pa.Array


@dataclass(frozen=True, slots=True)
class MatchBatches:
    """The function for `mapInArrow`: publications in, `schemas.DELIVERIES` out.

    `name` is what the index is called among the files that Spark has brought to this executor. In
    comes the id and then a column for each of `attributes`, or the record as JSON text where these
    are `None`. A text that holds no record gives no delivery (`rejected_publications` lists it).
    """

    name: str
    attributes: tuple[str, ...] | None

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Match all batches of one task."""
        from pyspark import SparkFiles

        folder = Path(SparkFiles.getRootDirectory()).absolute() / self.name
        loaded = load_index(str(folder))
        for batch in batches:
            for start in range(0, batch.num_rows, RECORDS_PER_MATCH_MAX):
                piece = batch.slice(start, RECORDS_PER_MATCH_MAX)
                ids, records = self._publications(piece)
                yield from deliveries(loaded, ids, records)

    def _publications(self, batch: pa.RecordBatch) -> tuple[pa.Array, Sequence[Record]]:
        """The ids and the flat records of a batch."""
        ids = batch.column(0)
        if self.attributes is not None:
            columns = batch.columns[1:]
            return ids, records_of_columns(columns, self.attributes, batch.num_rows)
        views = [record_or_none(text) for text in batch.column(1).to_pylist()]
        good = [view.record for view in views if view is not None]
        if len(good) < len(views):
            ids = ids.take([row for row, view in enumerate(views) if view is not None])
        return ids, good


@lru_cache(maxsize=2)
def load_index(folder: str) -> Loaded:
    """The index in a folder, mapped into memory once a worker process, however many tasks it runs.

    The cache depends on the folder's name alone, which holds a digest of its content, so nothing
    ever invalidates it. Two are kept: a job that works with two sets takes turns.
    """
    import pyarrow as pa

    index = Index.load(folder)
    return Loaded(index, pa.array(list(index.ids), pa.string()))


def deliveries(
    loaded: Loaded, publications: pa.Array, records: Sequence[Record]
) -> Iterator[pa.RecordBatch]:
    """The pairs of publication and subscription, at most `PAIRS_PER_BATCH_MAX` a batch."""
    import pyarrow as pa

    offsets, slots = loaded.filters.match_slots(records)
    rows = np.repeat(np.arange(len(records)), np.diff(offsets))
    for start in range(0, len(slots), PAIRS_PER_BATCH_MAX):
        end = start + PAIRS_PER_BATCH_MAX
        yield pa.RecordBatch.from_arrays(
            [
                publications.take(pa.array(rows[start:end])),
                loaded.ids.take(pa.array(slots[start:end])),
            ],
            names=list(DELIVERY_COLUMNS),
        )
