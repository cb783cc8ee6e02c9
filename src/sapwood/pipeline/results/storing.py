"""Deliveries that workers write by themselves: Parquet files, one for each task.

::

    DataFrame    worker: matches, texts ── socket ── JVM: rows, pages ── files
    stored       worker: matches, pages ──────────────────────────────── files

To hand thirty pairs of texts to the JVM costs more than to find them, and there they are taken
apart into rows and put into columns again. A worker has them as numbers, as a Parquet file has
them, too, beside a dictionary of the texts.

Files get hidden names. Only the driver, which knows whose work counts, gives them others
(`staging`), so that a task that is run twice, or goes on after it was given up, does no harm.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple
from uuid import uuid4

from sapwood.errors import FileFormatError, InputError
from sapwood.limits.pipeline import ROW_GROUP_BYTES, ROW_GROUP_ROWS_MAX
from sapwood.pipeline.spark.places import Place, file_system, reason_of, shown_file

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

STORED: Final = "task INT, file STRING, rows BIGINT"
"""The columns of `Stored`."""

_DICTIONARY_BYTES_MAX: Final = 64 << 20
"""Beyond it pyarrow writes texts out, each time; by default 1 MiB, which 100,000 ids take."""

_WITH_BOUNDS: Final = ("publication",)
"""The columns by which results are searched. To find the least and the greatest of random texts
takes longer than to write them."""


_CODEC: Final = "spark.sql.parquet.compression.codec"
_CODECS: Final = MappingProxyType(
    {
        **{name: name for name in ("none", "snappy", "gzip", "zstd", "brotli")},
        "uncompressed": "none",
        "lz4_raw": "lz4",
    }
)
"""The names that pyarrow has for Spark's codecs, as far as it has the same."""


class Stored(NamedTuple):
    """A file that a task has written: its name, and how many rows it has."""

    task: int
    file: str
    rows: int


@dataclass(frozen=True, slots=True)
class StoreRows:
    """The function for `mapInArrow` that stores the rows of any table: `STORED` out.

    At most one file is written into the `folder`, packed with `codec`, and none without rows.
    """

    folder: Place
    codec: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Store all rows of one task; raises `FileFormatError`."""
        yield from stored(_grouped(batches), self.folder, self.codec)


@dataclass(frozen=True, slots=True)
class StoreLines:
    """The function for `mapInArrow` that stores the texts in a column as lines: `STORED` out."""

    folder: Place
    suffix: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Store all lines of one task; raises `FileFormatError`."""
        place, rows = _new_file(self.folder, self.suffix), 0
        texts = (text for batch in batches for text in batch.column(0).to_pylist())
        first = next(texts, None)
        if first is None:
            return
        with _faults_of(place), _output(place) as stream:
            for text in chain([first], texts):
                stream.write(f"{text}\n".encode())
                rows += 1
        yield _row_of(place, rows)


def codec_of(spark: SparkSession) -> str | None:
    """The name that pyarrow has for the session's codec; `None` if it lacks the codec."""
    return _CODECS.get((spark.conf.get(_CODEC) or "").lower())


def needed_codec(spark: SparkSession) -> str:
    """As `codec_of`, where only workers can write. Raises `InputError` without one."""
    codec = codec_of(spark)
    if codec is None:
        raise InputError(f"set {_CODEC} to one of {', '.join(_CODECS)}")
    return codec


class ResultFile:
    """A Parquet file that is there as soon as it has a row group; in a store, as it is closed.

    All methods raise `FileFormatError` where it cannot be written.
    """

    __slots__ = ("_codec", "_path", "_writer")

    def __init__(self, path: Place, codec: str) -> None:
        self._path = path
        self._codec = codec
        self._writer: pa.parquet.ParquetWriter | None = None

    def add(self, group: pa.RecordBatch) -> None:
        """Write a batch as a row group, or some if it is large."""
        import pyarrow.parquet as pq

        with _faults_of(self._path):
            if self._writer is None:
                self._writer = pq.ParquetWriter(
                    self._path.path,
                    group.schema,
                    filesystem=file_system(self._path.store),
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


def stored(groups: Iterator[pa.RecordBatch], folder: Place, codec: str) -> Iterator[pa.RecordBatch]:
    """Write batches as row groups of one file; gives a row of `STORED` if there were any.

    Raises `FileFormatError`.
    """
    place, rows = _new_file(folder, ".parquet"), 0
    file = ResultFile(place, codec)
    try:
        for batch in groups:
            rows += batch.num_rows
            file.add(batch)
    finally:
        file.close()
    if rows:
        yield _row_of(place, rows)


def _grouped(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows in batches that are large enough for row groups."""
    import pyarrow as pa

    held: list[pa.RecordBatch] = []
    size = 0
    for batch in batches:
        if batch.num_rows:
            held.append(batch)
            size += batch.nbytes
        if size >= ROW_GROUP_BYTES:
            yield pa.concat_batches(held)
            held, size = [], 0
    if held:
        yield pa.concat_batches(held)


def _new_file(folder: Place, suffix: str) -> Place:
    return Place(folder.store, f"{folder.path}/_{uuid4().hex}{suffix}")


def _row_of(file: Place, rows: int) -> pa.RecordBatch:
    """The row of `STORED` for a file that the task of this worker has written."""
    import pyarrow as pa
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None, "a worker has a task"
    written = Stored(context.partitionId(), file.path.rpartition("/")[2], rows)
    columns = [
        pa.array([written.task], pa.int32()),
        pa.array([written.file]),
        pa.array([written.rows]),
    ]
    return pa.RecordBatch.from_arrays(columns, names=list(Stored._fields))


def _output(file: Place) -> pa.NativeFile:
    """A stream into a file of a store."""
    files = file_system(file.store)
    assert files is not None, "on this machine Spark writes lines"
    return files.open_output_stream(file.path)


@contextmanager
def _faults_of(file: Place) -> Iterator[None]:
    """Raise errors of a file as `FileFormatError`."""
    import pyarrow as pa

    try:
        yield
    except FileNotFoundError:
        folder = Place(file.store, file.path.rpartition("/")[0])
        raise FileFormatError(
            shown_file(folder), "the folder of a result is not where this executor can write it"
        ) from None
    except (OSError, pa.ArrowException) as error:
        said = reason_of(error, file.store)
        raise FileFormatError(shown_file(file), f"cannot be written: {said}") from None
