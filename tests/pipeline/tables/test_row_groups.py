from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import FileFormatError
from sapwood.pipeline.tables.attributes import Kind
from sapwood.pipeline.tables.publications import Carried
from sapwood.pipeline.tables.row_groups import GroupReader, Groups, Places, is_readable

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

ATTRIBUTES: Any = pa.struct(
    [
        ("n", pa.int32()),
        ("x", pa.float32()),
        ("s", pa.string()),
        ("f.g", pa.large_string()),
        ("d", pa.struct([("e", pa.bool_()), ("y", pa.float64())])),
        ("t", pa.list_(pa.int64())),
    ]
)
FILE: Any = pa.schema(
    [
        ("id", pa.string()),
        ("attributes", ATTRIBUTES),
        ("document", pa.string()),
        ("other", ATTRIBUTES),
    ]
)
N = (("attributes", "n"), Kind.INTEGER)
X = (("attributes", "x"), Kind.FLOAT)
S = (("attributes", "s"), Kind.TEXT)
F_G = (("attributes", "f.g"), Kind.TEXT)
E = (("attributes", "d", "e"), Kind.BOOLEAN)
Y = (("attributes", "d", "y"), Kind.FLOAT)
MISSING = (("attributes", "d", "missing"), Kind.TEXT)
ALL = (N, X, S, F_G, E, Y, MISSING)

floats = st.none() | st.sampled_from([0.0, 1.5, math.nan, math.inf])
records = st.none() | st.fixed_dictionaries(
    {
        "n": st.none() | st.integers(-5, 5),
        "x": floats,
        "s": st.sampled_from([None, "", "a", "ü"]),
        "f.g": st.sampled_from([None, "b"]),
        "d": st.none() | st.fixed_dictionaries({"e": st.sampled_from([None, True]), "y": floats}),
        "t": st.none() | st.just([1]),
    }
)
rows = st.lists(
    st.fixed_dictionaries(
        {
            "id": st.sampled_from([None, "", "p", "q"]),
            "attributes": records,
            "document": st.sampled_from([None, "<a/>"]),
            "other": records,
        }
    ),
    max_size=12,
)


def reader_of(
    columns: Sequence[Any],
    nan_checked: Sequence[Any] = (),
    *,
    documents: bool = False,
    exact: bool = True,
) -> GroupReader:
    names = tuple(".".join(path[1:]) for path, _ in columns)
    return GroupReader(
        Places(),
        Carried(names, documents),
        tuple(columns),
        tuple(path for path, _ in nan_checked),
        exact,
    )


def written(folder: Path, given: Sequence[Any], schema: Any = FILE, rows_each: int = 5) -> str:
    path = folder / "some rows.parquet"
    pq.write_table(pa.Table.from_pylist(given, schema), path, row_group_size=rows_each)
    return str(path)


def read(reader: GroupReader, file: str, *numbers: int) -> list[list[Any]]:
    batches = reader.batches(Groups(file, numbers))
    return [list(row.values()) for batch in batches for row in batch.to_pylist()]


def whole(reader: GroupReader, file: str) -> list[list[Any]]:
    return read(reader, file, *range(pq.read_metadata(file).num_row_groups))


def at(row: Mapping[str, Any], path: Sequence[str]) -> Any:
    value: Any = row
    for name in path:
        value = None if value is None else value.get(name)
    return value


def is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


def plain(values: Sequence[Any]) -> list[Any]:
    """The values with something for NaN that is equal to itself."""
    return ["NaN" if is_nan(value) else value for value in values]


@given(given_rows=rows, documents=st.booleans(), nan_checked=st.sampled_from([(), (X,), (X, Y)]))
def test_the_good_rows_are_read_and_no_others(
    tmp_path_factory: pytest.TempPathFactory, given_rows: Any, documents: bool, nan_checked: Any
) -> None:
    file = written(tmp_path_factory.mktemp("rows"), given_rows)
    expected = []
    for row in given_rows:
        is_record = row["attributes"] is not None
        is_something = is_record or (documents and row["document"] is not None)
        if row["id"] and is_something and not any(is_nan(at(row, path)) for path, _ in nan_checked):
            beside = [row["document"], is_record] if documents else []
            expected.append([row["id"], *beside, *(at(row, path) for path, _ in ALL)])
    found = whole(reader_of(ALL, nan_checked, documents=documents), file)
    assert [*map(plain, found)] == [*map(plain, expected)]


