"""The messages of a WebSocket client: JSON objects, distinguished by their `type`."""

from __future__ import annotations

from typing import Annotated, Any, Final, TypeAlias

import msgspec
from msgspec import Meta, Struct

from sapwood.errors import InputError
from sapwood.limits import NAME_CHARS_MAX
from sapwood.limits.durable import ACKNOWLEDGE_RUNS_MAX, DURABLE_WINDOW, DURABLE_WINDOW_MAX
from sapwood.model.envelope import enveloped
from sapwood.model.fields import Count, Id
from sapwood.model.json_objects import check_count, check_members, decode_flat, decode_object
from sapwood.model.publication import Publication
from sapwood.wire.publications import encode_publication, encode_record
from sapwood.xml.encodings import encode_text

Reference: TypeAlias = Annotated[str, Meta(max_length=NAME_CHARS_MAX)] | int | None
"""A client's own reference for a publication, by which it recognizes the answer."""


class Connect(Struct, tag="connect", tag_field="type", forbid_unknown_fields=True):
    """The credentials; the first message. No member is needed without access control."""

    token: str | None = None
    user: str | None = None
    password: str | None = None


class Subscribe(Struct, tag="subscribe", tag_field="type", forbid_unknown_fields=True):
    """Subscribe under an id of the client's own; as `GET /subscribe`.

    A `filter` in another language names its `dialect`, and may be a JSON object where patterns of
    that language are. With a `durable` name the client is a consumer of that, which acknowledges
    its deliveries. `by` is an attribute, or several, for whose values the last publication is
    replayed.
    """

    id: Id
    filter: str | dict[str, Any] | None = None
    dialect: str | None = None
    xpath: str | None = None
    namespaces: dict[str, str] = {}
    since: str | None = None
    mark: str | None = None
    replay: str | None = None
    by: str | list[str] = []
    durable: Annotated[str, Meta(min_length=1, max_length=NAME_CHARS_MAX)] | None = None
    window: Annotated[int, Meta(ge=1, le=DURABLE_WINDOW_MAX)] = DURABLE_WINDOW


class Unsubscribe(Struct, tag="unsubscribe", tag_field="type", forbid_unknown_fields=True):
    """Withdraw a subscription; a durable one stays, and has a consumer less."""

    id: Id


class Publish(Struct, tag="publish", tag_field="type", forbid_unknown_fields=True):
    """Publish a record, a document or both, and a payload beside them.

    It expires after `ttl` seconds; `traceparent` and `tracestate` name its span.
    """

    id: Id | None = None
    ref: Reference = None
    attributes: msgspec.Raw = msgspec.Raw(b"null")
    document: str | None = None
    payload: bytes | None = None
    ttl: float | None = None
    traceparent: str | None = None
    tracestate: str | None = None


class Acknowledge(Struct, tag="acknowledge", tag_field="type", forbid_unknown_fields=True):
    """Acknowledge deliveries of a durable subscription."""

    id: Id
    numbers: Annotated[list[Count], Meta(max_length=ACKNOWLEDGE_RUNS_MAX)]


Command: TypeAlias = Connect | Subscribe | Unsubscribe | Publish | Acknowledge

_DECODER: Final = msgspec.json.Decoder(Command)


def command_in(text: bytes) -> Command:
    """The command in a message. Raises `InputError`."""
    try:
        command: Command = _DECODER.decode(text)
    except RecursionError:
        raise InputError("the objects or arrays are nested too deeply; flatten them") from None
    except ValueError as error:  # malformed, or of another form
        raise InputError(f"the message is not understood: {error}") from None
    return command


def encoded(command: Publish, id_: str, frame_bytes_max: int) -> bytes:
    """The bytes of a publication. Raises `InputError`, or one of its kinds."""
    record = bytes(command.attributes)
    attributes = None
    if record != b"null":
        check_count(record)
        attributes = decode_flat(record)
        if attributes is None:
            attributes = decode_object(record, "record")
            check_members(record, attributes)
    envelope = enveloped(command.ttl, command.traceparent, command.tracestate)
    is_plain = command.document is None and command.payload is None and envelope is None
    if is_plain and attributes is not None:
        return encode_record(id_, attributes, frame_bytes_max)
    document = None if command.document is None else encode_text(command.document)
    publication = Publication(id_, attributes, document, command.payload, envelope=envelope)
    return encode_publication(publication, frame_bytes_max)
