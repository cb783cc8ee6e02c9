"""Columns of lists: in rows, as the flat views of their records say."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.limits.arrays import RECORD_ROWS_MAX
from sapwood.matching.index import Index
from sapwood.matching.protocol import ALL
from sapwood.model.publication import ManyValued, flatten
from sapwood.pipeline.tables.lists import ListTable
from tests import oracles

pa = pytest.importorskip("pyarrow")

ITEM = pa.struct([("p", pa.int32()), ("q", pa.list_(pa.string())), ("d", pa.date32())])
SCHEMA = pa.schema(
    [
        ("n", pa.int64()),
        ("x", pa.list_(pa.float64())),
        ("i", pa.list_(ITEM)),
        ("m", pa.list_(pa.map_(pa.string(), pa.int32()))),
    ]
)

ITEMS = st.fixed_dictionaries(
    {
        "p": st.none() | st.integers(0, 3),
        "q": st.none() | st.lists(st.none() | st.sampled_from(("a", "b", "")), max_size=3),
        "d": st.none(),
    }
)
RECORDS = st.fixed_dictionaries(
    {
        "n": st.none() | st.integers(0, 2),
        "x": st.none()
        | st.lists(st.none() | st.sampled_from((0.0, 1.5, float("inf"), float("nan"))), max_size=3),
        "i": st.none() | st.lists(st.none() | ITEMS, max_size=3),
        "m": st.none() | st.just([[("a", 1)]]),
    }
)


def table_of(records: list[dict[str, Any]], skipped: int = 0) -> ListTable:
    batch = pa.RecordBatch.from_pylist(records, schema=SCHEMA).slice(skipped)
    return ListTable.of(batch.columns, SCHEMA.names, batch.num_rows)


def flat_view(record: dict[str, Any]) -> dict[str, Any]:
    """As filters see it: no map, and no date, is a value."""
    return dict(flatten({**record, "m": None}).record)


@given(
    records=st.lists(RECORDS, max_size=5),
    skipped=st.integers(0, 2),
    enough=st.sampled_from((1, 4, ALL)),
)
def test_rows_are_those_of_the_flat_views(
    records: list[dict[str, Any]], skipped: int, enough: int
) -> None:
    table, records = table_of(records, skipped), records[skipped:]
    assert len(table) == len(records)
    assert [*map(dict, table)] == [*map(flat_view, records)]
    if not records:
        return
    for piece, own in ((table, records), (table[1:], records[1:]), (table[:1], records[:1])):
        if not own:
            continue
        assert isinstance(piece, ListTable)
        made = piece.rows(lambda name: name != "unread", enough)
        assert enough < ALL or len(made) == len(own)
        for record, (first, last) in zip(own, pairwise(made.offsets.tolist()), strict=False):
            each = {repr(sorted(made.rows[at].items())) for at in range(first, last)}
            rows = oracles.rows(flat_view(record))
            assert each == {repr(sorted(row.items())) for row in rows}


def test_a_record_with_too_many_rows_is_whole_and_matched() -> None:
    many = [float(number) for number in range(RECORD_ROWS_MAX + 1)]
    items = [{"p": number, "q": None, "d": None} for number in range(3)]
    record = {"n": 1, "x": many, "i": items, "m": None}
    table = table_of([{"n": 1, "x": [7.0], "i": [], "m": None}, record])
    made = table.rows(lambda _: True, ALL)
    assert [*made.whole] == [1]
    assert type(made.whole[1]) is ManyValued
    index = Index()
    for at, text in enumerate(("x = 7", "x = 8 and i.p = 2", "n = 1 and i.p > 2", "exists m")):
        index.add(f"s{at}", text)
    for in_order in (True, False):
        offsets, slots = index.match_slots(table, in_order=in_order)
        found = [sorted(slots[first:last].tolist()) for first, last in pairwise(offsets.tolist())]
        assert found == [[0], [0, 1]]
    same = table_of([{**record, "x": [1.0] * (RECORD_ROWS_MAX + 1), "i": None}])
    assert len(same.rows(lambda _: True, ALL).rows) == 1


def test_columns_that_give_one_attribute_are_united() -> None:
    columns = [pa.array([[{"p": 1}, {"p": 2}], None]), pa.array(["x", "y"])]
    table = ListTable.of(columns, ("i", "i.p"), 2)
    assert [dict(record) for record in table] == [{"i.p": ("x", 1, 2)}, {"i.p": "y"}]
    made = table.rows(lambda _: True, ALL)
    assert [row["i.p"] for row in made.rows] == ["x", 1, 2, "y"]
