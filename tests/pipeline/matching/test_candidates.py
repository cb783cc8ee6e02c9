from __future__ import annotations

from typing import Any

import pytest

from sapwood import parse_filter
from sapwood.errors import InputError
from sapwood.language.forms import decode_form
from sapwood.pipeline.matching.candidates import table_rows

pytestmark = pytest.mark.spark


@pytest.mark.long
def test_rows_of_a_table_without_places_do_not_depend_on_how_it_is_cut(spark: Any) -> None:
    rows = [("a", "x > 1"), ("a", "x > 2"), ("a", "x > 3"), ("b", "x >"), ("", "x")]
    table = spark.createDataFrame(rows, "id STRING, filter STRING")
    found = []
    for cut in (table.coalesce(1), table.orderBy("filter").repartition(3)):
        with table_rows(cut) as decoded:
            good = decoded.where("id IS NOT NULL").collect()
            bad = decoded.where("reason IS NOT NULL").count()
        assert bad == 4
        found.append([(row["id"], decode_form(bytes(row["attributes"]))) for row in good])
    assert found[0] == found[1]
    assert [id_ for id_, _ in found[0]] == ["a"]
    assert found[0][0][1] in [parse_filter(text) for _, text in rows[:3]]


def test_a_table_without_the_columns_is_refused(spark: Any) -> None:
    table = spark.createDataFrame([("a", "x", 1)], "id STRING, filter STRING, home INT")
    with pytest.raises(InputError, match="home INTEGER"), table_rows(table):
        pass
