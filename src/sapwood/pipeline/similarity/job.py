"""The job `similarity`: subscriptions at a path in, the near pairs of their filters out."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sapwood.language.dialects import DIALECTS
from sapwood.limits.pipeline import NEAR_GROUP_FILTERS_MAX
from sapwood.pipeline.ingest.lines import rejected, sum_lines
from sapwood.pipeline.matching.candidates import candidate_rows
from sapwood.pipeline.results.output import (
    check_rejected,
    check_table,
    rejected_path,
    write_rejected,
    write_table,
)
from sapwood.pipeline.similarity.steps import Cut, cut_for, described, members, near
from sapwood.pipeline.similarity.workers import NOTHING_KNOWN, Known
from sapwood.pipeline.spark.checks import agree, refuse_first
from sapwood.pipeline.spark.faults import spark_faults
from sapwood.pipeline.spark.frames import persisted, plan_of
from sapwood.pipeline.spark.places import shown
from sapwood.pipeline.spark.usage import Usage, metered
from sapwood.similarity.near.bounds import least_similarity

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

DEFAULT_THRESHOLD: Final = 0.75

PAIRS: Final = ("one", "other", "proximity", "there", "back")
FILTERS: Final = ("key", "filter", "xpath", "namespaces", "subscriptions", "reason")
MEMBERS: Final = ("id", "key")


@dataclass(frozen=True, slots=True)
class SimilaritySummary:
    """The summary of a similarity job.

    All are counts: `subscriptions` that were read, their different `filters` (`uncompared` of them
    were compared with none, for a reason that the table of filters has), the `blocks` of the work,
    and the `pairs` of near filters.
    """

    subscriptions: int
    filters: int
    uncompared: int
    blocks: int
    pairs: int
    rejected: int
    threshold: float
    out: str
    aside: str
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class SimilarityJob:
    """Find all near pairs of the subscriptions at a path, into tables in the folder `out`.

    Two filters are near whose proximity is the `threshold` or more, above 1/2 and at most 1: the
    mean of both similarities, which are estimated from the knowledge of documents, `known`, for
    tree patterns, and by `box_similarity` for record filters. Of filters of one kind more than
    `group_max` are cut into blocks. Raises `InputError` for another threshold, and for an unknown
    dialect.
    """

    subscriptions: str
    out: str
    known: Known = NOTHING_KNOWN
    threshold: float = DEFAULT_THRESHOLD
    aside: str | None = None
    strict: bool = False
    dialect: str | None = None
    group_max: int = NEAR_GROUP_FILTERS_MAX

    def __post_init__(self) -> None:
        """Raise `InputError` for a threshold out of bounds, and for an unknown dialect."""
        least_similarity(self.threshold)
        if self.dialect is not None:
            DIALECTS.named(self.dialect)

    def run(self, spark: SparkSession) -> SimilaritySummary:
        """Find the pairs, and check that no subscription was lost.

        Raises `InputError` for what cannot be used, and `InvariantError` where the sums do not
        agree.
        """
        from dataclasses import replace

        with metered() as meter:
            summary = self._run(spark)
        return replace(summary, usage=meter.usage)

    def _run(self, spark: SparkSession) -> SimilaritySummary:
        from pyspark.sql import functions as F  # noqa: N812

        aside = self.aside or rejected_path(self.out)
        check_rejected(spark, aside)
        for name, columns in (("pairs", PAIRS), ("filters", FILTERS), ("members", MEMBERS)):
            check_table(spark, f"{self.out}/{name}", columns)
        with spark_faults(), ExitStack() as kept:
            rows = kept.enter_context(candidate_rows(spark, self.subscriptions, self.dialect))
            counts, _ = sum_lines(rows)
            bad = rejected(rows)
            if self.strict:
                refuse_first(bad, counts.rejected)
            some = members(rows.where("id IS NOT NULL"))
            filters = persisted(described(some, self.known), kept)
            sums = filters.agg(F.count(F.lit(1)), F.count("reason")).first()
            assert sums is not None, "an aggregate without keys has one row"
            cut = cut_for(filters, _cores(spark), self.group_max)
            found = near(filters, cut, self.known, self.threshold, _cores(spark))
            pairs = write_table(found.select(*PAIRS), f"{self.out}/pairs")
            written = write_table(filters.select(*FILTERS), f"{self.out}/filters")
            agree("filters", sums[0], written)
            followed = write_table(some.select(*MEMBERS), f"{self.out}/members")
            agree("subscriptions", counts.good, followed)
            set_aside = write_rejected(bad, aside, expected=counts.rejected)
            agree("rejected rows", counts.rejected, set_aside)
        return SimilaritySummary(
            *(counts.good, sums[0], sums[1], _blocks(cut), pairs, counts.rejected),
            *(self.threshold, self.out, shown(aside)),
        )

    def explain(self, spark: SparkSession) -> str:
        """The physical plan as far as the distinct filters: what follows depends on them."""
        with spark_faults(), candidate_rows(spark, self.subscriptions, self.dialect) as rows:
            return plan_of(described(members(rows.where("id IS NOT NULL")), self.known))


def _blocks(cut: Cut) -> int:
    return (cut.slots + cut.pattern_slots) * cut.chunks


def _cores(spark: SparkSession) -> int:
    return int(spark.conf.get("spark.sql.shuffle.partitions") or 1)


def pairs_at(spark: SparkSession, out: str) -> DataFrame:
    """The near pairs that a job has written."""
    from sapwood.pipeline.results.output import result_at

    return result_at(spark, f"{out}/pairs")
