"""The publications of a match job: lines, a table or a lake at a path."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from sapwood.errors import FileFormatError, InputError
from sapwood.pipeline.ingest.lines import (
    count_lines,
    counts_of,
    ingested,
    publications,
    rejected,
)
from sapwood.pipeline.tables.decoding import JSONDecoder
from sapwood.pipeline.tables.lake import Lake, good_rows, open_lake
from sapwood.pipeline.tables.publications import rejected_publications
from sapwood.pipeline.tables.reading import (
    FileKind,
    file_kind,
    read_lines,
)
from sapwood.pipeline.tables.summaries import Counts

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from sapwood.pipeline.tables.lake import Publications


class PublicationSource(NamedTuple):
    """Publications, ready for matching: the good rows, the rejected rows, and their counts.

    Among the good ones there may be rows that are no publications, which `match` passes over.
    """

    good: Publications
    rejected: DataFrame
    counted: Callable[[], Counts]


@contextmanager
def open_publications(
    spark: SparkSession, path: str, id_columns: Sequence[str] = (), *, distinct: bool = True
) -> Iterator[PublicationSource]:
    """The publications at a path, JSON Lines or Parquet, ready to be read more than once.

    With `distinct`, of several lines with one id all but the first are rejected. Raises
    `InputError` for files of another kind, and for a table that has no publications.
    """
    kind = file_kind(spark, path)
    if kind is FileKind.XML:
        raise FileFormatError(path, "bring XML in with `sapwood pipeline ingest` first")
    if kind is FileKind.CSV:
        raise FileFormatError(
            path,
            "CSV does not say which type a value has; bring it in with "
            "`sapwood pipeline ingest --schema ...` first",
        )
    if kind is FileKind.LINES:
        if id_columns:
            raise InputError("JSON Lines name their ids themselves; leave the id columns out")
        with ingested(read_lines(spark, path), JSONDecoder(None), distinct=distinct) as rows:
            yield PublicationSource(
                publications(rows), rejected(rows), lambda: counts_of(count_lines(rows))
            )
        return
    lake = open_lake(spark, path, id_columns)
    bad = rejected_publications(lake.table)
    yield PublicationSource(lake, bad, lambda: _of_lake(lake, bad))


def _of_lake(lake: Lake, checked: DataFrame) -> Counts:
    """The counts of a lake; faults of rows are only looked for if some row has one."""
    read = lake.table.count() if lake.rows is None else lake.rows
    if good_rows(lake) == read:
        return Counts(read, read, 0)
    return _of_table(checked, read)


def _of_table(checked: DataFrame, read: int) -> Counts:
    rejected = checked.count()
    return Counts(read, read - rejected, rejected)
