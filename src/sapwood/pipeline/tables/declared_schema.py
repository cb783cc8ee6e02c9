"""The schema that the user of `ingest` declares: which attributes there are, and of which type.

It is written as Spark DDL (`carrier STRING, dep_delay DOUBLE, detail STRUCT<state: STRING>`), or in
a small file. In TOML, and in JSON with the same members::

    id = ["carrier", "flight", "time_hour"]   # CSV: the columns that identify a row
    null_value = "NA"                         # CSV: how a missing value is written, beside nothing

    [attributes]
    carrier = "string"
    dep_delay = "double"
    tags = "array<string>"

    [attributes.detail]                       # a nested object
    state = "string"

A JSON file may also be what Spark itself writes (`DataFrame.schema.json()`).
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sapwood.errors import FileFormatError, InputError, InvalidValueError
from sapwood.pipeline.spark.faults import first_line
from sapwood.pipeline.tables.attributes import Array, FieldType, Object, Scalar, record_type

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

_MEMBERS: Final = ("attributes", "id", "null_value")


@dataclass(frozen=True, slots=True)
class DeclaredSchema:
    """The declared schema of the input of `ingest`.

    `record` is the type of the attributes, `id_columns` names the CSV columns whose texts, joined
    by `/`, are the id of a row, and `null_value` how CSV writes that there is no value (an empty
    cell always means it).
    """

    record: Object
    id_columns: tuple[str, ...] = ("id",)
    null_value: str = ""


def declared_schema(text_or_path: str) -> DeclaredSchema:
    """The schema in a file (its name ends in .toml or .json) or in a DDL text.

    Needs an active Spark session, since Spark reads the types. Raises `FileFormatError` for a file
    and `InputError` for a text that is no schema, with the reason; `InvalidValueError` for a type
    that no attribute has.
    """
    if text_or_path.lower().endswith((".toml", ".json")):
        return _from_file(text_or_path)
    try:
        struct = _from_ddl(text_or_path)
    except InputError as error:
        raise InputError(f"the schema {text_or_path!r} is no Spark DDL: {error}") from None
    return DeclaredSchema(declared_record(struct))


def declared_record(struct: StructType) -> Object:
    """The type of a record from a Spark type, where all of it is to be carried exactly."""
    record = record_type(struct, case_sensitive=False, opaque_arrays=False)
    if not record.fields:
        raise InputError("a schema declares at least one attribute")
    _refuse_inexact(record, "")
    return record


def _from_file(path: str) -> DeclaredSchema:
    try:
        raw = Path(path).read_bytes()
    except OSError as error:
        raise FileFormatError(path, f"cannot be read: {error.strerror}") from None
    try:
        return _from_members(_parsed(path, raw))
    except InvalidValueError as error:
        raise FileFormatError(path, str(error)) from None
    except ValueError as error:
        raise FileFormatError(path, f"is no schema: {error}") from None


def _parsed(path: str, raw: bytes) -> object:
    import msgspec

    if path.lower().endswith(".toml"):
        return tomllib.loads(raw.decode())
    return msgspec.json.decode(raw)


def _from_members(members: object) -> DeclaredSchema:
    if not isinstance(members, dict):
        raise InputError("it is not an object with the member attributes")
    if members.get("type") == "struct":
        return DeclaredSchema(declared_record(_from_spark_json(members)))
    unknown = sorted(members.keys() - set(_MEMBERS))
    if unknown:
        raise InputError(f"unknown member {unknown[0]!r}; known: {', '.join(_MEMBERS)}")
    attributes = members.get("attributes")
    if not isinstance(attributes, dict):
        raise InputError("the member attributes must be a table of names and types")
    id_columns = members.get("id", ["id"])
    if isinstance(id_columns, str):
        id_columns = [id_columns]
    if (
        not isinstance(id_columns, list)
        or not id_columns
        or not all(isinstance(column, str) for column in id_columns)
    ):
        raise InputError("the member id must be the name of a column, or a list of names")
    null_value = members.get("null_value", "")
    if not isinstance(null_value, str):
        raise InputError("the member null_value must be a text")
    record = declared_record(_from_ddl(_ddl(attributes)))
    return DeclaredSchema(record, tuple(id_columns), null_value)


def _ddl(attributes: Mapping[str, object]) -> str:
    """The DDL of a table of names and types; a nested table is a nested object."""
    fields: list[str] = []
    for name, type_ in attributes.items():
        quoted = "`" + name.replace("`", "``") + "`"
        if isinstance(type_, Mapping):
            fields.append(f"{quoted}: STRUCT<{_ddl(type_)}>")
        elif isinstance(type_, str):
            fields.append(f"{quoted}: {type_}")
        else:
            raise InvalidValueError(name, 'a type is a text, such as "double"')
    return ", ".join(fields)


def _from_ddl(text: str) -> StructType:
    from pyspark.errors import PySparkException
    from pyspark.sql.types import DataType

    try:
        struct = DataType.fromDDL(text)
    except PySparkException as error:
        raise InputError(first_line(error)) from None
    if struct.typeName() != "struct":
        raise InputError(f"{text!r} is one type, not names with types")
    return struct


def _from_spark_json(members: dict[str, Any]) -> StructType:
    from pyspark.errors import PySparkException
    from pyspark.sql.types import StructType

    try:
        return StructType.fromJson(members)
    except (PySparkException, KeyError, TypeError, ValueError) as error:
        raise InputError(f"Spark cannot read it: {error}") from None


def _refuse_inexact(type_: FieldType | None, name: str) -> None:
    """Refuse what would not hold a value as it was given."""
    if isinstance(type_, Object):
        for inner, inner_type in type_.fields:
            _refuse_inexact(inner_type, f"{name}.{inner}" if name else inner)
    elif isinstance(type_, Array):
        _refuse_inexact(type_.element, name)
    elif isinstance(type_, Scalar) and type_.sql == "FLOAT":
        raise InvalidValueError(name, "FLOAT would round most values; declare it as DOUBLE")
    elif isinstance(type_, Scalar) and type_.sql == "VOID":
        raise InvalidValueError(name, "VOID holds no value; leave the attribute out")
