"""A lake: publications in Parquet files, which the workers of a match read by themselves.

::

    DataFrame    files ── JVM: pages, rows, Arrow ── socket ── worker: matches
    Lake         files ────────────────────────────────────── worker: pages, Arrow, matches

What a worker gets from a DataFrame has been taken apart into rows and put together again in the
JVM, which costs more than to match it. Where executors see the files of a table as files, each task
is told which row groups are its own, and nothing but that goes to the worker. The deliveries are
the same.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias
from urllib.parse import unquote, urlsplit

from sapwood.limits import LAKE_FILES_MAX
from sapwood.pipeline.tables.attributes import Leaf
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
from sapwood.pipeline.tables.reading import place_columns, read_parquet, read_table
from sapwood.pipeline.tables.row_groups import (
    GroupReader,
    Groups,
    PartReader,
    Path,
    Places,
    is_readable,
    known_as,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    Publications: TypeAlias = "DataFrame | Lake"

_TASK_BYTES_MAX: Final = 128 << 20
_TASK_BYTES_MIN: Final = 4 << 20
"""What a task reads, before it is packed; what Spark gives to one of its own is as much, packed."""

_FOOTERS_AT_ONCE: Final = 8
_LENIENT: Final = ("spark.sql.files.ignoreCorruptFiles", "spark.sql.files.ignoreMissingFiles")
"""With these Spark passes over files in its own way."""

_COLUMNS: Final = ("id", "attributes", "document")
_FOLDER_COLUMN: Final = re.compile(r"/([^/=]+)=[^/]*(?=/)")
"""A column that is not in the file but in the name of its folder."""


@dataclass(frozen=True, slots=True)
class Lake:
    """Publications at a path, as a `table` and as files.

    `parts` are what each task reads; `None` where workers cannot read the files as Spark would, and
    the table is used. `case_sensitive` tells whether Spark tells names apart by their case.
    """

    table: DataFrame
    parts: tuple[tuple[Groups, ...], ...] | None
    places: Places = Places()  # noqa: RUF009 - a tuple, which nobody can change
    case_sensitive: bool = False

    def tasks(self) -> DataFrame:
        """A row for each part, in a partition of its own, with the number of the part as `id`."""
        count = len(self.parts or ())
        return self.table.sparkSession.range(0, count, 1, max(count, 1))

    def reader(self, shape: Shape, needs: Needs) -> PartReader:
        """What reads, for a worker, what `publications.select_read` would select."""
        assert self.parts is not None, "workers read this lake"
        documents = needs.documents and shape.documents
        chosen = read_leaves(shape, needs)
        names = None if shape.record is None else tuple(leaf.name for leaf in chosen)
        # NaN in a column that travels without documents is seen by those who match it.
        seen = () if documents else chosen
        judged = (leaf for leaf in float_leaves(shape) if leaf not in seen)
        reader = GroupReader(
            Places(tuple(map(self._known, self.places.ids)), self._known(self.places.record)),
            Carried(names, documents),
            tuple((self._path(leaf), kind_of(leaf)) for leaf in chosen),
            tuple(map(self._path, judged)),
            self.case_sensitive,
        )
        return PartReader(reader, self.parts)

    def _path(self, leaf: Leaf) -> Path:
        return self._known((*self.places.record, *leaf.path))

    def _known(self, path: Path) -> Path:
        return known_as(path, case_sensitive=self.case_sensitive)


def open_lake(spark: SparkSession, path: str, id_columns: Sequence[str] = ()) -> Lake:
    """The publications in the Parquet files at `path`: a file, a folder or a pattern.

    They have the columns `id` and `attributes`. With `id_columns` they may be of any shape: these
    identify a row, and all columns are attributes, except a single id (`as_publications`).

    Raises `FileFormatError` if there are none, or if their columns do not go together, and
    `InputError` if there is no such id.
    """
    case_sensitive = spark.conf.get("spark.sql.caseSensitive") == "true"
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
    """How many rows of a lake are publications, as those see it who match them.

    `None` where that cannot be told without reading texts or documents.
    """
    shape = shape_of(lake.table)
    if not lake.parts or shape.record is None or shape.documents:
        return None
    read = lake.reader(shape, Needs(()))
    counted = lake.tasks().mapInArrow(CountRows(read), "rows BIGINT").collect()
    return int(sum(row["rows"] for row in counted))


class Size(NamedTuple):
    """How large the row groups of a file are, in bytes."""

    file: str
    groups: tuple[int, ...]


def parts_of(sizes: Sequence[Size], tasks: int) -> tuple[tuple[Groups, ...], ...]:
    """Row groups for each of some parts, which are read by so many tasks at a time.

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
    groups = (footer.row_group(number) for number in range(footer.num_row_groups))
    return Size(file, tuple(group.total_byte_size for group in groups))
