"""The digests of delegated publications: the task, and the range to look after.

The mark, then a MessagePack array of life and number of the task, the range, whether it goes round
a failure, and whether it goes again, as it may have been there before. Worked example: ``d3 95 00
07 a2 "02" c2 c2`` is number 7 of the first life (0) of the publication's origin, for the range 02,
on the straight way and for the first time.
"""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

import msgspec
from msgspec import Meta

from sapwood.limits.structured import IDENTIFIER_DIGITS_MAX
from sapwood.model.fields import Count

MARK: Final = 0xD3


class Delegated(NamedTuple):
    """The content of a digest."""

    life: Count
    number: Count
    range: Annotated[str, Meta(max_length=IDENTIFIER_DIGITS_MAX, pattern="^[0-9a-f]*$")]
    is_redirected: bool
    is_again: bool


_ENCODER: Final = msgspec.msgpack.Encoder()
_DECODER: Final = msgspec.msgpack.Decoder(Delegated)


def encode(said: Delegated) -> bytes:
    """Encode the content of a digest."""
    return bytes((MARK,)) + _ENCODER.encode(said)


def decode(digest: bytes) -> Delegated | None:
    """The content of a digest; `None` where it is none of this strategy."""
    if digest[:1] != bytes((MARK,)):
        return None
    try:
        return _DECODER.decode(digest[1:])
    except msgspec.DecodeError:
        return None
