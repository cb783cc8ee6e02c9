"""Files of unknown quality to a table of publications, with everything else set aside.

::

    lines ── decode ── number ── mark duplicates ──┬── publications   id, attributes, home
                                                   ├── rejected       file, line, reason, text
                                                   └── counts         of lines

Every step is a function from DataFrame to DataFrame. The same input gives the same rows, however it
was cut into pieces: which of two equal ids is kept is decided by file name and line number.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sapwood.pipeline.decoding import DecodeLines, LineDecoder, decoded_sql
from sapwood.pipeline.reading import shown_path
from sapwood.pipeline.schemas import REJECTED_COLUMNS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

UNDECLARED_NAMES_MAX: Final = 10
"""Names of undeclared attributes that a summary lists."""


@dataclass(frozen=True, slots=True)
class LineCounts:
    """What became of the lines of an input: `lines == good + rejected + blank`.

    `invisible` counts the arrays in good publications, `undeclared` names some of the attributes
    that were not declared and therefore not carried.
    """

    lines: int
    good: int
    rejected: int
    blank: int
    invisible: int
    undeclared: tuple[str, ...]


def decode(lines: DataFrame, decoder: LineDecoder, header: bytes | None = None) -> DataFrame:
    """One row per line, with what it says or why it cannot be used (`decoding.decoded_sql`)."""
    return lines.mapInArrow(DecodeLines(decoder, header), decoded_sql(decoder))


def piece_offsets(decoded: DataFrame) -> DataFrame:
    """For each piece of a file that a task has read, how many lines are before it: `before`.

    There are few pieces (one in 128 MB), and adding up runs over them alone.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    earlier = Window.partitionBy("file").orderBy("block").rowsBetween(Window.unboundedPreceding, -1)
    pieces = decoded.groupBy("file", "block").agg(F.max("line").alias("lines"))
    before = F.coalesce(F.sum("lines").over(earlier), F.lit(0)).alias("before")
    return pieces.select("file", "block", before)


def number(decoded: DataFrame, offsets: DataFrame) -> DataFrame:
    """Lines numbered within their files, not within the pieces (see `piece_offsets`)."""
    from pyspark.sql import functions as F  # noqa: N812

    placed = decoded.join(F.broadcast(offsets), ["file", "block"])
    return placed.withColumn("line", F.col("line") + F.col("before")).drop("before", "block")


def repeated_ids(numbered: DataFrame) -> DataFrame:
    """The ids that are on more than one line, each with the place of the `first`.

    Only ids and places are shuffled; the records stay where they are.
    """
    from pyspark.sql import functions as F  # noqa: N812

    ids = numbered.where(F.col("id").isNotNull()).groupBy("id")
    first = F.min(F.struct("file", "line")).alias("first")
    return ids.agg(first, F.count(F.lit(1)).alias("times")).where("times > 1").drop("times")


def mark_duplicates(numbered: DataFrame, repeated: DataFrame) -> DataFrame:
    """Give every row whose id was on an earlier line a reason for that, and no id."""
    from pyspark.sql import functions as F  # noqa: N812

    joined = numbered.join(repeated, "id", "left")
    again = F.col("first").isNotNull() & (F.struct("file", "line") != F.col("first"))
    where = F.when(
        F.col("first.file") == F.col("file"), F.format_string("on line %d", "first.line")
    ).otherwise(
        F.format_string("on line %d of %s", F.col("first.line"), shown_path(F.col("first.file")))
    )
    reason = F.concat(
        F.lit("id '"), F.col("id"), F.lit("' was "), where, F.lit(" already; give it its own id")
    )
    return joined.withColumns(
        {
            "reason": F.when(again, reason).otherwise(F.col("reason")),
            "id": F.when(~again, F.col("id")),
        }
    ).drop("first")


def publications(rows: DataFrame) -> DataFrame:
    """The good ones of decoded rows: id, attributes, document, home."""
    return rows.where("id IS NOT NULL").select("id", "attributes", "document", "home")


def timed_publications(rows: DataFrame) -> DataFrame:
    """The good ones of rows with `published_at`: the table that `ingest` writes.

    Its columns are id, attributes, home, document, published_at and `source`, the file a row comes
    from.
    """
    from pyspark.sql import functions as F  # noqa: N812

    source = shown_path(F.col("file")).alias("source")
    good = rows.where("id IS NOT NULL")
    return good.select("id", "attributes", "home", "document", "published_at", source)


def rejected(rows: DataFrame) -> DataFrame:
    """The rejected ones of decoded rows: `schemas.REJECTED`."""
    from pyspark.sql import functions as F  # noqa: N812

    bad = rows.where("reason IS NOT NULL")
    return bad.withColumn("file", shown_path(F.col("file"))).select(*REJECTED_COLUMNS)


def count_lines(rows: DataFrame) -> LineCounts:
    """Run the steps so far and add up what became of the lines."""
    from pyspark.sql import functions as F  # noqa: N812

    good, bad = F.col("id").isNotNull(), F.col("reason").isNotNull()
    sums = rows.agg(
        F.count(F.lit(1)).alias("lines"),
        F.count_if(good).alias("good"),
        F.count_if(bad).alias("rejected"),
        F.count_if(~good & ~bad).alias("blank"),
        F.coalesce(F.sum(F.when(good, F.col("invisible"))), F.lit(0)).alias("invisible"),
        F.count_if(F.col("undeclared").isNotNull()).alias("undeclared"),
    ).first()
    assert sums is not None, "an aggregate without keys has one row"
    names: tuple[str, ...] = ()
    if sums["undeclared"]:
        found = rows.select(F.explode("undeclared").alias("name")).distinct().orderBy("name")
        names = tuple(row["name"] for row in found.limit(UNDECLARED_NAMES_MAX).collect())
    return LineCounts(
        sums["lines"], sums["good"], sums["rejected"], sums["blank"], sums["invisible"], names
    )


@contextmanager
def ingested(
    lines: DataFrame, decoder: LineDecoder, header: bytes | None = None, *, distinct: bool = True
) -> Iterator[DataFrame]:
    """All steps: rows for `publications`, `rejected` and `count_lines`, decoded only once.

    With `distinct`, of several lines with one id all but the first are rejected. Decoded rows are
    kept by Spark, in memory and on local disks, until the block ends.
    """
    with ExitStack() as kept:
        decoded = _kept(kept, decode(lines, decoder, header))
        rows = number(decoded, _kept(kept, piece_offsets(decoded)))
        if distinct:
            rows = mark_duplicates(rows, _kept(kept, repeated_ids(rows)))
        yield rows


def _kept(stack: ExitStack, table: DataFrame) -> DataFrame:
    """The table, computed once, until the stack is closed."""
    stack.callback(table.persist().unpersist)
    return table
