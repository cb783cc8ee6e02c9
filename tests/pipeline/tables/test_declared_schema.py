from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sapwood.errors import FileFormatError, InputError, InvalidValueError
from sapwood.pipeline.tables.attributes import leaves
from sapwood.pipeline.tables.declared_schema import DeclaredSchema, declared_schema

pytestmark = [pytest.mark.spark, pytest.mark.usefixtures("spark")]

TOML = """\
id = ["carrier", "flight"]
null_value = "NA"

[attributes]
carrier = "string"
"dep delay" = "double"
tags = "array<string>"

[attributes.detail]
state = "boolean"
"""
JSON = """\
{"id": ["carrier", "flight"], "null_value": "NA", "attributes": {
  "carrier": "string", "dep delay": "double", "tags": "array<string>",
  "detail": {"state": "boolean"}}}
"""
DDL = "carrier STRING, `dep delay` DOUBLE, tags ARRAY<STRING>, detail STRUCT<state: BOOLEAN>"
SQL = (
    "STRUCT<`carrier`: STRING, `dep delay`: DOUBLE, `tags`: ARRAY<STRING>, "
    "`detail`: STRUCT<`state`: BOOLEAN>>"
)


def write(path: Path, text: str) -> str:
    path.write_text(text)
    return str(path)


def test_a_schema_is_the_same_as_ddl_toml_json_and_as_spark_writes_it(
    spark: Any, tmp_path: Path
) -> None:
    ddl = declared_schema(DDL)
    assert ddl.record.sql == SQL
    assert [leaf.name for leaf in leaves(ddl.record)] == [
        "carrier",
        "dep delay",
        "tags",
        "detail.state",
    ]
    own = spark.createDataFrame([], DDL).schema.json()
    assert declared_schema(write(tmp_path / "spark.json", own)) == ddl
    toml = declared_schema(write(tmp_path / "a.toml", TOML))
    assert toml == DeclaredSchema(ddl.record, ("carrier", "flight"), "NA")
    assert declared_schema(write(tmp_path / "a.JSON", JSON)) == toml


def test_ids_may_be_one_name() -> None:
    assert declared_schema("a INT").id_columns == ("id",)


@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("a.toml", "", "the member attributes must be a table"),
        ("a.toml", "x =", "is no schema"),
        ("a.toml", 'home = "x"\n[attributes]\na = "int"', "unknown member 'home'"),
        ("a.toml", "id = 3\n[attributes]\na = 'int'", "member id must be"),
        ("a.toml", "id = []\n[attributes]\na = 'int'", "member id must be"),
        ("a.toml", "null_value = 3\n[attributes]\na = 'int'", "null_value must be a text"),
        ("a.toml", "[attributes]\na = 3", "attribute 'a': a type is a text"),
        ("a.toml", "[attributes]\na = 'dubble'", "is no schema"),
        ("a.toml", "[attributes]\na = 'date'", "attribute 'a': a column of type DATE"),
        ("a.json", "[1]", "it is not an object"),
        ("a.json", "{", "is no schema"),
        ("a.json", '{"type": "struct", "fields": [{"name": "a"}]}', "Spark cannot read it"),
        ("a.json", '{"attributes": {}}', "declares at least one attribute"),
    ],
)
def test_a_file_that_is_no_schema_says_why(
    tmp_path: Path, name: str, text: str, reason: str
) -> None:
    path = write(tmp_path / name, text)
    with pytest.raises(FileFormatError, match=reason) as caught:
        declared_schema(path)
    assert caught.value.path == path


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="cannot be read: No such file"):
        declared_schema(str(tmp_path / "none.toml"))


@pytest.mark.parametrize("text", ["price", "price DUBBLE", "DOUBLE", "a INT,"])
def test_a_text_that_is_no_ddl_is_quoted(text: str) -> None:
    with pytest.raises(InputError, match=f"the schema {text!r} is no Spark DDL: ."):
        declared_schema(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a FLOAT", "'a': FLOAT would round"),
        ("a STRUCT<b: ARRAY<FLOAT>>", r"'a\.b': FLOAT"),
        ("a VOID", "'a': VOID holds no value"),
        ("a ARRAY<TIMESTAMP>", "'a': a column of type TIMESTAMP"),
        ("a DECIMAL(3, 1)", "'a': a column of type DECIMAL"),
        ("a INT, A INT", "'A': Spark cannot tell"),
    ],
)
def test_a_type_that_would_not_hold_values_exactly_is_refused(text: str, reason: str) -> None:
    with pytest.raises(InvalidValueError, match=reason):
        declared_schema(text)
