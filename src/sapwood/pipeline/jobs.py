"""Whole jobs: paths in, files out, and a summary. The steps themselves are elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, NamedTuple

from sapwood.errors import FileFormatError, InputError
from sapwood.pipeline.checks import agree, refuse_first
from sapwood.pipeline.declared import DeclaredSchema
from sapwood.pipeline.decoding import JSONDecoder, LineDecoder
from sapwood.pipeline.faults import spark_faults
from sapwood.pipeline.ingest import LineCounts, count_lines, ingested, publications, rejected
from sapwood.pipeline.matching import match_compiled
from sapwood.pipeline.output import (
    check_rejected,
    check_table,
    rejected_path,
    rejected_table,
    write_rejected,
    write_table,
)
from sapwood.pipeline.publications import as_publications, checked_publications, shape_of
from sapwood.pipeline.reading import (
    FileKind,
    csv_decoder,
    file_kind,
    place_columns,
    read_lines,
    read_parquet,
    read_table,
)
from sapwood.pipeline.schemas import DELIVERY_COLUMNS, PUBLICATION_COLUMNS, REJECTED_COLUMNS
from sapwood.pipeline.subscriptions import (
    DEFAULT_ENGINE,
    SubscriptionSet,
    compile_lines,
    compile_subscriptions,
)
from sapwood.pipeline.summaries import Counts, IngestSummary, MatchSummary

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class MatchJob:
    """Match the publications at one path against the subscriptions at another.

    Paths are files, folders or patterns, JSON Lines or Parquet. `id_columns` name the columns that
    identify a row in Parquet files that are no publications yet. `aside` is where rejected rows go
    (default: beside `out`); with `strict` the first one ends the job before anything is written.
    """

    subscriptions: str
    publications: str
    out: str
    aside: str | None = None
    engine: str = DEFAULT_ENGINE
    id_columns: Sequence[str] = ()
    strict: bool = False

    def run(self, spark: SparkSession) -> MatchSummary:
        """Do it. Raises `InputError` (mostly `FileFormatError`) for what cannot be used."""
        aside = self.aside or rejected_path(self.out)
        check_table(spark, self.out, DELIVERY_COLUMNS)
        check_rejected(spark, aside)
        with spark_faults(), published(spark, self.publications, self.id_columns) as table:
            compiled = compile_path(spark, self.subscriptions, engine=self.engine)
            counts = table.counted()
            wanted = rejected_table(spark, compiled.rejected)
            if self.strict:
                refuse_first(wanted, len(compiled.rejected))
                refuse_first(table.rejected, counts.rejected)
            deliveries = match_compiled(table.good, shape_of(table.good), compiled)
            expected = len(compiled.rejected) + counts.rejected
            written = write_rejected(wanted.unionByName(table.rejected), aside, expected=expected)
            agree("rejected rows", expected, written)
            pairs = write_table(deliveries, self.out)
        return MatchSummary(subscription_counts(compiled), counts, pairs, self.out, aside)

    def explain(self, spark: SparkSession) -> str:
        """The physical plan of the match; of the inputs only the subscriptions are read."""
        with spark_faults(), published(spark, self.publications, self.id_columns) as table:
            compiled = compile_path(spark, self.subscriptions, engine=self.engine)
            text = StringIO()
            with redirect_stdout(text):
                match_compiled(table.good, shape_of(table.good), compiled).explain("formatted")
        return text.getvalue()


@dataclass(frozen=True, slots=True)
class IngestJob:
    """Turn JSON Lines or CSV files into a Parquet table of publications.

    CSV needs a `schema`; without one, attributes of JSON Lines stay JSON text. `kind` says what the
    files are where their names do not.
    """

    source: str
    out: str
    schema: DeclaredSchema | None = None
    kind: FileKind | None = None
    delimiter: str = ","
    aside: str | None = None
    strict: bool = False

    def run(self, spark: SparkSession) -> IngestSummary:
        """Do it, and check that no line was lost: lines read = rows written + rejected + blank.

        Raises `InputError` for what cannot be used, and `InvariantError` where the sums do not
        agree, because the input changed meanwhile or something is broken.
        """
        aside = self.aside or rejected_path(self.out)
        check_table(spark, self.out, PUBLICATION_COLUMNS)
        check_rejected(spark, aside)
        with spark_faults():
            lines = read_lines(spark, self.source)
            decoder, header = self._decoder(spark, lines)
            with ingested(lines, decoder, header) as rows:
                counts = count_lines(rows)
                # Counted by Spark alone, so that it can bear witness against the Python side.
                agree("lines", lines.count(), counts.lines)
                bad = rejected(rows)
                if self.strict:
                    refuse_first(bad, counts.rejected)
                written = write_rejected(bad, aside, expected=counts.rejected)
                agree("rejected lines", counts.rejected, written)
                stored = write_table(publications(rows), self.out)
                agree("lines", counts.lines, stored + written + counts.blank)
        undeclared = getattr(decoder, "undeclared", counts.undeclared)
        return IngestSummary(_of_lines(counts), tuple(undeclared), self.out, aside)

    def _decoder(self, spark: SparkSession, lines: DataFrame) -> tuple[LineDecoder, bytes | None]:
        kind = self.kind or file_kind(spark, self.source)
        if kind is FileKind.PARQUET:
            raise FileFormatError(self.source, "is Parquet already; match takes it as it is")
        if kind is FileKind.LINES:
            if self.schema and (self.schema.id_columns != ("id",) or self.schema.null_value):
                raise InputError(
                    "JSON Lines name their ids themselves, and null is null; the id columns and "
                    "the null value of a schema are for CSV"
                )
            return JSONDecoder(self.schema.record if self.schema else None), None
        if self.schema is None:
            raise InputError("CSV needs a schema: a cell alone does not say what type it has")
        return csv_decoder(lines, self.source, self.schema, self.delimiter)


class Published(NamedTuple):
    """The publications at a path: the good ones, the others, and how many there are of each."""

    good: DataFrame
    rejected: DataFrame
    counted: Callable[[], Counts]


@contextmanager
def published(
    spark: SparkSession, path: str, id_columns: Sequence[str] = ()
) -> Iterator[Published]:
    """The publications at a path, JSON Lines or Parquet, ready to be read more than once.

    Raises `InputError` for files of another kind, and for a table that has no publications.
    """
    kind = file_kind(spark, path)
    if kind is FileKind.CSV:
        raise FileFormatError(
            path,
            "CSV does not say which type a value has; bring it in with "
            "`sapwood pipeline ingest --schema ...` first",
        )
    if kind is FileKind.LINES:
        if id_columns:
            raise InputError("JSON Lines name their ids themselves; leave the id columns out")
        with ingested(read_lines(spark, path), JSONDecoder(None)) as rows:
            yield Published(
                publications(rows), rejected(rows), lambda: _of_lines(count_lines(rows))
            )
        return
    table = read_table(spark, path)
    if id_columns:
        table = as_publications(
            read_parquet(spark, path), id_columns=id_columns, keep=place_columns()
        )
    checked = checked_publications(table)
    bad = checked.where("reason IS NOT NULL").select(*REJECTED_COLUMNS)
    yield Published(table, bad, lambda: _of_table(table, checked))


def compile_path(spark: SparkSession, path: str, *, engine: str) -> SubscriptionSet:
    """The subscriptions at a path, JSON Lines or Parquet, compiled."""
    kind = file_kind(spark, path)
    if kind is FileKind.CSV:
        raise FileFormatError(path, "subscriptions are JSON Lines or Parquet, not CSV")
    if kind is FileKind.LINES:
        return compile_lines(read_lines(spark, path), engine=engine)
    return compile_subscriptions(read_table(spark, path), engine=engine)


def subscription_counts(compiled: SubscriptionSet) -> Counts:
    """How many subscriptions were read, and what became of them."""
    bad = len(compiled.rejected)
    return Counts(compiled.size + bad, compiled.size, bad)


def _of_lines(counts: LineCounts) -> Counts:
    return Counts(counts.lines - counts.blank, counts.good, counts.rejected, counts.invisible)


def _of_table(table: DataFrame, checked: DataFrame) -> Counts:
    from pyspark.sql import functions as F  # noqa: N812

    sums = checked.agg(
        F.count_if(F.col("reason").isNotNull()).alias("rejected"),
        F.coalesce(F.sum(F.when(F.col("reason").isNull(), F.col("invisible"))), F.lit(0)).alias(
            "invisible"
        ),
    ).first()
    assert sums is not None, "an aggregate without keys has one row"
    read = table.count()
    return Counts(read, read - sums["rejected"], sums["rejected"], sums["invisible"])
