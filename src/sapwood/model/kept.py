"""Advertised content as tables keep it: the bytes of a filter, where it has bytes.

A table may hold a million of them. Bytes take a third of the memory of a filter with its bytes, and
Python's garbage collector does not look at them, nor at a dictionary of nothing else.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.filter import NOTHING, Filter
from sapwood.model.interest import Interest

Kept: TypeAlias = bytes | AdvertisedContent
"""The bytes of a filter (`model.packing`), or content that has none; alike where it is equal."""


def kept(content: AdvertisedContent) -> Kept:
    """What a table keeps of some content."""
    if isinstance(content, Filter):
        packed = content.packed
        return content.compact() if packed is None else packed
    return content


def content_of(given: Kept) -> AdvertisedContent:
    """The content that a table kept: an equal one, without its source."""
    return Filter.of_packed(given) if isinstance(given, bytes) else given


def accepts_nothing(given: Kept) -> bool:
    """Whether surely no publication is accepted."""
    if isinstance(given, bytes):
        return given == _NOTHING
    return isinstance(given, Interest) and given.accepts_nothing


_NOTHING: Final = kept(NOTHING)
