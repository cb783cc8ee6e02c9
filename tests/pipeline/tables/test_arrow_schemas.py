from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sapwood.errors import InputError
from sapwood.pipeline.tables.arrow_schemas import fitted, merged_schema
from tests.examples import examples

pa = pytest.importorskip("pyarrow")

KINDS = {"n": 0, "s": 1, "t": 2, "u": 3, "l": 4}
"""The types of columns by their names, so that those of two files go together."""


def of_kind(kind: int) -> Any:
    types = [
        (pa.int64(), st.integers(-9, 9)),
        (pa.string(), st.sampled_from(["", "a", "ü"])),
        (pa.dictionary(pa.int32(), pa.string()), st.sampled_from(["", "a"])),
        (pa.large_string(), st.just("large")),
        (pa.list_(pa.int64()), st.lists(st.integers(0, 3), max_size=2)),
    ]
    return types[kind]


@st.composite
def files(draw: Any, depth: int = 2) -> tuple[Any, Any]:
    """The type of a struct, and its values."""
    fields, values = [], {}
    for name in draw(st.lists(st.sampled_from([*KINDS, "d"]), unique=True, min_size=1)):
        if name == "d":
            if not depth:
                continue
            type_, value = draw(files(depth - 1))
        else:
            type_, value = of_kind(KINDS[name])
        fields.append(pa.field(name, type_))
        values[name] = st.none() | value
    return pa.struct(fields), st.fixed_dictionaries(values)


def without_nulls(value: Any) -> Any:
    """A record with all that is null left out: what files lack is null."""
    if not isinstance(value, dict):
        return value
    return {name: without_nulls(inner) for name, inner in value.items() if inner is not None}


@settings(max_examples=examples(30))
@given(data=st.data(), drawn=st.lists(files(), min_size=1, max_size=3))
def test_rows_are_the_same_in_the_schema_of_all_files(
    data: st.DataObject, drawn: list[tuple[Any, Any]]
) -> None:
    schemas = [pa.schema(list(type_)) for type_, _ in drawn]
    merged = merged_schema(schemas, case_sensitive=True)
    assert set(merged.names) == {name for schema in schemas for name in schema.names}
    for schema, (_, values) in zip(schemas, drawn, strict=True):
        rows = data.draw(st.lists(values, min_size=1, max_size=4))
        columns = [pa.array([row[f.name] for row in rows], f.type) for f in schema]
        batch = pa.RecordBatch.from_arrays(columns, schema=schema)
        start = data.draw(st.integers(0, len(rows)))
        found = fitted(batch.slice(start), merged, case_sensitive=True)
        found.validate(full=True)
        assert found.schema == merged
        assert list(map(without_nulls, found.to_pylist())) == list(map(without_nulls, rows[start:]))


def schema(**types: Any) -> Any:
    return pa.schema(list(types.items()))


def test_names_are_one_whatever_their_case_unless_that_counts() -> None:
    first, second = (
        schema(X=pa.struct([("a", pa.int64())])),
        schema(x=pa.struct([("A", pa.int64())])),
    )
    assert merged_schema([first, second], case_sensitive=True).names == ["X", "x"]
    assert merged_schema([first, second], case_sensitive=False) == first
    batch = pa.RecordBatch.from_pylist([{"x": {"A": 5}}], second)
    assert fitted(batch, first, case_sensitive=False).to_pylist() == [{"X": {"a": 5}}]


@pytest.mark.parametrize(
    ("type_", "plain"),
    [
        (pa.uint8(), pa.int16()),
        (pa.uint16(), pa.int32()),
        (pa.uint32(), pa.int64()),
        (pa.uint64(), pa.decimal128(20, 0)),
        (pa.large_binary(), pa.binary()),
        (pa.binary(4), pa.binary()),
        (pa.timestamp("ns", "UTC"), pa.timestamp("us", "UTC")),
        (pa.large_list(pa.uint8()), pa.list_(pa.int16())),
        (pa.map_(pa.large_string(), pa.uint8()), pa.map_(pa.string(), pa.int16())),
        (pa.date32(), pa.date32()),
    ],
)
def test_types_are_those_that_spark_reads(type_: Any, plain: Any) -> None:
    assert merged_schema([schema(a=type_)], case_sensitive=True).types == [plain]
    batch = pa.RecordBatch.from_arrays([pa.nulls(2, type_)], names=["a"])
    assert fitted(batch, schema(a=plain), case_sensitive=True).to_pylist() == [{"a": None}] * 2


def test_a_column_of_nulls_takes_the_type_of_others() -> None:
    both = [schema(a=pa.null()), schema(a=pa.int64())]
    for given_ in (both, both[::-1]):
        assert merged_schema(given_, case_sensitive=True).types == [pa.int64()]


def test_lists_of_structs_are_merged_within() -> None:
    def of(*names: str) -> Any:
        return pa.list_(pa.struct([(name, pa.int64()) for name in names]))

    merged = merged_schema([schema(a=of("x")), schema(a=of("y"))], case_sensitive=True)
    assert merged.types == [of("x", "y")]
    rows = [{"a": [{"y": 1}, None]}, {"a": None}, {"a": []}, {"a": [{"y": 2}]}]
    batch = pa.RecordBatch.from_pylist(rows, schema(a=of("y")))
    found = fitted(batch.slice(1), merged, case_sensitive=True).to_pylist()
    assert found == [{"a": None}, {"a": []}, {"a": [{"x": None, "y": 2}]}]


def test_one_name_with_two_types_is_refused() -> None:
    first, second = (schema(d=pa.struct([("e", t)])) for t in (pa.int64(), pa.string()))
    with pytest.raises(InputError, match=r"'d\.e' have different types, int64 and string"):
        merged_schema([first, second], case_sensitive=True)
