"""XML files to the rows of `ingest`: elements as records, and files that are whole documents.

Elements are read by Spark's own XML source, in parallel over files, into a declared schema. Whole
documents go through the reader that brokers use, with its bounds; a document that it refuses is set
aside.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Final

from sapwood.errors import InputError
from sapwood.limits import DOCUMENT_BYTES_MAX
from sapwood.limits.pipeline import SET_ASIDE_CHARS_MAX
from sapwood.pipeline.ingest.lines import without_repeated
from sapwood.pipeline.spark.faults import spark_faults
from sapwood.pipeline.spark.frames import persisted
from sapwood.pipeline.tables.declared_schema import DeclaredSchema
from sapwood.pipeline.tables.decoding import one_line
from sapwood.pipeline.tables.publications import as_publications, fault, shape_of
from sapwood.pipeline.tables.reading import check_path, shown_path
from sapwood.xml import read_document
from sapwood.xml.encodings import decode_text

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

DOCUMENTS: Final = (
    "file STRING, line BIGINT, id STRING, attributes STRING, document STRING, home STRING, "
    "undeclared ARRAY<STRING>, reason STRING, text STRING"
)
CORRUPT: Final = "sapwood corrupt element"
"""The column in which Spark puts an element that does not fit; no attribute has this name."""

_UNFIT: Final = "the element does not fit the schema, or is no XML"


@contextmanager
def whole_documents(spark: SparkSession, path: str) -> Iterator[tuple[DataFrame, DataFrame]]:
    """The rows (`DOCUMENTS`) of files that are a document each, and their source.

    The id of a document is its file's path. Raises `FileFormatError` if there is nothing there.
    """
    from pyspark.sql import functions as F  # noqa: N812

    check_path(path)
    with spark_faults(path):
        files = spark.read.format("binaryFile").load(path)
    # One byte more than a document may have, so that the reader still sees that it is too long.
    content = F.substring("content", 1, DOCUMENT_BYTES_MAX + 1).alias("value")
    named = files.select(shown_path(F.col("path")).alias("file"), content)
    with ExitStack() as kept:
        yield persisted(named.mapInArrow(decode_documents, DOCUMENTS), kept), files


def decode_documents(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The function for `mapInArrow`: (file, bytes) in, `DOCUMENTS` out."""
    import pyarrow as pa

    names = [column.split()[0] for column in DOCUMENTS.split(", ")]
    for batch in batches:
        ids: list[str | None] = []
        documents: list[str | None] = []
        reasons: list[str | None] = []
        texts: list[str | None] = []
        files = batch.column(0).to_pylist()
        for file, value in zip(files, batch.column(1).to_pylist(), strict=True):
            try:
                read_document(value)
            except InputError as error:
                ids.append(None)
                documents.append(None)
                reasons.append(one_line(error))
                texts.append(value[:SET_ASIDE_CHARS_MAX].decode(errors="backslashreplace"))
            else:
                ids.append(file)
                documents.append(decode_text(value))
                reasons.append(None)
                texts.append(None)
        count = batch.num_rows
        text, none = pa.string(), pa.nulls(count, pa.string())
        columns = [
            *(batch.column(0), pa.array([1] * count, pa.int64()), pa.array(ids, text), none),
            *(pa.array(documents, text), none),
            *(pa.nulls(count, pa.list_(text)), pa.array(reasons, text), pa.array(texts, text)),
        ]
        yield pa.RecordBatch.from_arrays(columns, names=names)


@contextmanager
def elements(
    spark: SparkSession, path: str, row_tag: str, schema: DeclaredSchema, *, distinct: bool = True
) -> Iterator[tuple[DataFrame, DataFrame]]:
    """The rows of all elements `row_tag` in XML files, and their source.

    Attributes of the element are columns with `_` before their names, as Spark has it. The line of
    a row is its element's number within the file. With `distinct`, of elements with one id the
    first is taken. Raises `FileFormatError` if there is nothing.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F  # noqa: N812

    check_path(path)
    names = [name for name, _ in schema.record.fields]
    ids = [name for name in schema.id_columns if name not in names]
    fields = ", ".join(
        [f"`{name}` {type_.sql}" for name, type_ in schema.record.fields]
        + [f"`{name}` STRING" for name in ids]
    )
    reader = spark.read.format("xml").option("rowTag", row_tag)
    reader = reader.option("columnNameOfCorruptRecord", CORRUPT).option("mode", "PERMISSIVE")
    with spark_faults(path):
        read = reader.schema(f"{fields}, `{CORRUPT}` STRING").load(path)
    file = shown_path(F.col("_metadata.file_path")).alias("file")
    # The order of elements is that in which one task reads a file from its beginning.
    order = Window.partitionBy("file").orderBy(F.monotonically_increasing_id())
    records = as_publications(
        read, id_columns=schema.id_columns, attributes=names, keep=(file, F.col(f"`{CORRUPT}`"))
    )
    numbered = records.withColumn("line", F.row_number().over(order).cast("bigint"))
    shape = shape_of(records.select("id", "attributes"))
    unfit = F.when(F.col(f"`{CORRUPT}`").isNotNull(), F.lit(_UNFIT))
    reason = F.coalesce(unfit, fault(shape))
    text = F.coalesce(f"`{CORRUPT}`", F.to_json(F.struct("id", "attributes")))
    nothing = F.lit(None).cast("string")
    rows = numbered.select(
        "file",
        "line",
        F.when(reason.isNull(), F.col("id")).alias("id"),
        "attributes",
        nothing.alias("document"),
        nothing.alias("home"),
        F.lit(None).cast("array<string>").alias("undeclared"),
        reason.alias("reason"),
        F.substring(text, 1, SET_ASIDE_CHARS_MAX).alias("text"),
    )
    with ExitStack() as kept:
        checked = persisted(rows, kept)
        yield without_repeated(checked, kept) if distinct else checked, read
