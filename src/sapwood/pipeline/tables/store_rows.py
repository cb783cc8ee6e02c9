"""A lake in a store as a table of Spark: rows that workers read, for all but the match itself.

Spark needs no file system for the store's scheme, and no jar. Copies of rows, and the faults of
some of them, take this way; the match does not (`row_groups`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from sapwood.limits.pipeline import RECORDS_PER_MATCH_MAX
from sapwood.pipeline.spark.places import Place, shown_file
from sapwood.pipeline.tables.arrow_schemas import fitted
from sapwood.pipeline.tables.row_groups import Groups, file_faults, open_parquet

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

_FILE: Final = "sapwood file"
_LINE: Final = "sapwood line"
"""Columns of places, as long as those of files may have any names."""


@dataclass(frozen=True, slots=True)
class ReadRows:
    """The function for `mapInArrow` that reads rows: numbers of parts in.

    Out come the columns of the `schema`, which the files have or lack, and the places of rows.
    """

    store: str
    parts: Sequence[Sequence[Groups]]
    schema: pa.Schema
    case_sensitive: bool

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Read the rows of one task; raises `FileFormatError`."""
        for batch in batches:
            for number in batch.column(0).to_pylist():
                for groups in self.parts[number]:
                    yield from self._rows(groups)

    def _rows(self, groups: Groups) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        place = Place(self.store, groups.file)
        with file_faults(place), open_parquet(place) as file:
            counts = [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)]
            starts = [0, *accumulate(counts)]
            known = {self._known(name) for name in self.schema.names}
            columns = [name for name in file.schema_arrow.names if self._known(name) in known]
            for number in groups.numbers:
                line = starts[number] + 1
                for batch in file.iter_batches(
                    RECORDS_PER_MATCH_MAX, row_groups=[number], columns=columns, use_threads=False
                ):
                    rows = fitted(batch, self.schema, case_sensitive=self.case_sensitive)
                    lines = pa.array(range(line, line + len(batch)), pa.int64())
                    files = pa.repeat(pa.scalar(shown_file(place)), len(batch))
                    names = [*self.schema.names, _FILE, _LINE]
                    yield pa.RecordBatch.from_arrays([*rows.columns, files, lines], names=names)
                    line += len(batch)

    def _known(self, name: str) -> str:
        return name if self.case_sensitive else name.lower()


def rows_table(spark: SparkSession, read: ReadRows) -> DataFrame:
    """The rows as a table. Raises PySpark's error for a type that it has not."""
    from pyspark.sql.pandas.types import from_arrow_schema
    from pyspark.sql.types import LongType, StringType

    count = len(read.parts)
    schema = from_arrow_schema(read.schema).add(_FILE, StringType()).add(_LINE, LongType())
    return spark.range(0, count, 1, max(count, 1)).mapInArrow(read, schema)


def read_places() -> tuple[Column, Column]:
    """The origin of a row of such a table: `file`, and `line`, the row from 1."""
    from pyspark.sql import functions as F  # noqa: N812

    return F.col(f"`{_FILE}`").alias("file"), F.col(f"`{_LINE}`").alias("line")
