"""Records of Kafka topics as publications, and deliveries as records."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import msgspec

from sapwood.errors import InputError
from sapwood.model.json_objects import check_members, decode_object
from sapwood.model.publication import Publication
from sapwood.session.delivery import Delivery

MEMBER: Final = "kafka"
"""The member of a record for its origin: `kafka.topic`, `kafka.partition`, ..."""

FORMS: Final = ("json", "xml", "payload")
"""The forms of a topic's values: JSON objects, XML documents, or bytes that are not parsed."""

ID_HEADER: Final = "sapwood-id"
TYPE_HEADER: Final = "content-type"

Headers = Sequence[tuple[str, bytes | None]]


class Consumed(NamedTuple):
    """One record of a topic; `timestamp_ms` is `None` where it has none."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp_ms: int | None

    @property
    def id(self) -> str:
        """The id of its publication: the same at every read of the record, by any bridge."""
        return f"{self.topic}-{self.partition}-{self.offset}"


class Produced(NamedTuple):
    """The key, value and headers of a record to produce."""

    key: bytes | None
    value: bytes
    headers: Sequence[tuple[str, bytes]]


def publication_of(record: Consumed, form: str) -> Publication:
    """The publication of a record, whose value is of a form.

    A record without a value (a tombstone) has the attributes of its place alone. Raises
    `InputError`, or one of its kinds, for a value that is not of that form.
    """
    place = _place(record)
    if record.value is None:
        return Publication(record.id, {MEMBER: {**place, "is_tombstone": True}})
    if form == "xml":
        return Publication(record.id, {MEMBER: place}, document=record.value)
    if form == "payload":
        return Publication(record.id, {MEMBER: place}, payload=record.value)
    members = decode_object(record.value, "record")
    check_members(record.value, members)
    if MEMBER in members:
        raise InputError(f"the record has a member {MEMBER!r}, which says where it comes from")
    return Publication(record.id, {**members, MEMBER: place})


def _place(record: Consumed) -> dict[str, Any]:
    """The origin of a record, as nested attributes; bytes that are no text are left out."""
    place: dict[str, Any] = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
    }
    if record.timestamp_ms is not None:
        place["timestamp_ms"] = record.timestamp_ms
    key = _text(record.key)
    if key is not None:
        place["key"] = key
    headers: dict[str, Any] = {}
    for name, value in record.headers:
        text = _text(value)
        if text is not None:
            headers[name] = text  # the last of several of one name, as consumers take it
    if headers:
        place["headers"] = headers
    return place


def _text(value: bytes | None) -> str | None:
    try:
        return None if value is None else value.decode()
    except UnicodeDecodeError:
        return None


def record_of(delivery: Delivery, key: str | None) -> Produced:
    """The record of a delivery: its payload, else its document, else its attributes as JSON.

    Its key is the value of the attribute `key`, if it has one; the id of the publication is a
    header, by which consumers know a repetition.
    """
    headers = [(ID_HEADER, delivery.id.encode())]
    if delivery.payload is not None:
        value = delivery.payload
    elif delivery.document is not None:
        value = delivery.document
        headers.append((TYPE_HEADER, b"application/xml"))
    else:
        value = msgspec.json.encode(delivery.attributes)
        headers.append((TYPE_HEADER, b"application/json"))
    return Produced(None if key is None else _key(delivery, key), value, headers)


def _key(delivery: Delivery, name: str) -> bytes | None:
    found: Any = delivery.attributes
    for part in (name,) if name in delivery.attributes else name.split("."):
        if not isinstance(found, dict) or part not in found:
            return None
        found = found[part]
    if isinstance(found, str):
        return found.encode()
    if isinstance(found, bool | int | float):
        return msgspec.json.encode(found)
    return None
