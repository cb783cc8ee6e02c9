"""Deliveries as files: a match whose result goes to a path.

Where workers read the publications by themselves, a lake, and see the path, they write the result
by themselves, too (`storing`). Otherwise Spark does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sapwood.pipeline.matching.match import compiled_for, match_compiled, row_group_worker
from sapwood.pipeline.matching.output import Output, columns_of
from sapwood.pipeline.matching.subscriptions import DEFAULT_ENGINE, SubscriptionSet
from sapwood.pipeline.matching.workers import RowGroupMatchWorker
from sapwood.pipeline.results.output import check_table, write_table
from sapwood.pipeline.results.staging import staging_for
from sapwood.pipeline.results.storing import STORED, Stored, codec_of, stored
from sapwood.pipeline.spark.faults import spark_faults
from sapwood.pipeline.spark.places import Place
from sapwood.pipeline.tables.lake import Lake, table_of_lake

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from sapwood.pipeline.tables.lake import Publications


def match_into(
    publications: Publications,
    subscriptions: DataFrame | SubscriptionSet,
    path: str,
    *,
    engine: str = DEFAULT_ENGINE,
    output: Output = Output.PAIRS,
) -> int:
    """Write what `match` gives as Parquet at `path`, in place of an earlier result; its rows.

    Workers that read a lake write their part of it, too, which costs a fraction of handing it to
    Spark; an earlier result stays until the new one is whole, and if there is none, or it has no
    row, files have the columns all the same. Of tables, and where workers do not see `path` or
    would have to put counts together, Spark writes the files.

    Raises as `match`, `FileFormatError` where something else is at `path` or nothing can be
    written, and `InvariantError` if the files do not hold what workers have found.
    """
    check_table(table_of_lake(publications).sparkSession, path, columns_of(output))
    with spark_faults():
        compiled = compiled_for(publications, subscriptions, engine)
        return store_matches(publications, compiled, path, output)


def store_matches(
    publications: Publications, compiled: SubscriptionSet, path: str, output: Output
) -> int:
    """As `match_into`, without a warning, and in place of anything at `path`."""
    rows = None
    if isinstance(publications, Lake) and output is not Output.COUNTS:
        rows = _stored_by_workers(publications, compiled, path, output)
    if rows is None:
        rows = write_table(match_compiled(publications, compiled, output), path)
    return rows


def _stored_by_workers(
    lake: Lake, compiled: SubscriptionSet, path: str, output: Output
) -> int | None:
    """The number of rows that workers have stored; `None` where they cannot store the result."""
    spark = lake.table.sparkSession
    codec = codec_of(spark)
    if codec is None or not lake.parts:
        return None
    staging = staging_for(spark, path)
    if staging is None:
        return None
    try:
        work = row_group_worker(lake, compiled, output, coded=True)
        files = lake.tasks().mapInArrow(StoringWorker(work, staging.place, codec), STORED)
        return staging.put_in_place([Stored(*row) for row in files.collect()], _schema(output))
    finally:
        staging.remove()


def _schema(output: Output) -> pa.Schema:
    """The columns of an output, as files have them."""
    import pyarrow as pa

    texts = [(name, pa.string()) for name in columns_of(output)]
    if output is Output.LISTS:
        texts[1] = (texts[1][0], pa.list_(pa.string()))
    return pa.schema(texts)


@dataclass(frozen=True, slots=True)
class StoringWorker:
    """A match worker that stores its deliveries: numbers of a lake's parts in, `STORED` out.

    It writes at most one file into the `folder`, packed with `codec`, and none without deliveries.
    """

    match: RowGroupMatchWorker
    folder: Place
    codec: str

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Match and store all publications of one task; raises `FileFormatError`."""
        yield from stored(self.match(batches), self.folder, self.codec)
