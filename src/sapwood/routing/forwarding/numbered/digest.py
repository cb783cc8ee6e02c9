"""The digests of numbered publications: life and number, and whether the publication is spread.

The mark, then a MessagePack array. Worked example: ``d4 93 00 07 c2`` is number 7 of the first life
(0) of the publication's origin, on its way to the rendezvous; with ``c3`` at the end, on its way to
all its subscribers.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec

from sapwood.model.fields import Count

MARK: Final = 0xD4


class Numbered(NamedTuple):
    """The content of a digest."""

    life: Count
    number: Count
    is_spread: bool


_MARKED: Final = bytes((MARK,))
_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(Numbered)


def encode(said: Numbered) -> bytes:
    """Encode the content of a digest."""
    return _MARKED + _ENCODER.encode(said)


def decode(digest: bytes) -> Numbered | None:
    """The content of a digest; `None` where it is none of this strategy."""
    if digest[:1] != _MARKED:
        return None
    try:
        return _DECODER.decode(digest[1:])
    except msgspec.DecodeError:
        return None
