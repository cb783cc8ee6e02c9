"""The format `sapwood` of Spark: reads accepted publications, publishes the rows of a query.

Reading is by offset in the brokers' journals, so a batch that runs again after a restart has the
same rows for ever: exactly once, by Spark's own checkpoint. A filter is evaluated at the journal,
and publications that it refuses never travel. Writing is by id: a broker with a journal takes an id
of a publisher once, and all tasks of a query are one publisher, so a batch that is written again
changes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from sapwood.limits.pipeline import JOURNAL_RECONNECT_S
from sapwood.pipeline.journals import places as journals
from sapwood.pipeline.journals.options import SourceOptions
from sapwood.pipeline.journals.places import Part
from sapwood.pipeline.journals.publisher import publish_batches
from sapwood.pipeline.journals.rows import LINES, ROWS, batch_of_lines, batch_of_rows

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT: Final = "sapwood"


def register(spark: Any) -> None:
    """Make the format known to a session; again does nothing."""
    spark.dataSource.register(SapwoodSource)


class SapwoodSource(DataSource):
    """`spark.read`, `readStream`, `write` and `writeStream` with the format `sapwood`.

    The options are `SourceOptions`. Spark calls the methods by the names of their arguments.
    """

    @classmethod
    def name(cls) -> str:
        """The name of the format."""
        return FORMAT

    def schema(self) -> str:
        """The columns of the rows that are read."""
        return LINES if self._chosen.as_lines else ROWS

    def reader(self, schema: object) -> JournalBatch:  # noqa: ARG002
        """For `spark.read`."""
        return JournalBatch(self._chosen)

    def streamReader(self, schema: object) -> JournalStream:  # noqa: ARG002, N802
        """For `spark.readStream`."""
        return JournalStream(self._chosen)

    def writer(self, schema: object, overwrite: bool) -> Publisher:  # noqa: ARG002, FBT001
        """For `spark.write`."""
        return Publisher(self._chosen)

    def streamWriter(self, schema: object, overwrite: bool) -> StreamPublisher:  # noqa: ARG002, FBT001, N802
        """For `writeStream`."""
        return StreamPublisher(self._chosen)

    @property
    def _chosen(self) -> SourceOptions:
        return SourceOptions.read(self.options)


class _Piece(InputPartition):
    """A part of a journal that one task reads."""

    def __init__(self, part: Part) -> None:
        super().__init__(tuple(part))

    @property
    def part(self) -> Part:
        """The part."""
        return Part(*self.value)


def _pieces(options: SourceOptions, parts: Sequence[Part]) -> list[_Piece]:
    return [_Piece(piece) for part in parts for piece in journals.cut(part, options.rows_per_task)]


def _read(options: SourceOptions, part: Part) -> Iterator[pa.RecordBatch]:
    """The batches of one task."""
    lines = journals.read(part, options.interest)
    made = batch_of_lines if options.as_lines else batch_of_rows
    while some := list(islice(lines, options.rows_per_batch)):
        yield made(part.journal, some)


class JournalBatch(DataSourceReader):
    """A batch read of journals: all that they hold, or the part that options name."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options

    def partitions(self) -> list[_Piece]:
        """One task for each piece of the journals."""
        parts = []
        for journal in self._options.journals:
            first, end = journals.bounds(journal)
            start = self._options.start_of(journal, first)
            parts.append(Part(journal, start, self._options.end_of(journal, end)))
        return _pieces(self._options, parts)

    def read(self, partition: _Piece) -> Iterator[pa.RecordBatch]:
        """Read one of them."""
        return _read(self._options, partition.part)


class JournalStream(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """A stream of journals. An offset is {journal: offset of the next publication}.

    #: _target is where `availableNow` ends, once Spark has requested that trigger
    """

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._target: dict[str, int] | None = None

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        """The offset at which a query without a checkpoint begins."""
        options = self._options
        return {j: options.start_of(j, journals.bounds(j)[0]) for j in options.journals}

    def getDefaultReadLimit(self) -> Any:  # noqa: N802
        """The limit of a batch."""
        rows = self._options.rows_per_trigger
        return ReadAllAvailable() if rows is None else ReadMaxRows(rows)

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:  # noqa: N802
        """The end of the next batch: all there is, shared among journals where it is limited."""
        ends = self._ends() if self._target is None else self._target
        # A journal that came with a restart begins where a query without a checkpoint would.
        begins = {**self._fresh(start), **start}
        if not isinstance(limit, ReadMaxRows):
            return {**begins, **ends}
        left = limit.max_rows
        reached = dict(begins)
        for number, journal in enumerate(self._options.journals):
            share = -(-left // (len(self._options.journals) - number))
            reached[journal] = max(begins[journal], min(ends[journal], begins[journal] + share))
            left -= reached[journal] - begins[journal]
        return reached

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802
        """End the stream with the publications that journals hold now."""
        self._target = self._ends()

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> list[_Piece]:
        """One task for each piece of a batch."""
        begins = {**self._fresh(start), **start}
        parts = [Part(journal, begins[journal], end[journal]) for journal in end]
        return _pieces(self._options, parts)

    def read(self, partition: _Piece) -> Iterator[pa.RecordBatch]:
        """Read one of them."""
        return _read(self._options, partition.part)

    def _ends(self) -> dict[str, int]:
        # A query outlives the restart of a broker; only one that begins fails at once.
        return {
            journal: journals.bounds(journal, JOURNAL_RECONNECT_S)[1]
            for journal in self._options.journals
        }

    def _fresh(self, start: Mapping[str, int]) -> dict[str, int]:
        options = self._options
        missing = [journal for journal in options.journals if journal not in start]
        return {j: options.start_of(j, journals.bounds(j)[0]) for j in missing}


def _task_of(publisher: str) -> str:
    """The name of the client of this task."""
    context = TaskContext.get()
    return f"{publisher}/{0 if context is None else context.partitionId()}"


class Publisher(DataSourceArrowWriter):
    """Publishes the rows of a batch query through a broker."""

    def __init__(self, options: SourceOptions) -> None:
        self._broker, self._publisher = options.broker, options.publisher

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Publish the rows of one task; they are accepted when this returns."""
        publish_batches(self._broker, _task_of(self._publisher), iterator)
        return WriterCommitMessage()


class StreamPublisher(DataSourceStreamArrowWriter):
    """Publishes the rows of a streaming query through a broker."""

    def __init__(self, options: SourceOptions) -> None:
        self._broker, self._publisher = options.broker, options.publisher

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        """Publish the rows of one task; they are accepted when this returns."""
        publish_batches(self._broker, _task_of(self._publisher), iterator)
        return WriterCommitMessage()

    def commit(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Do nothing: accepted rows are published already."""

    def abort(self, messages: list[WriterCommitMessage | None], batchId: int) -> None:  # noqa: N803
        """Do nothing: accepted rows stay, and are dropped as repetitions in the next run."""
