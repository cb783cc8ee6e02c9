"""Tables as publications: the same as a record for each row, or a refusal that names the place."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given

from sapwood.client import connect
from sapwood.client.columns import ROWS, Table, encoded_rows
from sapwood.errors import InputError, InvalidValueError, LimitError
from sapwood.limits import ATTRIBUTES_MAX, FRAME_BYTES_FLOOR, FRAME_BYTES_MAX
from sapwood.model.publication import Publication
from sapwood.wire.publications import decode_publication
from tests.broker.helpers import running, soon


def published(table: Table, id_column: str | None = None) -> list[Publication]:
    """The publications that the rows of a table are to their receivers."""
    serial = count()
    rows = encoded_rows(table, id_column, lambda: f"p{next(serial)}", FRAME_BYTES_MAX)
    found = [(id_, decode_publication(encoded)) for id_, encoded in rows]
    assert all(id_ == publication.id for id_, publication in found)
    return [publication for _, publication in found]


VALUES = {
    "flag": st.booleans(),
    "whole": st.integers(-(2**63), 2**63 - 1),
    "real": st.floats(allow_nan=False),
    "text": st.text(),
    "deep.er": st.integers(0, 9),
}
ROWS_DRAWN = st.lists(
    st.fixed_dictionaries({name: st.none() | value for name, value in VALUES.items()}), max_size=4
)


@given(ROWS_DRAWN, st.sampled_from(["arrow", "lists", "numpy"]))
def test_a_table_is_published_as_a_record_for_each_row(
    rows: list[dict[str, Any]], form: str
) -> None:
    columns: Mapping[str, Any] = {name: [row[name] for row in rows] for name in VALUES}
    table: Table = columns
    if form == "arrow":
        types = (pa.bool_(), pa.int64(), pa.float64(), pa.string(), pa.int32())
        schema = pa.schema(list(zip(VALUES, types, strict=True)))
        table = pa.table(columns, schema=schema)
    elif form == "numpy":
        arrays: dict[str, Any] = {n: np.array(column, object) for n, column in columns.items()}
        table = arrays
    expected = [
        Publication(f"p{number}", {k: v for k, v in row.items() if v is not None})
        for number, row in enumerate(rows)
    ]
    assert published(table) == expected


def test_a_structured_array_is_a_table() -> None:
    table = np.array([(1, 2.5, "x", True)], [("a", "u1"), ("b", "f4"), ("c", "U4"), ("d", "?")])
    (one,) = published(table)
    assert one.attributes == {"a": 1, "b": 2.5, "c": "x", "d": True}


def test_nan_in_a_data_frame_is_absent_and_its_index_is_no_attribute() -> None:
    frame = pd.DataFrame({"a": [1.5, float("nan")], "b": ["x", None]}, index=["k", "l"])
    assert [one.attributes for one in published(frame)] == [{"a": 1.5, "b": "x"}, {}]


def test_structures_become_dotted_names_and_lists_are_carried() -> None:
    table = pa.table(
        {
            "at": [{"x": 1, "y": {"z": "n"}}, None],
            "tags": [["a", "b"], None],
            "kind": pa.array(["u", "u"]).dictionary_encode(),
        }
    )
    first, second = published(table)
    assert first.record == {"at.x": 1, "at.y.z": "n", "kind": "u", "tags": ("a", "b")}
    assert first.attributes is not None
    assert first.attributes["tags"] == ["a", "b"]
    assert second.attributes == {"kind": "u"}


def test_ids_come_from_a_column() -> None:
    table = {"id": [f"x{n}" for n in range(ROWS + 2)], "a": range(ROWS + 2)}
    found = published(table, "id")
    assert [one.id for one in found] == table["id"]
    assert [one.attributes for one in found[-2:]] == [{"a": ROWS}, {"a": ROWS + 1}]


def test_rows_without_columns_are_empty_records() -> None:
    assert published({"id": ["x", "y"]}, "id") == [Publication("x", {}), Publication("y", {})]


def nan_in(row: int) -> list[float]:
    return [0.5] * row + [float("nan")]


@pytest.mark.parametrize(
    ("table", "error", "message"),
    [
        ({"a": nan_in(ROWS + 1)}, InvalidValueError, rf"'a': in row {ROWS + 1}: .*NaN has no"),
        ({"a": np.array(nan_in(2))}, InvalidValueError, "in row 2: .*NaN has no place"),
        (pa.table({"a": nan_in(2)}), InvalidValueError, "in row 2: .*NaN has no place"),
        ({"a": [1, 2**63]}, InvalidValueError, "in row 1: .*needs more than 64 bits"),
        ({"a": np.array([2**63], np.uint64)}, InvalidValueError, "in row 0: .*64 bits"),
        ({"a": ["x", "\ud800"]}, InvalidValueError, "in row 1: .*surrogate"),
        ({"a": [dt.date(2020, 1, 1)]}, InvalidValueError, "in row 0: .*not date; convert it"),
        (pa.table({"a": [dt.date(2020, 1, 1)]}), InvalidValueError, "in row 0: .*not date"),
        ({"a": [1], "b": [1, 2]}, InvalidValueError, "'b': has 2 rows, and another column 1"),
        ({f"a{n}": [1] for n in range(ATTRIBUTES_MAX + 1)}, LimitError, "ATTRIBUTES_MAX"),
        (np.zeros(3), InputError, "an array is a table if it is structured"),
        ([{"a": 1}], InputError, "or columns by name, not list"),
    ],
)
def test_what_no_record_may_hold_is_refused_with_its_place(
    table: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        published(table)


def test_a_column_of_ids_is_there_and_holds_texts() -> None:
    with pytest.raises(InputError, match="no column 'id' for the ids, only a, b"):
        published({"a": [1], "b": [2]}, "id")
    with pytest.raises(InvalidValueError, match="the id in row 1 is no text but 2"):
        published({"id": ["x", 2]}, "id")
    with pytest.raises(InputError, match="non-empty"):
        published({"id": [""]}, "id")


def test_a_row_that_is_too_long_for_a_frame_is_refused() -> None:
    rows = encoded_rows({"a": ["x" * FRAME_BYTES_FLOOR]}, None, lambda: "p1", FRAME_BYTES_FLOOR)
    with pytest.raises(LimitError, match="publication 'p1'"):
        next(rows)


async def test_a_table_reaches_its_subscribers_and_refused_rows_are_listed() -> None:
    table = pa.table({"id": ["x", "y", "z"], "a": [1, 2, 3], "b": [None, "u", "v"]})
    async with running() as broker, connect(str(broker.address)) as client:
        await client.advertise("a < 3")
        wanted = await client.subscribe("exists a")
        done = await client.publish_table(table, id="id")
        assert (done.accepted, [one.id for one in done.refused]) == (2, ["z"])
        batches: Callable[..., Any] = wanted.batches
        received = await soon(anext(batches(1)))
        received += await soon(anext(batches()))
    assert [(one.id, one.attributes) for one in received] == [
        ("x", {"a": 1}),
        ("y", {"a": 2, "b": "u"}),
    ]
