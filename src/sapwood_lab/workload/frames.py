"""Record workloads as Spark DataFrames of any size, made by the executors.

A workload comes in blocks that each have a generator of their own, so a task makes whole blocks and
nothing depends on how blocks are shared out: the same seed gives the same rows, whatever the number
of partitions.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sapwood_lab.workload.records.source import BLOCK, Workload

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

SUBSCRIPTION_COLUMNS: Final = "id STRING, filter STRING"
PUBLICATION_COLUMNS: Final = "id STRING, attributes STRING"

BATCH_BLOCKS: Final = 16
"""Blocks of one Arrow batch: some thousand rows, a few megabytes."""


def subscription_frame(
    spark: SparkSession, source: Workload, count: int, seed: int, partitions: int | None = None
) -> DataFrame:
    """The first `count` subscriptions of a workload: `id` and `filter`, the text of a filter.

    `partitions` is the number of tasks, Spark's default parallelism where it is `None`.
    """
    make = _Subscriptions(source, count, seed)
    return _blocks(spark, count, partitions).mapInArrow(make, SUBSCRIPTION_COLUMNS)


def publication_frame(
    spark: SparkSession, source: Workload, count: int, seed: int, partitions: int | None = None
) -> DataFrame:
    """The first `count` publications of a workload: `id` and `attributes`, a record as JSON text.

    `partitions` is the number of tasks, Spark's default parallelism where it is `None`.
    """
    make = _Publications(source, count, seed)
    return _blocks(spark, count, partitions).mapInArrow(make, PUBLICATION_COLUMNS)


@dataclass(frozen=True, slots=True)
class _Subscriptions:
    """Makes the subscriptions of the blocks whose numbers come in."""

    source: Workload
    count: int
    seed: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for start, end in _ranges(batches, self.count):
            made = list(self.source.subscriptions(end, self.seed, start))
            yield _batch(("id", [s.id for s in made]), ("filter", [str(s.filter) for s in made]))


@dataclass(frozen=True, slots=True)
class _Publications:
    """Makes the publications of the blocks whose numbers come in."""

    source: Workload
    count: int
    seed: int

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import msgspec

        encode = msgspec.json.Encoder().encode
        for start, end in _ranges(batches, self.count):
            made = list(self.source.publications(end, self.seed, start))
            texts = [encode(p.record).decode() for p in made]
            yield _batch(("id", [p.id for p in made]), ("attributes", texts))


def _blocks(spark: SparkSession, count: int, partitions: int | None) -> DataFrame:
    """The numbers of all blocks, adjacent ones in the same partition."""
    return spark.range(0, -(-count // BLOCK), 1, partitions)


def _ranges(batches: Iterator[pa.RecordBatch], count: int) -> Iterator[tuple[int, int]]:
    """The rows of the blocks that come in, a few adjacent blocks at a time."""
    for batch in batches:
        blocks = batch.column(0).to_pylist()
        for at in range(0, len(blocks), BATCH_BLOCKS):
            some = blocks[at : at + BATCH_BLOCKS]
            assert some[-1] - some[0] == len(some) - 1, "blocks of a partition are adjacent"
            yield some[0] * BLOCK, min(count, (some[-1] + 1) * BLOCK)


def _batch(*columns: tuple[str, list[str]]) -> pa.RecordBatch:
    import pyarrow as pa

    return pa.RecordBatch.from_arrays(
        [pa.array(values, pa.string()) for _, values in columns], [name for name, _ in columns]
    )
