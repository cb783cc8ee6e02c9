from __future__ import annotations

from contextlib import ExitStack
from typing import Any, cast

import pytest

from sapwood.pipeline.spark.frames import computed, persisted, plan_of


class Table:
    """A table, as far as `persisted` uses one."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def persist(self) -> Table:
        self.calls.append("persist")
        return self

    def unpersist(self) -> Table:
        self.calls.append("unpersist")
        return self

    def localCheckpoint(self, eager: bool) -> Table:  # noqa: N802 - as Spark has it
        self.calls.append(f"checkpoint {eager}")
        return Table()


def test_a_table_is_kept_until_the_stack_is_closed() -> None:
    table = Table()
    with ExitStack() as kept:
        assert persisted(cast("Any", table), kept) is table
        assert table.calls == ["persist"]
    assert table.calls == ["persist", "unpersist"]


def test_a_table_is_computed_at_once_and_is_another_then() -> None:
    table = Table()
    assert computed(cast("Any", table)) is not cast("Any", table)
    assert table.calls == ["checkpoint True"]


@pytest.mark.spark
def test_plan_of_is_what_spark_prints(spark: Any, capsys: pytest.CaptureFixture[str]) -> None:
    plan = plan_of(spark.range(3).where("id > 1"))
    assert "Physical Plan" in plan
    assert "Filter" in plan
    assert capsys.readouterr().out == ""
