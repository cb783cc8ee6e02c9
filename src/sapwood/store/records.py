"""Records as entries of a log, and back, without parsing or decoding a publication.

A record of publications becomes `Publications`: their bytes as they came, and beside them, in one
array of MessagePack, the other fields of an input over a link::

    Receive       [stamp or nil, tree or nil, origin, hops, digest]
    ReceiveMany   [origin, hops, digests, tree or nil]

A state record is an array of its code and the fields of its class, in their order; a message in it
has its form on a link. Values without a type in MessagePack are extensions:

::

    1  filter, as the bytes of its normal form (`language.forms`)
    2  other advertised content, as it travels (`wire.interests`)
    3  publication, as it came

`ClientSubscribe("c", "s", x > 1)` is 94 04, A1 63, A1 73, and C7 12 01 with 18 bytes of the filter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, get_type_hints

import msgspec
import numpy as np
from msgspec import Struct
from msgspec.msgpack import Ext

from sapwood.errors import EnvironmentMissingError, FileFormatError, InvariantError
from sapwood.language.forms import decode_interest, encode_form, is_packed
from sapwood.language.interests import Interests
from sapwood.matching.publication_batch import PublicationBatch
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.filter import Filter
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.routing.inputs import (
    AttachClient,
    ClientAdvertise,
    ClientPublish,
    ClientPublishMany,
    ClientSubscribe,
    ClientSubscribeMany,
    ClientUnadvertise,
    ClientUnsubscribe,
    ClientUnsubscribeMany,
    DetachClient,
    Drained,
    LinkDown,
    LinkUp,
    Note,
    Receive,
    ReceiveMany,
    Record,
    Renewal,
)
from sapwood.routing.messages import OnTree, Publish, PublishMany, Stamped
from sapwood.store.batches import pieces, stored_publications
from sapwood.store.layout import Entry, Publications, Remembered, State
from sapwood.wire.interests import AdvertisedText, advertised_from_text, advertised_to_text
from sapwood.wire.publications import decode_publication, encode_publication

INTEREST: Final = 1
ADVERTISED: Final = 2
PUBLICATION: Final = 3

CODES: Final[Mapping[int, type[Any]]] = MappingProxyType(
    {
        1: AttachClient,
        2: DetachClient,
        3: Receive,
        4: ClientSubscribe,
        5: ClientUnsubscribe,
        6: ClientSubscribeMany,
        7: ClientUnsubscribeMany,
        8: ClientAdvertise,
        9: ClientUnadvertise,
        10: LinkUp,
        11: LinkDown,
        12: Drained,
        13: Renewal,
    }
)
"""The code of each class of state records. A code is never given to another class."""

_CODE_OF: Final[Mapping[type[Any], int]] = MappingProxyType(
    {kind: code for code, kind in CODES.items()}
)


class _Envelope(Struct, array_like=True, frozen=True):
    """The fields beside one publication in a message over a link."""

    stamp: bytes | None
    tree: tuple[str, int] | None
    origin: str
    hops: int
    digest: bytes


class _Envelopes(Struct, array_like=True, frozen=True):
    """The fields beside several publications."""

    origin: str
    hops: int
    digests: tuple[bytes, ...]
    tree: tuple[str, int] | None


def publications_of(record: Record) -> Sequence[Publication]:
    """The publications of a record; none for a record of another kind."""
    match record:
        case ClientPublish(_, publication):
            return (publication,)
        case ClientPublishMany(_, publications):
            return publications
        case ReceiveMany(_, many):
            return many.batch
        case Receive(_, message):
            if isinstance(message, Stamped):
                message = message.message
            if isinstance(message, OnTree):
                message = message.message
            return (message.publication,) if isinstance(message, Publish) else ()
        case _:
            return ()


def entry_of(record: Record, at: float = 0.0, origin: tuple[str, int] = ("", 0)) -> Entry:
    """The entry of a record; the bytes of its publications are joined by `_joined`.

    `origin` is the session of the client that published, and the number of the first publication in
    it. Raises `LimitError` for advertised content that is too long to be written.
    """
    match record:
        case Note(name, value):
            return Remembered(name, value)
        case ClientPublish(client, publication):
            return _of_one(at, client, origin, publication)
        case ClientPublishMany(client, publications):
            sizes, bodies = _joined(publications)
            return Publications(at, client, origin, True, sizes, bodies)  # noqa: FBT003
        case ReceiveMany(neighbor, many):
            sizes, bodies = _joined(many.batch)
            head = _Envelopes(many.origin, many.hops, tuple(many.digests), many.tree)
            beside = _ENCODER.encode(head)
            return Publications(at, neighbor, beside, True, sizes, bodies)  # noqa: FBT003
        case Receive(neighbor, message):
            found = publications_of(record)
            if found:
                return _of_one(at, neighbor, _ENCODER.encode(_envelope(message)), found[0])
    code = _CODE_OF.get(type(record))
    if code is None:
        raise InvariantError(f"a {type(record).__name__} is no record")
    values = [getattr(record, name) for name in _kept(type(record))]
    return State(_ENCODER.encode([code, *values]))


def readable(records: Iterator[Record], where: Path) -> Iterator[Record]:
    """The records, as long as this version can read them.

    Their checksums were right, so an unreadable one is not damaged. Raises
    `EnvironmentMissingError`.
    """
    while True:
        try:
            record = next(records, None)
        except FileFormatError:
            raise
        except (msgspec.MsgspecError, LookupError, TypeError, ValueError) as error:
            raise of_another_version(where, error) from error
        if record is None:
            return
        yield record


def of_another_version(where: Path, error: Exception) -> EnvironmentMissingError:
    """The error for a value that is whole and cannot be read."""
    return EnvironmentMissingError(
        f"{where} holds what this Sapwood cannot read ({error}): another version wrote it; use the "
        "Sapwood that did, or another folder"
    )


def record_of(entry: Publications | State | Remembered, first: int = 0) -> Record:
    """The record of an entry; a batch without the `first` of its publications."""
    if isinstance(entry, Remembered):
        return Note(entry.name, entry.value)
    if isinstance(entry, State):
        return state_record(entry.record)
    if entry.is_ours:
        if not entry.many:
            return ClientPublish(entry.owner, _only(entry))
        return ClientPublishMany(entry.owner, _batch(entry)[first:])
    assert isinstance(entry.origin, bytes)
    if entry.many:
        many = msgspec.msgpack.decode(entry.origin, type=_Envelopes)
        whole = PublishMany(many.origin, many.hops, _batch(entry), many.digests, many.tree)
        return ReceiveMany(entry.owner, whole.part(first) if first else whole)
    one = msgspec.msgpack.decode(entry.origin, type=_Envelope)
    publish = Publish(one.origin, one.hops, _only(entry), one.digest)
    message = publish if one.tree is None else OnTree(*one.tree, publish)
    return Receive(entry.owner, message if one.stamp is None else Stamped(one.stamp, message))


def state_record(data: bytes) -> Record:
    """The state record in these bytes."""
    code = data[1]
    made: Record = CODES[code](*_decoder(code).decode(data)[1:])
    return made


def size_of(record: Record) -> int:
    """The bytes of a record's publications, about."""
    found = publications_of(record)
    if isinstance(found, PublicationBatch):
        return int((found.ends - found.starts).sum())
    return sum(len(one.encoded or b"") for one in found)


