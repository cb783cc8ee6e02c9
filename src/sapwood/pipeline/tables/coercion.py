"""Values of unknown type into columns of a declared type, or the reason why one does not fit.

A value fits when the declared type holds exactly it. 12.0 fits BIGINT, 12.5 does not; 7 fits
DOUBLE, 9007199254740993 does not (the nearest double is another number); a boolean is never a
number, and a number never a text.

Everything goes column by column: for a column whose values are all of the one right type, which is
nearly every column of nearly every batch, that is one pass to see it and one to build the column.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, MutableMapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from sapwood.errors import InvariantError
from sapwood.pipeline.tables.attributes import Array, FieldType, Kind, Object, Scalar

if TYPE_CHECKING:
    import pyarrow as pa

Faults: TypeAlias = MutableMapping[int, str]
"""Row to the reason why it is rejected; the first reason found stands."""

SHOWN_CHARS_MAX: Final = 60
"""A value is quoted in a reason up to here: the whole row stands beside it anyway."""

_RIGHT: Final = MappingProxyType(
    {
        Kind.BOOLEAN: frozenset((bool, type(None))),
        Kind.INTEGER: frozenset((int, type(None))),
        Kind.FLOAT: frozenset((float, type(None))),
        Kind.TEXT: frozenset((str, type(None))),
    }
)
"""The types of values that a column takes without a look at each."""

_RECORDS: Final = frozenset((dict, type(None)))
_INTEGER_CELL: Final = re.compile(r"([+-]?[0-9]+)(?:\.0*)?")
_FLOAT_CELL: Final = re.compile(
    r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|(inf(?:inity)?))", re.IGNORECASE
)
_BOOLEAN_CELLS: Final = MappingProxyType({"true": True, "false": False})


def fit_record(
    type_: Object,
    rows: Sequence[Mapping[str, Any] | None],
    faults: Faults,
    undeclared: MutableMapping[int, list[str]],
) -> pa.StructArray:
    """The rows as a column of the declared type; null where a row is `None`.

    A row that does not fit gets a reason in `faults`. In `undeclared` a row gets the dotted names
    of its attributes that are not declared: they are not carried.
    """
    return _Fitting(faults, undeclared).record(type_, "", rows, range(len(rows)))


def fit_cells(
    type_: Object, cells: Mapping[str, Sequence[str | None]], faults: Faults, prefix: str = ""
) -> pa.StructArray:
    """Columns of texts, by dotted name, as one column of the declared type.

    A text stands for the value that it spells; `None` is an absence. Texts that spell no value of
    the declared type give a reason in `faults`.
    """
    import pyarrow as pa

    fitting = _Fitting(faults, {})
    columns: list[pa.Array] = []
    for name, field in type_.fields:
        dotted = prefix + name
        if isinstance(field, Object):
            columns.append(fit_cells(field, cells, faults, f"{dotted}."))
        elif isinstance(field, Scalar):
            values = [_spelled(field.kind, cell) for cell in cells[dotted]]
            columns.append(fitting.scalar(field, dotted, values, range(len(values))))
        else:
            raise InvariantError(f"{dotted}: a cell holds no array")
    return pa.StructArray.from_arrays(columns, fields=list(arrow_type(type_)))


def arrow_type(type_: FieldType) -> pa.DataType:
    """The Arrow type in which Spark takes and gives a declared type."""
    import pyarrow as pa

    if isinstance(type_, Object):
        return pa.struct([pa.field(name, arrow_type(field)) for name, field in type_.fields])
    if isinstance(type_, Array):
        if type_.element is None:
            raise InvariantError("an array of unknown elements has no Arrow type")
        return pa.list_(arrow_type(type_.element))
    if type_.kind is Kind.INTEGER:
        return {8: pa.int8(), 16: pa.int16(), 32: pa.int32(), 64: pa.int64()}[type_.bits]
    return {Kind.BOOLEAN: pa.bool_(), Kind.FLOAT: pa.float64(), Kind.TEXT: pa.string()}[type_.kind]


class _Fitting:
    """Builds columns and notes what does not fit.

    Each method takes values and, beside each, the row that it belongs to (`owners`), because the
    elements of arrays are columns of their own.
    """

    def __init__(self, faults: Faults, undeclared: MutableMapping[int, list[str]]) -> None:
        self._faults = faults
        self._undeclared = undeclared

    def record(
        self, type_: Object, prefix: str, values: Sequence[Any], owners: Sequence[int]
    ) -> pa.StructArray:
        import pyarrow as pa

        objects = values
        if not _RECORDS.issuperset(map(type, values)):
            objects = [value if isinstance(value, Mapping) else None for value in values]
            for value, owner in zip(values, owners, strict=True):
                if value is not None and not isinstance(value, Mapping):
                    self._refuse(owner, prefix.removesuffix("."), value, "an object")
        declared = frozenset(name for name, _ in type_.fields)
        for value, owner in zip(objects, owners, strict=True):
            if value and not value.keys() <= declared:
                extra = [n for n in value if n not in declared and value[n] is not None]
                if extra:
                    self._undeclared.setdefault(owner, []).extend(prefix + n for n in extra)
        columns = [
            self._column(
                field, prefix + name, [v.get(name) if v else None for v in objects], owners
            )
            for name, field in type_.fields
        ]
        mask = pa.array([value is None for value in objects], pa.bool_())
        return pa.StructArray.from_arrays(columns, fields=list(arrow_type(type_)), mask=mask)

    def scalar(
        self, type_: Scalar, name: str, values: Sequence[Any], owners: Sequence[int]
    ) -> pa.Array:
        import pyarrow as pa
        import pyarrow.compute as pc

        arrow = arrow_type(type_)
        if _RIGHT[type_.kind].issuperset(map(type, values)):
            try:
                column = pa.array(values, arrow)
                if type_.kind is not Kind.FLOAT or not pc.any(pc.is_nan(column)).as_py():
                    return column
            except (pa.ArrowInvalid, OverflowError):
                pass  # An integer too large for the declared type, to be found below.
        fitted: list[Any] = []
        for value, owner in zip(values, owners, strict=True):
            exact = None if value is None else _exact(type_, value)
            if exact is None and value is not None:
                self._refuse(owner, name, value, type_.sql)
            fitted.append(exact)
        return pa.array(fitted, arrow)

    def _column(
        self, type_: FieldType, name: str, values: Sequence[Any], owners: Sequence[int]
    ) -> pa.Array:
        if isinstance(type_, Object):
            return self.record(type_, f"{name}.", values, owners)
        if isinstance(type_, Array):
            return self._array(type_, name, values, owners)
        return self.scalar(type_, name, values, owners)

    def _array(
        self, type_: Array, name: str, values: Sequence[Any], owners: Sequence[int]
    ) -> pa.ListArray:
        import pyarrow as pa

        assert type_.element is not None, "a declared array says what it holds"
        elements: list[Any] = []
        element_owners: list[int] = []
        ends: list[int | None] = []
        for value, owner in zip(values, owners, strict=True):
            ends.append(len(elements) if isinstance(value, list) else None)
            if isinstance(value, list):
                elements += value
                element_owners += [owner] * len(value)
            elif value is not None:
                self._refuse(owner, name, value, type_.sql)
        # A null offset marks a null list; the last one closes the last list.
        offsets = pa.array([*ends, len(elements)], pa.int32())
        column = self._column(type_.element, f"{name}[]", elements, element_owners)
        return pa.ListArray.from_arrays(offsets, column, type=arrow_type(type_))

    def _refuse(self, owner: int, name: str, value: object, expected: str) -> None:
        shown = repr(value)
        if len(shown) > SHOWN_CHARS_MAX:
            shown = shown[:SHOWN_CHARS_MAX] + "..."
        self._faults.setdefault(owner, f"attribute {name!r}: {shown} does not fit {expected}")


def _exact(type_: Scalar, value: object) -> bool | int | float | str | None:
    """`value` in the declared type if that holds exactly it, else `None`."""
    if type_.kind is Kind.TEXT:
        return value if isinstance(value, str) else None
    if isinstance(value, bool) or type_.kind is Kind.BOOLEAN:
        return value if isinstance(value, bool) and type_.kind is Kind.BOOLEAN else None
    if not isinstance(value, int | float):
        return None
    if type_.kind is Kind.FLOAT:
        # Python compares an integer with a float by exact value; NaN equals nothing.
        nearest = float(value)
        return nearest if nearest == value else None
    whole = int(value) if math.isfinite(value) and value == math.floor(value) else None
    bound = 1 << (type_.bits - 1)
    return whole if whole is not None and -bound <= whole < bound else None


def _spelled(kind: Kind, cell: str | None) -> bool | int | float | str | None:
    """The value that a text spells; the text itself where it spells none of this kind."""
    if cell is None or kind is Kind.TEXT:
        return cell
    if kind is Kind.INTEGER:
        integer = _INTEGER_CELL.fullmatch(cell)
        return int(integer[1]) if integer else cell
    if kind is Kind.FLOAT:
        number = _FLOAT_CELL.fullmatch(cell)
        if number is None:
            return cell
        value = float(cell)
        # An overflow is not the written value; only the text of an infinity means it.
        return value if math.isfinite(value) or number[1] else cell
    return _BOOLEAN_CELLS.get(cell.lower(), cell)
