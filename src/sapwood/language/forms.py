"""Normal forms of filters as bytes, so that the stages of a job need not parse a text again.

Reading a filter's text costs some hundred microseconds, reading its normal form back some ten. The
bytes are those of `model.packing`, or, for a filter that has none there, its canonical text in
MessagePack. A tree pattern is a map with its canonical text and its prefixes. Equal filters give
equal bytes. They live within one job, between its stages; files hold texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import msgspec

from sapwood.language import parse_filter
from sapwood.language.written import canonical
from sapwood.language.xpath import parse_xpath
from sapwood.model.filter import Filter
from sapwood.model.interest import Interest
from sapwood.model.packing import form_of
from sapwood.model.patterns.pattern import TreePattern

PATTERN_MARK: Final = b"\x82"
"""With this byte, a map of two, the normal form of a tree pattern begins, and no other."""


_ARRAYS: Final = frozenset(bytes((first,)) for first in (*range(0x90, 0xA0), 0xDC, 0xDD))
"""The bytes with which arrays of MessagePack begin."""


def encode_form(filter: Interest) -> bytes:
    """The normal form as bytes; equal for equal filters."""
    if not isinstance(filter, Filter):
        written = canonical(filter)
        return msgspec.msgpack.encode({"xpath": written.text, "bindings": written.bindings})
    packed = filter.packed
    return msgspec.msgpack.encode(str(filter)) if packed is None else packed


def is_pattern_form(form: bytes) -> bool:
    """True if this is the normal form of a tree pattern."""
    return form.startswith(PATTERN_MARK)


def is_packed(form: bytes) -> bool:
    """True if this is the normal form of a record filter, in the bytes of `model.packing`."""
    return form[:1] in _ARRAYS


def decode_interest(form: bytes) -> Interest:
    """The filter or tree pattern whose normal form this is."""
    return decode_pattern(form) if is_pattern_form(form) else decode_form(form)


def decode_pattern(form: bytes) -> TreePattern:
    """The tree pattern whose normal form this is."""
    found = _decoder().decode(form)
    bindings = found["bindings"]
    return parse_xpath(found["xpath"], None if bindings is None else dict(bindings))


def decode_form(form: bytes) -> Filter:
    """The record filter whose normal form this is."""
    found = _decoder().decode(form)
    if isinstance(found, str):
        return parse_filter(found)
    return Filter.of_packed(form)


def read_form(form: bytes) -> tuple[Sequence[Any], bool]:
    """The conjunctions of a record filter, unmade, and true if they are equivalent to it.

    Each is a sequence of (attribute, flags, intervals as (low, high, flags of open ends), ranges of
    texts). They are weaker than a filter with general `like` patterns, but never stricter: they
    accept all records that it accepts.
    """
    found = _decoder().decode(form)
    if isinstance(found, str):
        filter_ = parse_filter(found)
        return form_of(filter_.conjunctions), not any(
            part.patterns for part in filter_.conjunctions
        )
    return found, True


@lru_cache(maxsize=1)
def _decoder() -> msgspec.msgpack.Decoder[Any]:
    # Untyped: the bytes are our own, and the checks of a typed one cost more than the reading.
    return msgspec.msgpack.Decoder()
