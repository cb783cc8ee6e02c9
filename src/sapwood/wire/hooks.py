"""The wire forms of values of the model in messages: one pair of functions, for the codec.

MessagePack has no filters and no publications. Their forms:

::

   filter of records         the bytes of its normal form (`sapwood.model.packing`)
   other advertised content  an array: its language, its canonical text, its bindings
   many filters              an array of these, which `LinkSession` parses when their turn comes
   publication               the bytes that its publisher made (`sapwood.wire.publications`)

A message class has a field `filter: Interest`, and nothing more is needed for it to travel.
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
    InterestForm,
    InterestText,
    advertised_from_form,
    advertised_to_form,
    from_form,
    to_form,
    unread,
)
from sapwood.wire.publications import decode_publication, encode_publication

_FORMS: Final = frozenset({bytes})


def encoded(value: object) -> object:
    """The wire form of a value in a message.

    Raises `LimitError` for a filter that is longer than the other end accepts.
    """
    if isinstance(value, Publication):
        # The length of a publication was checked where it was published. Only messages of routers
        # have one: the parts for the first router do not leave it, whichever router made the
        # message.
        return encode_publication(value.beyond(), FRAME_BYTES_CEILING)
    if isinstance(value, Interests):
        return [to_form(interest) for interest in value.values]
    if isinstance(value, AdvertisedContent):
        return advertised_to_form(value)
    raise InvariantError(f"a {type(value).__name__} has no place in a message")


def decoded(kind: type, sent: Any) -> object:
    """The value of a kind in its wire form `sent`.

    Raises `InputError` for a form that is no such value, `ValidationError` for no form at all.
    """
    if kind is Publication:
        if not isinstance(sent, bytes):
            raise InputError("a publication travels as bytes")
        return decode_publication(sent)
    if kind is Interest:
        return from_form(_interest_form(sent))
    if kind is Interests:
        if not isinstance(sent, list):
            raise InputError("many filters travel as an array")
        if set(map(type, sent)) == _FORMS:  # as most are
            return unread(sent)
        return unread([_interest_form(one) for one in sent])
    if kind is AdvertisedContent:
        form = sent if isinstance(sent, bytes) else msgspec.convert(sent, AdvertisedText)
        return advertised_from_form(form)
    raise InvariantError(f"no message has a field of {kind.__name__}")


def _interest_form(sent: Any) -> InterestForm:
    """The form that was sent; no type of msgspec's is bytes or a text."""
    if isinstance(sent, bytes):
        return sent
    form: InterestForm = msgspec.convert(sent, InterestText)
    return form
