"""Arrow batches to the records that an index takes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from sapwood.errors import InputError
from sapwood.model.publication import FlatView, Record, flatten
from sapwood.xml import Document, read_document
from sapwood.xml.encodings import encode_text

if TYPE_CHECKING:
    import pyarrow as pa


def parse_record(text: str) -> FlatView:
    """The flat view of a record written as a JSON object.

    Raises `InputError` for a text that is none, or that holds what no record may hold.
    """
    import msgspec

    try:
        value: Any = msgspec.json.decode(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"attributes is no JSON: {error}") from None
    return flatten(value)


def parse_document(text: str) -> Document:
    """The document that a text holds. Raises `InputError` for a text that is none."""
    return read_document(encode_text(text))


def document_or_none(text: str) -> Document | None:
    """As `parse_document`, with `None` for a text that holds no document."""
    try:
        return parse_document(text)
    except InputError:
        return None


def record_or_none(text: str) -> FlatView | None:
    """As `parse_record`, with `None` for a text that holds no record."""
    try:
        return parse_record(text)
    except InputError:
        return None


def records_of_columns(
    columns: Sequence[pa.Array], names: Sequence[str], rows: int
) -> Sequence[Record]:
    """One record per row of columns that carry one attribute each; a null is an absence.

    The work per value is done by C loops where a column has no nulls, and by one comparison where
    it has.
    """
    whole = [place for place, column in enumerate(columns) if column.null_count == 0]
    holed = [place for place in range(len(columns)) if place not in set(whole)]
    if whole:
        keys = [names[place] for place in whole]
        values = zip(*(columns[place].to_pylist() for place in whole), strict=True)
        records: list[dict[str, Any]] = [dict(zip(keys, row, strict=True)) for row in values]
    else:
        records = [{} for _ in range(rows)]
    for place in holed:
        name = names[place]
        for record, value in zip(records, columns[place].to_pylist(), strict=True):
            if value is not None:
                record[name] = value
    return records
