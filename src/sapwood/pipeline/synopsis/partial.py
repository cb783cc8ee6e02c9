"""Partial synopses: workers make them of the documents that they read, in one pass.

::

    lines or rows ── count documents ──┬── partial synopses ── merge, 16 at a time ── synopsis
                                       └── rejected             file, line, reason, text

A task gives a row (`PARTS`) for each document that it cannot use, one for each piece of a file that
it has read, with the number of the last line there, and at its end one with its counts.
Which documents a task had does not matter: counts add up.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from sapwood.errors import InputError
from sapwood.files.lines import decode_publication
from sapwood.limits.pipeline import SET_ASIDE_CHARS_MAX
from sapwood.pipeline.tables.decoding import LineNumbers, one_line, plain_line
from sapwood.similarity.layout import of_bytes, to_bytes
from sapwood.similarity.synopsis import Synopsis, SynopsisBuilder, merged
from sapwood.xml import read_document
from sapwood.xml.document import Document
from sapwood.xml.encodings import encode_text

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

PARTS: Final = (
    "file STRING, block BIGINT, line BIGINT, reason STRING, text STRING, documents BIGINT, "
    "others BIGINT, blank BIGINT, partial BINARY"
)
"""`documents` were counted, `others` are publications without one."""

PARTIAL: Final = "partial BINARY"

FAN_IN: Final = 16
"""Partial synopses that one task merges, and the driver: each has a megabyte at most, as a rule."""


@dataclass(slots=True)
class _Task:
    """The counts of one task so far, and the rows that are ready to leave."""

    attributes: bool
    builder: SynopsisBuilder = field(default_factory=SynopsisBuilder)
    documents: int = 0
    others: int = 0
    blank: int = 0
    rows: list[dict[str, Any]] = field(default_factory=list)

    def count(self, document: Document | None) -> None:
        """Count a publication, by its document; raises `LimitError` for too many paths."""
        if document is None:
            self.others += 1
            return
        self.builder.add(document, attributes=self.attributes)
        self.documents += 1

    def reject(self, file: str, block: int | None, line: int, reason: str, text: str) -> None:
        """Set a row aside."""
        text = text[:SET_ASIDE_CHARS_MAX]
        self.rows.append(
            {"file": file, "block": block, "line": line, "reason": reason, "text": text}
        )

    def end(self) -> None:
        """Add the row with the counts."""
        counts = {"documents": self.documents, "others": self.others, "blank": self.blank}
        self.rows.append({**counts, "partial": to_bytes(self.builder.synopsis())})

    def batch(self) -> pa.RecordBatch:
        """The rows that are ready, as `PARTS`."""
        rows, self.rows = self.rows, []
        return _batch(rows)


@dataclass(frozen=True, slots=True)
class CountLines:
    """The function for `mapInArrow`: what `read_lines` gives in, `PARTS` out."""

    attributes: bool = True

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Count the documents of one task's lines."""
        task = _Task(self.attributes)
        numbering = LineNumbers()
        last: dict[tuple[str, int], int] = {}
        for batch in batches:
            files, blocks, values = batch.columns
            numbers = numbering.number(files, blocks).tolist()
            places = zip(files.to_pylist(), blocks.to_pylist(), numbers, strict=True)
            for (file, block, line), value in zip(places, values.to_pylist(), strict=True):
                last[file, block] = line
                text = plain_line(value, first=line == 1 and block == 0)
                if not text or text.isspace():
                    task.blank += 1
                    continue
                try:
                    document = decode_publication(text).publication.read_document()
                except InputError as error:
                    shown = text.decode(errors="backslashreplace")
                    task.reject(file, block, line, one_line(error), shown)
                else:
                    task.count(document)
            yield task.batch()
        for (file, block), line in last.items():
            task.rows.append({"file": file, "block": block, "line": line})
        task.end()
        yield task.batch()


@dataclass(frozen=True, slots=True)
class CountRows:
    """The function for `mapInArrow`: (file, line, reason, document) in, `PARTS` out."""

    attributes: bool = True

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Count the documents of one task's rows; one that has a reason already is set aside."""
        task = _Task(self.attributes)
        for batch in batches:
            columns = [column.to_pylist() for column in batch.columns]
            for file, line, reason, text in zip(*columns, strict=True):
                if reason is not None:
                    task.reject(file, None, line, reason, text or "")
                elif text is None:
                    task.count(None)
                else:
                    try:
                        document = read_document(encode_text(text), content=self.attributes)
                    except InputError as error:
                        task.reject(file, None, line, one_line(error), text)
                    else:
                        task.count(document)
            yield task.batch()
        task.end()
        yield task.batch()


def merge_partials(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The function for `mapInArrow`: `PARTIAL` in, one row of it out."""
    import pyarrow as pa

    builder = SynopsisBuilder()
    for batch in batches:
        for data in batch.column(0).to_pylist():
            builder.merge(of_bytes(data))
    column = pa.array([to_bytes(builder.synopsis())], pa.binary())
    yield pa.RecordBatch.from_arrays([column], names=["partial"])


def synopsis_of_parts(parts: DataFrame, count: int, fan_in: int = FAN_IN) -> Synopsis:
    """The synopsis of all `count` partial ones among the rows `parts`: a tree of merges."""
    partials = parts.where("partial IS NOT NULL").select("partial")
    while count > fan_in:
        count = -(-count // fan_in)
        partials = partials.repartition(count).mapInArrow(merge_partials, PARTIAL)
    return merged(of_bytes(bytes(row["partial"])) for row in partials.collect())


def _batch(rows: list[dict[str, Any]]) -> pa.RecordBatch:
    import pyarrow as pa

    types = {"STRING": pa.string(), "BIGINT": pa.int64(), "BINARY": pa.binary()}
    columns = [column.split() for column in PARTS.split(", ")]
    return pa.RecordBatch.from_arrays(
        [pa.array([row.get(name) for row in rows], types[type_]) for name, type_ in columns],
        names=[name for name, _ in columns],
    )
