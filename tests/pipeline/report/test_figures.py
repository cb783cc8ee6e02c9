from __future__ import annotations

from typing import Any

import pytest

from sapwood.errors import InputError
from sapwood.pipeline.report.figures import crossings_by_link, rates, skew

pytestmark = pytest.mark.spark


def test_crossings_need_a_link_and_whether_they_were_needed(spark: Any) -> None:
    with pytest.raises(InputError, match=r"the columns link and needed"):
        crossings_by_link(spark.range(1))


def test_rates_cut_time_into_few_intervals(spark: Any) -> None:
    day = "timestamp_seconds(1769860800 + id * 60)"
    published = spark.range(1440).selectExpr("string(id) id", f"{day} published_at")
    nothing = spark.createDataFrame([], "publication STRING, subscriptions BIGINT")
    rows = rates(nothing, published).collect()
    assert 100 <= len(rows) <= 121
    assert sum(row["publications"] for row in rows) == 1440
    assert {row["deliveries"] for row in rows} == {0}


def test_skew_of_a_million_equal_subscriptions_is_one_point(spark: Any) -> None:
    served = spark.range(1_000_000).selectExpr("string(id) subscription", "7L publications")
    assert [tuple(row) for row in skew(served).collect()] == [(1.0, 1.0)]
