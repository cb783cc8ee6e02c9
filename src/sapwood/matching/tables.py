"""Records in columns: a table whose rows are records, in the memory layout of Arrow.

A program that has many records as columns passes them to an index as they are. An engine that reads
columns (the default one) makes no Python object for any value. For all other engines a table is a
sequence of records, each of which takes a value out of its column on access.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from types import MappingProxyType
from typing import Any, Final, TypeAlias, overload

import numpy as np
import numpy.typing as npt

from sapwood.errors import InvalidValueError
from sapwood.model.publication import Record, Value

U8: TypeAlias = npt.NDArray[np.uint8]
I64: TypeAlias = npt.NDArray[np.int64]


class Kind(IntEnum):
    """The element type and layout of a column; kernels know the numbers."""

    #: Bits in bytes, the lowest one first.
    BOOLEAN = 0
    #: 64-bit integers.
    INTEGER = 1
    #: 64-bit floats, none of them NaN.
    FLOAT = 2
    #: UTF-8, all texts joined; 32-bit offsets of the begin of each, and of the end of the last.
    TEXT = 3
    #: As `TEXT`, with 64-bit offsets.
    LONG_TEXT = 4


DATA_TYPES: Final[Mapping[Kind, type[np.generic]]] = MappingProxyType(
    {
        Kind.BOOLEAN: np.uint8,
        Kind.INTEGER: np.int64,
        Kind.FLOAT: np.float64,
        Kind.TEXT: np.uint8,
        Kind.LONG_TEXT: np.uint8,
    }
)
OFFSET_TYPES: Final[Mapping[Kind, type[np.generic]]] = MappingProxyType(
    {Kind.TEXT: np.int32, Kind.LONG_TEXT: np.int64}
)
"""The types of a column's arrays, by its kind."""

PLACE_KIND, PLACE_DATA, PLACE_OFFSETS, PLACE_VALIDITY, PLACE_FIRST, PLACE_SIZE = range(6)
"""The numbers of a column for kernels: its kind; the addresses of its data, offsets and validity
bits, or 0; the place of its first value in these."""


@dataclass(frozen=True, slots=True, eq=False)
class Column:
    """The values of one attribute.

    The value of row `i` is number `first + i` of the data (of the offsets, for texts). It is absent
    if that bit of `validity` is not set; without `validity` none is.

    Raises `InvalidValueError` for arrays of other types than those of the kind.
    """

    kind: Kind
    data: npt.NDArray[Any]
    offsets: npt.NDArray[Any] | None = None
    validity: U8 | None = None
    first: int = 0

    def __post_init__(self) -> None:
        wanted = OFFSET_TYPES.get(self.kind)
        given = None if self.offsets is None else self.offsets.dtype
        of_bits = np.uint8 if self.validity is None else self.validity.dtype
        if self.data.dtype != DATA_TYPES[self.kind] or given != wanted or of_bits != np.uint8:
            raise InvalidValueError(
                "column", f"{self.data.dtype} with offsets {given} is no column of {self.kind.name}"
            )

    @property
    def rows_max(self) -> int:
        """The number of rows that the arrays suffice for."""
        if self.offsets is not None:
            count = len(self.offsets) - 1
        else:
            count = len(self.data) * (8 if self.kind is Kind.BOOLEAN else 1)
        if self.validity is not None:
            count = min(count, 8 * len(self.validity))
        return max(0, count - self.first)

    @property
    def place(self) -> tuple[int, ...]:
        """The numbers by which kernels read it, in the order of `PLACE_KIND` and its siblings."""
        arrays = (self.data, self.offsets, self.validity)
        return (self.kind, *map(_address, arrays), self.first)

    def has(self, row: int) -> bool:
        """True if a row has a value."""
        return self.validity is None or _bit(self.validity, self.first + row)

    def value(self, row: int) -> Value:
        """The value of a row that has one. Bytes that are no UTF-8 become lone surrogates."""
        at = self.first + row
        if self.kind is Kind.BOOLEAN:
            return _bit(self.data, at)
        if self.offsets is None:
            number: int | float = self.data.item(at)
            return number
        begin, end = self.offsets.item(at), self.offsets.item(at + 1)
        return self.data[begin:end].tobytes().decode("utf-8", "surrogateescape")


class Row(Mapping[str, Value]):
    """A row of a table: a record that takes its values out of the columns one by one."""

    __slots__ = ("_columns", "_row")

    def __init__(self, columns: Mapping[str, Column], row: int) -> None:
        self._columns = columns
        self._row = row

    def __getitem__(self, name: str) -> Value:
        """The value of an attribute; `KeyError` if it is absent."""
        column = self._columns[name]
        if not column.has(self._row):
            raise KeyError(name)
        return column.value(self._row)

    def __iter__(self) -> Iterator[str]:
        """The attributes that have a value in this row."""
        return (name for name, column in self._columns.items() if column.has(self._row))

    def __len__(self) -> int:
        """The number of attributes that have a value in this row."""
        return sum(1 for _ in self)

    def whole(self) -> dict[str, Value]:
        """All values by attribute."""
        row, columns = self._row, self._columns.items()
        return {name: column.value(row) for name, column in columns if column.has(row)}


def as_dict(record: Record) -> dict[str, Value]:
    """A record with all its values, which a row of a table takes out of the columns at once."""
    return record.whole() if isinstance(record, Row) else dict(record)


@dataclass(frozen=True, slots=True, eq=False)
class RecordTable(Sequence[Record]):
    """Records in columns: `rows` rows of the columns, the first of them row `first`.

    `places` is for kernels: `PLACE_SIZE` numbers for each column. Some are addresses, so code that
    uses them must hold the table. `of` makes a table; a slice is a table on the same columns.
    """

    columns: Mapping[str, Column]
    places: I64 = field(repr=False)
    first: int
    rows: int

    @classmethod
    def of(cls, columns: Mapping[str, Column], rows: int) -> RecordTable:
        """The table of columns by attribute.

        Raises `InvalidValueError` for a column that is too short.
        """
        for name, column in columns.items():
            if column.rows_max < rows:
                raise InvalidValueError(name, f"has {column.rows_max} of {rows} rows")
        places = [number for column in columns.values() for number in column.place]
        return cls(MappingProxyType(dict(columns)), np.array(places, np.int64), 0, rows)

    def __len__(self) -> int:
        """The number of records."""
        return self.rows

    @overload
    def __getitem__(self, at: int) -> Record: ...
    @overload
    def __getitem__(self, at: slice) -> Sequence[Record]: ...
    def __getitem__(self, at: int | slice) -> Record | Sequence[Record]:
        """The record of a row, or the records of a slice: a table, unless it leaves rows out."""
        places = range(self.first, self.first + self.rows)[at]
        if isinstance(places, int):
            return Row(self.columns, places)
        if places.step == 1:
            return RecordTable(self.columns, self.places, places.start, len(places))
        return [Row(self.columns, place) for place in places]


def _address(array: npt.NDArray[Any] | None) -> int:
    if array is None:
        return 0
    address: int = array.__array_interface__["data"][0]
    return address


def _bit(bits: U8, at: int) -> bool:
    return bool(bits.item(at >> 3) >> (at & 7) & 1)
