"""Advertised content as tables keep it: the bytes of a filter, where it has bytes.

A table may hold a million of them. Bytes take a third of the memory of a filter with its bytes, and
Python's garbage collector does not look at them, nor at a dictionary of nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, Generic, TypeAlias, TypeGuard, TypeVar, overload

from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.filter import NOTHING, Filter
from sapwood.model.interest import Interest

Kept: TypeAlias = bytes | AdvertisedContent
"""The bytes of a filter (`model.packing`), or content that has none; alike where it is equal."""


Name = TypeVar("Name")
"""The name of a filter in a table: a key, or a number."""


class KeptFilters(Sequence[tuple[Name, Filter]], Generic[Name]):
    """Named filters in order, as bytes; an access by position makes the `Filter`.

    A million filters take a second to be made, and building an index reads only their bytes.
    """

    __slots__ = ("names", "packed")

    def __init__(self, names: Sequence[Name], packed: Sequence[bytes]) -> None:
        assert len(names) == len(packed), "each filter has a name"
        self.names: Final = names
        #: the bytes of each (`model.packing`)
        self.packed: Final = packed

    def __len__(self) -> int:
        return len(self.packed)

    @overload
    def __getitem__(self, at: int) -> tuple[Name, Filter]: ...
    @overload
    def __getitem__(self, at: slice) -> KeptFilters[Name]: ...
    def __getitem__(self, at: int | slice) -> Any:
        if isinstance(at, slice):
            return KeptFilters(self.names[at], self.packed[at])
        return self.names[at], Filter.of_packed(self.packed[at])


def named(items: Iterable[tuple[Name, Interest]]) -> Sequence[tuple[Name, Interest]]:
    """Interests by name, as bytes where these are filters that have bytes."""
    if isinstance(items, KeptFilters):
        return items
    given = list(items)
    contents = [kept(one) for _, one in given]
    if are_packed(contents):
        return KeptFilters([name for name, _ in given], contents)
    return given


def are_packed(contents: Sequence[Kept]) -> TypeGuard[Sequence[bytes]]:
    """True if each content is the bytes of a filter."""
    return {*map(type, contents)} == {bytes}


def kept(content: AdvertisedContent) -> Kept:
    """The form in which a table keeps advertised content."""
    if isinstance(content, Filter):
        packed = content.packed
        return content.compact() if packed is None else packed
    return content


def content_of(given: Kept) -> AdvertisedContent:
    """The content that a table kept: an equal one, without its source."""
    return Filter.of_packed(given) if isinstance(given, bytes) else given


def accepts_nothing(given: Kept) -> bool:
    """True if surely no publication is accepted."""
    if isinstance(given, bytes):
        return given == _NOTHING
    return isinstance(given, Interest) and given.accepts_nothing


_NOTHING: Final = kept(NOTHING)
