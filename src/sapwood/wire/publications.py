"""Publications as bytes: made once by the publisher, parsed once at each hop, never made again.

A publication without a payload is an array of three, [id, record, document], one with a payload of
four; in a blind one `true` follows the payload. The first router makes the form of a blind one that
travels on, which is four again: [id, nil, nil, payload]. A publication with an envelope is an array
of six, with `false` in the place of `true`; the envelope is an array as well, which grows at its
end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Final, cast

import msgspec
from msgspec import Meta, Struct

from sapwood.errors import InputError, InvalidValueError, InvariantError, LimitError
from sapwood.limits import (
    FRAME_BYTES_MAX,
    FRAME_OVERHEAD_BYTES,
    ID_CHARS_MAX,
    INTEGER_MAX,
    INTEGER_MIN,
    RECORD_DEPTH_MAX,
    RECORD_VALUES_MAX,
)
from sapwood.model.envelope import Envelope
from sapwood.model.publication import Publication, is_plain, plain_value
from sapwood.wire.counting import values_in
from sapwood.wire.names import check_id

if TYPE_CHECKING:
    from sapwood.xml import Document


class PublicationBody(Struct, array_like=True, frozen=True):
    """A publication in MessagePack: an array of its id, its record and its document as given."""

    id: Annotated[str, Meta(min_length=1, max_length=ID_CHARS_MAX)]
    attributes: Mapping[str, Any] | None
    document: bytes | None = None


class _PayloadBody(PublicationBody, array_like=True, frozen=True):
    """A publication with a payload."""

    payload: bytes | None = None


class WholeBody(_PayloadBody, array_like=True, frozen=True):
    """All fields that the array may have; absent ones are empty."""

    is_blind: bool = False
    envelope: Envelope | None = None


class _BlindBody(_PayloadBody, array_like=True, frozen=True):
    """The array of a blind publication without an envelope."""

    is_blind: bool = False


class _Enveloped(Struct, array_like=True, frozen=True):
    """The array, of which only the envelope is decoded."""

    id: msgspec.Raw
    attributes: msgspec.Raw
    document: msgspec.Raw
    payload: msgspec.Raw
    is_blind: msgspec.Raw
    envelope: Envelope | None = None


_FIVE: Final = 0x95
"""The first byte of the longest publication without an envelope."""

_ENVELOPED: Final = msgspec.msgpack.Decoder(_Enveloped)
_DECODER: Final = msgspec.msgpack.Decoder(WholeBody)


def encode_publication(publication: Publication, frame_bytes_max: int = FRAME_BYTES_MAX) -> bytes:
    """The bytes of a publication, for every message that carries it; made at the first call.

    Raises `InvalidValueError` for a value that cannot travel (an array that holds a date, a text
    that is no Unicode) and `LimitError` for an id or a publication that is too long for its frames.
    """
    encoded = publication.encoded
    if encoded is None:
        check_id("publication", publication.id)
        _check_arrays(publication)
        encoded = _ENCODER.encode(_body_of(publication))
        publication.keep_encoded(encoded)
    return _of_bounded_size(publication.id, encoded, frame_bytes_max)


def _body_of(publication: Publication) -> PublicationBody:
    """The array for a publication, up to its last field that is not empty."""
    content = (publication.id, publication.attributes, publication.document)
    if publication.envelope is not None:
        blind, envelope = publication.is_blind, publication.envelope
        return WholeBody(*content, publication.payload, is_blind=blind, envelope=envelope)
    if publication.is_blind:
        return _BlindBody(*content, publication.payload, is_blind=True)
    if publication.payload is not None:
        return _PayloadBody(*content, publication.payload)
    return PublicationBody(*content)


def encode_record(
    id: str, attributes: Mapping[str, Any], frame_bytes_max: int = FRAME_BYTES_MAX
) -> bytes:
    """The bytes of a publication that is a record alone; errors as `encode_publication`.

    A record of plain values is encoded at once: no publication is made on the way.
    """
    if not is_plain(attributes):
        return encode_publication(Publication(id, attributes), frame_bytes_max)
    check_id("publication", id)
    encoded = _ENCODER.encode(PublicationBody(id, attributes))
    return _of_bounded_size(id, encoded, frame_bytes_max)


def encode_row(id: str, row: Struct, frame_bytes_max: int = FRAME_BYTES_MAX) -> bytes:
    """The bytes of a publication whose record is a row, checked already, with its names.

    Raises `InputError` or `LimitError` for its id, and `LimitError` for a row that is too long.
    """
    check_id("publication", id)
    encoded = _ENCODER.encode(PublicationBody(id, cast("Mapping[str, Any]", row)))
    return _of_bounded_size(id, encoded, frame_bytes_max)


def _of_bounded_size(id_: str, encoded: bytes, frame_bytes_max: int) -> bytes:
    """The bytes of a publication, checked to fit its frames. Raises `LimitError`."""
    bytes_max = frame_bytes_max - FRAME_OVERHEAD_BYTES
    if len(encoded) > bytes_max:
        subject = f"the encoded size of publication {id_!r}, bytes,"
        raise LimitError("FRAME_BYTES_MAX", bytes_max, len(encoded), subject)
    return encoded


def decode_body(encoded: bytes) -> WholeBody:
    """The fields of an encoded publication, of which only form and size are checked.

    Raises `InputError` for bytes that are no publication, `LimitError` for too many values.
    """
    if len(encoded) > RECORD_VALUES_MAX:
        count = values_in(encoded, RECORD_VALUES_MAX)
        if count > RECORD_VALUES_MAX:
            subject = "the number of values in a record, those in arrays included,"
            raise LimitError("RECORD_VALUES_MAX", RECORD_VALUES_MAX, None, subject)
    try:
        return _DECODER.decode(encoded)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"these bytes are no publication: {error}") from None


def has_envelope(encoded: bytes) -> bool:
    """True if an encoded publication may have an envelope, by its first byte."""
    return encoded[0] > _FIVE


def envelope_of(encoded: bytes) -> Envelope | None:
    """The envelope of an encoded publication, which a hop has accepted as one.

    Nothing else in it is decoded.
    """
    return _ENVELOPED.decode(encoded).envelope if has_envelope(encoded) else None


def decode_publication(encoded: bytes, document: Document | None = None) -> Publication:
    """The publication in these bytes, which it keeps; its document is parsed.

    A caller that has parsed the document before passes it. Raises `InputError` (or one of its
    kinds) for bytes that are no publication, and for values and documents that no publication may
    hold.
    """
    body = decode_body(encoded)
    publication = publication_of(body)
    _check_arrays(publication)
    if document is None:
        publication.read_document()
    else:
        publication.keep_document(document)
    publication.keep_encoded(encoded)
    return publication


def publication_of(body: WholeBody) -> Publication:
    """The publication with these fields; raises `InvalidValueError` or `LimitError`."""
    return Publication(
        *(body.id, body.attributes, body.document, body.payload),
        is_blind=body.is_blind,
        envelope=body.envelope,
    )


def _plain(value: object) -> object:
    """A value of a record of a type unknown to the encoder, as one of a known type."""
    if isinstance(value, Mapping):
        return dict(value)
    plain = plain_value(value)
    if plain is value:
        raise InvariantError(f"a {type(value).__name__} was not found when the record was checked")
    return plain


_ENCODER: Final = msgspec.msgpack.Encoder(enc_hook=_plain)


def _check_arrays(publication: Publication) -> None:
    """Check the arrays, of which the model takes the values that filters can compare.

    They may hold any JSON, and no deeper than `limits.RECORD_DEPTH_MAX`: otherwise one hop could
    parse a record that the next cannot.
    """
    if publication.attributes is None or not publication.has_arrays:
        return
    level: list[tuple[str, object]] = list(publication.attributes.items())
    for _ in range(RECORD_DEPTH_MAX - 1):  # each step goes one level deeper
        deeper: list[tuple[str, object]] = []
        for name, value in level:
            if isinstance(value, Mapping):
                for key in value:
                    if not isinstance(key, str):
                        raise InvalidValueError(name, "an attribute name is a text")
                    _check_carried(name, key)
                _look_into(name, value.values(), deeper)
            elif isinstance(value, list | tuple):
                _look_into(name, value, deeper)
            else:
                _check_carried(name, value)
        if not deeper:
            return
        level = deeper
    raise LimitError(
        "RECORD_DEPTH_MAX", RECORD_DEPTH_MAX, None, f"the nesting of attribute {level[0][0]!r}"
    )


def _look_into(name: str, values: Iterable[object], deeper: list[tuple[str, object]]) -> None:
    """Check the plain values, and collect those with values inside for the next level.

    Long arrays are mostly numbers, for which this takes a tenth of what `_check_carried` would.
    """
    for value in values:
        kind = type(value)
        if kind is float or kind is bool or value is None:
            continue
        if kind is int:
            if not INTEGER_MIN <= value <= INTEGER_MAX:  # type: ignore[operator]  # an integer
                _check_carried(name, value)
        elif isinstance(value, Mapping | list | tuple):
            if value:
                deeper.append((name, value))
        else:
            _check_carried(name, value)


def _check_carried(name: str, value: object) -> None:
    value = plain_value(value)
    if isinstance(value, int) and not INTEGER_MIN <= value <= INTEGER_MAX:
        raise InvalidValueError(name, f"{value} needs more than 64 bits; send it as text")
    if isinstance(value, str) and not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise InvalidValueError(name, f"{value!r} holds half of a surrogate pair") from None
    if value is not None and not isinstance(value, bool | int | float | str):
        raise InvalidValueError(
            name, f"an array may hold what JSON has, not a {type(value).__name__}; convert it first"
        )
