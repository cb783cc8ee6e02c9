"""The job `match`: paths in, files out, and a summary. The steps are elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sapwood.pipeline.matching.output import Output, columns_of
from sapwood.pipeline.matching.publication_source import open_publications
from sapwood.pipeline.matching.sharding import Layout
from sapwood.pipeline.matching.subscription_source import SubscriptionSource, open_subscriptions
from sapwood.pipeline.matching.subscriptions import DEFAULT_ENGINE
from sapwood.pipeline.results.output import (
    check_rejected,
    check_table,
    rejected_path,
    result_at,
    write_rejected,
)
from sapwood.pipeline.spark.checks import agree, refuse_first
from sapwood.pipeline.spark.faults import spark_faults
from sapwood.pipeline.spark.frames import plan_of
from sapwood.pipeline.spark.places import shown
from sapwood.pipeline.tables.summaries import MatchSummary

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True, slots=True)
class MatchJob:
    """Match the publications at one path against the subscriptions at another.

    Paths are files, folders or patterns, JSON Lines or Parquet. `id_columns` name the columns that
    identify a row in Parquet files that are no publications yet. `aside` is where rejected rows go
    (default: beside `out`); with `strict` the first one ends the job before anything is written.
    `layout` is chosen by the size of the subscriptions, and `shards` too where it is sharded. With
    a compiled set as `subscriptions` the output is the homes that a publication has to reach.
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
        """Match, and write the deliveries and the rejected rows.

        Raises `InputError` (mostly `FileFormatError`) for what cannot be used.
        """
        aside = self.aside or rejected_path(self.out)
        check_table(spark, self.out, columns_of(self.output))
        check_rejected(spark, aside)
        with (
            spark_faults(),
            open_publications(spark, self.publications, self.id_columns) as table,
            self._subscriptions(spark) as source,
        ):
            counts = table.counted()
            if self.strict:
                refuse_first(source.rejected, source.counts.rejected)
                refuse_first(table.rejected, counts.rejected)
            expected = source.counts.rejected + counts.rejected
            bad = source.rejected.unionByName(table.rejected)
            written = write_rejected(bad, aside, expected=expected)
            agree("rejected rows", expected, written)
            rows = source.store(table.good, self.out)
            pairs = _pairs_in(spark, self.out, self.output, rows)
        places = (shown(self.out), shown(aside))
        return MatchSummary(source.counts, counts, pairs, *places, source.layout, self.output)

    def explain(self, spark: SparkSession) -> str:
        """The physical plan of the match; of the inputs only the subscriptions are read.

        It is that of publications of which no two have one id.
        """
        with (
            spark_faults(),
            open_publications(spark, self.publications, self.id_columns, distinct=False) as table,
            self._subscriptions(spark) as source,
        ):
            return plan_of(source.match(table.good))

    def _subscriptions(self, spark: SparkSession) -> AbstractContextManager[SubscriptionSource]:
        return open_subscriptions(
            spark,
            self.subscriptions,
            engine=self.engine,
            output=self.output,
            layout=self.layout,
            shards=self.shards,
        )


def _pairs_in(spark: SparkSession, path: str, output: Output, rows: int) -> int:
    """The number of pairs in a result with that many rows."""
    counted = {Output.LISTS: "sum(size(subscriptions))", Output.COUNTS: "sum(publications)"}
    if output not in counted or not rows:
        return rows
    row = result_at(spark, path).selectExpr(counted[output]).first()
    assert row is not None, "an aggregate without keys has one row"
    return int(row[0])
