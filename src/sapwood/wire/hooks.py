"""How values of the model travel in a message: one pair of functions, for the codec.

MessagePack has no filters and no publications. What stands for them:

::

    filter of records         its canonical text
    other advertised content  an array: its language, its canonical text, what is bound there
many filters              an array of these, which `LinkSession` reads when their turn comes
    publication               the bytes that its publisher made (`sapwood.wire.publications`)

A message class says `filter: Interest`, and nothing more is needed for it to travel.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from sapwood.errors import InputError, InvariantError
from sapwood.language.interests import Interests
from sapwood.limits import FRAME_BYTES_CEILING
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.wire.interests import (
    AdvertisedText,
    InterestText,
    advertised_from_text,
    advertised_to_text,
    from_text,
    unread,
)
from sapwood.wire.interests import to_text as interest_to_text
from sapwood.wire.publications import decode_publication, encode_publication

_COLUMN: Final = tuple[InterestText, ...]


def encoded(value: object) -> object:
    """The wire form of a value in a message.

    Raises `LimitError` for a filter that is longer than the other end reads.
    """
    if isinstance(value, Publication):
        # How long one may be was decided where it was published.
        return encode_publication(value, FRAME_BYTES_CEILING)
    if isinstance(value, Interests):
        return [interest_to_text(interest) for interest in value.values]
    if isinstance(value, AdvertisedContent):
        return advertised_to_text(value)
    raise InvariantError(f"a {type(value).__name__} has no place in a message")


def decoded(kind: type, sent: Any) -> object:
    """The value of a kind that `sent` stands for.

    Raises `InputError` for what no such value is, `ValidationError` for what stands for none.
    """
    if kind is Publication:
        if not isinstance(sent, bytes):
            raise InputError("a publication travels as bytes")
        return decode_publication(sent)
    if kind is Interest:
        return from_text(msgspec.convert(sent, InterestText))
    if kind is Interests:
        return unread(msgspec.convert(sent, _COLUMN))
    if kind is AdvertisedContent:
        return advertised_from_text(msgspec.convert(sent, AdvertisedText))
    raise InvariantError(f"no message has a field of {kind.__name__}")
