"""The job `ingest`: a path in, a table of publications out, and a summary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sapwood.errors import InputError
from sapwood.pipeline.ingest.lines import (
    count_lines,
    counts_of,
    ingested,
    rejected,
    timed_publications,
)
from sapwood.pipeline.ingest.parquet_files import table_of
from sapwood.pipeline.ingest.times import attribute_text, member_text, with_times
from sapwood.pipeline.ingest.xml_files import elements, whole_documents
from sapwood.pipeline.results.output import (
    check_rejected,
    check_table,
    rejected_path,
    write_rejected,
    write_table,
)
from sapwood.pipeline.spark.checks import agree, refuse_first
from sapwood.pipeline.spark.faults import spark_faults
from sapwood.pipeline.spark.frames import plan_of
from sapwood.pipeline.spark.places import shown
from sapwood.pipeline.tables.declared_schema import DeclaredSchema
from sapwood.pipeline.tables.decoding import CSVDecoder, JSONDecoder, LineDecoder
from sapwood.pipeline.tables.reading import (
    FileKind,
    csv_decoder,
    file_kind,
    kind_of_name,
    read_lines,
    read_parquet,
)
from sapwood.pipeline.tables.schemas import PUBLICATION_COLUMNS
from sapwood.pipeline.tables.summaries import IngestSummary

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_NO_SCHEMA: Final = "CSV needs a schema: a cell alone does not say what type it has"


@dataclass(frozen=True, slots=True)
class IngestJob:
    """Turn JSON Lines, CSV or Parquet files into a Parquet table of publications.

    CSV needs a `schema`; without one, attributes of JSON Lines stay JSON text. Parquet brings its
    types, and with `id_columns` may be of any shape. `kind` is the kind of the files where their
    names do not show it; XML is read element by element with `row_tag` and a `schema`, and as whole
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

    def check(self) -> None:
        """Raise `InputError` for faults that show before there is a session."""
        kind = self.kind
        if kind is None and Path(self.source).is_file():
            kind = kind_of_name(self.source)
        if kind is FileKind.CSV and self.schema is None:
            raise InputError(_NO_SCHEMA)

    def run(self, spark: SparkSession) -> IngestSummary:
        """Ingest, and check that no row was lost: rows read = rows written + rejected + blank.

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
        return IngestSummary(counts_of(counts), undeclared, shown(self.out), shown(aside))

    def explain(self, spark: SparkSession) -> str:
        """The physical plan of the table, if no id comes twice; nothing is written."""
        with spark_faults(), self._read(spark, distinct=False) as (rows, _, _):
            return plan_of(timed_publications(rows))

    @contextmanager
    def _read(
        self, spark: SparkSession, *, distinct: bool = True
    ) -> Iterator[tuple[DataFrame, DataFrame, tuple[str, ...] | None]]:
        """Rows with their times, their source, and undeclared columns of CSV."""
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
        """Rows with their times, and their source."""
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
            raise InputError(_NO_SCHEMA)
        return csv_decoder(lines, self.source, self.schema, self.delimiter)
