"""Compiled filters to index segments, and segments to folders that can be mapped.

A segment is an index (`sapwood.Index.save`) of some hundred thousand filters. A task builds it, and
it is carried, packed, as rows of bytes: tasks of a cluster share no folder, and a table of bytes
can be written wherever Spark writes tables. The id of a filter in a segment is `key@home`.
"""

from __future__ import annotations

import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from sapwood.limits import SEGMENT_CHUNK_BYTES, SEGMENT_FILTERS_MAX
from sapwood.matching.index import Index
from sapwood.pipeline.collecting import rows_of, uncollected
from sapwood.pipeline.normalforms import decode_interest
from sapwood.pipeline.plainforms import written_form
from sapwood.pipeline.subscriptions import DEFAULT_ENGINE, pack

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

WRITTEN: Final = (
    "home STRING, key STRING, filter STRING, xpath STRING, namespaces MAP<STRING, STRING>, "
    "subscriptions BIGINT, stands_for BIGINT"
)
SEGMENTS: Final = "segment INT, chunk INT, filters BIGINT, bytes BINARY"

_AT: Final = "@"


def segment_id(key: str, home: str) -> str:
    """What a filter of a home is called in a segment."""
    return f"{key}{_AT}{home}"


def segment_home(id: str) -> str:  # noqa: A002 - the contract's word
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
            index = Index(records=self.engine)
            with uncollected():
                for _, home, key, form in members:
                    index.add(segment_id(key, home), decode_interest(form))
            yield from _packed(index, segment)


def segments(entries: DataFrame, *, engine: str = DEFAULT_ENGINE) -> DataFrame:
    """The index segments of compiled filters (home, key, form): `SEGMENTS`.

    Equal sets give equal segments.
    """
    from pyspark.sql import functions as F  # noqa: N812

    count = 1 + entries.count() // SEGMENT_FILTERS_MAX
    number = F.pmod(F.xxhash64("home", "key"), F.lit(count)).cast("int").alias("segment")
    numbered = entries.select(number, "home", "key", "form")
    placed = numbered.repartition(count, "segment")
    ordered = placed.sortWithinPartitions("segment", "home", "key")
    return ordered.mapInArrow(BuildSegments(engine), SEGMENTS)


def unpack_segments(segments: DataFrame, folder: Path) -> tuple[Path, ...]:
    """Write segments into folders below `folder`, ready for `Index.load`; the folders, in order.

    Chunk by chunk, so that no segment is held in memory as a whole.
    """
    shutil.rmtree(folder, ignore_errors=True)  # What a run that was cut short has left.
    folder.mkdir(parents=True)
    made: list[Path] = []
    ordered = segments.orderBy("segment", "chunk").toLocalIterator()
    for segment, chunks in groupby(ordered, key=itemgetter("segment")):
        target = folder / f"segment-{segment:05d}"
        with tempfile.TemporaryFile(dir=folder) as packed:
            for row in chunks:
                packed.write(row["bytes"])
            with zipfile.ZipFile(packed) as archive:
                archive.extractall(target)
        made.append(target)
    return tuple(made)


def _packed(index: Index, segment: Any) -> Iterator[pa.RecordBatch]:
    """The rows of one segment."""
    import pyarrow as pa

    work = Path(tempfile.mkdtemp(prefix="sapwood-segment-"))
    try:
        index.save(work / "index")
        archive = pack(work / "index", work / "index.zip")
        shutil.rmtree(work / "index")
        with archive.open("rb") as file:
            for chunk, content in enumerate(iter(lambda: file.read(SEGMENT_CHUNK_BYTES), b"")):
                row = (segment, chunk, len(index), content)
                types = (pa.int32(), pa.int32(), pa.int64(), pa.binary())
                columns = [pa.array([v], t) for v, t in zip(row, types, strict=True)]
                names = ["segment", "chunk", "filters", "bytes"]
                yield pa.RecordBatch.from_arrays(columns, names=names)
    finally:
        shutil.rmtree(work, ignore_errors=True)
