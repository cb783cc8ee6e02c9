"""The notes of routers for detours, beside the messages that they route.

`Links` travels to every router: the links of a router that are up. A *packet* is a message for a
router that is not a neighbor at the moment, passed on from neighbor to neighbor: stamped with its
way, and with the place on it where the packet is.

::

    a --- c --- b        the link a-b is down
    a: Packet(route=(a, c, b), at=1, id=(0, 4), number=7), Publish ...   to c
    c: the same with at=2                                                to b
    b: takes the message as from a, if 7 is the next number of detour (0, 4)
"""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple, TypeAlias

import msgspec
from msgspec import Meta, Struct

from sapwood.limits import MESH_ROUTERS_MAX
from sapwood.limits.recover import DETOUR_HOPS_MAX
from sapwood.model.fields import Name
from sapwood.routing.messages import RouterMessage, Stamped, UpkeepMessage, UpkeepNote

_Number: TypeAlias = Annotated[int, Meta(ge=0, le=2**63 - 1)]


class Numbered(NamedTuple):
    """A life of a router, and a number in it: later ones are greater."""

    life: _Number
    number: _Number


class Links(Struct, array_like=True, frozen=True, tag="l"):
    """The links of a router that are up, each with the number of the session that it is in.

    `version` orders the announcements of one router.
    """

    router: Name
    version: Numbered
    sessions: Annotated[dict[str, _Number], Meta(max_length=MESH_ROUTERS_MAX)]


class Packet(Struct, array_like=True, frozen=True, tag="p"):
    """The way of a message, from its first router to its last, and the place of the next one on it.

    `id` is that of the detour, and `number` counts the packets that each end sends on it: 0, 1, 2
    and so on.
    """

    route: Annotated[tuple[Name, ...], Meta(min_length=2, max_length=DETOUR_HOPS_MAX + 1)]
    at: _Number
    id: Numbered
    number: _Number


_ENCODER: Final = msgspec.msgpack.Encoder()
_LINKS: Final[msgspec.msgpack.Decoder[Links]] = msgspec.msgpack.Decoder(Links)
_PACKET: Final[msgspec.msgpack.Decoder[Packet]] = msgspec.msgpack.Decoder(Packet)

NOTHING: Final = UpkeepNote(b"")
"""The content of a detour's first packet, and of one that reports the detour broken."""


def note_of(links: Links) -> UpkeepNote:
    """Encode an announcement as a note."""
    return UpkeepNote(_ENCODER.encode(links))


def links_in(message: UpkeepMessage) -> Links | None:
    """The announcement in a note; `None` where it is of another strategy."""
    if not isinstance(message, UpkeepNote) or not message.note:
        return None
    try:
        return _LINKS.decode(message.note)
    except (msgspec.DecodeError, UnicodeDecodeError):  # msgspec lets the latter through
        return None


def stamped(packet: Packet, message: RouterMessage | UpkeepNote) -> Stamped:
    """Stamp a message with its packet."""
    return Stamped(_ENCODER.encode(packet), message)


def packet_in(message: UpkeepMessage) -> Packet | None:
    """The packet in a message's stamp; `None` where it is of another strategy."""
    if not isinstance(message, Stamped):
        return None
    try:
        return _PACKET.decode(message.stamp)
    except (msgspec.DecodeError, UnicodeDecodeError):  # msgspec lets the latter through
        return None