def test_columns_have_the_types_that_attributes_are_carried_as(tmp_path: Path) -> None:
    file = written(tmp_path, [{"id": "p", "attributes": {"n": 1}}])
    (batch,) = reader_of(ALL).batches(Groups(file, (0,)))
    assert [str(type_) for type_ in batch.schema.types] == [
        *("string", "int64", "double", "string", "string", "bool", "double", "string"),
    ]


def test_only_the_row_groups_that_were_asked_for_are_read(tmp_path: Path) -> None:
    file = written(tmp_path, [{"id": f"p{n}", "attributes": {"n": n}} for n in range(12)])
    assert [row[1] for row in read(reader_of([N]), file, 0, 2)] == [0, 1, 2, 3, 4, 10, 11]


def test_without_attributes_to_read_there_are_still_only_records(tmp_path: Path) -> None:
    file = written(tmp_path, [{"id": "p", "attributes": {}}, {"id": "q", "attributes": None}])
    assert whole(reader_of([]), file) == [["p"]]


def test_records_may_be_json_text(tmp_path: Path) -> None:
    schema = pa.schema([("id", pa.string()), ("attributes", pa.string())])
    given = [{"id": "p", "attributes": "{}"}, {"id": "q"}, {"attributes": "{}"}]
    reader = GroupReader(Places(), Carried(None), (), (), case_sensitive=True)
    assert whole(reader, written(tmp_path, given, schema)) == [["p", "{}"]]


def test_names_differ_by_case_where_spark_sees_no_difference(tmp_path: Path) -> None:
    schema = pa.schema([("ID", pa.string()), ("Attributes", pa.struct([("N", pa.int64())]))])
    file = written(tmp_path, [{"ID": "p", "Attributes": {"N": 3}}], schema)
    assert whole(reader_of([N], exact=False), file) == [["p", 3]]
    assert whole(reader_of([N]), file) == []


def test_a_file_without_the_columns_has_no_publications(tmp_path: Path) -> None:
    file = written(tmp_path, [{"n": 1}], pa.schema([("n", pa.int64())]))
    assert whole(reader_of([N]), file) == []


def test_columns_of_any_shape_are_attributes(tmp_path: Path) -> None:
    schema = pa.schema([("day", pa.int16()), ("no", pa.string()), ("n", pa.int64())])
    given = [{"day": 1, "no": "a", "n": 5}, {"day": -2, "no": "b"}, {"no": "c"}, {"day": 1}]
    file = written(tmp_path, given, schema)
    places = Places((("day",), ("no",)), ())
    columns = ((("n",), Kind.INTEGER), (("day",), Kind.INTEGER))
    reader = GroupReader(places, Carried(("n", "day")), columns, (), case_sensitive=True)
    assert whole(reader, file) == [["1/a", 5, 1], ["-2/b", None, -2]]
    ids_only = GroupReader(Places((("no",),), ()), Carried(()), (), (), case_sensitive=True)
    assert whole(ids_only, file) == [["a"], ["b"], ["c"]]


def test_dictionaries_in_structs_are_not_readable() -> None:
    texts = pa.dictionary(pa.int32(), pa.string())
    assert is_readable(FILE, {"id"})
    assert not is_readable(pa.schema([("attributes", pa.struct([("s", texts)]))]), {"id"})
    nested = pa.struct([("d", pa.struct([("t", pa.list_(texts))]))])
    assert not is_readable(pa.schema([("attributes", nested)]), {"id"})


@pytest.mark.parametrize("type_", ["float64", "date32", "timestamp[us]", "bool", "uint64"])
def test_ids_that_spark_writes_otherwise_are_not_readable(type_: str) -> None:
    schema = pa.schema([("Key", pa.type_for_alias(type_)), ("n", pa.int64())])
    assert not is_readable(schema, {"key"})
    assert is_readable(schema, {"n"})


def test_a_file_that_is_gone_is_named(tmp_path: Path) -> None:
    file = str(tmp_path / "gone.parquet")
    with pytest.raises(FileFormatError, match=r"gone.parquet.*not where this executor can read it"):
        read(reader_of([N]), file, 0)


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    path = Path(written(tmp_path, [{"id": "p", "attributes": {"n": 1}}]))
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(FileFormatError, match=r"some rows.parquet.*cannot be read"):
        read(reader_of([N]), str(path), 0)


def test_a_file_that_has_become_shorter_is_named(tmp_path: Path) -> None:
    file = written(tmp_path, [{"id": "p", "attributes": {"n": 1}}])
    with pytest.raises(FileFormatError, match=r"some rows.parquet.*cannot be read"):
        read(reader_of([N]), file, 0, 1)
