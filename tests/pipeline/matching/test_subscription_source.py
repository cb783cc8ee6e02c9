from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sapwood.errors import FileFormatError
from sapwood.pipeline.matching.sharding import Layout
from sapwood.pipeline.matching.subscription_source import compile_path, open_subscriptions, size_at
from sapwood.pipeline.tables.summaries import Counts

pytestmark = pytest.mark.spark

LINES = '{"id": "a", "filter": "x = 1"}\n{"id": "b", "filter": "x >"}\n'


def test_the_size_of_a_set_is_measured_without_reading_filters(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "s.jsonl").write_text(LINES)
    lines = size_at(spark, str(tmp_path / "s.jsonl"))
    assert lines == (2, len(LINES) - 2)
    rows = [("a", "x = 1"), ("b", "x >")]
    spark.createDataFrame(rows, "id STRING, filter STRING").write.parquet(str(tmp_path / "t"))
    assert size_at(spark, str(tmp_path / "t")) == (2, 8)


@pytest.mark.parametrize("layout", [Layout.BROADCAST, Layout.SHARDED])
def test_both_layouts_count_and_set_aside_alike(spark: Any, tmp_path: Path, layout: Layout) -> None:
    (tmp_path / "s.jsonl").write_text(LINES)
    with open_subscriptions(spark, str(tmp_path), engine="counting", layout=layout) as found:
        assert (found.layout, found.counts) == (layout, Counts(2, 1, 1))
        (bad,) = found.rejected.collect()
    assert (bad["line"], bad["text"]) == (2, LINES.splitlines()[1])


def test_subscriptions_are_no_csv(spark: Any, tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("id,filter\n")
    with pytest.raises(FileFormatError, match="not CSV"):
        compile_path(spark, str(tmp_path / "s.csv"), engine="counting")
