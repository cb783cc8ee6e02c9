"""A lake: publications in Parquet files, which the workers of a match read by themselves.

::

    DataFrame    files ── JVM: pages, rows, Arrow ── socket ── worker: matches
    Lake         files ────────────────────────────────────── worker: pages, Arrow, matches

Batches that a worker gets from a DataFrame have been taken apart into rows and put together again
in the JVM, which costs more than to match them. Where executors see the files of a table as files,
each task gets the numbers of its row groups, and nothing but that goes to the worker. The
deliveries are the same.

On this machine Spark finds the files and the types of columns. In a store such as S3 the
driver does so by itself, with the footers of all files, and Spark needs no file system for it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias
from urllib.parse import unquote, urlsplit

from sapwood.errors import FileFormatError, InputError
from sapwood.limits.pipeline import LAKE_FILES_MAX
from sapwood.pipeline.spark.listing import at_once, listed
from sapwood.pipeline.spark.places import HERE, Store, nothing_at, shown, store_faults
from sapwood.pipeline.spark.reaching import log_reason, spark_reaches, store_for_workers
from sapwood.pipeline.tables.arrow_schemas import merged_schema
from sapwood.pipeline.tables.attributes import Kind, Leaf, Scalar
from sapwood.pipeline.tables.publications import (
    Carried,
    Needs,
    Shape,
    as_publications,
    float_leaves,
    kind_of,
    read_leaves,
    shape_of,
)
from sapwood.pipeline.tables.reading import column_named, place_columns, read_parquet, read_table
from sapwood.pipeline.tables.row_groups import (
    GroupReader,
    Groups,
    PartReader,
    Path,
    Places,
    footer_in,
    is_readable,
    known_as,
)
from sapwood.pipeline.tables.store_rows import ReadRows, read_places, rows_table

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    Publications: TypeAlias = "DataFrame | Lake"

_TASK_BYTES_MAX: Final = 128 << 20
_TASK_BYTES_MIN: Final = 4 << 20
"""The bytes that a task reads, unpacked; Spark gives as much, packed, to a task of its own."""

_FOOTERS_AT_ONCE: Final = 8
_LENIENT: Final = ("spark.sql.files.ignoreCorruptFiles", "spark.sql.files.ignoreMissingFiles")
"""With these Spark passes over files in its own way."""

_COLUMNS: Final = ("id", "attributes", "document")
_FOLDER_COLUMN: Final = re.compile(r"/([^/=]+)=[^/]*(?=/)")
"""A column that is not in the file but in the name of its folder."""


@dataclass(frozen=True, slots=True)
class Lake:
    """Publications at a path, as a `table` and as files.

    `parts` are the row groups that each task reads; `None` where workers cannot read the files as
    Spark would, and the table is used. `case_sensitive` is true if Spark distinguishes names by
    their case. The files are in a `store`; then `rows` counts their rows, and the table has what
    workers read.
    """

    table: DataFrame
    parts: tuple[tuple[Groups, ...], ...] | None
    places: Places = Places()  # noqa: RUF009 - a tuple, which cannot change
    case_sensitive: bool = False
    store: str = HERE
    rows: int | None = None

    def tasks(self) -> DataFrame:
        """A row for each part, in a partition of its own, with the number of the part as `id`."""
        count = len(self.parts or ())
        return self.table.sparkSession.range(0, count, 1, max(count, 1))

    def reader(self, shape: Shape, needs: Needs) -> PartReader:
        """The reader, for a worker, of the columns that `publications.select_read` would select."""
        assert self.parts is not None, "workers read this lake"
        documents = needs.documents and shape.documents
        chosen = read_leaves(shape, needs)
        names = None if shape.record is None else tuple(leaf.name for leaf in chosen)
        # NaN in a column that travels without documents is found by the worker that matches it.
        seen = () if documents else chosen
        nan_checked = (leaf for leaf in float_leaves(shape) if leaf not in seen)
        reader = GroupReader(
            Places(tuple(map(self._known, self.places.ids)), self._known(self.places.record)),
            Carried(names, documents),
            tuple((self._path(leaf), _kind(leaf)) for leaf in chosen),
            tuple(map(self._path, nan_checked)),
            self.case_sensitive,
            self.store,
        )
        return PartReader(reader, self.parts)

    def _path(self, leaf: Leaf) -> Path:
        return self._known((*self.places.record, *leaf.path))

    def _known(self, path: Path) -> Path:
        return known_as(path, case_sensitive=self.case_sensitive)


def open_lake(spark: SparkSession, path: str, id_columns: Sequence[str] = ()) -> Lake:
    """The publications in the Parquet files at `path`: a file, a folder or a pattern.

    The path may be the URI of a store that pyarrow opens (`spark.places`), whether Spark has a file
    system for it or not. Publications have the columns `id` and `attributes`. With `id_columns`
    they may be of any shape: these identify a row, and all columns are attributes, except a single
    id (`as_publications`).

    Raises `FileFormatError` if there are none, or if their columns do not go together, and
    `InputError` if there is no such id.
    """
    store = store_for_workers(spark, path)
    if store is not None and (lake := _in_store(spark, store, id_columns)) is not None:
        return lake
    case_sensitive = _is_case_sensitive(spark)
    columns: Collection[str]
    if id_columns:
        read = read_parquet(spark, path)
        table = as_publications(read, id_columns=id_columns, keep=place_columns())
        places, columns = Places(tuple((name,) for name in id_columns), ()), read.columns
    else:
        table = read_table(spark, path)
        places, columns = Places(), _COLUMNS
    files = None if _is_lenient(spark) else _local_files(table.inputFiles(), columns)
    sizes = None if files is None else _sizes(files, id_columns or ("id",))
    if sizes is None:
        return Lake(table, None, places, case_sensitive)
    tasks = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
    return Lake(table, parts_of(sizes, tasks), places, case_sensitive)


def _in_store(spark: SparkSession, store: Store, id_columns: Sequence[str]) -> Lake | None:
    """The publications in a store; `None` where Spark has to read them, and can.

    Raises as `open_lake`.
    """
    try:
        if _is_lenient(spark):
            raise _NotByWorkersError(f"{' or '.join(_LENIENT)} is set")
        with store_faults(store.uri, "cannot be read"):
            files = listed(store.files, store.path)
        _check_files(files, store, None if id_columns else _COLUMNS)
        return _of_files(spark, store, files, id_columns)
    except _NotByWorkersError as error:
        if not spark_reaches(spark, store.uri):
            raise FileFormatError(
                shown(store.uri),
                f"cannot be read without a file system of Spark's for this scheme: {error}",
            ) from None
        log_reason(store.uri, str(error))
        return None


def _check_files(files: Sequence[str], store: Store, columns: Collection[str] | None) -> None:
    """Raise where there are none, or workers would not read the columns that Spark reads.

    These are all that there are, or these.
    """
    if not files:
        raise nothing_at(store)
    if len(files) > LAKE_FILES_MAX:
        raise _NotByWorkersError(f"there are {len(files):,} files (LAKE_FILES_MAX)")
    for file in files:
        for name in _FOLDER_COLUMN.findall(file.removeprefix(store.path)):
            if columns is None or name.lower() in columns:
                raise _NotByWorkersError(f"the column {name!r} is in the names of folders")


def _of_files(
    spark: SparkSession, store: Store, files: Sequence[str], id_columns: Sequence[str]
) -> Lake:
    """The lake of some files in a store."""
    import pyarrow as pa
    from pyspark.errors import PySparkException

    footers = at_once(partial(footer_in, store), files)
    schemas = [footer.schema.to_arrow_schema() for footer in footers]
    if not all(is_readable(schema, ()) for schema in schemas):
        raise _NotByWorkersError("texts within structs were written from dictionaries")
    sizes = [
        Size(file, tuple(_group_sizes(footer))) for file, footer in zip(files, footers, strict=True)
    ]
    parts = parts_of(sizes, int(spark.conf.get("spark.sql.shuffle.partitions") or 1))
    case_sensitive = _is_case_sensitive(spark)
    try:
        merged = merged_schema(schemas, case_sensitive=case_sensitive)
    except InputError as error:
        raise FileFormatError(shown(store.uri), str(error)) from None
    known = [field for field in merged if field.name.lower() in _COLUMNS]
    # Where a column is missing, the error names all that are there.
    schema = merged if id_columns or len(known) < 2 else pa.schema(known)
    read = ReadRows(store.uri, parts, schema, case_sensitive)
    try:
        table = rows_table(spark, read)
    except PySparkException as error:
        raise _NotByWorkersError(str(error).splitlines()[0]) from None
    places = Places()
    if id_columns:
        places = Places(tuple((name,) for name in id_columns), ())
        names = [name for name in read.schema.names if [name] != list(id_columns)]
        keep = read_places()
        table = as_publications(table, id_columns=id_columns, attributes=names, keep=keep)
    else:
        kept = (column_named(table, name) for name in read.schema.names)
        table = table.select(*kept, *read_places())
    ids = {name.lower() for name in id_columns or ("id",)}
    is_readable_by_workers = all(is_readable(schema, ids) for schema in schemas)
    rows = sum(footer.num_rows for footer in footers)
    return Lake(
        table, parts if is_readable_by_workers else None, places, case_sensitive, store.uri, rows
    )


class _NotByWorkersError(Exception):
    """The reason why workers do not read a lake; it never reaches callers."""


def table_of_lake(publications: Publications) -> DataFrame:
    """The publications as a table."""
    return publications.table if isinstance(publications, Lake) else publications


@dataclass(frozen=True, slots=True)
class CountRows:
    """The function for `mapInArrow` that counts publications: numbers of parts in."""

    read: PartReader

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Count those of one task."""
        import pyarrow as pa

        rows = sum(batch.num_rows for batch in self.read.batches(batches))
        yield pa.RecordBatch.from_arrays([pa.array([rows])], names=["rows"])


