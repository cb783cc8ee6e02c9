"""The job `synopsis`: publications at a path in, the synopsis of their documents out."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sapwood.errors import FileFormatError, InputError
from sapwood.files.synopses import load_synopsis, save_synopsis
from sapwood.pipeline.ingest.lines import number
from sapwood.pipeline.results.output import (
    check_rejected,
    local_path,
    rejected_path,
    write_rejected,
)
from sapwood.pipeline.spark.checks import agree, refuse_first
from sapwood.pipeline.spark.faults import spark_faults
from sapwood.pipeline.spark.frames import persisted, plan_of
from sapwood.pipeline.spark.places import shown
from sapwood.pipeline.synopsis.partial import PARTS, CountLines, CountRows, synopsis_of_parts
from sapwood.pipeline.tables.publications import fault, shape_of
from sapwood.pipeline.tables.reading import (
    FileKind,
    file_kind,
    place_columns,
    read_lines,
    read_parquet,
    shown_path,
)
from sapwood.pipeline.tables.schemas import REJECTED_COLUMNS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(frozen=True, slots=True)
class SynopsisSummary:
    """The summary of a synopsis job: `documents` were counted, `others` publications had none.

    `paths` are those of the synopsis.
    """

    documents: int
    others: int
    rejected: int
    paths: int
    out: str
    aside: str


@dataclass(frozen=True, slots=True)
class SynopsisJob:
    """Make the synopsis of the documents at a path, JSON Lines or Parquet, into the file `out`.

    The file is on the machine that this runs on. Without `attributes` these are left out, which is
    a third faster. Ids need not differ: a document counts as often as it is there.
    """

    publications: str
    out: str
    attributes: bool = True
    aside: str | None = None
    strict: bool = False

    def run(self, spark: SparkSession) -> SynopsisSummary:
        """Count all documents, and check that no row was lost.

        Raises `InputError` for what cannot be used, and `InvariantError` where the sums do not
        agree.
        """
        aside = self.aside or rejected_path(self.out)
        self._check_out()
        check_rejected(spark, aside)
        with spark_faults(), ExitStack() as kept:
            read, counted = self._counted(spark)
            parts = persisted(counted, kept)
            sums = _sums(parts)
            rows = sums["documents"] + sums["others"] + sums["blank"] + sums["rejected"]
            # Counted by Spark alone, so that it can bear witness against the Python side.
            agree("rows", read.count(), rows)
            bad = _rejected(parts)
            if self.strict:
                refuse_first(bad, sums["rejected"])
            synopsis = synopsis_of_parts(parts, sums["partials"])
            agree("documents", sums["documents"], synopsis.documents)
            written = write_rejected(bad, aside, expected=sums["rejected"])
            agree("rejected rows", sums["rejected"], written)
        save_synopsis(str(local_path(self.out)), synopsis)
        counts = (sums["documents"], sums["others"], sums["rejected"], len(synopsis) - 1)
        return SynopsisSummary(*counts, self.out, shown(aside))

    def explain(self, spark: SparkSession) -> str:
        """The physical plan of the pass over the documents; nothing is written."""
        with spark_faults():
            return plan_of(self._counted(spark)[1])

    def _check_out(self) -> None:
        """Refuse to replace anything but an earlier synopsis."""
        path = local_path(self.out)
        if path is None:
            raise InputError(f"{self.out} is not on this machine; name a file here, and copy it")
        if path.exists():
            try:
                load_synopsis(str(path))
            except FileFormatError as error:
                raise FileFormatError(
                    self.out, "exists and is no synopsis; choose another path, or remove it"
                ) from error

    def _counted(self, spark: SparkSession) -> tuple[DataFrame, DataFrame]:
        """The rows that are read, and the partial synopses of tasks (`PARTS`)."""
        kind = file_kind(spark, self.publications)
        if kind is FileKind.LINES:
            lines = read_lines(spark, self.publications)
            return lines, lines.mapInArrow(CountLines(self.attributes), PARTS)
        if kind is not FileKind.PARQUET:
            raise FileFormatError(
                self.publications,
                f"{kind.name} is not read here; bring it in with `sapwood pipeline ingest` first",
            )
        table = read_parquet(spark, self.publications)
        shape = shape_of(table)
        if not shape.documents:
            raise FileFormatError(self.publications, "has no column document, so no documents")
        rows = table.select(*place_columns(), fault(shape).alias("reason"), "document")
        return table, rows.mapInArrow(CountRows(self.attributes), PARTS)


def _sums(parts: DataFrame) -> dict[str, int]:
    from pyspark.sql import functions as F  # noqa: N812

    names = ("documents", "others", "blank")
    sums = parts.agg(
        *(F.coalesce(F.sum(name), F.lit(0)).alias(name) for name in names),
        F.count("reason").alias("rejected"),
        F.count("partial").alias("partials"),
    ).first()
    assert sums is not None, "an aggregate without keys has one row"
    return sums.asDict()  # type: ignore[no-any-return]


def _rejected(parts: DataFrame) -> DataFrame:
    """The rejected rows (`schemas.REJECTED`), with their lines as numbered in their files."""
    from pyspark.sql import functions as F  # noqa: N812

    bad = parts.where("reason IS NOT NULL")
    pieces = parts.where("block IS NOT NULL")
    # Rows of tables are numbered already, and have no pieces.
    placed = number(bad.where("block IS NOT NULL"), pieces).select(*REJECTED_COLUMNS)
    both = placed.union(bad.where("block IS NULL").select(*REJECTED_COLUMNS))
    return both.withColumn("file", shown_path(F.col("file"))).select(*REJECTED_COLUMNS)
