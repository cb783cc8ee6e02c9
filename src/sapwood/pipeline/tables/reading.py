"""Files to DataFrames: lines with their places, and what kind of files a path holds."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sapwood.errors import FileFormatError, InputError
from sapwood.limits import LINE_BYTES_MAX
from sapwood.pipeline.journals.places import bounds, is_address, is_journal
from sapwood.pipeline.spark.faults import spark_faults
from sapwood.pipeline.spark.listing import listed
from sapwood.pipeline.spark.places import nothing_at, shown, store_faults
from sapwood.pipeline.spark.reaching import store_here
from sapwood.pipeline.tables.attributes import Array, leaves
from sapwood.pipeline.tables.declared_schema import DeclaredSchema
from sapwood.pipeline.tables.decoding import CSVDecoder, plain_line, split_csv

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, DataFrameReader, SparkSession


class FileKind(StrEnum):
    """The kind of a file, by its content."""

    LINES = "jsonl"
    CSV = "csv"
    PARQUET = "parquet"
    XML = "xml"


_SUFFIXES: Final = (
    (".parquet", FileKind.PARQUET),
    (".csv", FileKind.CSV),
    (".xml", FileKind.XML),
    (".jsonl", FileKind.LINES),
    (".ndjson", FileKind.LINES),
    (".json", FileKind.LINES),
)
_PACKINGS: Final = (".gz", ".bz2", ".zst", ".snappy", ".lz4")
_UNPACKED: Final = (".gz", ".bz2")
"""Packings whose ending Spark knows, and that need no native library."""


def read_lines(spark: SparkSession, path: str) -> DataFrame:
    """The lines of the text files at `path` (a file, a folder or a pattern): file, block, value.

    The path may be a journal too (`journals`); its lines are those that are there now. `file` is a
    URI, `block` the byte at which the piece of the file begins that a task reads, and
    `value` the line as bytes. A line longer than `LINE_BYTES_MAX` comes cut, but still longer.
    Raises `FileFormatError` if there is nothing at `path`.
    """
    if is_journal(path):
        # The files that are there now: later ones do not come in between two readings.
        return journal_lines(spark, path, *bounds(path))
    check_path(path)
    with spark_faults(path):
        # Only a line feed ends a line, as everywhere in Sapwood; Spark would also take a lone CR.
        return placed_lines(spark.read.option("lineSep", "\n").text(path))


def placed_lines(texts: DataFrame) -> DataFrame:
    """The table of lines from what Spark's text source gives."""
    from pyspark.sql import functions as F  # noqa: N812

    # As bytes, because Spark hands text to Python unchecked, and Python stops at bad UTF-8.
    value = F.substring(F.col("value").cast("binary"), 1, LINE_BYTES_MAX + 1)
    return texts.select(
        F.col("_metadata.file_path").alias("file"),
        F.col("_metadata.file_block_start").alias("block"),
        value.alias("value"),
    )


def read_table(spark: SparkSession, path: str) -> DataFrame:
    """The Parquet files at `path`, with two columns more: `file`, and `line`, the row from 1."""
    frame = read_parquet(spark, path)
    kept = [name for name in frame.columns if name not in ("file", "line")]
    return frame.select(*(column_named(frame, name) for name in kept), *place_columns())


def read_parquet(spark: SparkSession, path: str) -> DataFrame:
    """The Parquet files at `path`, with the columns of all of them, null where a file lacks one.

    Spark by itself takes the columns of one file, and silently drops further ones of others. Raises
    `FileFormatError` if there are none, and where they give one name to columns of several types.
    """
    check_path(path)
    with spark_faults(path):
        return spark.read.option("mergeSchema", "true").parquet(path)


def place_columns() -> tuple[Column, Column]:
    """The origin of a row of Parquet files: `file`, and `line`, the row from 1."""
    from pyspark.sql import functions as F  # noqa: N812

    file = shown_path(F.col("_metadata.file_path")).alias("file")
    return file, (F.col("_metadata.row_index") + 1).alias("line")


def column_named(frame: DataFrame, name: str) -> Column:
    """The column of exactly this name, dots and all."""
    return frame["`" + name.replace("`", "``") + "`"]