def good_rows(lake: Lake) -> int | None:
    """The number of rows that the matching workers accept as publications.

    `None` where only reading texts or documents would show it.
    """
    shape = shape_of(lake.table)
    if not lake.parts or shape.record is None or shape.documents:
        return None
    read = lake.reader(shape, Needs(()))
    counted = lake.tasks().mapInArrow(CountRows(read), "rows BIGINT").collect()
    return int(sum(row["rows"] for row in counted))


def _kind(leaf: Leaf) -> Kind | None:
    """The kind as which a column is carried; `None` for a column of lists, carried as it is."""
    return kind_of(leaf) if isinstance(leaf.type, Scalar) else None


class Size(NamedTuple):
    """The sizes of the row groups of a file, in bytes."""

    file: str
    groups: tuple[int, ...]


def parts_of(sizes: Sequence[Size], tasks: int) -> tuple[tuple[Groups, ...], ...]:
    """The row groups of each part of a lake, where `tasks` tasks run at a time.

    Row groups stay whole, and in order; a part has less than a task may read, or one of them.
    """
    total = sum(sum(size.groups) for size in sizes)
    most = min(max(-(-total // max(tasks, 1)), _TASK_BYTES_MIN), _TASK_BYTES_MAX)
    parts: list[list[Groups]] = []
    filled = most
    for size in sizes:
        for number, taken in enumerate(size.groups):
            if filled + taken > most:
                parts.append([])
                filled = 0
            filled += taken
            last = parts[-1]
            if last and last[-1].file == size.file:
                last[-1] = Groups(size.file, (*last[-1].numbers, number))
            else:
                last.append(Groups(size.file, (number,)))
    return tuple(map(tuple, parts))


def _is_case_sensitive(spark: SparkSession) -> bool:
    return bool(spark.conf.get("spark.sql.caseSensitive") == "true")


def _is_lenient(spark: SparkSession) -> bool:
    return any(spark.conf.get(setting, "false") == "true" for setting in _LENIENT)


def _local_files(uris: Sequence[str], columns: Collection[str]) -> list[str] | None:
    """The files as paths, sorted; `None` if they are not for a worker to read.

    Nor are they if one of the `columns` is not in them but in the name of their folder.
    """
    parsed = [urlsplit(uri) for uri in uris]
    files = sorted(unquote(uri.path) for uri in parsed)
    is_local = all(uri.scheme == "file" for uri in parsed)
    folders = {name.lower() for file in files for name in _FOLDER_COLUMN.findall(file)}
    is_whole = folders.isdisjoint(name.lower() for name in columns)
    return files if is_local and is_whole and len(files) <= LAKE_FILES_MAX else None


def _sizes(files: Sequence[str], id_columns: Sequence[str]) -> list[Size] | None:
    """The sizes of all row groups, by the footers; `None` if one cannot be read this way."""
    import pyarrow as pa

    ids = {name.lower() for name in id_columns}
    try:
        with ThreadPoolExecutor(_FOOTERS_AT_ONCE) as threads:
            sizes = list(threads.map(lambda file: _size_of(file, ids), files))
    except (OSError, pa.ArrowException):
        return None
    known = [size for size in sizes if size is not None]
    return known if len(known) == len(sizes) else None


def _size_of(file: str, ids: Collection[str]) -> Size | None:
    import pyarrow.parquet

    footer = pyarrow.parquet.read_metadata(file)
    if not is_readable(footer.schema.to_arrow_schema(), ids):
        return None
    return Size(file, tuple(_group_sizes(footer)))


def _group_sizes(footer: pa.parquet.FileMetaData) -> Iterator[int]:
    for number in range(footer.num_row_groups):
        yield footer.row_group(number).total_byte_size
