"""The types of attributes in a table, and the flat view that filters have of them.

A Spark schema becomes a small tree of our own (`Scalar`, `Object`, `Array`), which can be sent to
workers and tested without a JVM. The same tree describes what `match` finds in a DataFrame and what
the user of `ingest` has declared.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from sapwood.errors import InvalidValueError, InvariantError, LimitError
from sapwood.limits import ATTRIBUTES_MAX, RECORD_DEPTH_MAX


class Kind(StrEnum):
    """The type of a value as filters know it, by its name in Spark SQL where all are carried."""

    BOOLEAN = "BOOLEAN"
    INTEGER = "BIGINT"
    FLOAT = "DOUBLE"
    TEXT = "STRING"
    #: Spark's type of a column that is always null.
    NOTHING = "VOID"


@dataclass(frozen=True, slots=True)
class Scalar:
    """A single value. `sql` is the column's own type, `bits` the size of an integer."""

    kind: Kind
    sql: str
    bits: int = 64


@dataclass(frozen=True, slots=True)
class Array:
    """A list of values. `None`: of values whose type shows when they are read."""

    element: FieldType | None

    @property
    def sql(self) -> str:
        """The type in Spark SQL."""
        if self.element is None:
            raise InvariantError("an array of unknown elements has no SQL type")
        return f"ARRAY<{self.element.sql}>"


@dataclass(frozen=True, slots=True)
class Object:
    """Named values: a record, or one nested in it."""

    fields: tuple[tuple[str, FieldType], ...]

    @property
    def sql(self) -> str:
        """The type in Spark SQL."""
        fields = (f"`{name.replace('`', '``')}`: {type_.sql}" for name, type_ in self.fields)
        return f"STRUCT<{', '.join(fields)}>"


FieldType: TypeAlias = Scalar | Array | Object


@dataclass(frozen=True, slots=True)
class Leaf:
    """An attribute as filters see it, or an array whose elements are values of attributes.

    `name` is dotted, `path` the names of the fields from the outside in.
    """

    name: str
    path: tuple[str, ...]
    type: Scalar | Array


SCALARS: Final = MappingProxyType(
    {
        "boolean": Scalar(Kind.BOOLEAN, "BOOLEAN"),
        "byte": Scalar(Kind.INTEGER, "TINYINT", 8),
        "short": Scalar(Kind.INTEGER, "SMALLINT", 16),
        "integer": Scalar(Kind.INTEGER, "INT", 32),
        "long": Scalar(Kind.INTEGER, "BIGINT"),
        "float": Scalar(Kind.FLOAT, "FLOAT"),
        "double": Scalar(Kind.FLOAT, "DOUBLE"),
        "string": Scalar(Kind.TEXT, "STRING"),
        "char": Scalar(Kind.TEXT, "STRING"),
        "varchar": Scalar(Kind.TEXT, "STRING"),
        "void": Scalar(Kind.NOTHING, "VOID"),
    }
)
"""PySpark's name of a type (`DataType.typeName()`) to its kind for filters."""

_INSTANT: Final = (
    "cast it to STRING (ISO texts sort in the order of time) or to BIGINT (unix_micros)"
)
_REMEDIES: Final = MappingProxyType(
    {
        "date": "cast it to STRING (ISO texts sort in the order of time) or INT (unix_date)",
        "timestamp": _INSTANT,
        "timestamp_ntz": "cast it to STRING (ISO texts sort in the order of time)",
        "time": "cast it to STRING",
        "decimal": "cast it to DOUBLE, or to BIGINT in the smallest unit to keep it exact",
        "binary": "cast it to STRING, or leave it out",
        "map": "make it a struct, or send the whole record as JSON text (to_json)",
        "variant": "cast it to a declared type (variant_get), or send the record as JSON text",
    }
)
_ANY_REMEDY: Final = "cast it to STRING, BIGINT, DOUBLE or BOOLEAN, or leave it out"


def record_type(struct: Any, *, case_sensitive: bool, opaque_arrays: bool = True) -> Object:
    """The type of a record from a Spark `StructType`.

    `case_sensitive` is true if this Spark session distinguishes `Price` from `price`; if it does
    not, two such fields cannot be read apart. With `opaque_arrays` an array may hold anything: an
    element that no attribute can hold is carried, and no filter sees it.

    Raises `InvalidValueError`, which names the column and what to cast it to, for a type that no
    attribute has, and for two fields that give the same attribute; `LimitError` for a record that
    is too wide or too deep.
    """
    record = _SchemaReader(case_sensitive, opaque_arrays).object(struct, "", 1)
    names: set[str] = set()
    for leaf in leaves(record):
        if leaf.name in names:
            raise InvalidValueError(
                leaf.name, "given twice, nested and dotted; rename one of the columns"
            )
        names.add(leaf.name)
    if len(names) > ATTRIBUTES_MAX:
        raise LimitError("ATTRIBUTES_MAX", ATTRIBUTES_MAX, len(names), "the number of columns")
    return record


def leaves(record: Object, path: tuple[str, ...] = ()) -> Iterator[Leaf]:
    """All attributes and arrays of a record, nested ones under their dotted names, in order."""
    for name, type_ in record.fields:
        inner = (*path, name)
        if isinstance(type_, Object):
            yield from leaves(type_, inner)
        else:
            yield Leaf(".".join(inner), inner, type_)


@dataclass(frozen=True, slots=True)
class _SchemaReader:
    """Turns Spark's types into ours (see `record_type`)."""

    case_sensitive: bool
    opaque_arrays: bool

    def object(self, struct: Any, prefix: str, depth: int) -> Object:
        """The fields of `struct`, whose dotted names begin with `prefix`."""
        if depth > RECORD_DEPTH_MAX:
            raise LimitError(
                "RECORD_DEPTH_MAX", RECORD_DEPTH_MAX, None, f"the nesting of column {prefix!r}"
            )
        spelled: dict[str, str] = {}
        fields: list[tuple[str, FieldType]] = []
        for field in struct.fields:
            same = field.name if self.case_sensitive else field.name.lower()
            if same in spelled:
                raise InvalidValueError(
                    prefix + field.name,
                    f"Spark cannot tell this column from {prefix + spelled[same]!r}; rename one "
                    "of them, or set spark.sql.caseSensitive to true",
                )
            spelled[same] = field.name
            fields.append((field.name, self._field(field.dataType, prefix + field.name, depth)))
        return Object(tuple(fields))

    def _field(self, type_: Any, name: str, depth: int) -> FieldType:
        kind = type_.typeName()
        if kind == "struct":
            return self.object(type_, f"{name}.", depth + 1)
        if kind == "array":
            opaque = self.opaque_arrays
            return Array(None if opaque else self._field(type_.elementType, name, depth + 1))
        scalar = SCALARS.get(kind)
        if scalar is None:
            raise InvalidValueError(
                name,
                f"a column of type {type_.simpleString().upper()} has no value that a filter can "
                f"read; {_REMEDIES.get(kind, _ANY_REMEDY)}",
            )
        return scalar
