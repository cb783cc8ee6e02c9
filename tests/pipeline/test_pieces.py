from __future__ import annotations

from typing import Any

import pytest

from sapwood.pipeline.pieces import ROWS_MAX, cut_for

pytestmark = pytest.mark.spark

FIRST = "spark.sql.adaptive.coalescePartitions.initialPartitionNum"


def test_few_rows_are_cut_as_the_session_does(spark: Any) -> None:
    with cut_for(spark, 2 * ROWS_MAX):
        assert spark.conf.get(FIRST, None) is None


def test_many_rows_are_cut_finer_for_the_length_of_a_block(spark: Any) -> None:
    with cut_for(spark, 2 * ROWS_MAX + 1):
        assert spark.conf.get(FIRST) == "3"
        with cut_for(spark, 10 * ROWS_MAX):
            assert spark.conf.get(FIRST) == "10"
        assert spark.conf.get(FIRST) == "3"
        with cut_for(spark, ROWS_MAX):
            assert spark.conf.get(FIRST) == "3"
    assert spark.conf.get(FIRST, None) is None


def fail_in_pieces(spark: Any) -> None:
    with cut_for(spark, 10 * ROWS_MAX):
        raise ZeroDivisionError


def test_a_block_that_fails_leaves_the_session_as_it_was(spark: Any) -> None:
    with pytest.raises(ZeroDivisionError):
        fail_in_pieces(spark)
    assert spark.conf.get(FIRST, None) is None
