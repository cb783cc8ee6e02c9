"""What came over links that are gone, and is withdrawn from the others bit by bit.

A link that goes takes all that came over it, and that may be the subscriptions of half the overlay.
Nobody is routed to over it from then on; what other neighbors were told because of it is taken back
a part at a time, the newest first, with publications and requests of others in between. What comes
again meanwhile, over the same link or another one, is first taken back and then told again, as if
all had been at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic

from sapwood.errors import InvariantError
from sapwood.routing.tables import ReceivedEntry, W


@dataclass(slots=True)
class _Lost(Generic[W]):
    """What came over one link, and the links of which it is a candidate still."""

    entries: dict[str, ReceivedEntry[W]]
    links: set[str]


class Orphans(Generic[W]):
    """The entries of links that are gone, as far as they are not withdrawn.

    #: no key is lost twice, and none is here that an entry has
    #: there is one entry at least of each link that was lost
    """

    __slots__ = ("_lost",)

    def __init__(self) -> None:
        self._lost: list[_Lost[W]] = []

    def __bool__(self) -> bool:
        return bool(self._lost)

    def add(self, entries: dict[str, ReceivedEntry[W]], links: Iterable[str]) -> None:
        """A link is gone over which these came; they are candidates of these links."""
        self._lost.append(_Lost(entries, set(links)))

    def link_down(self, link: str) -> None:
        """Another link is gone, and needs to be told nothing."""
        for lost in self._lost:
            lost.links.discard(link)

    def take(self, count: int) -> tuple[list[str], set[str]]:
        """The keys of so many, the newest first, and the links of which they were candidates."""
        latest = self._lost[-1]
        some = [latest.entries.popitem()[0] for _ in range(min(count, len(latest.entries)))]
        if not latest.entries:
            del self._lost[-1]
        return some, latest.links

    def reclaim(self, keys: Iterable[str]) -> Iterator[tuple[list[str], set[str]]]:
        """Those among some keys, and the links of which they were candidates: to be withdrawn."""
        wanted = list(keys)
        for lost in tuple(self._lost):
            some = [key for key in wanted if lost.entries.pop(key, None) is not None]
            if not lost.entries:
                self._lost.remove(lost)
            if some:
                yield some, lost.links

    def candidates(self, link: str) -> Iterator[tuple[str, W]]:
        """What a link has as candidates still."""
        for lost in self._lost:
            if link in lost.links:
                for key, entry in lost.entries.items():
                    yield key, entry.filter

    def filter_of(self, key: str) -> W:
        """The filter of one that is here."""
        return next(lost.entries[key].filter for lost in self._lost if key in lost.entries)

    def validate(self, links: Mapping[str, object], known: Iterable[str]) -> None:
        """Check the relations above; raises `InvariantError`."""
        keys = [key for lost in self._lost for key in lost.entries]
        if len(keys) != len(set(keys)) or not set(keys).isdisjoint(known):
            raise InvariantError("something that came over a link that is gone is here twice")
        if not all(lost.entries and lost.links <= links.keys() for lost in self._lost):
            raise InvariantError("nothing was lost, or it is a candidate of a link that is gone")
