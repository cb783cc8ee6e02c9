"""Matching publications as they arrive: a folder of files or a journal in, deliveries out, once.

Structured Streaming decides which files (or offsets of a journal) make up batch 0, 1, 2, ..., and
writes each decision into the checkpoint before the batch is run. Whatever happens, a batch with the
same number has the same files for ever. So each batch is written as a folder of its own,
`batch=17`, in place of whatever is there under that number: a batch that was cut short and runs
again after a restart replaces its own half, and a batch that was done but not yet noted as done
replaces itself by the same rows. That is exactly-once for every reader of Parquet, and for
deliveries and rejected lines alike.

(The alternative is Spark's file sink. It leaves the files of failed attempts in the folder and
lists in a log of its own those that count, so that only Spark reads each row once; and it takes one
table, while a batch here gives two.)

The requirements on its surroundings:

* Files must come into the folder whole, by a rename; Spark reads a file once, as it is when seen.
* One driver works on a checkpoint at a time, as everywhere in Structured Streaming.
* The checkpoint and the output belong together; starting with one of them missing is refused.

Subscriptions may be a compiled set (`compile`). Then each batch is matched with the version that is
the newest when the batch begins, so that a new version comes into force without a restart and no
batch is matched with two; deliveries name homes.

Ids are not compared: a publisher that repeats one gives both publications, in a stream without end
there is no place to keep all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from sapwood.errors import FileFormatError
from sapwood.limits.pipeline import STREAM_FILE_AGE_MAX_DAYS, STREAM_JOURNAL_ROWS_PER_BATCH
from sapwood.pipeline.ingest.lines import count_lines, ingested, publications, rejected
from sapwood.pipeline.journals.options import EARLIEST
from sapwood.pipeline.journals.places import is_address, is_journal
from sapwood.pipeline.matching.match import match_compiled
from sapwood.pipeline.matching.output import Output
from sapwood.pipeline.matching.subscriptions import SubscriptionSet, ship
from sapwood.pipeline.results.output import (
    exists,
    rejected_path,
    rejected_table,
    write_rejected,
    write_table,
)
from sapwood.pipeline.spark.checks import agree, refuse_first
from sapwood.pipeline.spark.faults import spark_faults
from sapwood.pipeline.spark.frames import plan_of
from sapwood.pipeline.stream.following import FollowedSet
from sapwood.pipeline.tables.decoding import JSONDecoder
from sapwood.pipeline.tables.reading import placed_lines, read_lines
from sapwood.pipeline.tables.summaries import BatchSummary, Counts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

CHECKPOINT_SUFFIX: Final = ".checkpoint"


@dataclass(frozen=True, slots=True)
class StreamJob:
    """Match the files that come into a folder, or publications that come into a journal.

    A `SubscriptionSet` is fixed for the query; after a restart another one may be given, and holds
    from the next batch on. A `FollowedSet` is looked at before every batch. `checkpoint` and
    `aside` (for rejected lines) lie beside `out` unless named. A batch takes at most
    `files_per_batch` files, or `rows_per_batch` publications of a journal, which are read from
    `start_at` on (the option `start` of `SourceOptions`). With `strict` the first rejected line
    ends the query, and its batch is not written. `on_batch` is called with every batch that is
    done; through Spark Connect it runs on the server.
    """

    source: str
    out: str
    decoder: JSONDecoder
    compiled: SubscriptionSet | FollowedSet
    checkpoint: str | None = None
    aside: str | None = None
    files_per_batch: int = 100
    rows_per_batch: int = STREAM_JOURNAL_ROWS_PER_BATCH
    start_at: str = EARLIEST
    strict: bool = False
    on_batch: Callable[[BatchSummary], None] | None = None

    def start(self, spark: SparkSession, *, every_s: float | None = None) -> StreamingQuery:
        """Start the query: all that is there and then no more, or for ever, each `every_s` seconds.

        Raises `FileFormatError` if there is no such folder, or if checkpoint and output do not
        belong together.
        """
        checkpoint = self.checkpoint or self.out.rstrip("/") + CHECKPOINT_SUFFIX
        check_pair(spark, checkpoint, self.out)
        first, _ = self._current(spark)
        bad = rejected_table(spark, first.rejected)
        aside = f"{self._aside}/subscriptions"
        write_rejected(bad, aside, expected=len(first.rejected))
        ship(spark, first)
        with spark_faults(self.source):
            lines = self._lines(spark)
        writer = lines.writeStream.foreachBatch(self.run_batch)
        writer = writer.option("checkpointLocation", checkpoint).queryName("sapwood")
        if every_s is None:
            return writer.trigger(availableNow=True).start()
        return writer.trigger(processingTime=f"{every_s} seconds").start()

    def explain(self, spark: SparkSession) -> str:
        """The physical plan of a batch that has all that is there now; nothing is written."""
        compiled, version = self._current(spark)
        output = Output.PAIRS if version is None else Output.HOMES
        with (
            spark_faults(self.source),
            ingested(read_lines(spark, self.source), self.decoder, distinct=False) as rows,
        ):
            good = publications(rows)
            return plan_of(match_compiled(good, compiled, output))

    def _lines(self, spark: SparkSession) -> DataFrame:
        if not is_journal(self.source):
            return stream_lines(spark, self.source, files_per_batch=self.files_per_batch)
        return stream_journal(spark, self.source, self.start_at, self.rows_per_batch)

    def run_batch(self, lines: DataFrame, batch: int) -> None:
        """Write the deliveries and the rejected lines of one batch, in place of earlier ones."""
        with ingested(lines, self.decoder, distinct=False) as rows:
            counts = count_lines(rows)
            bad = rejected(rows)
            if self.strict:
                refuse_first(bad, counts.rejected)
            aside = f"{self._aside}/batch={batch}"
            written = write_rejected(bad, aside, expected=counts.rejected)
            agree("rejected lines", counts.rejected, written)
            good = publications(rows)
            compiled, version = self._current(lines.sparkSession)
            output = Output.PAIRS if version is None else Output.HOMES
            deliveries = match_compiled(good, compiled, output)
            pairs = write_table(deliveries, f"{self.out}/batch={batch}")
        if self.on_batch is not None:
            read = counts.lines - counts.blank
            found = Counts(read, counts.good, counts.rejected)
            self.on_batch(BatchSummary(batch, found, pairs, version))

    def _current(self, spark: SparkSession) -> tuple[SubscriptionSet, int | None]:
        """The set to match with, and its version, if it has versions."""
        if isinstance(self.compiled, FollowedSet):
            newest = self.compiled.newest(spark)
            return newest.compiled, newest.number
        return self.compiled, None

    @property
    def _aside(self) -> str:
        return self.aside or rejected_path(self.out)


def stream_lines(spark: SparkSession, folder: str, *, files_per_batch: int) -> DataFrame:
    """As `reading.read_lines`, for the files in a folder and those that will come into it."""
    reader = spark.readStream.option("lineSep", "\n").option("maxFilesPerTrigger", files_per_batch)
    # Files that are older than the newest by more than this would be passed over without a word.
    reader = reader.option("maxFileAge", f"{STREAM_FILE_AGE_MAX_DAYS}d")
    return placed_lines(reader.text(folder))


def stream_journal(
    spark: SparkSession, journal: str, start_at: str, rows_per_batch: int
) -> DataFrame:
    """As `reading.read_lines`, for the lines of a journal from an offset on, and those to come."""
    from sapwood.pipeline.journals.source import FORMAT, register

    register(spark)
    reader = spark.readStream.format(FORMAT)
    reader = reader.option("broker" if is_address(journal) else "path", journal)
    reader = reader.option("start", start_at).option("maxRowsPerTrigger", rows_per_batch)
    return reader.option("lines", "true").load()


def check_pair(spark: SparkSession, checkpoint: str, out: str) -> None:
    """Refuse a checkpoint that does not know the batches in the output, or the other way round.

    Batch 0 of a new checkpoint would replace batch 0 of the old one, which held other files; and
    where the output is gone, a checkpoint that counts its batches as done would never bring them
    back. (Batches that were taken away from a folder that is still there are no mistake.)
    """
    if exists(spark, f"{out}/batch=*") and not exists(spark, f"{checkpoint}/offsets"):
        raise FileFormatError(
            out,
            f"holds batches that the checkpoint {checkpoint} does not know; name their own "
            "checkpoint, or another output",
        )
    if exists(spark, f"{checkpoint}/commits/*") and not exists(spark, out):
        raise FileFormatError(
            checkpoint,
            f"counts batches as done that were to be in {out}, which is gone; bring it back, or "
            "remove the checkpoint to do all of them again",
        )
