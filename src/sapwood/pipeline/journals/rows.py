"""Lines of journals as rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import msgspec

from sapwood.pipeline.journals.places import offset_of

if TYPE_CHECKING:
    import pyarrow as pa

ROWS: Final = (
    "id STRING, attributes STRING, document STRING, payload BINARY, home STRING, "
    "published_at TIMESTAMP, source STRING, offset BIGINT"
)
"""A publication of a journal; `attributes` is JSON text, `source` the journal's name."""

LINES: Final = "file STRING, block BIGINT, value BINARY"
"""A line as it is, as `reading.read_lines` gives those of files; `file` is the journal's name."""

_NULL: Final = msgspec.Raw(b"null")
_MICROSECONDS: Final = 1_000_000


class _Line(msgspec.Struct):
    """A line of a journal; attributes stay JSON."""

    offset: int
    published_at: float
    id: str
    attributes: msgspec.Raw = _NULL
    document: str | None = None
    payload: bytes | None = None
    home: str | None = None


_DECODER: Final = msgspec.json.Decoder(_Line)


def batch_of_rows(journal: str, lines: list[bytes]) -> pa.RecordBatch:
    """The rows (`ROWS`) of a journal's lines."""
    import pyarrow as pa

    found = [_DECODER.decode(line) for line in lines]
    records = [bytes(line.attributes) for line in found]
    columns: list[Any] = [
        pa.array([line.id for line in found], pa.string()),
        pa.array([None if r == b"null" else r.decode() for r in records], pa.string()),
        pa.array([line.document for line in found], pa.string()),
        pa.array([line.payload for line in found], pa.binary()),
        pa.array([line.home for line in found], pa.string()),
        pa.array(
            [round(line.published_at * _MICROSECONDS) for line in found],
            pa.timestamp("us", tz="UTC"),
        ),
        pa.array([journal] * len(found), pa.string()),
        pa.array([line.offset for line in found], pa.int64()),
    ]
    return pa.RecordBatch.from_arrays(columns, names=_names(ROWS))


def batch_of_lines(journal: str, lines: list[bytes]) -> pa.RecordBatch:
    """The lines (`LINES`) of a journal."""
    import pyarrow as pa

    first = offset_of(lines[0])
    columns = [
        pa.array([journal] * len(lines), pa.string()),
        pa.array([first] * len(lines), pa.int64()),
        pa.array(lines, pa.binary()),
    ]
    return pa.RecordBatch.from_arrays(columns, names=_names(LINES))


def _names(columns: str) -> list[str]:
    return [column.split()[0] for column in columns.split(", ")]
