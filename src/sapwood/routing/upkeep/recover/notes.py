"""The notes of the two ends of a link under `recover`, beside the messages that they route.

::

    a                                b
    | Back(mine, theirs, taken) ---->|    each end, when the link comes up
    |<---- Back(mine, theirs, taken) |
    | From(8) ---------------------->|    the next message has the number 8: b has taken 7
    | message, message, message ---->|    8, 9, 10: they are counted, not numbered
    |<----------------- Taken(10, 3) |    cumulative; b has sent 3 of its own up to here

A link is FIFO and loses nothing while it is up, so counting gives both ends the same numbers, and
messages travel as they do without all this. `Taken` has both counts, so a mistake in them is
noticed.
"""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple, TypeAlias

import msgspec
from msgspec import Meta, Struct

from sapwood.routing.messages import UpkeepNote

_Number: TypeAlias = Annotated[int, Meta(ge=0, le=2**63 - 1)]


class ConversationId(NamedTuple):
    """A conversation as one of its ends names it: a life of the router, and a number in it."""

    life: _Number
    number: _Number


class Back(Struct, array_like=True, frozen=True, tag="b"):
    """The link is up, or the sender's ids of the conversation have changed.

    `mine` is the sender's id of it and `theirs` what it believes to be the receiver's; `taken` is
    the number of the receiver's messages that it has applied in it.
    """

    mine: ConversationId
    theirs: ConversationId | None
    taken: _Number


class From(Struct, array_like=True, frozen=True, tag="f"):
    """The sender's next message has this number, and the following ones the next numbers."""

    first: _Number


class Taken(Struct, array_like=True, frozen=True, tag="t"):
    """The sender has applied, and keeps, the receiver's messages up to a number.

    It has `sent` its own messages up to that number before this note.
    """

    number: _Number
    sent: _Number


Said: TypeAlias = Back | From | Taken

_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final[msgspec.msgpack.Decoder[Said]] = msgspec.msgpack.Decoder(Said)


def note_of(said: Said) -> UpkeepNote:
    """Encode a note."""
    return UpkeepNote(_ENCODER.encode(said))


def said_in(note: bytes) -> Said | None:
    """The content of a note; `None` where it is of another strategy."""
    try:
        return _DECODER.decode(note)
    except (msgspec.DecodeError, UnicodeDecodeError):  # msgspec lets the latter through
        return None