def file_kind(spark: SparkSession, path: str) -> FileKind:
    """The kind of the files at `path`, by the endings of names; JSON Lines if these show none.

    Raises `FileFormatError` for a mixture, and for a packing that cannot be read.
    """
    if is_journal(path):
        return FileKind.LINES
    check_path(path)
    store = store_here(spark, path)
    if store is None:
        with spark_faults(path):
            files = spark.read.text(path).inputFiles()
    else:
        with store_faults(store.uri, "cannot be read"):
            files = listed(store.files, store.path)
        if not files:
            raise nothing_at(store)
    kinds = sorted({kind_of_name(name) for name in files})
    if len(kinds) > 1:
        raise FileFormatError(
            shown(path),
            f"holds files of several kinds ({', '.join(kinds)}); name one kind, as in "
            f"{shown(path).rstrip('/')}/*.jsonl",
        )
    return kinds[0] if kinds else FileKind.LINES


def csv_decoder(
    lines: DataFrame, path: str, schema: DeclaredSchema, delimiter: str
) -> tuple[CSVDecoder, bytes]:
    """The decoder for CSV files, by the header of one of them, and that header's line.

    Raises `FileFormatError` where the header does not fit the schema.
    """
    from pyspark.sql import functions as F  # noqa: N812

    if any(isinstance(leaf.type, Array) for leaf in leaves(schema.record)):
        raise InputError("a cell of CSV holds no array; leave arrays out of the schema")
    if len(delimiter) != 1 or delimiter in '"\r\n':
        raise InputError(f"the delimiter is one character, such as a comma, not {delimiter!r}")
    # The first row of a piece that begins a file is that file's first line.
    first = lines.where(F.col("block") == 0).select("value").limit(1).collect()
    raw = plain_line(bytes(first[0]["value"]), first=True) if first else b""
    if first and not raw.strip():
        raise FileFormatError(path, "the first line is blank; CSV begins with column names", 1)
    try:
        header = tuple(split_csv(raw, delimiter)) if first else ()
    except InputError as error:
        raise FileFormatError(path, f"the header cannot be read: {error}", 1) from None
    needed = [*schema.id_columns, *(leaf.name for leaf in leaves(schema.record))]
    missing = [name for name in needed if name not in header]
    if missing and header:
        raise FileFormatError(
            path, f"the header has no column {missing[0]!r}; it has {', '.join(header)}", 1
        )
    if len(set(header)) != len(header):
        raise FileFormatError(path, "the header names a column twice; rename one of them", 1)
    return CSVDecoder(header or tuple(dict.fromkeys(needed)), schema, delimiter), raw


def shown_path(uri: Column) -> Column:
    """A file's URI as people write it: a plain path where the file is on this machine."""
    from pyspark.sql import functions as F  # noqa: N812

    plain = F.regexp_replace(uri, "^file:/+", "/")
    return F.url_decode(F.replace(plain, F.lit("+"), F.lit("%2B")))


def check_path(path: str) -> None:
    """Refuse the file that Spark would read as empty, without a word: one with a hidden name."""
    local = Path(path)
    if local.name.startswith(("_", ".")) and local.is_file():
        raise FileFormatError(
            path, "Spark passes over files whose names begin with _ or . ; rename it"
        )


def journal_lines(spark: SparkSession, path: str, start: int, end: int) -> DataFrame:
    """The lines of a journal from one offset up to, and without, another: file, block, value."""
    reader = _journal_reader(spark, path).option("start", start).option("end", end)
    return reader.option("lines", "true").load()


def read_journal(spark: SparkSession, path: str) -> DataFrame:
    """The publications that a journal holds now, as rows (`journals.rows.ROWS`)."""
    first, end = bounds(path)
    return _journal_reader(spark, path).option("start", first).option("end", end).load()


def _journal_reader(spark: SparkSession, path: str) -> DataFrameReader:
    from sapwood.pipeline.journals.source import FORMAT, register

    register(spark)
    return spark.read.format(FORMAT).option("broker" if is_address(path) else "path", path)


def kind_of_name(name: str) -> FileKind:
    """The kind of a file by the ending of its name; `FileFormatError` as for `file_kind`."""
    plain = name.lower()
    for packing in _PACKINGS:
        if plain.endswith(packing):
            plain = plain.removesuffix(packing)
            if packing not in _UNPACKED and not plain.endswith(".parquet"):
                raise FileFormatError(name, f"is packed as {packing}; unpack it, or pack with gzip")
    return next((kind for suffix, kind in _SUFFIXES if plain.endswith(suffix)), FileKind.LINES)
