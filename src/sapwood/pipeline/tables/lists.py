"""Arrow columns of lists: elements are values of attributes, and records come in rows.

A list of structs gives each field's values to an attribute of its own, under the dotted name. The
columns `tags: [a, b], []` and `size: 1, 2` are two records, of which the first has two rows:

    record   0  0  1
    tags     a  b  -
    size     1  1  2

Nothing is looked at value by value, unless two columns give the same attribute or a record has too
many rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from sapwood.limits.arrays import RECORD_ROWS_MAX
from sapwood.matching.rows import InRows, Reads, Rows, rows_of
from sapwood.matching.tables import RecordTable
from sapwood.model.publication import ManyValued, Record, flatten
from sapwood.pipeline.tables.records import is_value, table_of_columns

if TYPE_CHECKING:
    import pyarrow as pa

I64 = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Elements:
    """The values that lists give one attribute: row `i` has `values[starts[i]:starts[i + 1]]`."""

    name: str
    starts: I64  # [rows + 1]
    values: pa.Array


@dataclass(frozen=True, slots=True, eq=False)
class ListTable(InRows):
    """A table of records: columns, some of them lists; row `i` is record `i`."""

    columns: Mapping[str, pa.Array]
    lists: Sequence[Elements]
    height: int

    @classmethod
    def of(cls, columns: Sequence[pa.Array], names: Sequence[str], rows: int) -> ListTable:
        """The table of columns that carry one attribute each, or lists of values."""
        scalars: dict[str, pa.Array] = {}
        lists: list[Elements] = []
        for name, column in zip(names, columns, strict=True):
            if is_list(column.type):
                for inner, owners, values in _elements(name, column, np.arange(rows)):
                    starts = np.searchsorted(owners, np.arange(rows + 1))
                    lists.append(Elements(inner, starts, values))
            else:
                scalars[name] = column
        return cls(scalars, lists, rows)

    def __len__(self) -> int:
        """The number of records."""
        return self.height

    @overload
    def __getitem__(self, at: int) -> Record: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Record]: ...
    def __getitem__(self, at: int | slice) -> Record | Sequence[Record]:
        """The record of a row, or those of a slice."""
        places = range(self.height)[at]
        if isinstance(places, int):
            return self._record(places)
        if places.step != 1:
            return [self._record(place) for place in places]
        first, count = places.start, len(places)
        columns = {name: one.slice(first, count) for name, one in self.columns.items()}
        lists = [
            Elements(one.name, one.starts[first : first + count + 1], one.values)
            for one in self.lists
        ]
        return ListTable(columns, lists, count)

    def scalars(self) -> RecordTable:
        """The columns that are no lists."""
        return table_of_columns([*self.columns.values()], [*self.columns], self.height)

    def rows(self, reads: Reads, enough: int) -> Rows:
        """The records in rows: all, or the first ones, which have `enough` of them."""
        lists = [one for one in self.lists if reads(one.name)]
        names = [*self.columns, *(one.name for one in lists)]
        if len({*names}) < len(names):
            return rows_of([*self], reads, enough)
        sizes = [np.maximum(np.diff(one.starts), 1) for one in lists]
        counts = np.ones(self.height, np.int64)
        is_whole = np.zeros(self.height, np.bool_)
        for size in sizes:
            is_whole |= counts * size > RECORD_ROWS_MAX
            counts = np.where(is_whole, 0, counts * size)
        ends = counts.cumsum()
        taken = min(self.height, int(np.searchsorted(ends, enough)) + 1)
        offsets = np.concatenate((np.zeros(1, np.int64), ends[:taken]))
        whole = {place: self._record(place) for place in np.flatnonzero(is_whole[:taken]).tolist()}
        if any(type(record) is not ManyValued for record in whole.values()):
            return rows_of([*self], reads, enough)  # its elements are all the same
        owners = np.repeat(np.arange(taken), counts[:taken])
        table = self._table(owners, np.arange(len(owners)) - offsets[owners], lists, sizes)
        return Rows(table, offsets, {at: ManyValued(one) for at, one in whole.items()})

    def _table(
        self, owners: I64, numbers: I64, lists: Sequence[Elements], sizes: Sequence[I64]
    ) -> RecordTable:
        """The rows, each of a record and with a number within it."""
        import pyarrow as pa

        columns = [column.take(pa.array(owners)) for column in self.columns.values()]
        for one, size in zip(lists, sizes, strict=True):
            places = one.starts[owners] + numbers % size[owners]
            numbers = numbers // size[owners]
            is_absent = (np.diff(one.starts) == 0)[owners]
            columns.append(one.values.take(pa.array(places, mask=is_absent)))
        names = [*self.columns, *(one.name for one in lists)]
        return table_of_columns(columns, names, len(owners))

    def _record(self, place: int) -> Record:
        values: dict[str, list[Any]] = {}
        for name, column in self.columns.items():
            values[name] = [column[place].as_py()]
        for one in self.lists:
            begin, end = one.starts[place : place + 2].tolist()
            values.setdefault(one.name, []).extend(one.values[begin:end].to_pylist())
        return flatten(values).record


def is_list(type_: pa.DataType) -> bool:
    """True if a column holds lists."""
    import pyarrow as pa

    kinds = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return any(is_kind(type_) for is_kind in kinds)


def _elements(name: str, array: pa.Array, owners: I64) -> Iterator[tuple[str, I64, pa.Array]]:
    """Attributes with the values that an array gives them, and the rows these are of, ascending."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if is_list(array.type):
        parents = pc.list_parent_indices(array).to_numpy(zero_copy_only=False)
        yield from _elements(name, pc.list_flatten(array), owners[parents])
    elif pa.types.is_struct(array.type):
        for field, inner in zip(array.type, array.flatten(), strict=True):
            yield from _elements(f"{name}.{field.name}", inner, owners)
    elif is_value(array.type):
        is_seen = array.is_valid()
        if pa.types.is_floating(array.type):
            is_seen = pc.and_(is_seen, pc.fill_null(pc.invert(pc.is_nan(array)), False))  # noqa: FBT003 - as Arrow has it
        yield name, owners[is_seen.to_numpy(zero_copy_only=False)], array.filter(is_seen)
