"""The job `compile`: subscriptions at a path in, a new version of the compiled set out."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from sapwood.errors import FileFormatError, InputError
from sapwood.limits import COVER_GROUP_FILTERS_MAX
from sapwood.pipeline.candidates import candidate_rows
from sapwood.pipeline.checks import agree, refuse_first
from sapwood.pipeline.compiling import (
    DEFAULT_HOMES,
    covers,
    distinct,
    entries,
    is_pattern,
    keyed,
    members,
    merged_covers,
    mergers,
    with_mergers,
)
from sapwood.pipeline.faults import spark_faults
from sapwood.pipeline.ingest import LineCounts, count_lines, rejected
from sapwood.pipeline.output import (
    LARGE_ROWS,
    check_rejected,
    exists,
    local_path,
    rejected_path,
    write_rejected,
    write_table,
)
from sapwood.pipeline.pieces import cut_for
from sapwood.pipeline.plans import plan_of
from sapwood.pipeline.segments import WRITTEN, segments, unpack_segments, write_texts
from sapwood.pipeline.sharding import read_attributes
from sapwood.pipeline.subscriptions import DEFAULT_ENGINE
from sapwood.pipeline.usage import Usage, metered
from sapwood.pipeline.versions import (
    VERSION,
    CompileReport,
    latest_report,
    version_path,
    write_report,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

REASONS_MAX: Final = 10
"""Reasons of rejections that a report lists."""


class CompileSummary(NamedTuple):
    """What a compile job did. `is_new` tells whether this run wrote the version it speaks of.

    `usage` is what the job took of this machine (`pipeline.usage`), where that can be seen.
    """

    report: CompileReport
    is_new: bool
    out: str
    aside: str
    usage: Usage | None = None

    @property
    def rejected(self) -> int:
        """Rows and lines that could not be used."""
        return self.report.rejected


@dataclass(frozen=True, slots=True)
class CompileJob:
    """Compile the subscriptions at a path, JSON Lines or Parquet, into the set at `out`.

    `homes` are drawn from, by id and `seed`, for subscriptions that name no home. With `strict` the
    first rejected row ends the job before anything is written. With `merge`, from 0 up to 1, what
    is left of record filters is merged (`pipeline.merging`) by mergers of that degree at most.
    """

    subscriptions: str
    out: str
    homes: Sequence[str] = DEFAULT_HOMES
    seed: int = 0
    aside: str | None = None
    engine: str = DEFAULT_ENGINE
    strict: bool = False
    group_max: int = COVER_GROUP_FILTERS_MAX
    merge: float | None = None

    def __post_init__(self) -> None:
        """Raise `InputError` for a budget that is none."""
        if self.merge is not None and not 0 <= self.merge < 1:
            raise InputError(f"{self.merge} is no budget for merging; name one from 0 up to 1")

    def run(self, spark: SparkSession) -> CompileSummary:
        """Do it, and check that no subscription was lost.

        A set that is the newest version already is not written again. Raises `InputError` for what
        cannot be used, and `InvariantError` where the sums do not agree.
        """
        with metered() as meter:
            summary = self._run(spark)
        return summary._replace(usage=meter.usage)

    def _run(self, spark: SparkSession) -> CompileSummary:
        aside = self.aside or rejected_path(self.out)
        check_rejected(spark, aside)
        before = self._before(spark)
        with spark_faults(), candidate_rows(spark, self.subscriptions) as rows:
            counts = count_lines(rows)
            bad = rejected(rows)
            if self.strict:
                refuse_first(bad, counts.rejected)
            with cut_for(spark, counts.good):
                report, is_new = self._compiled(spark, rows, bad, counts, before)
            written = write_rejected(bad, aside, expected=counts.rejected)
            agree("rejected rows", counts.rejected, written)
        if is_new:
            write_report(spark, self.out, report)
        return CompileSummary(report, is_new, version_path(self.out, report.version), aside)

    def _compiled(
        self,
        spark: SparkSession,
        rows: DataFrame,
        bad: DataFrame,
        counts: LineCounts,
        before: CompileReport | None,
    ) -> tuple[CompileReport, bool]:
        """The report on these rows, and whether it is of a version that was written just now."""
        wanted = self._keyed(rows)
        filters = distinct(wanted).persist()
        try:
            with covers(filters, group_max=self.group_max) as covered:
                report = _report(wanted, filters, covered, before)
                agree("subscriptions", counts.good, report.good)
                report = _with_rejections(report, bad, counts.rejected)
                if self.merge is not None:
                    digest = f"{report.digest}-{self.merge}"
                    report = replace(report, digest=digest, budget=self.merge)
                if before is not None and report.digest == before.digest:
                    return _as_written(report, before), False
                return self._write(spark, report, wanted, filters, covered), True
        finally:
            filters.unpersist()

    def _keyed(self, rows: DataFrame) -> DataFrame:
        good = rows.where("id IS NOT NULL").select("id", "attributes", "home")
        return keyed(good, homes=self.homes, seed=self.seed)

    def explain(self, spark: SparkSession) -> str:
        """The physical plan as far as the distinct filters, for what follows depends on them."""
        with spark_faults(), candidate_rows(spark, self.subscriptions) as rows:
            return plan_of(distinct(self._keyed(rows)))

    def _before(self, spark: SparkSession) -> CompileReport | None:
        """The report on the newest version; refuses an output that is something else."""
        before = latest_report(spark, self.out)
        if before is None and exists(spark, self.out):
            local = local_path(self.out)
            # A version without a report is what a run that was cut short has left.
            if local is not None and local.is_dir():
                is_free = all(path.match(f"{VERSION}*") for path in local.iterdir())
            else:
                is_free = exists(spark, f"{self.out}/{VERSION}*")
            if not is_free:
                raise FileFormatError(
                    self.out,
                    "exists and is no compiled set; choose another path, or remove it",
                )
        return before

    def _write(
        self,
        spark: SparkSession,
        report: CompileReport,
        wanted: DataFrame,
        filters: DataFrame,
        covered: DataFrame,
    ) -> CompileReport:
        """Write everything but the report, which comes with what was found while writing."""
        from pyspark.sql import functions as F  # noqa: N812

        folder = version_path(self.out, report.version)
        with ExitStack() as held:
            kept = _persisted(entries(filters, covered), held)
            if self.merge is not None:
                found = _persisted(mergers(kept, self.merge), held)
                covered = merged_covers(covered, found)
                kept = _persisted(with_mergers(kept, found), held)
                report = _with_mergers(report, kept, found)
            table = kept.mapInArrow(write_texts, WRITTEN)
            agree("entries", report.entries, write_table(table, f"{folder}/entries"))
            followed = write_table(members(wanted, covered), f"{folder}/members")
            agree("members", report.good, followed)
            packed = segments(kept.select("home", "key", "form"), engine=self.engine)
            write_table(packed, f"{folder}/segments", LARGE_ROWS)
            attributes = read_attributes(kept.select(F.col("form").alias("attributes")))
        stored = spark.read.parquet(f"{folder}/segments")
        whole = stored.where("chunk = 0").agg({"filters": "sum", "chunk": "count"}).first()
        assert whole is not None, "an aggregate without keys has one row"
        agree("filters in the index", report.entries, whole["sum(filters)"] or 0)
        local = local_path(folder)
        if local is not None:
            unpack_segments(stored, local / "index")
        return replace(report, segments=whole["count(chunk)"], attributes=attributes)


def _report(
    wanted: DataFrame, filters: DataFrame, covered: DataFrame, before: CompileReport | None
) -> CompileReport:
    """What became of the good subscriptions; rejections and segments are not counted yet."""
    from pyspark.sql import functions as F  # noqa: N812

    told = wanted.agg(
        F.count(F.lit(1)).alias("good"),
        # The order of rows does not count, and no two have the same id.
        F.coalesce(F.bit_xor(F.xxhash64("id", "home", "key")), F.lit(0)).alias("digest"),
    ).first()
    found = filters.agg(
        F.count(F.lit(1)).alias("filters"),
        F.coalesce(F.sum("subscriptions"), F.lit(0)).alias("subscriptions"),
        F.countDistinct("home").alias("homes"),
        F.count_if(is_pattern(F.col("form"))).alias("patterns"),
    ).first()
    assert told is not None, "an aggregate without keys has one row"
    assert found is not None, "an aggregate without keys has one row"
    gone = covered.count()
    gone_patterns = 0
    if found["patterns"]:
        patterns = filters.where(is_pattern(F.col("form"))).select("home", "key")
        gone_patterns = patterns.join(covered, ["key", "home"], "left_semi").count()
    return CompileReport(
        version=1 if before is None else before.version + 1,
        digest=f"{told['good']:x}-{told['digest'] & (1 << 64) - 1:016x}",
        read=told["good"],
        rejected=0,
        unsatisfiable=told["good"] - found["subscriptions"],
        repeated=found["subscriptions"] - found["filters"],
        covered=gone,
        entries=found["filters"] - gone,
        homes=found["homes"],
        segments=0,
        patterns=found["patterns"] - gone_patterns,
        covered_patterns=gone_patterns,
    )


def _as_written(report: CompileReport, before: CompileReport) -> CompileReport:
    """The report on a set that is the version `before` already."""
    return replace(
        report,
        version=before.version,
        entries=before.entries,
        segments=before.segments,
        attributes=before.attributes,
        merged=before.merged,
        mergers=before.mergers,
        degree=before.degree,
    )


def _with_mergers(report: CompileReport, kept: DataFrame, found: DataFrame) -> CompileReport:
    """The report with what merging has done: `kept` entries are left, and `found` went."""
    from pyspark.sql import functions as F  # noqa: N812

    told = found.agg(
        F.countDistinct("home", "cover").alias("mergers"),
        F.coalesce(F.max("degree"), F.lit(0.0)).alias("degree"),
    ).first()
    assert told is not None, "an aggregate without keys has one row"
    left = kept.count()
    return replace(
        report,
        entries=left,
        merged=report.entries - left,
        mergers=told["mergers"],
        degree=told["degree"],
    )


def _persisted(table: DataFrame, held: ExitStack) -> DataFrame:
    """The table, computed once, until the stack is closed."""
    held.callback(table.persist().unpersist)
    return table


def _with_rejections(report: CompileReport, bad: DataFrame, count: int) -> CompileReport:
    """The report with what was rejected, and why."""
    from pyspark.sql import functions as F  # noqa: N812

    if not count:
        return report
    frequent = bad.groupBy("reason").count().orderBy(F.desc("count"), "reason")
    reasons = tuple((row["reason"], row["count"]) for row in frequent.limit(REASONS_MAX).collect())
    return replace(report, read=report.read + count, rejected=count, reasons=reasons)
