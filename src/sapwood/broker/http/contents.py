"""What is published by HTTP: a body, or a line of one, to the bytes that a client would send.

A record is a JSON object, each member an attribute. A line may also be a publication as it stands
in files (`sapwood.files.lines`), with its id, and a record, a document or both in it. What the
broker judges (documents, how many values a record has) is left to it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from sapwood.errors import InputError
from sapwood.files.lines import decode_publication, decode_record
from sapwood.model.json_objects import check_members, decode_flat, decode_object
from sapwood.model.publication import Publication
from sapwood.wire.publications import encode_publication, encode_record

Read: TypeAlias = Callable[[bytes, str, int], tuple[str, bytes]]
"""Reads a body or a line: the id and the bytes of its publication.

It is handed an id for what has none, and the bytes that a frame may have. Raises `InputError` (or
one of its kinds).
"""


def read_record(body: bytes, id_: str, frame_bytes_max: int) -> tuple[str, bytes]:
    """A record by itself."""
    record: dict[str, Any] | None = decode_flat(body)
    if record is None:
        record = decode_object(body, "record")
        check_members(body, record)
    return id_, encode_record(id_, record, frame_bytes_max)


def read_document(body: bytes, id_: str, frame_bytes_max: int) -> tuple[str, bytes]:
    """A document by itself."""
    return id_, encode_publication(Publication(id_, document=body), frame_bytes_max)


def read_publication(line: bytes, _: str, frame_bytes_max: int) -> tuple[str, bytes]:
    """A publication with its id, as in files."""
    publication = decode_publication(line).publication
    return publication.id, encode_publication(publication, frame_bytes_max)


def records_by(id_member: str) -> Read:
    """Reads records of which that member is the id, and no attribute."""

    def read(line: bytes, _: str, frame_bytes_max: int) -> tuple[str, bytes]:
        publication = decode_record(line, id_member).publication
        return publication.id, encode_publication(publication, frame_bytes_max)

    return read


def media_type(content_type: str) -> str:
    """The type of a body, without parameters. Raises `InputError` for JSON that is not UTF-8."""
    kind, _, parameters = content_type.partition(";")
    kind = kind.strip().lower()
    for parameter in parameters.split(";"):
        name, _, value = parameter.partition("=")
        charset = value.strip().strip('"').lower()
        is_named = name.strip().lower() == "charset" and charset not in ("utf-8", "us-ascii", "")
        if is_named and "json" in kind:  # a document says itself what it is in
            raise InputError(f"JSON is UTF-8, not {charset}")
    return kind


def is_xml(kind: str) -> bool:
    """Whether a media type is that of XML documents."""
    return kind in ("application/xml", "text/xml") or kind.endswith("+xml")
