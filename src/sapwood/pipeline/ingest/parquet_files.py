"""Parquet files of unknown quality to the rows of `ingest`, which its steps count and set aside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from sapwood.pipeline.ingest.lines import without_repeated
from sapwood.pipeline.ingest.times import MEMBER
from sapwood.pipeline.spark.frames import persisted
from sapwood.pipeline.tables.publications import (
    Shape,
    as_publications,
    check_rows,
    columns_to_check,
    fault,
    shape_of,
)
from sapwood.pipeline.tables.reading import column_named, place_columns, read_parquet

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession


@contextmanager
def table_of(
    spark: SparkSession,
    path: str,
    id_columns: Sequence[str],
    time: str | None,
    *,
    distinct: bool = True,
) -> Iterator[tuple[DataFrame, Shape]]:
    """Rows of Parquet files as `ingest` knows them, and what their attributes are.

    They are publications (`id`, `attributes`), or with `id_columns` rows of any shape. A column
    beside these holds the time: `published_at`, or in a table of any shape the one named `time`,
    which is no attribute then. With `distinct`, of rows with one id the first is taken. Raises
    `InputError` for a table that cannot be read as publications.
    """
    from pyspark.sql import functions as F  # noqa: N812

    frame = read_parquet(spark, path)
    places = place_columns()
    name = time if id_columns and time is not None else MEMBER
    held = column_named(frame, name) if name in frame.columns else F.lit(None)
    clock = held.cast("string").alias("time")
    home = (
        F.col("home").cast("string")
        if "home" in frame.columns and not id_columns
        else F.lit(None).cast("string")
    ).alias("home")
    if id_columns:
        carried = [c for c in frame.columns if [c] != list(id_columns) and c != name]
        table = as_publications(
            frame, id_columns=id_columns, attributes=carried, keep=(*places, home, clock)
        )
    else:
        document = ["document"] if shape_of(frame).documents else []
        table = frame.select("id", "attributes", *document, *places, home, clock)
    shape = shape_of(table)
    with ExitStack() as kept:
        rows = persisted(_checked(table, shape), kept)
        yield without_repeated(rows, kept) if distinct else rows, shape


def check_kept_rows(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The function for `mapInArrow` that looks into texts: fills `reason`."""
    import pyarrow as pa

    for batch in batches:
        reasons = check_rows(batch)
        batch = batch.drop_columns(["record"])  # noqa: PLW2901
        place = batch.schema.get_field_index("reason")
        yield batch.set_column(place, "reason", pa.array(reasons, pa.string()))


def _checked(table: DataFrame, shape: Shape) -> DataFrame:
    """Each row with its reason, if it is no publication, and what else `ingest` counts."""
    from pyspark.sql import functions as F  # noqa: N812
    from pyspark.sql.types import StructType

    reason = fault(shape).alias("reason")
    if shape.record is None or shape.documents:
        beside = [F.col(name) for name in table.columns if name != "document"]
        checked = table.select(*beside, reason, *columns_to_check(shape))
        kept = [field for field in checked.schema.fields if field.name != "record"]
        checked = checked.mapInArrow(check_kept_rows, StructType(kept))
    else:
        text = F.to_json(F.struct("id", "attributes")).alias("text")
        none = F.lit(None).cast("string").alias("document")
        checked = table.select("*", none, reason, text)
    return checked.withColumns(
        {
            "id": F.when(F.col("reason").isNull(), F.col("id")),
            "undeclared": F.lit(None).cast("array<string>"),
        }
    )
