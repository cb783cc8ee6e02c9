"""Results in a store for which Spark has no file system: workers write them, the driver looks.

What `output` does by Spark elsewhere. Whatever table it is, its tasks hand their rows to Python,
which costs more than where Spark writes; deliveries of a lake do not take this way (`delivering`).
"""

from __future__ import annotations

from functools import partial
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Final

from sapwood.pipeline.results.committing import begin_staging
from sapwood.pipeline.results.storing import STORED, Stored, StoreLines, StoreRows, needed_codec
from sapwood.pipeline.spark.listing import at_once, listed
from sapwood.pipeline.spark.places import Store, is_remote, store_faults
from sapwood.pipeline.spark.reaching import looked_at, spark_reaches
from sapwood.pipeline.tables.arrow_schemas import merged_schema
from sapwood.pipeline.tables.reading import column_named
from sapwood.pipeline.tables.row_groups import Groups, footer_in
from sapwood.pipeline.tables.store_rows import ReadRows, rows_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_LINES_SUFFIX: Final = ".json"


def store_for(spark: SparkSession, path: str) -> Store | None:
    """The store at a path that Spark does not reach; `None` for one that it reaches.

    Raises `FileFormatError` where this process does not reach it either.
    """
    if not is_remote(path) or spark_reaches(spark, path):
        return None
    return looked_at(path)


def files_at(store: Store) -> tuple[str, ...]:
    """The paths of the files there; none if there is nothing."""
    with store_faults(store.uri, "cannot be read"):
        return listed(store.files, store.path)


def columns_at(store: Store) -> list[str]:
    """The columns of the table there. Raises `FileFormatError` if it is none."""
    first = files_at(store)[0]
    return list(footer_in(store, first).schema.to_arrow_schema().names)


def names_at(store: Store) -> list[str]:
    """The names of the files there, without their folders."""
    return [PurePosixPath(path).name for path in files_at(store)]


def rows_at(spark: SparkSession, store: Store) -> DataFrame:
    """The table there, read by workers. Raises `FileFormatError` if it is none."""
    files = files_at(store)
    footers = at_once(partial(footer_in, store), files)
    parts = [
        [Groups(file, tuple(range(footer.num_row_groups)))]
        for file, footer in zip(files, footers, strict=True)
    ]
    schema = merged_schema([f.schema.to_arrow_schema() for f in footers], case_sensitive=True)
    table = rows_table(spark, ReadRows(store.uri, parts, schema, case_sensitive=True))
    return table.select(*(column_named(table, name) for name in schema.names))


def store_rows(table: DataFrame, store: Store) -> int:
    """Write a table as Parquet in place of an earlier one; the number of rows in the files."""
    from pyspark.sql.pandas.types import to_arrow_schema

    staging = begin_staging(store)
    try:
        work = StoreRows(staging.place, needed_codec(table.sparkSession))
        files = table.mapInArrow(work, STORED).collect()
        return staging.put_in_place([Stored(*row) for row in files], to_arrow_schema(table.schema))
    finally:
        staging.remove()


def store_lines(table: DataFrame, store: Store) -> int:
    """Write rows as JSON Lines in place of earlier ones; the number of lines in the files."""
    from pyspark.sql import functions as F  # noqa: N812

    staging = begin_staging(store)
    try:
        lines = table.select(F.to_json(F.struct(*table.columns)).alias("value"))
        files = lines.mapInArrow(StoreLines(staging.place, _LINES_SUFFIX), STORED).collect()
        return staging.put_in_place([Stored(*row) for row in files], None)
    finally:
        staging.remove()


def remove_all(store: Store) -> None:
    """Remove all files there, if there are any."""
    with store_faults(store.uri, "cannot be removed"):
        if files_at(store):
            store.files.delete_dir(store.path)
