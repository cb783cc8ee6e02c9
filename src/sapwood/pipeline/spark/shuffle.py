"""The partitions of a shuffle: how many, and which rows are in one.

On one machine sessions have as many partitions as there are cores, as more only cost where there is
little. But a partition is held in memory at once, so partitions must not grow with the data.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS_MAX: Final = 300_000
"""Rows that a partition should have at most, of some hundred bytes each."""

_USUAL: Final = "spark.sql.shuffle.partitions"
_FIRST: Final = "spark.sql.adaptive.coalescePartitions.initialPartitionNum"
"""The partitions before Spark joins small ones; where it is not set, `_USUAL` holds."""


def gather_by(table: DataFrame, partitions: int, *columns: str) -> DataFrame:
    """The rows in a number of partitions, those with equal values in the `columns` in one.

    For one partition nothing is shuffled, and a single task reads the table, which is best kept.
    """
    return table.coalesce(1) if partitions == 1 else table.repartition(partitions, *columns)


@contextmanager
def shuffle_partitions(spark: SparkSession, rows: int) -> Iterator[None]:
    """Cut shuffles of `rows` rows into small partitions, for the length of a block.

    Never into fewer partitions than the session does by itself.
    """
    before = spark.conf.get(_FIRST, None)
    usual = before or spark.conf.get(_USUAL, None) or "1"
    needed = -(-rows // ROWS_MAX)
    if needed <= int(usual):
        yield
        return
    spark.conf.set(_FIRST, str(needed))
    try:
        yield
    finally:
        if before is None:
            spark.conf.unset(_FIRST)
        else:
            spark.conf.set(_FIRST, before)
