"""The times at which publications were published, as far as rows have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from sapwood.errors import InputError
from sapwood.pipeline.tables.attributes import Object, Scalar, leaves

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

MEMBER: Final = "published_at"
"""The member of a line with the time, unless an attribute holds it."""

_SECONDS: Final = r"^\s*[+-]?[0-9]+(\.[0-9]*)?([eE][+-]?[0-9]+)?\s*$"
_SECONDS_MAX: Final = 1e11
"""About three thousand years: a larger number counts milliseconds, or is no time."""

_REMEDY: Final = (
    " is no time; write it like 2026-01-31T12:00:00Z, or as seconds since the beginning of 1970"
)


def member_text() -> Column:
    """The member `published_at` of a line of JSON in the column `text`, as text."""
    from pyspark.sql import functions as F  # noqa: N812

    # Most lines have no such member, and looking for the word costs less than reading JSON.
    found = F.get_json_object("text", f"$.{MEMBER}")
    return F.when(F.col("text").contains(f'"{MEMBER}"'), found)


def attribute_text(name: str, record: Object | None) -> Column:
    """The value of the attribute of that (dotted) name, as text; the record may be JSON text.

    Raises `InputError` for an attribute that is not declared, or is no single value.
    """
    from pyspark.sql import functions as F  # noqa: N812

    if record is None:
        path = "".join(f"['{part}']" for part in name.split("."))
        return F.get_json_object("attributes", f"${path}")
    declared = {leaf.name: leaf for leaf in leaves(record) if isinstance(leaf.type, Scalar)}
    if name not in declared:
        raise InputError(
            f"no attribute {name!r} is declared that could hold the time; there are "
            f"{', '.join(declared)}"
        )
    column = F.col("attributes")
    for part in declared[name].path:
        column = column.getField(part)
    return column.cast("string")


def with_times(rows: DataFrame, text: Column | None) -> DataFrame:
    """Decoded rows with `published_at`, read from `text`; a text that is no time rejects its row.

    Numbers are seconds since 1970. A time without a zone is one of the session's time zone.
    """
    from pyspark.sql import functions as F  # noqa: N812

    if text is None:
        return rows.withColumn(MEMBER, F.lit(None).cast("timestamp"))
    count = F.when(text.rlike(_SECONDS), text).cast("double")
    seconds = F.timestamp_seconds(F.when(F.abs(count) < _SECONDS_MAX, count))
    time = F.coalesce(seconds, F.try_to_timestamp(F.when(~text.rlike(_SECONDS), text)))
    bad = F.col("id").isNotNull() & text.isNotNull() & time.isNull()
    reason = F.concat(F.lit(f"{MEMBER}: '"), F.substring(text, 1, 60), F.lit(f"'{_REMEDY}"))
    return rows.withColumns(
        {
            MEMBER: time,
            "reason": F.when(bad, reason).otherwise(F.col("reason")),
            "id": F.when(~bad, F.col("id")),
        }
    )
