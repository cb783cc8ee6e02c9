"""Files of unknown quality to a table of publications, with everything else set aside.

::

    lines ── decode ── mark duplicates ──┬── publications         id, attributes, home
                                         ├── number ── rejected   file, line, reason, text
                                         └── counts               of lines

Every step is a function from DataFrame to DataFrame. The same input gives the same rows, however it
was cut into pieces: which of two equal ids is kept is decided by file name and line number. Tasks
number the lines of their pieces. The number of lines before a piece is computed only where a line
number is shown: for rejected lines, and for those whose id comes again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sapwood.pipeline.spark.frames import persisted
from sapwood.pipeline.tables.decoding import PLACE_COLUMNS, DecodeLines, LineDecoder, decoded_sql
from sapwood.pipeline.tables.reading import shown_path
from sapwood.pipeline.tables.schemas import REJECTED_COLUMNS
from sapwood.pipeline.tables.summaries import Counts

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Row

UNDECLARED_NAMES_MAX: Final = 10
"""Names of undeclared attributes that a summary lists."""


@dataclass(frozen=True, slots=True)
class LineCounts:
    """The counts of the lines of an input: `lines == good + rejected + blank`.

    `undeclared` names some of the attributes that were not declared and therefore not carried.
    """

    lines: int
    good: int
    rejected: int
    blank: int
    undeclared: tuple[str, ...]


def decode(lines: DataFrame, decoder: LineDecoder, header: bytes | None = None) -> DataFrame:
    """One row per line, with its content or why it cannot be used (`decoding.decoded_sql`)."""
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


def number(some: DataFrame, rows: DataFrame) -> DataFrame:
    """The selected rows, with the numbers of their lines in the files, not in the pieces.

    Where rows have no pieces, as those of tables, their lines are numbered already.
    """
    from pyspark.sql import functions as F  # noqa: N812

    if "block" not in rows.columns:
        return some
    placed = some.join(F.broadcast(piece_offsets(rows)), ["file", "block"])
    return placed.withColumn("line", F.col("line") + F.col("before")).drop("before", "block")


def without_repeated(rows: DataFrame, kept: ExitStack) -> DataFrame:
    """The rows, with a reason and no id where the id was there before (`mark_duplicates`).

    Ids are counted by their hashes: numbers, which Spark counts without sorting. Most inputs have
    no id twice, and then the rows are not looked at again, nor brought together by their ids.
    """
    from pyspark.sql import functions as F  # noqa: N812

    hashed = rows.where("id IS NOT NULL").select(F.xxhash64("id").alias("hash"))
    counted = hashed.groupBy("hash").count().where("count > 1")
    suspects = persisted(counted.select("hash"), kept)
    if suspects.isEmpty():
        return rows
    suspected = rows.withColumn("hash", F.xxhash64("id")).join(suspects, "hash", "left_semi")
    repeated = persisted(repeated_ids(suspected, rows), kept)
    repeated.count()  # Spark knows the size of what it holds, and copies it to the rows if small.
    return mark_duplicates(rows, repeated)


def repeated_ids(some: DataFrame, rows: DataFrame) -> DataFrame:
    """The ids that are on more than one line of some of the `rows`.

    With each go the place of the `first`, as rows have it, and the number of its line, `at`. Only
    ids and places are shuffled; the records stay where they are.
    """
    from pyspark.sql import functions as F  # noqa: N812

    ids = some.where("id IS NOT NULL").groupBy("id")
    first = F.min(_place(rows)).alias("first")
    found = ids.agg(first, F.count(F.lit(1)).alias("times")).where("times > 1")
    placed = number(found.select("id", "first", "first.*"), rows)
    return placed.select("id", "first", F.col("line").alias("at"))


def mark_duplicates(rows: DataFrame, repeated: DataFrame) -> DataFrame:
    """Give every row whose id was on an earlier line a reason for that, and no id."""
    from pyspark.sql import functions as F  # noqa: N812

    joined = rows.join(repeated, "id", "left")
    again = F.col("first").isNotNull() & (_place(rows) != F.col("first"))
    where = F.when(
        F.col("first.file") == F.col("file"), F.format_string("on line %d", "at")
    ).otherwise(F.format_string("on line %d of %s", F.col("at"), shown_path(F.col("first.file"))))
    reason = F.concat(
        F.lit("id '"), F.col("id"), F.lit("' was "), where, F.lit(" already; give it its own id")
    )
    return joined.withColumns(
        {
            "reason": F.when(again, reason).otherwise(F.col("reason")),
            "id": F.when(~again, F.col("id")),
        }
    ).drop("first", "at")


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

    bad = number(rows.where("reason IS NOT NULL"), rows)
    return bad.withColumn("file", shown_path(F.col("file"))).select(*REJECTED_COLUMNS)


def count_lines(rows: DataFrame) -> LineCounts:
    """Run the steps so far and add up what became of the lines."""
    return sum_lines(rows)[0]


def sum_lines(rows: DataFrame, *more: Column) -> tuple[LineCounts, Row]:
    """As `count_lines`, and the values of `more` aggregates of the same rows, by their names."""
    from pyspark.sql import functions as F  # noqa: N812

    good, bad = F.col("id").isNotNull(), F.col("reason").isNotNull()
    sums = rows.agg(
        F.count(F.lit(1)).alias("lines"),
        F.count_if(good).alias("good"),
        F.count_if(bad).alias("rejected"),
        F.count_if(~good & ~bad).alias("blank"),
        F.count_if(F.col("undeclared").isNotNull()).alias("undeclared"),
        *more,
    ).first()
    assert sums is not None, "an aggregate without keys has one row"
    names: tuple[str, ...] = ()
    if sums["undeclared"]:
        found = rows.select(F.explode("undeclared").alias("name")).distinct().orderBy("name")
        names = tuple(row["name"] for row in found.limit(UNDECLARED_NAMES_MAX).collect())
    counts = (sums["lines"], sums["good"], sums["rejected"], sums["blank"])
    return LineCounts(*counts, names), sums


@contextmanager
def ingested(
    lines: DataFrame, decoder: LineDecoder, header: bytes | None = None, *, distinct: bool = True
) -> Iterator[DataFrame]:
    """All steps: rows for `publications`, `rejected` and `count_lines`, decoded only once.

    With `distinct`, of several lines with one id all but the first are rejected. Decoded rows are
    kept (`persisted`) until the block ends.
    """
    with ExitStack() as kept:
        decoded = persisted(decode(lines, decoder, header), kept)
        yield without_repeated(decoded, kept) if distinct else decoded


def _place(rows: DataFrame) -> Column:
    """The place of a row: of two places the first is the smaller."""
    from pyspark.sql import functions as F  # noqa: N812

    return F.struct(*(name for name in PLACE_COLUMNS if name in rows.columns))


def counts_of(counts: LineCounts) -> Counts:
    """The counts of lines for a summary: blank ones are not counted."""
    return Counts(counts.lines - counts.blank, counts.good, counts.rejected)
