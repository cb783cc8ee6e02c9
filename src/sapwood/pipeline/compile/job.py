"""The job `compile`: subscriptions at a path in, a new version of the compiled set out."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from sapwood.errors import FileFormatError, InputError
from sapwood.language.dialects import DIALECTS
from sapwood.limits.pipeline import COVER_GROUP_FILTERS_MAX
from sapwood.pipeline.compile.clustering import Clustering, Proposal, propose
from sapwood.pipeline.compile.steps import (
    DEFAULT_HOMES,
    HomeSize,
    covers,
    distinct,
    entries,
    home_sizes,
    keyed,
    members,
    merged_covers,
    mergers,
    set_digest,
    with_mergers,
)
from sapwood.pipeline.ingest.lines import LineCounts, rejected, sum_lines
from sapwood.pipeline.matching.candidates import candidate_rows
from sapwood.pipeline.matching.segments import (
    WRITTEN,
    segment_heads,
    segments,
    unpack_segments,
    write_texts,
)
from sapwood.pipeline.matching.subscriptions import DEFAULT_ENGINE
from sapwood.pipeline.matching.versions import (
    VERSION,
    CompileReport,
    latest_report,
    version_path,
    write_report,
)
from sapwood.pipeline.results.output import (
    LARGE_ROWS,
    check_rejected,
    exists,
    local_path,
    rejected_path,
    stored_table,
    write_rejected,
)
from sapwood.pipeline.spark.checks import agree, refuse_first
from sapwood.pipeline.spark.faults import spark_faults
from sapwood.pipeline.spark.frames import persisted, plan_of
from sapwood.pipeline.spark.shuffle import shuffle_partitions
from sapwood.pipeline.spark.usage import Usage, metered

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

REASONS_MAX: Final = 10
"""Reasons of rejections that a report lists."""


class CompileSummary(NamedTuple):
    """The summary of a compile job. `is_new` is true if this run wrote the version.

    `usage` has the job's resources on this machine (`spark.usage`), where they can be seen.
    """

    report: CompileReport
    is_new: bool
    out: str
    aside: str
    usage: Usage | None = None
    proposal: Proposal | None = None

    @property
    def rejected(self) -> int:
        """Rows and lines that could not be used."""
        return self.report.rejected


@dataclass(frozen=True, slots=True)
class CompileJob:
    """Compile the subscriptions at a path, JSON Lines or Parquet, into the set at `out`.

    `homes` are drawn from, by id and `seed`, for subscriptions that name no home. With `strict` the
    first rejected row ends the job before anything is written. With `merge`, from 0 up to 1, what
    is left of record filters is merged (`compile.merging`) by mergers of that degree at most.
    Filters that name no dialect are in `dialect` (`sapwood.language.dialects`). With `cluster` the
    version gets a proposal which subscriptions to home together (`compile.clustering`).
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
    dialect: str | None = None
    cluster: Clustering | None = None

    def __post_init__(self) -> None:
        """Raise `InputError` for a budget that is none, and for an unknown dialect."""
        if self.dialect is not None:
            DIALECTS.named(self.dialect)
        if self.merge is not None and not 0 <= self.merge < 1:
            raise InputError(f"{self.merge} is no budget for merging; name one from 0 up to 1")

    def run(self, spark: SparkSession) -> CompileSummary:
        """Compile the set, and check that no subscription was lost.

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
        with spark_faults(), self._rows(spark) as rows:
            digest = set_digest(homes=self.homes, seed=self.seed).alias("digest")
            counts, sums = sum_lines(rows, digest)
            bad = rejected(rows)
            if self.strict:
                refuse_first(bad, counts.rejected)
            report = self._begun(counts, sums["digest"], before)
            is_new = before is None or report.digest != before.digest
            if counts.rejected:
                report = replace(report, reasons=_reasons(rows))
            if is_new:
                with shuffle_partitions(spark, counts.good):
                    report = self._compiled(rows, report)
            written = write_rejected(bad, aside, expected=counts.rejected)
            agree("rejected rows", counts.rejected, written)
            proposal = self._proposed(spark, rows, report.version)
        if is_new:
            write_report(spark, self.out, report)
        folder = version_path(self.out, report.version)
        return CompileSummary(report, is_new, folder, aside, proposal=proposal)

    def _proposed(self, spark: SparkSession, rows: DataFrame, version: int) -> Proposal | None:
        """The proposal for the subscriptions of these rows, written beside the version."""
        if self.cluster is None:
            return None
        homed = self._keyed(rows).select("id", "home", "form")
        out = f"{version_path(self.out, version)}/proposal"
        cores = int(spark.conf.get("spark.sql.shuffle.partitions") or 1)
        return propose(spark, homed, self.cluster, out, cores)

    def _begun(
        self, counts: LineCounts, digest: int, before: CompileReport | None
    ) -> CompileReport:
        """The report once all rows are read; complete if their set is the version `before`."""
        name = f"{counts.good:x}-{digest & (1 << 64) - 1:016x}"
        if self.merge is not None:
            name = f"{name}-{self.merge}"
        read = counts.good + counts.rejected
        if before is not None and before.digest == name:
            return replace(before, read=read, rejected=counts.rejected, reasons=())
        return CompileReport(
            version=1 if before is None else before.version + 1,
            digest=name,
            read=read,
            rejected=counts.rejected,
            unsatisfiable=0,
            repeated=0,
            covered=0,
            entries=0,
            homes=0,
            segments=0,
            budget=self.merge,
        )

    def _compiled(self, rows: DataFrame, report: CompileReport) -> CompileReport:
        """Write the version of these rows, all but the report; return the completed report."""
        subscriptions = self._keyed(rows)
        with ExitStack() as until:
            filters = persisted(distinct(subscriptions), until)
            sizes = home_sizes(filters)
            covered = until.enter_context(covers(filters, sizes, group_max=self.group_max))
            report = _reduced(report, sizes, covered.gone)
            return self._write(report, subscriptions, filters, covered.table)

    def _rows(self, spark: SparkSession) -> AbstractContextManager[DataFrame]:
        return candidate_rows(spark, self.subscriptions, self.dialect)

    def _keyed(self, rows: DataFrame) -> DataFrame:
        good = rows.where("id IS NOT NULL").select("id", "attributes", "home")
        return keyed(good, homes=self.homes, seed=self.seed)

    def explain(self, spark: SparkSession) -> str:
        """The physical plan as far as the distinct filters, for what follows depends on them."""
        with spark_faults(), self._rows(spark) as rows:
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
        self, report: CompileReport, keyed: DataFrame, filters: DataFrame, covered: DataFrame
    ) -> CompileReport:
        """Write everything but the report, which comes with what was found while writing."""
        folder = version_path(self.out, report.version)
        with ExitStack() as until:
            kept = persisted(entries(filters, covered), until)
            if self.merge is not None:
                found = persisted(mergers(kept, report.entries, self.merge), until)
                covered = merged_covers(covered, found)
                kept = persisted(with_mergers(kept, found), until)
                report = _with_mergers(report, found)
            table = kept.mapInArrow(write_texts, WRITTEN)
            written = stored_table(table, f"{folder}/entries")
            followed = stored_table(members(keyed, covered), f"{folder}/members")
            report = _checked(report, written, followed)
            forms = kept.select("home", "key", "form")
            packed = segments(forms, report.entries, engine=self.engine)
            stored = stored_table(packed, f"{folder}/segments", LARGE_ROWS)
        heads = segment_heads(stored)
        agree("filters in the index", report.entries, sum(head.filters for head in heads))
        local = local_path(folder)
        if local is not None:
            unpack_segments(stored, heads, local / "index")
        attributes = {name for head in heads for name in head.attributes}
        return replace(report, segments=len(heads), attributes=tuple(sorted(attributes)))


def _reduced(report: CompileReport, sizes: Sequence[HomeSize], covered: int) -> CompileReport:
    """The report with what fell away before anything was written."""
    filters = sum(size.filters for size in sizes)
    subscriptions = sum(size.subscriptions for size in sizes)
    patterns = sum(size.filters for size in sizes if size.is_pattern)
    return replace(
        report,
        unsatisfiable=report.good - subscriptions,
        repeated=subscriptions - filters,
        covered=covered,
        entries=filters - covered,
        homes=len({size.home for size in sizes}),
        patterns=patterns,
    )


def _with_mergers(report: CompileReport, found: DataFrame) -> CompileReport:
    """The report with what merging has done: `found` are the entries that went."""
    from pyspark.sql import functions as F  # noqa: N812

    sums = found.agg(
        F.count(F.lit(1)).alias("gone"),
        F.countDistinct("home", "cover").alias("mergers"),
        F.coalesce(F.max("degree"), F.lit(0.0)).alias("degree"),
    ).first()
    assert sums is not None, "an aggregate without keys has one row"
    merged = sums["gone"] - sums["mergers"]
    return replace(
        report,
        entries=report.entries - merged,
        merged=merged,
        mergers=sums["mergers"],
        degree=sums["degree"],
    )


def _checked(report: CompileReport, entries: DataFrame, members: DataFrame) -> CompileReport:
    """The report completed from the files: everything is there, and the entries are counted."""
    from pyspark.sql import functions as F  # noqa: N812

    entry, member = (F.lit(1).alias(name) for name in ("entry", "member"))
    both = entries.select(entry, "xpath").unionByName(
        members.select(member), allowMissingColumns=True
    )
    found = both.agg(
        F.count("entry").alias("entries"),
        F.count("xpath").alias("patterns"),
        F.count("member").alias("members"),
    ).first()
    assert found is not None, "an aggregate without keys has one row"
    agree("entries", report.entries, found["entries"])
    agree("members", report.good, found["members"])
    left = found["patterns"]
    return replace(report, patterns=left, covered_patterns=report.patterns - left)


def _reasons(rows: DataFrame) -> tuple[tuple[str, int], ...]:
    """The most frequent reasons for which rows were rejected, with how many each."""
    from pyspark.sql import functions as F  # noqa: N812

    counted = rows.where("reason IS NOT NULL").groupBy("reason").count()
    frequent = counted.orderBy(F.desc("count"), "reason").limit(REASONS_MAX).collect()
    return tuple((row["reason"], row["count"]) for row in frequent)
