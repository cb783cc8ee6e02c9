"""Into how many pieces a shuffle is cut.

On one machine sessions cut into as many pieces as there are cores, as more only cost where there is
little. But a piece is held in memory at once, so pieces must not grow with the data.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS_MAX: Final = 300_000
"""Rows that a piece should have at most, of some hundred bytes each."""

_USUAL: Final = "spark.sql.shuffle.partitions"
_FIRST: Final = "spark.sql.adaptive.coalescePartitions.initialPartitionNum"
"""Into how many pieces a shuffle is cut before Spark joins what is small; otherwise the usual."""


def brought_together(table: DataFrame, pieces: int, *columns: str) -> DataFrame:
    """The rows in so many pieces, those that are alike in these columns in one.

    For one piece nothing is shuffled, and a single task reads the table, which is best kept.
    """
    return table.coalesce(1) if pieces == 1 else table.repartition(pieces, *columns)


@contextmanager
def cut_for(spark: SparkSession, rows: int) -> Iterator[None]:
    """Cut shuffles of so many rows into small pieces, for the length of a block.

    Never into fewer than the session does by itself.
    """
    before = spark.conf.get(_FIRST, None)
    usual = before or spark.conf.get(_USUAL, None) or "1"
    wanted = -(-rows // ROWS_MAX)
    if wanted <= int(usual):
        yield
        return
    spark.conf.set(_FIRST, str(wanted))
    try:
        yield
    finally:
        if before is None:
            spark.conf.unset(_FIRST)
        else:
            spark.conf.set(_FIRST, before)
