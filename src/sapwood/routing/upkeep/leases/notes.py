r"""The notes of routers under leases, and the numbers of messages on lossy links.

A renewal does not repeat filters. It names each subscription by its key and eight bytes of a digest
of its filter, and a router that does not have it, or has another one under that key, requests it
(RFC 2961 makes the refreshes of RSVP short in the same way). The two subscriptions of a client, one
of which the neighbor has not confirmed::

    Renewal(None, "r1", 60_000_000, subscriptions=(("r1.0.1", b"\x8f...", 0),
                                                   ("r1.0.2", b"\x02...", 17)))
    Missing(None, subscriptions=("r1.0.2",))     and back comes   Subscribe("r1.0.2", filter, 17)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import blake2b
from typing import Annotated, Final, NamedTuple, TypeAlias

import msgspec
from msgspec import Meta, Struct

from sapwood.language.written import canonical
from sapwood.limits.leases import LEASE_INTERVAL_MAX_S, LEASE_KEY_BYTES_MAX, LEASE_NOTE_BYTES
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.fields import Count, Name
from sapwood.model.kept import Kept, kept
from sapwood.routing.messages import UpkeepNote

DIGEST_BYTES: Final = 8
"""Bytes of a filter's digest: two filters under one key have equal ones once in 2^64 times."""

_ENTRY_BYTES: Final = 32
"""The size of a renewal's entry beside its key, at most."""

_DIGESTS_KEPT: Final = 4096
"""The number of kept digests of filters that have to be printed for them."""


class Number(NamedTuple):
    """The place of a message on a lossy link: the sender's life, the link's session, its place."""

    life: Count
    session: Count
    place: Count


class Renewed(NamedTuple):
    """An entry that is still registered.

    `awaited` is the number that it was sent under, where the sender waits for its confirmation,
    else 0; numbers begin with 1.
    """

    key: str
    digest: bytes
    awaited: Count = 0


_Entries: TypeAlias = tuple[Renewed, ...]
_Keys: TypeAlias = tuple[str, ...]


class Renewal(Struct, array_like=True, frozen=True, tag="r"):
    """The entries are valid for an interval more, as the router `origin` renews them."""

    number: Number | None
    origin: Name
    interval_us: Annotated[int, Meta(ge=1, le=int(LEASE_INTERVAL_MAX_S * 1e6))]
    subscriptions: _Entries = ()
    advertisements: _Entries = ()


class Missing(Struct, array_like=True, frozen=True, tag="m"):
    """The sender does not have these entries, which were renewed: send them again."""

    number: Number | None
    subscriptions: _Keys = ()
    advertisements: _Keys = ()


Said: TypeAlias = Renewal | Missing

_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final[msgspec.msgpack.Decoder[Said]] = msgspec.msgpack.Decoder(Said)
_NUMBERS: Final[msgspec.msgpack.Decoder[Number]] = msgspec.msgpack.Decoder(Number)


def note_of(said: Said) -> UpkeepNote:
    """Encode a note; renewals are repeated for ever."""
    return UpkeepNote(_ENCODER.encode(said), periodic=isinstance(said, Renewal))


def said_in(note: UpkeepNote) -> Said | None:
    """The renewal or request in a note; `None` where it is of another strategy."""
    try:
        return _DECODER.decode(note.note)
    except (msgspec.DecodeError, UnicodeDecodeError):  # msgspec lets the latter through
        return None


def stamp_of(number: Number) -> bytes:
    """The stamp of a message that has this place on its link."""
    return _ENCODER.encode(number)


def number_in(stamp: bytes) -> Number | None:
    """The place in a stamp; `None` where it is of another strategy."""
    try:
        return _NUMBERS.decode(stamp)
    except (msgspec.DecodeError, UnicodeDecodeError):  # msgspec lets the latter through
        return None


def digest_of(content: AdvertisedContent | Kept) -> bytes:
    """Eight bytes that are the same for equal content, on whichever router."""
    whole = content if isinstance(content, bytes) else kept(content)
    return _digest(whole) if isinstance(whole, bytes) else _printed(content)


def portions(
    subscriptions: Sequence[Renewed], advertisements: Sequence[Renewed]
) -> Iterator[tuple[_Entries, _Entries]]:
    """The entries in order, advertisements first, split into as many parts as notes are needed."""
    part: tuple[list[Renewed], list[Renewed]] = ([], [])
    size = 0
    for kind, entries in ((1, advertisements), (0, subscriptions)):
        for entry in entries:
            bytes_ = len(entry.key.encode("utf-8", "replace"))
            if bytes_ > LEASE_KEY_BYTES_MAX:
                continue
            size += bytes_ + _ENTRY_BYTES
            if size > LEASE_NOTE_BYTES:
                yield tuple(part[0]), tuple(part[1])
                part, size = ([], []), bytes_ + _ENTRY_BYTES
            part[kind].append(entry)
    if size:
        yield tuple(part[0]), tuple(part[1])


def _digest(whole: bytes) -> bytes:
    return blake2b(whole, digest_size=DIGEST_BYTES).digest()


@lru_cache(_DIGESTS_KEPT)
def _printed(content: AdvertisedContent) -> bytes:
    """The digest of content that has no bytes: of its canonical text."""
    written = canonical(content)
    text = "\0".join((written.language, written.text, repr(written.bindings)))
    return _digest(text.encode("utf-8", "surrogatepass"))
