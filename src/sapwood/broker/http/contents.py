"""Bodies of HTTP requests, or their lines, as the bytes of publications.

A record is a JSON object, each member an attribute. A line may also be a publication in the form of
files (`sapwood.files.lines`), with its id, and a record, a document or both in it. The broker's own
checks (of documents, and of the number of values in a record) are left to it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from sapwood.broker.http.envelopes import within
from sapwood.errors import InputError
from sapwood.files.lines import decode_publication, decode_record
from sapwood.model.envelope import Envelope
from sapwood.model.json_objects import check_count, check_members, decode_flat, decode_object
from sapwood.model.publication import Publication
from sapwood.wire.publications import encode_publication, encode_record


@dataclass(frozen=True, slots=True)
class Given:
    """The context of a body or a line: an id, unless it has its own, and the request's envelope.

    A frame may have `frame_bytes_max` bytes.
    """

    id: str
    frame_bytes_max: int
    envelope: Envelope | None = None

    def encoded(self, publication: Publication) -> tuple[str, bytes]:
        """The id and the bytes of a publication. Raises `InputError` (or one of its kinds)."""
        whole = within(publication, self.envelope)
        return whole.id, encode_publication(whole, self.frame_bytes_max)


Read: TypeAlias = Callable[[bytes, Given], tuple[str, bytes]]
"""Reads a body or a line: the id and the bytes of its publication.

Raises `InputError` (or one of its kinds)."""


def read_record(body: bytes, given: Given) -> tuple[str, bytes]:
    """A record by itself."""
    check_count(body)
    record: dict[str, Any] | None = decode_flat(body)
    if record is None:
        record = decode_object(body, "record")
        check_members(body, record)
    if given.envelope is None:
        return given.id, encode_record(given.id, record, given.frame_bytes_max)
    return given.encoded(Publication(given.id, record))


def read_document(body: bytes, given: Given) -> tuple[str, bytes]:
    """A document by itself."""
    return given.encoded(Publication(given.id, document=body))


def read_publication(line: bytes, given: Given) -> tuple[str, bytes]:
    """A publication with its id, as in files."""
    check_count(line)
    return given.encoded(decode_publication(line).publication)


def records_by(id_member: str) -> Read:
    """A reader of records of which that member is the id, and no attribute."""

    def read(line: bytes, given: Given) -> tuple[str, bytes]:
        check_count(line)
        return given.encoded(decode_record(line, id_member).publication)

    return read


def media_type(content_type: str) -> str:
    """The type of a body, without parameters. Raises `InputError` for JSON that is not UTF-8."""
    kind, _, parameters = content_type.partition(";")
    kind = kind.strip().lower()
    for parameter in parameters.split(";"):
        name, _, value = parameter.partition("=")
        charset = value.strip().strip('"').lower()
        is_named = name.strip().lower() == "charset" and charset not in ("utf-8", "us-ascii", "")
        if is_named and "json" in kind:  # a document names its own encoding
            raise InputError(f"JSON is UTF-8, not {charset}")
    return kind


def is_xml(kind: str) -> bool:
    """True if a media type is that of XML documents."""
    return kind in ("application/xml", "text/xml") or kind.endswith("+xml")
