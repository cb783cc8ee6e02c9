"""Results as files: no other files are overwritten, and the rows written are counted.

A result replaces an earlier result of the same kind, so that a job can simply run again. Rejected
rows lie beside it, as JSON Lines, in a folder that is there if, and only if, there are any. Where
Spark has no file system for a path, workers write there (`store_output`).
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from sapwood.errors import FileFormatError
from sapwood.pipeline.results.store_output import (
    columns_at,
    files_at,
    names_at,
    remove_all,
    rows_at,
    store_for,
    store_lines,
    store_rows,
)
from sapwood.pipeline.spark.faults import condition_of, spark_errors
from sapwood.pipeline.spark.places import shown, suffixed
from sapwood.pipeline.spark.session import NO_OPTIONS
from sapwood.pipeline.tables.schemas import REJECTED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from sapwood.pipeline.tables.schemas import Rejected

LARGE_ROWS: Final = MappingProxyType(
    {
        "parquet.block.size": "16777216",
        "parquet.block.size.row.check.min": "1",
        "parquet.page.size.row.check.min": "1",
    }
)
"""Settings of Parquet for rows of megabytes: it would hold a hundred before it looks what they
take."""

REJECTED_SUFFIX: Final = ".rejected"
REJECTED_ROWS_PER_FILE: Final = 1_000_000
"""People look into these files: few rows belong into one, whatever the partitions were."""


def rejected_path(out: str) -> str:
    """The folder of rejected rows where none is named: beside the result."""
    return suffixed(out, REJECTED_SUFFIX)


def exists(spark: SparkSession, path: str) -> bool:
    """Whether there is a file or a folder at `path`, wherever Spark or this process finds it."""
    store = store_for(spark, path)
    if store is not None:
        return bool(files_at(store))
    try:
        spark.read.text(path).schema  # noqa: B018 - reading the schema looks for the path
    except spark_errors() as error:
        if condition_of(error) == "PATH_NOT_FOUND":
            return False
        raise
    return True


def check_table(spark: SparkSession, path: str, columns: Sequence[str]) -> None:
    """Refuse to replace what is at `path`, unless that is an earlier result with these columns.

    Raises `FileFormatError` if there is something else.
    """
    if not exists(spark, path) or _is_empty_folder(path):
        return
    store = store_for(spark, path)
    try:
        found = spark.read.parquet(path).columns if store is None else columns_at(store)
    except FileFormatError:
        found = []
    except spark_errors():  # Not Parquet, or not one table.
        found = []
    if found[: len(columns)] != list(columns):
        raise FileFormatError(
            shown(path),
            "exists and is no earlier result of this command; choose another path, or remove it",
        )


def check_rejected(spark: SparkSession, path: str) -> None:
    """Refuse to replace what is at `path`, unless that is a folder of rejected rows."""
    if not exists(spark, path) or _is_empty_folder(path):
        return
    store = store_for(spark, path)
    if store is None:
        names = [PurePosixPath(name).name for name in spark.read.text(path).inputFiles()]
    else:
        names = names_at(store)
    local = local_path(path)
    if (local is not None and local.is_file()) or not all(
        name.startswith("part-") and name.endswith(".json") for name in names
    ):
        raise FileFormatError(
            shown(path),
            "exists and is no folder of rejected rows; choose another with --rejected, or "
            "remove it",
        )


def write_table(table: DataFrame, path: str, options: Mapping[str, str] = NO_OPTIONS) -> int:
    """Write a table as Parquet in place of an earlier one; the number of rows in the files."""
    store = store_for(table.sparkSession, path)
    if store is not None:
        return store_rows(table, store)
    written: int = stored_table(table, path, options).count()
    return written


def result_at(spark: SparkSession, path: str) -> DataFrame:
    """The table that was written at `path`."""
    store = store_for(spark, path)
    return spark.read.parquet(path) if store is None else rows_at(spark, store)


def stored_table(table: DataFrame, path: str, options: Mapping[str, str] = NO_OPTIONS) -> DataFrame:
    """Write a table as Parquet in place of an earlier one; what is read from the files."""
    table.write.mode("overwrite").options(**options).parquet(path)
    return table.sparkSession.read.schema(table.schema).parquet(path)


def write_rejected(rejected: DataFrame, path: str, *, expected: int) -> int:
    """Write rejected rows as JSON Lines, in the order of their places; the number of lines written.

    They replace earlier ones; with no row `expected`, earlier ones are removed. Raises
    `FileFormatError` if something else is there.
    """
    spark = rejected.sparkSession
    if not expected:
        remove_rejected(spark, path)
        return 0
    files = 1 + expected // REJECTED_ROWS_PER_FILE
    order = ("file", "line", "reason")
    ordered = rejected.repartitionByRange(files, *order).sortWithinPartitions(*order)
    check_rejected(spark, path)
    store = store_for(spark, path)
    if store is not None:
        return store_lines(ordered, store)
    ordered.write.mode("overwrite").json(path)
    written: int = spark.read.option("lineSep", "\n").text(path).count()
    return written


def remove_rejected(spark: SparkSession, path: str) -> None:
    """Remove the rejected rows of an earlier run. Errors as `write_rejected`.

    On a file system that only Spark can reach the folder stays, with no row in it.
    """
    check_rejected(spark, path)
    if not exists(spark, path):
        return
    store, local = store_for(spark, path), local_path(path)
    if store is not None:
        remove_all(store)
    elif local is not None and local.is_dir():
        shutil.rmtree(local)
    else:
        spark.createDataFrame([], REJECTED).write.mode("overwrite").json(path)


def rejected_table(spark: SparkSession, rejected: Iterable[Rejected]) -> DataFrame:
    """Rejected rows that the driver holds, as a table."""
    return spark.createDataFrame([tuple(row) for row in rejected], REJECTED)


def _is_empty_folder(path: str) -> bool:
    local = local_path(path)
    return local is not None and local.is_dir() and not any(local.iterdir())


def local_path(path: str) -> Path | None:
    """The path on this machine, as far as it can be one."""
    plain = path.removeprefix("file://").removeprefix("file:")
    return None if "://" in plain else Path(plain)
