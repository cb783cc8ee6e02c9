"""Publications from columns: of Arrow, NumPy or a DataFrame, without a `dict` for each row.

The columns of a table are checked one by one, each at once, and turned into Python values a number
of rows at a time. Each row is then an object with a field for each column, which the encoder writes
as the record: a null is left out, a name may be dotted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import repeat, starmap
from math import isnan
from types import NoneType
from typing import Any, Final, Protocol, TypeAlias, runtime_checkable

import msgspec
import numpy as np

from sapwood.errors import EnvironmentMissingError, InputError, InvalidValueError
from sapwood.limits import INTEGER_MAX, INTEGER_MIN
from sapwood.model.publication import Publication, flatten
from sapwood.wire.publications import encode_publication, encode_row

ROWS: Final = 1024
"""Rows that are turned into Python values at a time: some hundred kilobytes."""


@runtime_checkable
class ArrowTable(Protocol):
    """A table that exports an Arrow stream: those of pyarrow, pandas, polars, DuckDB."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The stream, in a capsule."""


Table: TypeAlias = ArrowTable | Mapping[str, Sequence[Any]] | np.ndarray[Any, Any]
"""A table: one with an Arrow stream, columns by name, or a structured array of NumPy."""

_Columns: TypeAlias = dict[str, list[Any]]


def encoded_rows(
    table: Table, id_column: str | None, new_id: Callable[[], str], frame_bytes_max: int
) -> Iterator[tuple[str, bytes]]:
    """Each row of a table as a publication: its id and its bytes.

    The ids are those of a column, which is no attribute then, or new ones. Columns of structures
    become dotted attributes, lists are carried and no filter sees them; a null, and in a DataFrame
    of pandas NaN, is an attribute that is absent.

    Raises `InvalidValueError` with the column and the row for a value that no record may hold, when
    at most `ROWS` rows before that one have not been yielded yet; `InputError` for a value that is
    no table; `EnvironmentMissingError` where the table has an Arrow stream and Arrow is not
    installed.
    """
    names: tuple[str, ...] | None = None
    make: Callable[..., msgspec.Struct] = msgspec.Struct
    first = 0
    for columns, count in _chunks(table):
        ids = None if id_column is None else iter(_ids(columns, id_column, first))
        if names is None:
            names = tuple(columns)
            flatten(dict.fromkeys(names, 0))  # raises for invalid names, and for too many
            make = _row_type(names)
        rows: Iterator[tuple[Any, ...]] = zip(*columns.values(), strict=True)
        for row in starmap(make, rows if columns else repeat((), count)):
            id_ = new_id() if ids is None else next(ids)
            yield id_, encode_row(id_, row, frame_bytes_max)
        first += count


def _row_type(names: Sequence[str]) -> Callable[..., msgspec.Struct]:
    """The class of a row with these attributes, to be made of values; `None` is absent."""
    fields = [
        (f"c{number}", Any, msgspec.field(default=None, name=name))
        for number, name in enumerate(names)
    ]
    return msgspec.defstruct("Row", fields, omit_defaults=True, gc=False)


def _ids(columns: _Columns, name: str, first: int) -> list[Any]:
    """The column of ids, which is taken out of the columns."""
    if name not in columns:
        raise InputError(f"there is no column {name!r} for the ids, only {', '.join(columns)}")
    ids = columns.pop(name)
    for row, id_ in enumerate(ids, start=first):
        if not isinstance(id_, str):
            raise InvalidValueError(name, f"the id in row {row} is no text but {id_!r}")
    return ids


def _chunks(table: Table) -> Iterator[tuple[_Columns, int]]:
    """The rows of a table in chunks: columns of plain values, and their number of rows."""
    if isinstance(table, np.ndarray):
        if table.dtype.names is None or table.ndim != 1:
            raise InputError(
                "an array is a table if it is structured and has one dimension; else give columns "
                "by name, as in {'price': prices, 'symbol': symbols}"
            )
        table = {name: table[name] for name in table.dtype.names}
    if isinstance(table, Mapping):
        return _chunks_of_columns(table)
    if isinstance(table, ArrowTable):
        return _chunks_of_arrow(table)
    raise InputError(
        "a table is one of Arrow, a DataFrame, a structured array or columns by name, not "
        f"{type(table).__name__}"
    )


def _chunks_of_columns(table: Mapping[str, Sequence[Any]]) -> Iterator[tuple[_Columns, int]]:
    count = min(map(len, table.values()), default=0)
    for name, column in table.items():
        if len(column) != count:
            raise InvalidValueError(name, f"has {len(column)} rows, and another column {count}")
    for first in range(0, count, ROWS):
        last = min(first + ROWS, count)
        some = {name: one[first:last] for name, one in table.items()}
        yield (
            {
                name: _checked(name, one.tolist() if isinstance(one, np.ndarray) else [*one], first)
                for name, one in some.items()
            },
            last - first,
        )


def _chunks_of_arrow(table: ArrowTable) -> Iterator[tuple[_Columns, int]]:
    try:
        import pyarrow as pa
    except ImportError:
        raise EnvironmentMissingError(
            "a table that speaks Arrow is read by pyarrow, which is not installed: run "
            "pip install pyarrow, or give columns by name"
        ) from None

    if type(table).__module__.partition(".")[0] == "pandas":
        whole = pa.Table.from_pandas(table, preserve_index=False)
    else:
        whole = pa.table(table)
    while any(pa.types.is_struct(field.type) for field in whole.schema):
        whole = whole.flatten()
    first = 0
    for batch in whole.to_batches(max_chunksize=ROWS):
        yield (
            {
                name: _checked(name, column.to_pylist(), first)
                for name, column in zip(batch.schema.names, batch.columns, strict=True)
            },
            batch.num_rows,
        )
        first += batch.num_rows


def _checked(name: str, values: list[Any], first: int) -> list[Any]:
    """The values of a column from row `first` on, if a record may hold each; `None` is absent."""
    kinds = set(map(type, values)) - {NoneType}
    if kinds <= {bool}:
        return values
    present = values if None not in values else [one for one in values if one is not None]
    if kinds == {int} and min(present) >= INTEGER_MIN and max(present) <= INTEGER_MAX:
        return values
    if kinds == {float} and not any(map(isnan, present)):
        return values
    if kinds == {str} and all(map(str.isascii, present)):
        return values
    for row, value in enumerate(values, start=first):
        if value is not None:
            try:
                encode_publication(Publication("row", {name: value}))
            except InputError as error:
                raise InvalidValueError(name, f"in row {row}: {error}") from error
    return values
