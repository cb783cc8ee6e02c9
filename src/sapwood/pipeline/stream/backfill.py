"""The job `backfill`: new subscriptions' matches in history, then live, with no gap and no double.

::

    lake ────────────┐
                     ├── history    pairs, once
    journal [0, seam)┘
    journal [seam, ...)  ── live    batch by batch, as `stream` writes them

The *seam* is an offset of the journal, written down before anything is matched. Publications before
it are history, whether in the lake, in the journal or in both: pairs are written once, by the ids
of publication and subscription. Those at the seam or after it are live. A gap is possible only
where the journal has let go of a publication that had not come into the lake, and that is checked:
the oldest publication that the journal keeps must be in the lake, or the first of all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from sapwood.errors import FileFormatError, InputError
from sapwood.files.lines import decode_publication
from sapwood.pipeline.ingest.lines import count_lines, ingested, publications
from sapwood.pipeline.journals import places as journals
from sapwood.pipeline.matching.match import match_compiled
from sapwood.pipeline.matching.publication_source import open_publications
from sapwood.pipeline.matching.subscription_source import compile_path
from sapwood.pipeline.matching.subscriptions import DEFAULT_ENGINE
from sapwood.pipeline.results.output import exists, write_table
from sapwood.pipeline.spark.faults import spark_faults
from sapwood.pipeline.spark.frames import plan_of
from sapwood.pipeline.stream.stream import StreamJob
from sapwood.pipeline.tables.decoding import JSONDecoder
from sapwood.pipeline.tables.lake import table_of_lake
from sapwood.pipeline.tables.reading import journal_lines
from sapwood.pipeline.tables.summaries import BatchSummary

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

HISTORY: Final = "history"
LIVE: Final = "live"
SEAM: Final = "seam"
SUMMARY: Final = "summary"

_SEAM: Final = "journal STRING, offset BIGINT"
_SUMMARY: Final = "journal STRING, seam BIGINT, deliveries BIGINT, rejected BIGINT"


class BackfillSummary(NamedTuple):
    """The summary of history: the offset at which it ends, and the number of its pairs.

    `is_new` is true if this run has written it. `rejected` counts subscriptions and rows of the
    lake that could not be used.
    """

    seam: int
    deliveries: int
    is_new: bool
    rejected: int


@dataclass(frozen=True, slots=True)
class BackfillJob:
    """Match new subscriptions with a lake of publications, and go on with a journal.

    `lake` is a path as `match` takes it, and `None` where the journal is all the history there is.
    `journal` is `host:port` of a broker or a journal's folder. Below `out` come `seam`, `history`,
    `summary` and `live`, in this order; a job that was cut short is run again and goes on.
    """

    subscriptions: str
    journal: str
    out: str
    lake: str | None = None
    engine: str = DEFAULT_ENGINE

    def run(self, spark: SparkSession) -> BackfillSummary:
        """Write the history, unless it is there. Raises `InputError` where there is a gap."""
        before = self._summary(spark)
        if before is not None:
            return before
        if exists(spark, self._live):
            raise FileFormatError(self._live, "is there without its history; choose another")
        with spark_faults():
            compiled = compile_path(spark, self.subscriptions, engine=self.engine)
            bad = len(compiled.rejected)
            seam = self._seam(spark)
            with self._journaled(spark, seam) as rows:
                bad += count_lines(rows).rejected
                pairs = match_compiled(publications(rows), compiled)
                if self.lake is None:
                    deliveries = write_table(pairs, self._history)
                else:
                    with open_publications(spark, self.lake) as table:
                        bad += table.counted().rejected
                        pairs = pairs.unionByName(match_compiled(table.good, compiled)).distinct()
                        deliveries = write_table(pairs, self._history)
            # Written last: the history that it summarizes is whole.
            row = (self.journal, seam, deliveries, bad)
            write_table(spark.createDataFrame([row], _SUMMARY), f"{self.out}/{SUMMARY}")
        return BackfillSummary(seam, deliveries, is_new=True, rejected=bad)

    def follow(
        self,
        spark: SparkSession,
        *,
        every_s: float | None = None,
        on_batch: Callable[[BatchSummary], None] | None = None,
    ) -> StreamingQuery:
        """Go on from the seam: all that is there and no more, or for ever, each `every_s` seconds.

        `run` has written the history.
        """
        return StreamJob(
            source=self.journal,
            out=self._live,
            decoder=JSONDecoder(None),
            compiled=compile_path(spark, self.subscriptions, engine=self.engine),
            start_at=str(self._seam(spark)),
            on_batch=on_batch,
        ).start(spark, every_s=every_s)

    def explain(self, spark: SparkSession) -> str:
        """The physical plan of the matches in the journal's history; nothing is written."""
        with spark_faults():
            compiled = compile_path(spark, self.subscriptions, engine=self.engine)
            _, end = journals.bounds(self.journal)
            with self._journaled(spark, end) as rows:
                return plan_of(match_compiled(publications(rows), compiled))

    def _summary(self, spark: SparkSession) -> BackfillSummary | None:
        """The summary of an earlier run, if there is one."""
        path = f"{self.out}/{SUMMARY}"
        if not exists(spark, path):
            return None
        row = spark.read.schema(_SUMMARY).parquet(path).first()
        if row is None:  # A run was cut short while it wrote this.
            return None
        if row["journal"] != self.journal:
            raise FileFormatError(path, f"speaks of another journal than {self.journal}")
        return BackfillSummary(
            row["seam"], row["deliveries"], is_new=False, rejected=row["rejected"]
        )

    def _seam(self, spark: SparkSession) -> int:
        """The offset at which history ends, written down by the first run."""
        path = f"{self.out}/{SEAM}"
        first, end = journals.bounds(self.journal)
        self._check_gap(spark, first, end)
        if exists(spark, path):
            row = spark.read.schema(_SEAM).parquet(path).first()
            if row is not None and row["journal"] == self.journal:
                return int(row["offset"])
        made = spark.createDataFrame([(self.journal, end)], _SEAM)
        write_table(made, path)
        return end

    def _check_gap(self, spark: SparkSession, first: int, end: int) -> None:
        """Refuse a journal that has let go of something that is not in the lake."""
        if first == 0:
            return
        lost = f"the journal {self.journal} begins with offset {first}"
        if self.lake is None:
            raise InputError(f"{lost}, and what was before it is nowhere; name the lake it is in")
        if first == end:
            raise InputError(f"{lost} and holds nothing that could be found in the lake")
        part = journals.Part(self.journal, first, first + 1)
        oldest = decode_publication(next(journals.read(part))).publication.id
        with open_publications(spark, self.lake, distinct=False) as table:
            lake = table_of_lake(table.good)
            if lake.where(lake["id"] == oldest).isEmpty():
                raise InputError(
                    f"{lost}, whose publication {oldest!r} is not in {self.lake}: what lies "
                    "between the two is lost; ingest the journal into the lake more often"
                )

    @contextmanager
    def _journaled(self, spark: SparkSession, seam: int) -> Iterator[DataFrame]:
        """The publications that the journal still has from before the seam, decoded once."""
        first, _ = journals.bounds(self.journal)
        lines = journal_lines(spark, self.journal, first, seam)
        with ingested(lines, JSONDecoder(None), distinct=False) as rows:
            yield rows

    @property
    def _history(self) -> str:
        return f"{self.out}/{HISTORY}"

    @property
    def _live(self) -> str:
        return f"{self.out}/{LIVE}"
