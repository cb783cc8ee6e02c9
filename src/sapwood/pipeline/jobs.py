"""Whole jobs: paths in, files out, and a summary. The steps themselves are elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from sapwood.errors import FileFormatError, InputError
from sapwood.pipeline.checks import agree, refuse_first
from sapwood.pipeline.declared import DeclaredSchema
from sapwood.pipeline.decoding import CSVDecoder, JSONDecoder, LineDecoder
from sapwood.pipeline.faults import spark_faults
from sapwood.pipeline.ingest import (
    LineCounts,
    count_lines,
    ingested,
    publications,
    rejected,
    timed_publications,
)
from sapwood.pipeline.interests import Interests, interests
from sapwood.pipeline.lake import Lake, good_rows, open_lake
from sapwood.pipeline.output import (
    check_rejected,
    check_table,
    rejected_path,
    result_at,
    write_rejected,
    write_table,
)
from sapwood.pipeline.plans import plan_of
from sapwood.pipeline.publications import checked_publications, shape_of
from sapwood.pipeline.reading import (
    FileKind,
    csv_decoder,
    file_kind,
    read_lines,
    read_parquet,
)
from sapwood.pipeline.schemas import PUBLICATION_COLUMNS, REJECTED_COLUMNS
from sapwood.pipeline.sharding import Layout
from sapwood.pipeline.stores import shown
from sapwood.pipeline.subscriptions import DEFAULT_ENGINE
from sapwood.pipeline.summaries import Counts, IngestSummary, MatchSummary
from sapwood.pipeline.tables import table_of
from sapwood.pipeline.telling import Output, columns_of
from sapwood.pipeline.times import attribute_text, member_text, with_times
from sapwood.pipeline.xml_files import elements, whole_documents

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from sapwood.pipeline.lake import Publications


@dataclass(frozen=True, slots=True)
class MatchJob:
    """Match the publications at one path against the subscriptions at another.

    Paths are files, folders or patterns, JSON Lines or Parquet. `id_columns` name the columns that
    identify a row in Parquet files that are no publications yet. `aside` is where rejected rows go
    (default: beside `out`); with `strict` the first one ends the job before anything is written.
    `layout` is chosen by the size of the subscriptions, and `shards` too where it is sharded. A
    compiled set as `subscriptions` tells which homes a publication has to reach.
    """

    subscriptions: str
    publications: str
    out: str
    aside: str | None = None
    engine: str = DEFAULT_ENGINE
    id_columns: Sequence[str] = ()
    strict: bool = False
    output: Output = Output.PAIRS
    layout: Layout = Layout.AUTO
    shards: int | None = None

    def run(self, spark: SparkSession) -> MatchSummary:
        """Do it. Raises `InputError` (mostly `FileFormatError`) for what cannot be used."""
        aside = self.aside or rejected_path(self.out)
        check_table(spark, self.out, columns_of(self.output))
        check_rejected(spark, aside)
        with (
            spark_faults(),
            published(spark, self.publications, self.id_columns) as table,
            self._interests(spark) as wanted,
        ):
            counts = table.counted()
            if self.strict:
                refuse_first(wanted.rejected, wanted.counts.rejected)
                refuse_first(table.rejected, counts.rejected)
            expected = wanted.counts.rejected + counts.rejected
            bad = wanted.rejected.unionByName(table.rejected)
            written = write_rejected(bad, aside, expected=expected)
            agree("rejected rows", expected, written)
            rows = wanted.store(table.good, self.out)
            pairs = _pairs_in(spark, self.out, self.output, rows)
        places = (shown(self.out), shown(aside))
        return MatchSummary(wanted.counts, counts, pairs, *places, wanted.layout, self.output)

    def explain(self, spark: SparkSession) -> str:
        """The physical plan of the match; of the inputs only the subscriptions are read.

        It is that of publications of which no two have one id.
        """
        with (
            spark_faults(),
            published(spark, self.publications, self.id_columns, distinct=False) as table,
            self._interests(spark) as wanted,
        ):
            return plan_of(wanted.match(table.good))

    def _interests(self, spark: SparkSession) -> AbstractContextManager[Interests]:
        return interests(
            spark,
            self.subscriptions,
            engine=self.engine,
            output=self.output,
            layout=self.layout,
            shards=self.shards,
        )


@dataclass(frozen=True, slots=True)
class IngestJob:
    """Turn JSON Lines, CSV or Parquet files into a Parquet table of publications.

    CSV needs a `schema`; without one, attributes of JSON Lines stay JSON text. Parquet brings its
    types, and with `id_columns` may be of any shape. `kind` says what the files are where their
    names do not; XML is read element by element with `row_tag` and a `schema`, and as whole
    documents without. `published_at` names the attribute (or the column of Parquet of any shape)
    that holds the time; without it a member or column of that name does, where there is one.
    """

    source: str
    out: str
    schema: DeclaredSchema | None = None
    kind: FileKind | None = None
    delimiter: str = ","
    aside: str | None = None
    strict: bool = False
    id_columns: Sequence[str] = ()
    published_at: str | None = None
    row_tag: str | None = None

    def run(self, spark: SparkSession) -> IngestSummary:
        """Do it, and check that no row was lost: rows read = rows written + rejected + blank.

        Raises `InputError` for what cannot be used, and `InvariantError` where the sums do not
        agree, because the input changed meanwhile or something is broken.
        """
        aside = self.aside or rejected_path(self.out)
        check_table(spark, self.out, PUBLICATION_COLUMNS)
        check_rejected(spark, aside)
        with spark_faults(), self._read(spark) as (rows, read, header):
            counts = count_lines(rows)
            # Counted by Spark alone, so that it can bear witness against the Python side.
            agree("rows", read.count(), counts.lines)
            bad = rejected(rows)
            if self.strict:
                refuse_first(bad, counts.rejected)
            written = write_rejected(bad, aside, expected=counts.rejected)
            agree("rejected rows", counts.rejected, written)
            stored = write_table(timed_publications(rows), self.out)
            agree("rows", counts.lines, stored + written + counts.blank)
        undeclared = header or counts.undeclared
        return IngestSummary(_of_lines(counts), undeclared, shown(self.out), shown(aside))

    def explain(self, spark: SparkSession) -> str:
        """The physical plan of the table, if no id comes twice; nothing is written."""
        with spark_faults(), self._read(spark, distinct=False) as (rows, _, _):
            return plan_of(timed_publications(rows))

    @contextmanager
    def _read(
        self, spark: SparkSession, *, distinct: bool = True
    ) -> Iterator[tuple[DataFrame, DataFrame, tuple[str, ...] | None]]:
        """Rows with their times, what they were read from, and undeclared columns of CSV."""
        from pyspark.sql import functions as F  # noqa: N812

        kind = self.kind or file_kind(spark, self.source)
        if kind is FileKind.XML:
            with self._read_xml(spark, distinct=distinct) as (rows, read):
                yield rows, read, None
            return
        if self.row_tag is not None:
            raise InputError("a row tag is for XML; leave it out")
        if kind is FileKind.PARQUET:
            if self.schema is not None:
                raise InputError("Parquet brings the types of its columns; leave the schema out")
            place = (spark, self.source, self.id_columns, self.published_at)
            with table_of(*place, distinct=distinct) as (rows, shape):
                text = F.col("time")
                if self.published_at is not None and not self.id_columns:
                    text = attribute_text(self.published_at, shape.record)
                yield with_times(rows, text), read_parquet(spark, self.source), None
            return
        lines = read_lines(spark, self.source)
        decoder, raw = self._decoder(lines, kind)
        record = self.schema.record if self.schema else None
        header = decoder.undeclared if isinstance(decoder, CSVDecoder) else None
        with ingested(lines, decoder, raw, distinct=distinct) as rows:
            if self.published_at is not None:
                yield with_times(rows, attribute_text(self.published_at, record)), lines, header
            else:
                said = member_text() if kind is FileKind.LINES else None
                yield with_times(rows, said), lines, header

    @contextmanager
    def _read_xml(
        self, spark: SparkSession, *, distinct: bool
    ) -> Iterator[tuple[DataFrame, DataFrame]]:
        """Rows with their times, and what they were read from."""
        if self.row_tag is None:
            if self.schema is not None or self.published_at is not None:
                raise InputError(
                    "whole documents have no schema and no attributes; name a row tag to read "
                    "elements as records"
                )
            with whole_documents(spark, self.source) as (rows, read):
                yield with_times(rows, None), read
            return
        if self.schema is None:
            raise InputError("elements need a schema: XML does not say which type a value has")
        time = self.published_at
        text = None if time is None else attribute_text(time, self.schema.record)
        place = (spark, self.source, self.row_tag, self.schema)
        with elements(*place, distinct=distinct) as (rows, read):
            yield with_times(rows, text), read

    def _decoder(self, lines: DataFrame, kind: FileKind) -> tuple[LineDecoder, bytes | None]:
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
    """The publications at a path: the good ones, the others, and how many there are of each.

    With the good ones there may be rows that are no publications, which `match` passes over.
    """

    good: Publications
    rejected: DataFrame
    counted: Callable[[], Counts]


@contextmanager
def published(
    spark: SparkSession, path: str, id_columns: Sequence[str] = (), *, distinct: bool = True
) -> Iterator[Published]:
    """The publications at a path, JSON Lines or Parquet, ready to be read more than once.

    With `distinct`, of several lines with one id all but the first are rejected. Raises
    `InputError` for files of another kind, and for a table that has no publications.
    """
    kind = file_kind(spark, path)
    if kind is FileKind.XML:
        raise FileFormatError(path, "bring XML in with `sapwood pipeline ingest` first")
    if kind is FileKind.CSV:
        raise FileFormatError(
            path,
            "CSV does not say which type a value has; bring it in with "
            "`sapwood pipeline ingest --schema ...` first",
        )
    if kind is FileKind.LINES:
        if id_columns:
            raise InputError("JSON Lines name their ids themselves; leave the id columns out")
        with ingested(read_lines(spark, path), JSONDecoder(None), distinct=distinct) as rows:
            yield Published(
                publications(rows), rejected(rows), lambda: _of_lines(count_lines(rows))
            )
        return
    lake = open_lake(spark, path, id_columns)
    checked = checked_publications(lake.table)
    bad = checked.where("reason IS NOT NULL").select(*REJECTED_COLUMNS)
    yield Published(lake, bad, lambda: _of_lake(lake, checked))


def _pairs_in(spark: SparkSession, path: str, output: Output, rows: int) -> int:
    """How many pairs the rows of a result speak of."""
    counted = {Output.LISTS: "sum(size(subscriptions))", Output.COUNTS: "sum(publications)"}
    if output not in counted or not rows:
        return rows
    row = result_at(spark, path).selectExpr(counted[output]).first()
    assert row is not None, "an aggregate without keys has one row"
    return int(row[0])


def _of_lines(counts: LineCounts) -> Counts:
    return Counts(counts.lines - counts.blank, counts.good, counts.rejected, counts.invisible)


def _of_lake(lake: Lake, checked: DataFrame) -> Counts:
    """What is in a lake; what is wrong with its rows is only looked for if something is."""
    read = lake.table.count() if lake.rows is None else lake.rows
    if not shape_of(lake.table).arrays and good_rows(lake) == read:
        return Counts(read, read, 0)
    return _of_table(checked, read)


def _of_table(checked: DataFrame, read: int) -> Counts:
    from pyspark.sql import functions as F  # noqa: N812

    sums = checked.agg(
        F.count_if(F.col("reason").isNotNull()).alias("rejected"),
        F.coalesce(F.sum(F.when(F.col("reason").isNull(), F.col("invisible"))), F.lit(0)).alias(
            "invisible"
        ),
    ).first()
    assert sums is not None, "an aggregate without keys has one row"
    return Counts(read, read - sums["rejected"], sums["rejected"], sums["invisible"])
