"""Rows as publications of a broker's client, for the writers of the format `sapwood`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import msgspec

from sapwood.client.blocking import connect
from sapwood.errors import InputError
from sapwood.limits.pipeline import JOURNAL_RECONNECT_S
from sapwood.model.publication import Publication
from sapwood.xml.encodings import encode_text

if TYPE_CHECKING:
    import pyarrow as pa


def publish_batches(broker: str, client: str, batches: Iterator[pa.RecordBatch]) -> int:
    """Publish all rows of one task through a broker; return their number when all are accepted.

    `client` is the name of the task: the part before a slash names the publisher of the ids.
    Raises `InputError` for rows that are no publications, and for those the broker refuses.
    """
    count = 0
    with connect(broker, client, reconnect_s=JOURNAL_RECONNECT_S) as connected:
        for batch in batches:
            done = connected.publish_many(publications_in(batch))
            if done.refused:
                first = done.refused[0]
                raise InputError(f"publication {first.id!r} was refused: {first.reason}")
            count += done.accepted
    return count


def publications_in(batch: pa.RecordBatch) -> list[Publication]:
    """The publications in rows with `id` and `attributes`, `document` or both, and `payload`.

    Attributes are JSON text or a struct, payloads are binary. Raises `InputError` for a row that is
    none.
    """
    names = batch.schema.names
    if "id" not in names or not {"attributes", "document"} & set(names):
        raise InputError(
            f"what is published has the columns id and attributes or document; this has "
            f"{', '.join(names)}"
        )
    nothing: list[Any] = [None] * batch.num_rows
    ids = batch.column("id").to_pylist()
    records = batch.column("attributes").to_pylist() if "attributes" in names else nothing
    documents = batch.column("document").to_pylist() if "document" in names else nothing
    payloads = batch.column("payload").to_pylist() if "payload" in names else nothing
    return [
        Publication(id_, _record(record), _document(document), payload)
        for id_, record, document, payload in zip(ids, records, documents, payloads, strict=True)
    ]


def _record(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return msgspec.json.decode(value, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise InputError(
            f"attributes that are no JSON object cannot be published: {error}"
        ) from None


def _document(value: str | bytes | None) -> bytes | None:
    return encode_text(value) if isinstance(value, str) else value
