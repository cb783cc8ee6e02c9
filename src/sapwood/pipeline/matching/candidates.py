"""Candidates for subscriptions: files and tables of unknown quality, decoded row by row.

The rows are those of `ingest` (file, line, id, attributes, home, reason, text), with the filter's
normal form in the place of the attributes, so that its steps count and set aside here as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from sapwood.errors import FileFormatError, InputError
from sapwood.pipeline.ingest.lines import decode, without_repeated
from sapwood.pipeline.spark.frames import persisted
from sapwood.pipeline.tables.decoding import SubscriptionDecoder
from sapwood.pipeline.tables.reading import FileKind, file_kind, read_lines, read_table

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

NAMESPACES: Final = "namespaces"
"""A map from prefix to namespace, beside `xpath`."""

DIALECT: Final = "dialect"
"""The name of the dialect that `filter` is in, where it is text."""

_TEXTS: Final = ("string", "char", "varchar")

ROWS: Final = (
    "file STRING, line BIGINT, id STRING, attributes BINARY, document STRING, home STRING, "
    "undeclared ARRAY<STRING>, reason STRING, text STRING"
)


@contextmanager
def candidate_rows(
    spark: SparkSession, path: str, dialect: str | None = None
) -> Iterator[DataFrame]:
    """The subscriptions at a path, JSON Lines or Parquet, decoded once; `ROWS`.

    Filters that name no dialect are in the one given. Raises `InputError` for files of another
    kind, and for a table that has no subscriptions.
    """
    kind = file_kind(spark, path)
    if kind in (FileKind.CSV, FileKind.XML):
        raise FileFormatError(path, f"subscriptions are JSON Lines or Parquet, not {kind.upper()}")
    if kind is FileKind.LINES:
        with line_rows(read_lines(spark, path), dialect) as rows:
            yield rows
    else:
        with table_rows(read_table(spark, path), dialect) as rows:
            yield rows


@contextmanager
def line_rows(lines: DataFrame, dialect: str | None = None) -> Iterator[DataFrame]:
    """The rows of JSON Lines (`reading.read_lines`), decoded once; of one id the first is taken."""
    with ExitStack() as kept:
        decoded = persisted(decode(lines, SubscriptionDecoder(dialect)), kept)
        yield without_repeated(decoded, kept)


@contextmanager
def table_rows(table: DataFrame, dialect: str | None = None) -> Iterator[DataFrame]:
    """The rows of a table (id, filter or xpath, and home, file, line if it has them), decoded once.

    Of two rows with one id the first is taken: by file and line, or else by home and filter.
    """
    from pyspark.sql import functions as F  # noqa: N812

    types = {column.name: column.dataType.typeName() for column in table.schema.fields}
    texts = interest_columns(types)
    # Without a place of its own a row gets one that does not depend on how the table is cut.
    file = F.col("file") if "file" in types else F.lit("")
    plain = [name for name in texts[1:] if name != NAMESPACES]
    line = F.col("line") if "line" in types else F.xxhash64(*plain)
    value = F.to_json(F.struct(*texts)).cast("binary").alias("value")
    placed = table.select(file.alias("file"), line.cast("bigint").alias("line"), value)
    with ExitStack() as kept:
        decoded = persisted(placed.mapInArrow(DecodeRows(SubscriptionDecoder(dialect)), ROWS), kept)
        yield without_repeated(decoded, kept)


def interest_columns(types: Mapping[str, str]) -> list[str]:
    """The columns of a table of subscriptions that make them what they are, by name and type.

    Raises `InputError` for a table that has not the columns that are needed, as text.
    """
    filters = [name for name in ("filter", "xpath") if name in types] or ["filter"]
    texts = ["id", *filters, *(["home"] if "home" in types else [])]
    for name in texts:
        if types.get(name) not in _TEXTS:
            has = ", ".join(f"{column} {kind.upper()}" for column, kind in types.items())
            raise InputError(
                "a table of subscriptions has the text columns id and filter, or xpath, and home "
                f"may be one more; this one has {has}"
            )
    dialect = [DIALECT] if types.get(DIALECT) in _TEXTS else []
    return [*texts, *dialect, *([NAMESPACES] if types.get(NAMESPACES) == "map" else [])]


@dataclass(frozen=True, slots=True)
class DecodeRows:
    """The function for `mapInArrow`: (file, line, subscription as JSON) in, `ROWS` out."""

    decoder: SubscriptionDecoder = field(default_factory=SubscriptionDecoder)

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Decode all batches of one task."""
        import pyarrow as pa

        names = [column.split()[0] for column in ROWS.split(", ")]
        for batch in batches:
            files, lines, values = batch.columns
            raws = values.to_pylist()
            decoded = self.decoder(raws)
            reasons = pa.array(decoded.reasons, pa.string())
            texts = pa.array([raw.decode(errors="backslashreplace") for raw in raws], pa.string())
            columns = [files, lines, *decoded.columns, reasons, texts]
            yield pa.RecordBatch.from_arrays(columns, names=names)
