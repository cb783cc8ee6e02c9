"""Compiled filters to index segments, and segments to folders that can be mapped.

A segment is an index (`sapwood.Index.save`) of some hundred thousand filters. A task builds it, and
it is carried, packed, as rows of bytes: tasks of a cluster share no folder, and a table of bytes
can be written wherever Spark writes tables. The id of a filter in a segment is `key@home`.
"""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from sapwood.language.forms import decode_interest
from sapwood.language.plain_forms import written_form
from sapwood.limits.pipeline import SEGMENT_CHUNK_BYTES, SEGMENT_FILTERS_MAX
from sapwood.matching.index import Index
from sapwood.pipeline.matching.subscriptions import DEFAULT_ENGINE, attributes_read, pack
from sapwood.pipeline.spark.arrow_rows import rows_of, uncollected
from sapwood.pipeline.spark.shuffle import gather_by

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

WRITTEN: Final = (
    "home STRING, key STRING, filter STRING, xpath STRING, namespaces MAP<STRING, STRING>, "
    "subscriptions BIGINT, stands_for BIGINT"
)
SEGMENTS: Final = "segment INT, chunk INT, filters BIGINT, attributes ARRAY<STRING>, bytes BINARY"
"""In each row of a segment the number of all its filters, and which attributes they read."""

_AT: Final = "@"


def segment_id(key: str, home: str) -> str:
    """The id of a home's filter in a segment: key `k1` of the home `r1` is `k1@r1`."""
    return f"{key}{_AT}{home}"


def segment_home(id: str) -> str:
    """The home in an id that `segment_id` made: keys have no `@`, homes may have."""
    return id.partition(_AT)[2]


def write_texts(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The function for `mapInArrow` that writes filters down, as files have them.

    The column `form` becomes `filter`, `xpath` and `namespaces`; the others stay.
    """
    import pyarrow as pa

    bindings = pa.map_(pa.string(), pa.string())
    for batch in batches:
        with uncollected():
            written = [written_form(form) for form in batch.column("form").to_pylist()]
        place = batch.schema.get_field_index("form")
        columns, names = list(batch.columns), list(batch.schema.names)
        columns[place : place + 1] = [
            pa.array([w.text if w.language == "filter" else None for w in written], pa.string()),
            pa.array([w.text if w.language == "xpath" else None for w in written], pa.string()),
            pa.array([w.bindings for w in written], bindings),
        ]
        names[place : place + 1] = ["filter", "xpath", "namespaces"]
        yield pa.RecordBatch.from_arrays(columns, names=names)


@dataclass(frozen=True, slots=True)
class BuildSegments:
    """The function for `mapInArrow`: (segment, home, key, form), sorted, in, `SEGMENTS` out."""

    engine: str = DEFAULT_ENGINE

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Build all segments of one task."""
        for segment, members in groupby(rows_of(batches), key=itemgetter(0)):
            index, read = Index(records=self.engine, warns=False), set[str]()
            with uncollected():
                for _, home, key, form in members:
                    read_filter = decode_interest(form)
                    index.add(segment_id(key, home), read_filter)
                    read |= attributes_read(read_filter)
            yield from _packed(index, Head(segment, len(index), tuple(sorted(read))))


class Head(NamedTuple):
    """The head of a segment: its number, the number of its filters, the attributes they read.

    `files` hold its rows, once it is written.
    """

    segment: int
    filters: int
    attributes: tuple[str, ...]
    files: tuple[str, ...] = ()


def segments(entries: DataFrame, size: int, *, engine: str = DEFAULT_ENGINE) -> DataFrame:
    """The index segments of `size` compiled filters (home, key, form): `SEGMENTS`.

    Equal sets give equal segments.
    """
    from pyspark.sql import functions as F  # noqa: N812

    count = 1 + size // SEGMENT_FILTERS_MAX
    number = F.pmod(F.xxhash64("home", "key"), F.lit(count)).cast("int").alias("segment")
    numbered = entries.select(number, "home", "key", "form")
    placed = gather_by(numbered, count, "segment")
    ordered = placed.sortWithinPartitions("segment", "home", "key")
    return ordered.mapInArrow(BuildSegments(engine), SEGMENTS)


def segment_heads(stored: DataFrame) -> list[Head]:
    """The heads of the segments in a table (`SEGMENTS`) that was written, in their order."""
    from pyspark.sql import functions as F  # noqa: N812

    # A row is megabytes, so there are few, and all but the first of a segment add nothing new.
    names = F.when(F.col("chunk") == 0, F.col("attributes")).alias("attributes")
    file = F.col("_metadata.file_path").alias("file")
    rows = stored.select("segment", "chunk", "filters", names, file).collect()
    heads: list[Head] = []
    for _, group in groupby(sorted(rows, key=itemgetter(0, 1)), key=itemgetter(0)):
        (segment, _, filters, attributes, _), *_ = chunks = list(group)
        files = dict.fromkeys(row["file"] for row in chunks)
        heads.append(Head(segment, filters, tuple(attributes or ()), tuple(files)))
    return heads


def unpack_segments(stored: DataFrame, heads: Iterable[Head], folder: Path) -> tuple[Path, ...]:
    """Write segments into folders below `folder`, ready for `Index.load`; the folders, in order.

    One segment after the other, so that no more than one is held in memory.
    """
    from pyspark.sql import functions as F  # noqa: N812

    shutil.rmtree(folder, ignore_errors=True)  # The rest of a run that was cut short.
    folder.mkdir(parents=True)
    made: list[Path] = []
    for head in heads:
        target = folder / f"segment-{head.segment:05d}"
        # Only its own files are opened, and in one partition nothing is shuffled to be sorted.
        own = F.col("_metadata.file_path").isin(*head.files) & (F.col("segment") == head.segment)
        chunks = stored.where(own).select("chunk", "bytes").coalesce(1)
        with tempfile.TemporaryFile(dir=folder) as packed:
            for row in chunks.sortWithinPartitions("chunk").toLocalIterator():
                packed.write(row["bytes"])
            with zipfile.ZipFile(packed) as archive:
                archive.extractall(target)
        made.append(target)
    return tuple(made)


def _packed(index: Index, head: Head) -> Iterator[pa.RecordBatch]:
    """The rows of one segment."""
    import pyarrow as pa

    work = Path(tempfile.mkdtemp(prefix="sapwood-segment-"))
    try:
        index.save(work / "index")
        archive = pack(work / "index", work / "index.zip")
        shutil.rmtree(work / "index")
        with archive.open("rb") as file:
            for chunk, content in enumerate(iter(lambda: file.read(SEGMENT_CHUNK_BYTES), b"")):
                row = (head.segment, chunk, head.filters, head.attributes, content)
                texts = pa.list_(pa.string())
                types = (pa.int32(), pa.int32(), pa.int64(), texts, pa.binary())
                columns = [pa.array([v], t) for v, t in zip(row, types, strict=True)]
                names = ["segment", "chunk", "filters", "attributes", "bytes"]
                yield pa.RecordBatch.from_arrays(columns, names=names)
    finally:
        shutil.rmtree(work, ignore_errors=True)
