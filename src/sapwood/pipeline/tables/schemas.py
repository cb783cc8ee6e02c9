"""The columns of all tables that the pipeline reads or writes, as Spark DDL.

DDL is text, so this page needs no PySpark, and every PySpark call that needs a schema takes it.

======================  ===========================================================================
Table                   Columns
======================  ===========================================================================
publications            `id`; `attributes`; `document` (XML as text) and `home` may be missing
subscriptions           `id`; `filter` or `xpath`, or both columns with one of them null; `home` and
                        `namespaces` (prefix to namespace, beside an XPath), which may be missing
deliveries              `publication`, `subscription`: one row per pair
lists                   `publication`, `subscriptions`: one row per publication with a match
counts                  `subscription`, `publications`: one row per subscription that is served
homes                   `publication`, `home`: one row per home router that has to get it
rejected                `file`, `line` (from 1), `reason`, `text`: a row or line that could not be
                        used; file and line are null where a table has none
======================  ===========================================================================

`attributes` comes in two forms.

* A **struct** with one typed field per attribute is what `ingest` writes for a declared schema, and
  the form to prefer. A filter set reads some of the fields, and only those travel to Python, as
  Arrow columns with their types; the others are not even read from Parquet. Fields may be structs
  (nested objects, dotted names in filters) and arrays (several values of an attribute).
* A **text** column holds one JSON object per row, for records whose attributes are not declared.
  It keeps every record exactly, integers and floats apart, and costs a parse in Python per row. A
  map would need one type for all values, and Spark's VARIANT turns 1.0 into a decimal and cannot
  be sent to Python as a column.
"""

from __future__ import annotations

from typing import Final, NamedTuple

SUBSCRIPTIONS: Final = "id STRING, filter STRING, home STRING"
DELIVERIES: Final = "publication STRING, subscription STRING"
LISTS: Final = "publication STRING, subscriptions ARRAY<STRING>"
COUNTS: Final = "subscription STRING, publications BIGINT"
HOMES: Final = "publication STRING, home STRING"
REJECTED: Final = "file STRING, line BIGINT, reason STRING, text STRING"

REJECTED_COLUMNS: Final = ("file", "line", "reason", "text")
PUBLICATION_COLUMNS: Final = ("id", "attributes", "home")


class Rejected(NamedTuple):
    """A row or line that could not be used (`REJECTED`)."""

    file: str | None
    line: int | None
    reason: str
    text: str
