"""Schemas of Parquet files that make up one table: the merged schema, and rows in it.

Files of a lake are written over years: one has a column that others lack, and texts are kept as
dictionaries here and not there. The same schemas are merged as by Spark's `mergeSchema`, by its
rules.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from sapwood.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

Spelling: TypeAlias = Callable[[str], str]


def merged_schema(schemas: Sequence[pa.Schema], *, case_sensitive: bool) -> pa.Schema:
    """The columns of all schemas, in the order in which they first come, as Spark has their types.

    Unless `case_sensitive`, names that differ in case alone are one, spelled as it comes first.
    Raises `InputError` for one name with two types.
    """
    import pyarrow as pa

    known = _spelling(case_sensitive=case_sensitive)
    struct = pa.struct([])
    for schema in schemas:
        struct = _merged(struct, _plain(pa.struct(list(schema))), "", known)
    return pa.schema(list(struct))


def fitted(batch: pa.RecordBatch, schema: pa.Schema, *, case_sensitive: bool) -> pa.RecordBatch:
    """The rows of a file in a schema that was merged from its own and others."""
    import pyarrow as pa

    rows = pa.StructArray.from_arrays(batch.columns, fields=list(batch.schema))
    struct = _fitted(rows, pa.struct(list(schema)), _spelling(case_sensitive=case_sensitive))
    return pa.RecordBatch.from_arrays(struct.flatten(), schema=schema)


def _plain(type_: pa.DataType) -> pa.DataType:
    """The type that Spark reads a column of this type as, as an Arrow type."""
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(type_):
        return _plain(type_.value_type)
    if types.is_large_string(type_) or types.is_string_view(type_):
        return pa.string()
    if types.is_large_binary(type_) or types.is_fixed_size_binary(type_):
        return pa.binary()
    if types.is_unsigned_integer(type_):
        wider = {8: pa.int16(), 16: pa.int32(), 32: pa.int64(), 64: pa.decimal128(20, 0)}
        return wider[type_.bit_width]
    if types.is_timestamp(type_):
        return pa.timestamp("us", type_.tz)
    if types.is_struct(type_):
        return pa.struct([pa.field(field.name, _plain(field.type)) for field in type_])
    if types.is_map(type_):
        return pa.map_(_plain(type_.key_type), _plain(type_.item_type))
    if types.is_list(type_) or types.is_large_list(type_) or types.is_fixed_size_list(type_):
        return pa.list_(_plain(type_.value_type))
    return type_


def _merged(first: pa.DataType, second: pa.DataType, name: str, known: Spelling) -> pa.DataType:
    """The type that holds the values of both plain types."""
    import pyarrow as pa

    types = pa.types
    if first == second or types.is_null(second):
        return first
    if types.is_null(first):
        return second
    if types.is_struct(first) and types.is_struct(second):
        fields = {known(field.name): field for field in first}
        for field in second:
            own = fields.get(known(field.name))
            inner = f"{name}.{field.name}".removeprefix(".")
            if own is not None:
                field = pa.field(  # noqa: PLW2901 - one field of the two
                    own.name, _merged(own.type, field.type, inner, known)
                )
            fields[known(field.name)] = field
        return pa.struct(list(fields.values()))
    if types.is_list(first) and types.is_list(second):
        return pa.list_(_merged(first.value_type, second.value_type, name, known))
    raise InputError(
        f"holds files whose columns {name!r} have different types, {first} and {second}; read them "
        "one at a time, or cast the columns to one type"
    )


def _fitted(array: pa.Array, type_: pa.DataType, known: Spelling) -> pa.Array:
    """The values of a column in a type that was merged from its own and others."""
    import pyarrow as pa
    import pyarrow.compute as pc

    types = pa.types
    if array.type == type_:
        return array
    if types.is_struct(type_) and types.is_struct(array.type):
        # `flatten` gives fields within a null as null, and takes slices into account.
        own = {
            known(field.name): inner
            for field, inner in zip(array.type, array.flatten(), strict=True)
        }
        columns = []
        for field in type_:
            inner = own.get(known(field.name))
            if inner is None:
                columns.append(pa.nulls(len(array), field.type))
            else:
                columns.append(_fitted(inner, field.type, known))
        return pa.StructArray.from_arrays(columns, fields=list(type_), mask=array.is_null())
    if types.is_list(type_) and types.is_list(array.type):
        # `flatten` leaves out values before and behind a slice, and values that nulls hide.
        values = _fitted(array.flatten(), type_.value_type, known)
        lengths = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False)
        ends = np.concatenate(([0], np.cumsum(lengths, dtype=np.int32)), dtype=np.int32)
        nulls = np.append(array.is_null().to_numpy(zero_copy_only=False), False)
        return pa.ListArray.from_arrays(pa.array(ends, mask=nulls), values, type_)
    return array.cast(type_)


def _spelling(*, case_sensitive: bool) -> Spelling:
    """The form of a name by which names are compared."""
    return str if case_sensitive else str.lower
