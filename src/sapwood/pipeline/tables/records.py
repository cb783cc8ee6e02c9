"""Arrow batches to the input of an index: tables of their columns, or records."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from sapwood.errors import InputError, InvariantError
from sapwood.matching.tables import DATA_TYPES, OFFSET_TYPES, Column, Kind, RecordTable
from sapwood.model.publication import FlatView, Record, flatten
from sapwood.xml import Document, read_document
from sapwood.xml.encodings import encode_text

if TYPE_CHECKING:
    import pyarrow as pa

_KINDS: Final = MappingProxyType(
    {
        "bool": Kind.BOOLEAN,
        "int64": Kind.INTEGER,
        "double": Kind.FLOAT,
        "string": Kind.TEXT,
        "large_string": Kind.LONG_TEXT,
    }
)
"""Arrow's name of a type to its kind in a table."""

_WIDER: Final = MappingProxyType(
    {"int8": "int64", "int16": "int64", "int32": "int64", "float": "double"}
)
"""The narrower types of numbers to those in a table."""


def parse_record(text: str) -> FlatView:
    """The flat view of a record written as a JSON object.

    Raises `InputError` for a text that is none, or that holds a value that no record may hold.
    """
    import msgspec

    try:
        value: Any = msgspec.json.decode(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"attributes is no JSON: {error}") from None
    return flatten(value)


def parse_document(text: str) -> Document:
    """The document that a text holds. Raises `InputError` for a text that is none."""
    return read_document(encode_text(text))


def document_or_none(text: str) -> Document | None:
    """As `parse_document`, with `None` for a text that holds no document."""
    try:
        return parse_document(text)
    except InputError:
        return None


def record_or_none(text: str) -> FlatView | None:
    """As `parse_record`, with `None` for a text that holds no record."""
    try:
        return parse_record(text)
    except InputError:
        return None


def table_of_columns(columns: Sequence[pa.Array], names: Sequence[str], rows: int) -> RecordTable:
    """A table of columns that carry one attribute each; nothing is copied. A null is an absence."""
    return RecordTable.of(dict(zip(names, map(_column, columns), strict=True)), rows)


def columns_of_record(record: pa.StructArray) -> list[pa.Array]:
    """The columns of all attributes of a record, in the order of `attributes.leaves`."""
    import pyarrow as pa

    found: list[pa.Array] = []
    for column in record.flatten():
        is_nested = pa.types.is_struct(column.type)
        found += columns_of_record(column) if is_nested else [column]
    return found


def holds_nan(table: RecordTable) -> npt.NDArray[np.bool_] | None:
    """True for rows that hold NaN, and so are no records; `None` if no row does."""
    found: npt.NDArray[np.bool_] | None = None
    for column in table.columns.values():
        if column.kind is Kind.FLOAT:
            first = column.first + table.first
            is_nan = np.isnan(column.data[first : first + len(table)])
            if is_nan.any():
                if column.validity is not None:
                    bits = np.unpackbits(column.validity, bitorder="little")
                    is_nan &= bits[first : first + len(table)].view(np.bool_)
                found = is_nan if found is None else found | is_nan
    return found if found is not None and found.any() else None


def is_value(type_: pa.DataType) -> bool:
    """True if attributes are carried as this Arrow type."""
    return str(type_) in _KINDS or str(type_) in _WIDER


def _column(column: pa.Array) -> Column:
    """An Arrow column of one of the types that attributes are carried as."""
    wider = _WIDER.get(str(column.type))
    if wider is not None:
        column = column.cast(wider)
    name = str(column.type)
    if name not in _KINDS:
        raise InvariantError(f"attributes do not travel as {name}")
    kind = _KINDS[name]
    validity, *others = column.buffers()
    bits = np.frombuffer(validity, np.uint8) if column.null_count else None
    offsets, offset_type = None, OFFSET_TYPES.get(kind)
    if offset_type is not None:
        # A column without rows may have no offsets at all.
        offsets = _array(others[0], offset_type) if others[0] else np.zeros(1, offset_type)
    return Column(kind, _array(others[-1], DATA_TYPES[kind]), offsets, bits, column.offset)


def _array(buffer: pa.Buffer | None, kind: type[np.generic]) -> npt.NDArray[Any]:
    """A buffer as an array; columns without rows may have none."""
    return np.zeros(0, kind) if buffer is None else np.frombuffer(buffer, kind)


def records_of_columns(
    columns: Sequence[pa.Array], names: Sequence[str], rows: int
) -> Sequence[Record]:
    """The records of columns that carry one attribute each, one a row; a null is an absence.

    The work per value is done by C loops where a column has no nulls, and by one comparison where
    it has.
    """
    whole = [place for place, column in enumerate(columns) if column.null_count == 0]
    holed = [place for place in range(len(columns)) if place not in set(whole)]
    if whole:
        keys = [names[place] for place in whole]
        values = zip(*(columns[place].to_pylist() for place in whole), strict=True)
        records: list[dict[str, Any]] = [dict(zip(keys, row, strict=True)) for row in values]
    else:
        records = [{} for _ in range(rows)]
    for place in holed:
        name = names[place]
        for record, value in zip(records, columns[place].to_pylist(), strict=True):
            if value is not None:
                record[name] = value
    return records
