from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sapwood.errors import FileFormatError
from sapwood.pipeline.spark.places import HERE
from sapwood.pipeline.tables.row_groups import Groups
from sapwood.pipeline.tables.store_rows import ReadRows

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

SCHEMA = pa.schema([("id", pa.string()), ("n", pa.int64()), ("x", pa.float64())])


def rows(read: ReadRows, *numbers: int) -> list[tuple[Any, ...]]:
    batch = pa.RecordBatch.from_pydict({"id": pa.array(numbers, pa.int64())})
    return [tuple(row.values()) for batch in read(iter([batch])) for row in batch.to_pylist()]


@pytest.fixture
def read(tmp_path: Path) -> ReadRows:
    """Two files in three parts: five rows in groups of two, and one row of other columns."""
    first = pa.table({"n": list(range(5)), "unread": ["u"] * 5, "id": [f"p{n}" for n in range(5)]})
    pq.write_table(first, tmp_path / "a.parquet", row_group_size=2)
    pq.write_table(pa.table({"ID": ["q"], "x": [1.5]}), tmp_path / "b.parquet")
    a, b = str(tmp_path / "a.parquet"), str(tmp_path / "b.parquet")
    parts = ((Groups(a, (0,)),), (Groups(a, (1, 2)), Groups(b, (0,))))
    return ReadRows(HERE, parts, SCHEMA, case_sensitive=False)


def test_rows_have_all_columns_and_their_places(read: ReadRows, tmp_path: Path) -> None:
    a, b = f"{tmp_path}/a.parquet", f"{tmp_path}/b.parquet"
    assert rows(read, 1) == [
        ("p2", 2, None, a, 3),
        ("p3", 3, None, a, 4),
        ("p4", 4, None, a, 5),
        ("q", None, 1.5, b, 1),
    ]
    assert [row[0] for row in rows(read, 1, 0)] == ["p2", "p3", "p4", "q", "p0", "p1"]


def test_names_that_differ_in_case_are_others_where_that_counts(read: ReadRows) -> None:
    exact = ReadRows(HERE, read.parts, SCHEMA, case_sensitive=True)
    assert [row[0] for row in rows(exact, 1)] == ["p2", "p3", "p4", None]


def test_a_file_that_has_changed_is_named(read: ReadRows, tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": ["p"]}), tmp_path / "a.parquet")
    with pytest.raises(FileFormatError, match=r"a\.parquet: cannot be read"):
        rows(read, 1)
    (tmp_path / "a.parquet").unlink()
    with pytest.raises(FileFormatError, match=r"a\.parquet: is not where this executor"):
        rows(read, 0)
