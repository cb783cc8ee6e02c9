from __future__ import annotations

from typing import Any

import pytest

from sapwood.pipeline.spark.frames import plan_of
from sapwood.pipeline.spark.shuffle import ROWS_MAX, gather_by, shuffle_partitions

pytestmark = pytest.mark.spark

FIRST = "spark.sql.adaptive.coalescePartitions.initialPartitionNum"


def test_few_rows_are_cut_as_the_session_does(spark: Any) -> None:
    with shuffle_partitions(spark, 2 * ROWS_MAX):
        assert spark.conf.get(FIRST, None) is None


def test_many_rows_are_cut_finer_for_the_length_of_a_block(spark: Any) -> None:
    with shuffle_partitions(spark, 2 * ROWS_MAX + 1):
        assert spark.conf.get(FIRST) == "3"
        with shuffle_partitions(spark, 10 * ROWS_MAX):
            assert spark.conf.get(FIRST) == "10"
        assert spark.conf.get(FIRST) == "3"
        with shuffle_partitions(spark, ROWS_MAX):
            assert spark.conf.get(FIRST) == "3"
    assert spark.conf.get(FIRST, None) is None


def fail_in_pieces(spark: Any) -> None:
    with shuffle_partitions(spark, 10 * ROWS_MAX):
        raise ZeroDivisionError


def test_a_block_that_fails_leaves_the_session_as_it_was(spark: Any) -> None:
    with pytest.raises(ZeroDivisionError):
        fail_in_pieces(spark)
    assert spark.conf.get(FIRST, None) is None


def test_rows_that_are_alike_come_together_in_as_many_pieces_as_asked_for(spark: Any) -> None:
    table = spark.range(40).selectExpr("id % 5 AS key")
    pieces = "spark_partition_id() AS piece"
    for count in (1, 3):
        brought = gather_by(table, count, "key")
        found = brought.selectExpr("key", pieces).distinct().collect()
        assert len(found) == 5
        assert len({row["piece"] for row in found}) <= count
    assert "Exchange" not in plan_of(gather_by(table, 1, "key"))
    assert "Exchange" in plan_of(gather_by(table, 2, "key"))
