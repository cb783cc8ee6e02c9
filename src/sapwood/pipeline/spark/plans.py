"""What Spark means to do."""

from __future__ import annotations

from contextlib import redirect_stdout
from io import StringIO
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def plan_of(table: DataFrame) -> str:
    """The physical plan of a table, as Spark prints it."""
    text = StringIO()
    with redirect_stdout(text):
        table.explain("formatted")
    return text.getvalue()
