"""The notes of routers under failover: their place, and where neighbors below them may go.

And the note that a router persists of its own place, where another upkeep persists its state.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from sapwood.errors import PeerError
from sapwood.routing.effects import Persist
from sapwood.routing.inputs import Note
from sapwood.routing.messages import UpkeepNote

_MARK = b"F"
"""The first byte of such a note, with which no note of another upkeep begins."""


class Standing(msgspec.Struct, array_like=True, frozen=True):
    """The standing of a router, as it announces it itself.

    `is_below`: the receiver is its upstream. `upstream` and `heir` are where those below may go
    when the sender is gone: its own upstream, or else one of them, which goes nowhere. Both are
    empty where there is none. `has_backups`: it has backups of its own. `address` is where it
    listens.
    """

    is_below: bool
    has_backups: bool
    address: str = ""
    upstream: str = ""
    upstream_address: str = ""
    heir: str = ""
    heir_address: str = ""


class Place(NamedTuple):
    """The upstream of a router, and the address where that listens; empty where not known."""

    upstream: str
    address: str


PLACE: Final = "place"
"""The name of the persisted note with the place of a router."""

_ENCODER = msgspec.msgpack.Encoder()
_DECODER = msgspec.msgpack.Decoder(Standing)
_PLACES = msgspec.msgpack.Decoder(Place)


def note_of(standing: Standing) -> UpkeepNote:
    """Encode a standing as a note."""
    return UpkeepNote(_MARK + _ENCODER.encode(standing))


def standing_in(note: UpkeepNote) -> Standing | None:
    """The standing in a note, if it has one; raises `PeerError` for a damaged note."""
    if note.note[:1] != _MARK:
        return None
    try:
        return _DECODER.decode(note.note[1:])
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:  # msgspec lets the latter through
        raise PeerError(f"a note of failover cannot be read: {error}") from error


def kept_note(place: Place) -> Persist:
    """The effect that persists a place."""
    return Persist(Note(PLACE, _ENCODER.encode(place)))


def place_in(note: Note) -> Place | None:
    """The place in a persisted note; `None` for a note of another name."""
    return _PLACES.decode(note.value) if note.name == PLACE else None
