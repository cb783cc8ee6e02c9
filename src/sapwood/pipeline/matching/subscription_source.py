"""The subscriptions of a match job: lines, a table or a compiled set, broadcast or in shards."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from sapwood.errors import FileFormatError, InputError
from sapwood.pipeline.ingest.lines import count_lines, rejected
from sapwood.pipeline.matching.candidates import candidate_rows, interest_columns
from sapwood.pipeline.matching.delivering import store_matches
from sapwood.pipeline.matching.match import match_compiled
from sapwood.pipeline.matching.output import Output
from sapwood.pipeline.matching.segments import SEGMENTS, segment_heads, unpack_segments
from sapwood.pipeline.matching.sharding import Layout, layout_for, match_sharded, shards_for
from sapwood.pipeline.matching.subscriptions import (
    Size,
    SubscriptionSet,
    compile_lines,
    compile_subscriptions,
    interest_chars,
    measured,
    packed_set,
    working_folder,
)
from sapwood.pipeline.matching.versions import CompileReport, latest_report, version_path
from sapwood.pipeline.results.output import rejected_table, write_table
from sapwood.pipeline.tables.lake import table_of_lake
from sapwood.pipeline.tables.publications import shape_of
from sapwood.pipeline.tables.reading import FileKind, file_kind, read_lines, read_table
from sapwood.pipeline.tables.summaries import Counts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from sapwood.pipeline.tables.lake import Publications


class SubscriptionSource(NamedTuple):
    """Subscriptions, ready for matching: the counts, the rejected rows and two ways to match.

    `match` gives the deliveries of publications; `store` writes them as Parquet at a path, in place
    of earlier ones, and returns the number of rows.
    """

    counts: Counts
    rejected: DataFrame
    layout: Layout
    match: Callable[[Publications], DataFrame]
    store: Callable[[Publications, str], int]


@contextmanager
def open_subscriptions(
    spark: SparkSession,
    path: str,
    *,
    engine: str,
    output: Output = Output.PAIRS,
    layout: Layout = Layout.AUTO,
    shards: int | None = None,
) -> Iterator[SubscriptionSource]:
    """The subscriptions at a path, for the length of a block.

    A compiled set has the output homes and no other, since it does not hold every subscription, and
    only a compiled set has homes: `InputError` for the wrong pair of the two.
    """
    report = latest_report(spark, path)
    if (report is not None) != (output is Output.HOMES):
        raise InputError(
            f"{path} is a compiled set, whose output is homes: use --output homes"
            if report is not None
            else f"only a compiled set has homes, and {path} is none; compile it first"
        )
    chosen = Layout.BROADCAST
    if report is not None:
        if layout is Layout.SHARDED:
            raise InputError("a compiled set is an index already, and is not cut into shards")
        compiled = compiled_version(spark, path, report)
    else:
        size = size_at(spark, path)
        chosen = layout_for(size.subscriptions, size.chars, layout)
        if chosen is Layout.SHARDED:
            tasks = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
            count = shards_for(size.subscriptions, tasks) if shards is None else shards
            with _sharded(spark, path, engine, output, count) as source:
                yield source
            return
        compiled = compile_path(spark, path, engine=engine, size=size)
    yield SubscriptionSource(
        subscription_counts(compiled),
        rejected_table(spark, compiled.rejected),
        chosen,
        lambda published: match_compiled(published, compiled, output),
        lambda published, out: store_matches(published, compiled, out, output),
    )


def compile_path(
    spark: SparkSession, path: str, *, engine: str, size: Size | None = None
) -> SubscriptionSet:
    """The subscriptions at a path, JSON Lines or Parquet, compiled; `size` as of `size_at`."""
    if _kind(spark, path) is FileKind.LINES:
        return compile_lines(read_lines(spark, path), engine=engine, size=size)
    return compile_subscriptions(read_table(spark, path), engine=engine, size=size)


def compiled_version(spark: SparkSession, out: str, report: CompileReport) -> SubscriptionSet:
    """A version of a compiled set, ready for matching."""
    # With its schema, so that Spark need not look for one in the files.
    stored = spark.read.schema(SEGMENTS).parquet(f"{version_path(out, report.version)}/segments")
    with working_folder() as work:
        unpack_segments(stored, segment_heads(stored), work / "index")
        return packed_set(
            work / "index",
            size=report.entries,
            attributes=report.attributes,
            documents=report.patterns > 0,
        )


def size_at(spark: SparkSession, path: str) -> Size:
    """The size of the set at a path; of lines it is the length of the whole lines."""
    from pyspark.sql import functions as F  # noqa: N812

    if _kind(spark, path) is FileKind.LINES:
        return measured(read_lines(spark, path), F.length("value"))
    table = read_table(spark, path)
    types = {column.name: column.dataType.typeName() for column in table.schema.fields}
    texts = [name for name in ("filter", "xpath") if name in interest_columns(types)]
    return measured(table, interest_chars(texts))


def subscription_counts(compiled: SubscriptionSet) -> Counts:
    """The counts of a compiled set: read, good and rejected subscriptions."""
    bad = len(compiled.rejected)
    return Counts(compiled.size + bad, compiled.size, bad)


@contextmanager
def _sharded(
    spark: SparkSession, path: str, engine: str, output: Output, shards: int
) -> Iterator[SubscriptionSource]:
    with candidate_rows(spark, path) as rows:
        counts = count_lines(rows)
        good = rows.where("id IS NOT NULL").select("id", "attributes")

        def match(published: Publications) -> DataFrame:
            table = table_of_lake(published)
            shape = shape_of(table)
            return match_sharded(table, shape, good, shards=shards, engine=engine, output=output)

        read = Counts(counts.lines - counts.blank, counts.good, counts.rejected)

        def store(published: Publications, out: str) -> int:
            return write_table(match(published), out)

        yield SubscriptionSource(read, rejected(rows), Layout.SHARDED, match, store)


def _kind(spark: SparkSession, path: str) -> FileKind:
    kind = file_kind(spark, path)
    if kind in (FileKind.CSV, FileKind.XML):
        raise FileFormatError(path, f"subscriptions are JSON Lines or Parquet, not {kind.upper()}")
    return kind
