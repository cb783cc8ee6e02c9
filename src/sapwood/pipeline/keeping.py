"""Tables that Spark computes once and keeps while a block needs them."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def persisted(table: DataFrame, until: ExitStack) -> DataFrame:
    """The table, computed when it is first read, and kept until the stack is closed.

    Spark keeps it in memory and, what has no room there, on local disks.
    """
    until.callback(table.persist().unpersist)
    return table
