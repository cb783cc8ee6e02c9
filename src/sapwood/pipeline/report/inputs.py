"""The inputs of `report`: columns of files, tables or journals, and the table sizes of brokers."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sapwood.errors import FileFormatError
from sapwood.pipeline.journals.places import is_address, is_journal
from sapwood.pipeline.tables.reading import FileKind, file_kind, read_journal, read_parquet
from sapwood.store.table_sizes import size_files

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SIZES: Final = "broker STRING, table STRING, at TIMESTAMP, entries BIGINT"
"""From `at` on, until the next row of the same table, the table held `entries` entries."""

_TIMES: Final = ("published_at", "delivered_at")
"""Columns that a table may lack."""


def read_rows(spark: SparkSession, path: str, columns: str) -> DataFrame:
    """The given columns (DDL) of JSON Lines, Parquet or a journal; a missing time is null.

    Raises `FileFormatError` for Parquet without another one of the columns.
    """
    from pyspark.sql import functions as F  # noqa: N812

    names = [column.split()[0] for column in columns.split(", ")]
    if is_journal(path):
        return read_journal(spark, path).select(*names)
    kind = file_kind(spark, path)
    if kind in (FileKind.CSV, FileKind.XML):
        raise FileFormatError(path, f"a report reads JSON Lines or Parquet, not {kind.upper()}")
    if kind is FileKind.LINES:
        return spark.read.schema(columns).json(path).where(F.col(names[0]).isNotNull())
    table = read_parquet(spark, path)
    for time in _TIMES:
        if time in names and time not in table.columns:
            table = table.withColumn(time, F.lit(None).cast("timestamp"))
    missing = [name for name in names if name not in table.columns]
    if missing:
        raise FileFormatError(
            path, f"has no column {missing[0]!r}; it has {', '.join(table.columns)}"
        )
    return table.select(*names).where(F.col(names[0]).isNotNull())


def read_sizes(spark: SparkSession, paths: Sequence[str]) -> tuple[DataFrame, tuple[str, ...]]:
    """The table sizes (`SIZES`) of several places, and which of these are journals without any.

    A place is the folder of a journal, or files with these columns. Raises `FileFormatError` for a
    journal behind a broker, and as `read_rows`.
    """
    found: list[DataFrame] = []
    without: list[str] = []
    for path in paths:
        if is_address(path):
            raise FileFormatError(
                path, "a broker does not send its table sizes; name the folder of its journal"
            )
        if not is_journal(path):
            found.append(read_rows(spark, path, SIZES))
        elif files := size_files(Path(path)):
            found.append(spark.read.schema(SIZES).json([str(file) for file in files]))
        else:
            without.append(path)
    rows = reduce(lambda one, other: one.unionByName(other), found) if found else None
    if rows is None:
        rows = spark.createDataFrame([], SIZES)
    # A line that is being written, or a place that is named twice, is no size of its own.
    return rows.dropna().distinct(), tuple(without)
