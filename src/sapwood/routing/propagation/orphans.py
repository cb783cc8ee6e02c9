"""Entries that came over links that are gone, and are withdrawn from other links chunk by chunk.

A link that goes takes all its entries with it, and these may be the subscriptions of half the
overlay. No publication is routed over it from then on; what was propagated to other neighbors
because of it is withdrawn a chunk at a time, the newest first, with publications and other requests
in between. An entry that comes again meanwhile, over the same link or another one, is first
withdrawn and then propagated again, as if everything had been withdrawn at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic

from sapwood.errors import InvariantError
from sapwood.routing.tables import ReceivedEntry, W


@dataclass(slots=True)
class _Lost(Generic[W]):
    """The entries of one lost link, and the links of which they still are candidates."""

    entries: dict[str, ReceivedEntry[W]]
    links: set[str]


class Orphans(Generic[W]):
    """The entries of links that are gone, as far as they are not withdrawn.

    #: no key is lost twice, and none that is here has an entry in the tables
    #: there is one entry at least of each link that was lost
    """

    __slots__ = ("_lost",)

    def __init__(self) -> None:
        self._lost: list[_Lost[W]] = []

    def __bool__(self) -> bool:
        return bool(self._lost)

    def add(self, entries: dict[str, ReceivedEntry[W]], links: Iterable[str]) -> None:
        """Add the entries of a link that is gone; they are candidates of `links`."""
        self._lost.append(_Lost(entries, set(links)))

    def link_down(self, link: str) -> None:
        """Forget another link that is gone: nothing needs to be withdrawn from it."""
        for lost in self._lost:
            lost.links.discard(link)

    def take(self, count: int) -> tuple[list[str], set[str]]:
        """The keys of up to `count` entries, the newest first, and their links."""
        latest = self._lost[-1]
        some = [latest.entries.popitem()[0] for _ in range(min(count, len(latest.entries)))]
        if not latest.entries:
            del self._lost[-1]
        return some, latest.links

    def reclaim(self, keys: Iterable[str]) -> Iterator[tuple[list[str], set[str]]]:
        """Remove the given keys that are here; yields them with the links to withdraw them from."""
        wanted = list(keys)
        for lost in tuple(self._lost):
            some = [key for key in wanted if lost.entries.pop(key, None) is not None]
            if not lost.entries:
                self._lost.remove(lost)
            if some:
                yield some, lost.links

    def candidates(self, link: str) -> Iterator[tuple[str, W]]:
        """The lost entries that still are candidates of a link."""
        for lost in self._lost:
            if link in lost.links:
                for key, entry in lost.entries.items():
                    yield key, entry.filter

    def filter_of(self, key: str) -> W:
        """The filter of a lost entry."""
        return next(lost.entries[key].filter for lost in self._lost if key in lost.entries)

    def validate(self, links: Mapping[str, object], known: Iterable[str]) -> None:
        """Check the relations above; raises `InvariantError`."""
        keys = [key for lost in self._lost for key in lost.entries]
        if len(keys) != len(set(keys)) or not set(keys).isdisjoint(known):
            raise InvariantError("something that came over a link that is gone is here twice")
        if not all(lost.entries and lost.links <= links.keys() for lost in self._lost):
            raise InvariantError("nothing was lost, or it is a candidate of a link that is gone")
