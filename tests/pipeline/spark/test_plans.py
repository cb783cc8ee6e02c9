from __future__ import annotations

from typing import Any

import pytest

from sapwood.pipeline.spark.plans import plan_of


@pytest.mark.spark
def test_plan_of_is_what_spark_prints(spark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    plan = plan_of(spark.range(3).where("id > 1"))
    assert "Physical Plan" in plan
    assert "Filter" in plan
    assert capsys.readouterr().out == ""
