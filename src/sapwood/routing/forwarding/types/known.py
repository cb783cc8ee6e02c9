"""The advertised DTDs, as one router knows them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sapwood.errors import InvariantError
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.patterns.advertisements.advertisement import Advertisement
from sapwood.routing.forwarding.types.digest import name_of
from sapwood.routing.tables import CLIENTS


class KnownTypes:
    """Follows the advertisements of a router; those by paths of documents are its *types*.

    Equal ones, of several publishers or sides, are one type. `begin` is called with the first
    advertisement of a type, `end` when the last is gone; both get its name.

    #: _names[s][k] is the name of the advertisement of side s under key k, if it is of a type
    #: _counts[n] is the number of advertisements with name n, at least one
    """

    __slots__ = ("_begin", "_counts", "_end", "_names")

    def __init__(
        self, begin: Callable[[bytes, Advertisement], None], end: Callable[[bytes], None]
    ) -> None:
        self._begin = begin
        self._end = end
        self._names: dict[str, dict[str, bytes]] = {CLIENTS: {}}
        self._counts: dict[bytes, int] = {}

    def add_side(self, side: str) -> None:
        """Add a neighbor, from which nothing has come."""
        self._names[side] = {}

    def remove_side(self, side: str) -> None:
        """Remove a neighbor, with all its advertisements."""
        for key in tuple(self._names[side]):
            self.forgot(side, key)
        del self._names[side]

    def learned(self, side: str, key: str, filter: AdvertisedContent) -> None:
        """Add an advertisement to a side."""
        if not isinstance(filter, Advertisement):
            return
        name = self._names[side][key] = name_of(filter)
        self._counts[name] = self._counts.get(name, 0) + 1
        if self._counts[name] == 1:
            self._begin(name, filter)

    def learned_many(self, side: str, entries: Sequence[tuple[str, AdvertisedContent]]) -> None:
        """Add several advertisements to a side."""
        for key, filter_ in entries:
            self.learned(side, key, filter_)

    def forgot(self, side: str, key: str) -> None:
        """Remove an advertisement of a side."""
        name = self._names[side].pop(key, None)
        if name is None:
            return
        self._counts[name] -= 1
        if not self._counts[name]:
            del self._counts[name]
            self._end(name)

    def validate(self, sides: Mapping[str, Mapping[str, AdvertisedContent]]) -> None:
        """Check the types against the advertisements of each side; raises `InvariantError`."""
        names = {
            side: {key: name_of(one) for key, one in some.items() if isinstance(one, Advertisement)}
            for side, some in sides.items()
        }
        counts: dict[bytes, int] = {}
        for some in names.values():
            for name in some.values():
                counts[name] = counts.get(name, 0) + 1
        if names != self._names or counts != self._counts:
            raise InvariantError("types of documents are known that are not those advertised")
