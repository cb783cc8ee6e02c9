"""Matching against a set of subscriptions that fits no executor, or no driver: by shards.

::

    subscriptions ── shard = hash(id) ─────────┐
                                               ├── by shard, subscriptions first ── match
    publications ── a copy for every shard ────┘

One task takes a shard at a time: it reads the shard's subscriptions into an index and then streams
the publications through it. So nothing is held but one shard, no file is shipped, and subscriptions
are read by all tasks side by side; the price is that each publication travels once for each shard.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import numpy as np

from sapwood.errors import InputError
from sapwood.language.forms import PATTERN_MARK, decode_interest, read_form
from sapwood.limits.pipeline import (
    BROADCAST_FILTER_CHARS_MAX,
    BROADCAST_SUBSCRIPTIONS_MAX,
    SHARD_SUBSCRIPTIONS_MAX,
)
from sapwood.matching.index import Index
from sapwood.pipeline.matching.ids import LoadedIndex
from sapwood.pipeline.matching.match import combined
from sapwood.pipeline.matching.output import OUTPUTS, Output, writer_for
from sapwood.pipeline.matching.subscriptions import DEFAULT_ENGINE
from sapwood.pipeline.matching.workers import publications_of
from sapwood.pipeline.tables.publications import Carried, Needs, Shape, select_read

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_SUBSCRIPTION: Final = 0
_PUBLICATION: Final = 1
_FIXED: Final = ("shard", "kind", "form")
"""The columns before the id and the attributes."""


class Layout(StrEnum):
    """The layout of a match: what travels to what."""

    #: By the sizes of the subscriptions.
    AUTO = "auto"
    #: The whole index goes to every executor, publications stay where they are.
    BROADCAST = "broadcast"
    #: Each task has a part of the index, and all publications come to it.
    SHARDED = "sharded"


def layout_for(subscriptions: int, filter_chars: int, asked: Layout = Layout.AUTO) -> Layout:
    """The layout for a set of that size; the requested one, unless it is `AUTO`."""
    if asked is not Layout.AUTO:
        return asked
    fits = (
        subscriptions <= BROADCAST_SUBSCRIPTIONS_MAX and filter_chars <= BROADCAST_FILTER_CHARS_MAX
    )
    return Layout.BROADCAST if fits else Layout.SHARDED


def shards_for(subscriptions: int, tasks: int) -> int:
    """The number of shards for a set of that size, where `tasks` tasks run at a time."""
    return max(-(-subscriptions // SHARD_SUBSCRIPTIONS_MAX), tasks, 1)


def match_sharded(
    publications: DataFrame,
    shape: Shape,
    subscriptions: DataFrame,
    *,
    shards: int,
    engine: str = DEFAULT_ENGINE,
    output: Output = Output.PAIRS,
) -> DataFrame:
    """As `match`, against subscriptions (id, attributes = normal form) cut into `shards` shards.

    The subscriptions are read once to see which attributes their filters read.
    """
    from pyspark.sql import functions as F  # noqa: N812

    if shards < 1:
        raise InputError(f"a set is cut into at least one shard, not {shards}")
    needs = Needs(read_attributes(subscriptions), documents=shape.documents)
    narrow, carried = select_read(publications, shape, needs)
    shipped = subscriptions.select(
        F.pmod(F.xxhash64("id"), F.lit(shards)).cast("int").alias("shard"),
        F.lit(_SUBSCRIPTION).alias("kind"),
        F.col("attributes").alias("form"),
        "id",
    )
    everywhere = F.explode(F.sequence(F.lit(0), F.lit(shards - 1))).alias("shard")
    published = narrow.select(
        everywhere, F.lit(_PUBLICATION).alias("kind"), F.lit(None).cast("binary").alias("form"), "*"
    )
    both = shipped.unionByName(published, allowMissingColumns=True).select(*published.columns)
    placed = both.repartition(shards, "shard").sortWithinPartitions("shard", "kind")
    function = ShardMatchWorker(carried, engine, output)
    return combined(placed.mapInArrow(function, OUTPUTS[output]), output)


def read_attributes(subscriptions: DataFrame) -> tuple[str, ...]:
    """The attributes that some filter (normal forms in `attributes`) reads, sorted."""
    names = subscriptions.select("attributes").mapInArrow(name_attributes, "name STRING")
    return tuple(sorted(row["name"] for row in names.distinct().collect()))


def name_attributes(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The function for `mapInArrow` that names the attributes of normal forms, each once a task."""
    import pyarrow as pa

    names: set[str] = set()
    for batch in batches:
        for form in batch.column(0).to_pylist():
            if form.startswith(PATTERN_MARK):
                continue
            parts, _ = read_form(form)
            names.update(written[0] for part in parts for written in part)
    yield pa.RecordBatch.from_pydict({"name": pa.array(sorted(names), pa.string())})


@dataclass(frozen=True, slots=True)
class ShardMatchWorker:
    """The function for `mapInArrow` that matches shards: subscriptions, then publications, in.

    A part of the `output` comes out.

    In come `_FIXED`, the id, and the attributes as for `MatchWorker`.
    """

    carried: Carried
    engine: str
    output: Output

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Match all shards of one task, one after the other."""
        index, shard, writer = Index(records=self.engine, warns=False), None, None
        for piece in _runs(batches):
            number, kind = piece.column(0)[0].as_py(), piece.column(1)[0].as_py()
            if number != shard:
                if writer is not None:
                    yield from writer.flush()
                index, shard, writer = Index(records=self.engine, warns=False), number, None
            if kind == _SUBSCRIPTION:
                forms, ids = piece.column(2).to_pylist(), piece.column(3).to_pylist()
                for id_, form in zip(ids, forms, strict=True):
                    index.add(id_, decode_interest(form))
                continue
            if writer is None:
                writer = writer_for(self.output, [LoadedIndex(index)])
            rest = piece.select(piece.schema.names[len(_FIXED) :])
            yield from writer.write(publications_of(rest, self.carried))
        if writer is not None:
            yield from writer.flush()


def _runs(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Pieces of the batches in which all rows have the same shard and kind."""
    for batch in batches:
        shards, kinds = batch.column(0).to_numpy(), batch.column(1).to_numpy()
        changes = (np.diff(shards) != 0) | (np.diff(kinds) != 0)
        cuts = [0, *(changes.nonzero()[0] + 1).tolist(), batch.num_rows]
        for start, end in pairwise(cuts):
            if end > start:
                yield batch.slice(start, end - start)
