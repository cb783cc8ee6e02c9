"""Deliveries that workers write by themselves: Parquet files, one for each task.

::

    DataFrame    worker: matches, texts ── socket ── JVM: rows, pages ── files
    stored       worker: matches, pages ──────────────────────────────── files

To hand thirty pairs of texts to the JVM costs more than to find them, and there they are taken
apart into rows and put into columns again. A worker has them as numbers, which is what they are
in a Parquet file, too, beside a dictionary of the texts.

Files get hidden names. Only the driver, which knows whose work counts, gives them others
(`staging`), so that a task that is run twice, or goes on after it was given up, does no harm.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from sapwood.errors import FileFormatError
from sapwood.limits import ROW_GROUP_ROWS_MAX
from sapwood.pipeline.matching.workers import MatchGroups
from sapwood.pipeline.tables.staging import Stored

if TYPE_CHECKING:
    import pyarrow as pa

_DICTIONARY_BYTES_MAX: Final = 64 << 20
"""Beyond it pyarrow writes texts out, each time; by default 1 MiB, which 100,000 ids take."""

_WITH_BOUNDS: Final = ("publication",)
"""What is looked up in results. To find the least and the greatest of random texts takes longer
than to write them."""


@dataclass(frozen=True, slots=True)
class StoreGroups:
    """The function for `mapInArrow` that stores what it finds: numbers of parts in, `STORED` out.

    It writes at most one file into the `folder`, packed with `codec`, and none without deliveries.
    """

    match: MatchGroups
    folder: str
    codec: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Match and store all publications of one task; raises `FileFormatError`."""
        import pyarrow as pa
        from pyspark import TaskContext

        context = TaskContext.get()
        assert context is not None, "a worker has a task"
        name = f"_{uuid4().hex}.parquet"
        rows = 0
        file = ResultFile(Path(self.folder) / name, self.codec)
        try:
            for batch in self.match(batches):
                rows += batch.num_rows
                file.add(batch)
        finally:
            file.close()
        if rows:
            told = Stored(context.partitionId(), name, rows)
            columns = [pa.array([told.task], pa.int32()), pa.array([name]), pa.array([rows])]
            yield pa.RecordBatch.from_arrays(columns, names=list(Stored._fields))


class ResultFile:
    """A Parquet file that is there as soon as it has a row group.

    All methods raise `FileFormatError` where it cannot be written.
    """

    __slots__ = ("_codec", "_path", "_writer")

    def __init__(self, path: Path, codec: str) -> None:
        self._path = path
        self._codec = codec
        self._writer: pa.parquet.ParquetWriter | None = None

    def add(self, group: pa.RecordBatch) -> None:
        """Write a batch as a row group, or some if it is large."""
        import pyarrow.parquet as pq

        with _faults_of(self._path):
            if self._writer is None:
                self._writer = pq.ParquetWriter(
                    self._path,
                    group.schema,
                    compression=self._codec,
                    write_statistics=list(_WITH_BOUNDS),
                    dictionary_pagesize_limit=_DICTIONARY_BYTES_MAX,
                    store_schema=False,  # For pyarrow, too, it has texts and no dictionaries.
                )
            self._writer.write_batch(group, ROW_GROUP_ROWS_MAX)

    def close(self) -> None:
        """End the file."""
        if self._writer is not None:
            with _faults_of(self._path):
                self._writer.close()


@contextmanager
def _faults_of(path: Path) -> Iterator[None]:
    """Raise what goes wrong with a file as `FileFormatError`."""
    try:
        yield
    except FileNotFoundError:
        raise FileFormatError(
            str(path.parent), "the folder of a result is not where this executor can write it"
        ) from None
    except OSError as error:
        said = error.strerror or str(error)
        raise FileFormatError(str(path), f"cannot be written: {said}") from None