def bodies_of(entry: Publications) -> list[bytes]:
    """The publications of an entry, each as it came."""
    bodies, begin, found = entry.bodies, 0, []
    for end in entry.ends().tolist():
        found.append(bodies[begin:end])
        begin = end
    return found


def _batch(entry: Publications) -> Sequence[Publication]:
    return stored_publications(entry.bodies, entry.ends())


def _only(entry: Publications) -> Publication:
    """The one publication of an entry."""
    publication = decode_publication(entry.bodies)
    publication.keep_written_at(entry.at)
    return publication


def _of_one(
    at: float, owner: str, origin: tuple[str, int] | bytes, publication: Publication
) -> Publications:
    body = publication.encoded or encode_publication(publication)
    size = len(body).to_bytes(4, "big")
    return Publications(at, owner, origin, False, size, body)  # noqa: FBT003


def _joined(publications: Sequence[Publication]) -> tuple[bytes, bytes]:
    """The lengths of publications, and their bytes."""
    if isinstance(publications, PublicationBatch):
        data, starts, ends = publications.data, publications.starts, publications.ends
        sizes = ends - starts
        size = sizes.item(0) if len(sizes) else 0
        if size and bool((sizes == size).all()):
            return sizes.astype(">u4").tobytes(), pieces(data, starts, size).tobytes()
        bounds = zip(starts.tolist(), ends.tolist(), strict=True)
        return sizes.astype(">u4").tobytes(), b"".join([data[begin:end] for begin, end in bounds])
    bodies = [one.encoded or encode_publication(one) for one in publications]
    return np.array([len(body) for body in bodies], ">u4").tobytes(), b"".join(bodies)


def _envelope(message: object) -> _Envelope:
    stamp: bytes | None = None
    tree: tuple[str, int] | None = None
    if isinstance(message, Stamped):
        stamp, message = message.stamp, message.message
    if isinstance(message, OnTree):
        tree, message = (message.source, message.epoch), message.message
    assert isinstance(message, Publish), "it was found to be one"
    return _Envelope(stamp, tree, message.origin, message.hops, message.digest)


def _extended(value: object) -> object:
    """The extension for a value without a type in MessagePack."""
    if isinstance(value, Interest):
        return Ext(INTEREST, encode_form(value))
    if isinstance(value, Interests):
        return list(value.values)
    if isinstance(value, AdvertisedContent):
        return Ext(ADVERTISED, msgspec.msgpack.encode(advertised_to_text(value)))
    if isinstance(value, Publication):
        return Ext(PUBLICATION, value.encoded or encode_publication(value))
    raise InvariantError(f"a {type(value).__name__} has no place in a record")


def _unextended(code: int, data: memoryview) -> object:
    given = bytes(data)
    if code == INTEREST:  # its checksum was right
        return Filter.of_packed(given) if is_packed(given) else decode_interest(given)
    if code == ADVERTISED:
        text: AdvertisedText = msgspec.msgpack.decode(given, type=AdvertisedText)
        return advertised_from_text(text)
    if code == PUBLICATION:
        return decode_publication(given)
    raise msgspec.ValidationError(f"records have no extension {code}")


def _taken(kind: type, value: Any) -> object:
    """The value of a field, made by an extension."""
    return Interests(value) if kind is Interests else value


_ENCODER: Final = msgspec.msgpack.Encoder(enc_hook=_extended)


def _kept(kind: type[Any]) -> tuple[str, ...]:
    """The fields of a class that are stored: the age of a message counts only once."""
    return tuple(field.name for field in fields(kind) if field.compare)


@cache
def _decoder(code: int) -> msgspec.msgpack.Decoder[Any]:
    """A decoder of the code and the fields of a class."""
    kind = CODES[code]
    hints = get_type_hints(kind)
    types: Any = (int, *(hints[name] for name in _kept(kind)))
    made: Any = tuple.__class_getitem__(types)
    return msgspec.msgpack.Decoder(made, dec_hook=_taken, ext_hook=_unextended)
