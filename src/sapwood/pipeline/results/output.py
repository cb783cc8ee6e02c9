"""Results as files: no other files are overwritten, and the rows written are counted.

A result replaces an earlier result of the same kind, so that a job can simply run again. Rejected
rows lie beside it, as JSON Lines, in a folder that is there if, and only if, there are any. Where
Spark has no file system for a path, workers write there (`store_output`).
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from glob import glob
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

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
from sapwood.pipeline.spark.listing import look_into, rows_in
from sapwood.pipeline.spark.places import shown, suffixed
from sapwood.pipeline.spark.session import NO_OPTIONS, is_connect
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
"""Settings of Parquet for rows of megabytes: it would hold a hundred before it measures them."""

_BEYOND_STARS: Final = re.compile(r"[?\[\]{}\\]")
"""The characters that mean other things in Java's patterns than in Python's."""

REJECTED_SUFFIX: Final = ".rejected"
REJECTED_ROWS_PER_FILE: Final = 1_000_000
"""People look into these files: few rows belong into one, whatever the partitions were."""


def rejected_path(out: str) -> str:
    """The folder of rejected rows where none is named: beside the result."""
    return suffixed(out, REJECTED_SUFFIX)


def exists(spark: SparkSession, path: str) -> bool:
    """True if there is a file or a folder at `path`, wherever Spark or this process finds it."""
    store = store_for(spark, path)
    if store is not None:
        return bool(files_at(store))
    here = seen_here(spark, path)
    if here is not None and not _BEYOND_STARS.search(path):
        # A folder need not be listed to be there; a name with a star may be that of several.
        return bool(glob(str(here), include_hidden=True))
    try:
        spark.read.text(path).schema  # noqa: B018 - reading the schema looks for the path
    except spark_errors() as error:
        if condition_of(error) == "PATH_NOT_FOUND":
            return False
        raise
    return True


def check_table(spark: SparkSession, path: str, columns: Sequence[str]) -> None:
    """Refuse to replace anything at `path` but an earlier result with these columns.

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
    """Refuse to replace anything at `path` but a folder of rejected rows."""
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
    stored = stored_table(table, path, options)
    here = seen_here(table.sparkSession, path)
    written: int = stored.count() if here is None else _rows_in(here)
    return written


def result_at(spark: SparkSession, path: str) -> DataFrame:
    """The table that was written at `path`."""
    store = store_for(spark, path)
    return spark.read.parquet(path) if store is None else rows_at(spark, store)


def stored_table(table: DataFrame, path: str, options: Mapping[str, str] = NO_OPTIONS) -> DataFrame:
    """Write a table as Parquet in place of an earlier one; return the table of its files."""
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
    here = seen_here(spark, path)
    if here is not None:
        return _rows_in(here)
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


def seen_here(spark: SparkSession, path: str) -> Path | None:
    """The path on this machine, if that is where Spark's driver looks, too.

    To look there takes microseconds, and to have Spark look some hundredths of a second, or a job.
    """
    local = local_path(path)
    # Java decides to which folder a path is relative.
    if local is None or not local.is_absolute() or is_connect(spark):
        return None
    if not path.startswith("file:"):
        java: Any = spark.sparkContext._jsc
        if not java.hadoopConfiguration().get("fs.defaultFS").startswith("file:"):
            return None
    return local


def _rows_in(folder: Path) -> int:
    """The number of rows of a result on this machine."""
    from pyarrow.fs import LocalFileSystem

    files = LocalFileSystem()
    return sum(rows_in(files, path) for path in look_into(files, str(folder)).belong)


def local_path(path: str) -> Path | None:
    """The path on this machine, as far as it can be one."""
    plain = path.removeprefix("file://").removeprefix("file:")
    return None if "://" in plain else Path(plain)
