from __future__ import annotations

from typing import Any

import pytest

from sapwood.errors import FileFormatError, InvariantError
from sapwood.pipeline.spark.checks import agree, refuse_first
from sapwood.pipeline.tables.schemas import REJECTED


@pytest.mark.spark
def test_refuse_first_names_the_first_place(spark: Any) -> None:
    rows = [("g", 1, "late", ""), ("f", 2, "second", ""), ("f", 1, "first", "")]
    table = spark.createDataFrame(rows, REJECTED)
    with pytest.raises(FileFormatError, match=r"^f, line 1: first$"):
        refuse_first(table, 3)
    refuse_first(table.where("false"), 0)


@pytest.mark.spark
def test_refuse_first_does_without_a_place(spark: Any) -> None:
    table = spark.createDataFrame([(None, None, "no", "")], REJECTED)
    with pytest.raises(FileFormatError, match=r"^a table: no$"):
        refuse_first(table, 1)


def test_agree_raises_when_counts_differ() -> None:
    agree("lines", 3, 3)
    with pytest.raises(InvariantError, match="1,000 lines were counted first and 3 later"):
        agree("lines", 1000, 3)
