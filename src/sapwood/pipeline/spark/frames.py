"""DataFrames of any job: kept while a block needs them, computed at once, explained."""

from __future__ import annotations

from contextlib import ExitStack, redirect_stdout
from io import StringIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def persisted(table: DataFrame, until: ExitStack) -> DataFrame:
    """The table, computed when it is first read, and kept until the stack is closed.

    Spark keeps it in memory and, where that is full, on local disks.
    """
    until.callback(table.persist().unpersist)
    return table


def computed(table: DataFrame) -> DataFrame:
    """The table, computed now, as if it had been read: plans do not hold its computation.

    Parts lost with an executor cannot be computed again, so this is for tables that are
    made of themselves again and again, and whose plans would grow twofold each time.
    """
    return table.localCheckpoint(eager=True)


def plan_of(table: DataFrame) -> str:
    """The physical plan of a table, as Spark prints it."""
    text = StringIO()
    with redirect_stdout(text):
        table.explain("formatted")
    return text.getvalue()
