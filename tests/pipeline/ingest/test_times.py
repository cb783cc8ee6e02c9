from __future__ import annotations

from typing import Any

import pytest

from sapwood.errors import InputError
from sapwood.pipeline.ingest.times import attribute_text, with_times
from sapwood.pipeline.tables.attributes import Array, Kind, Object, Scalar

pytestmark = pytest.mark.spark

TEXT = Scalar(Kind.TEXT, "STRING")


def test_times_are_texts_or_seconds_and_anything_else_rejects_its_row(spark: Any) -> None:
    said = {
        "2026-01-31T12:00:00Z": "2026-01-31 12:00:00",
        "2026-01-31T12:00:00+02:00": "2026-01-31 10:00:00",
        "2026-01-31": "2026-01-31 00:00:00",
        "1769860800": "2026-01-31 12:00:00",
        "1.7698608005E9": "2026-01-31 12:00:00.5",
        "-1": "1969-12-31 23:59:59",
        "1769860800000": None,
        "1e300": None,
        "noon": None,
    }
    rows = [(text, text, None) for text in said]
    table = spark.createDataFrame(rows, "id STRING, text STRING, reason STRING")
    timed = with_times(table, table["text"])
    found = timed.selectExpr("text", "id", "string(published_at) at", "reason").collect()
    assert {row["text"]: row["at"] for row in found} == said
    for row in found:
        assert (row["id"] is None) == (row["reason"] is not None) == (said[row["text"]] is None)
    silent = with_times(table, None).selectExpr("published_at").distinct().collect()
    assert [row["published_at"] for row in silent] == [None]


def test_the_time_is_an_attribute_that_is_there(spark: Any) -> None:
    record = Object((("d", Object((("at", TEXT),))), ("t", Array(TEXT))))
    table = spark.createDataFrame([((("noon",), []),)], f"attributes {record.sql}")
    assert table.select(attribute_text("d.at", record)).first()[0] == "noon"
    for name in ("t", "at", "d"):
        with pytest.raises(InputError, match=f"no attribute '{name}' is declared"):
            attribute_text(name, record)
    text = spark.createDataFrame([('{"d": {"at": 5}}',)], "attributes STRING")
    assert text.select(attribute_text("d.at", None)).first()[0] == "5"
