"""Subscriptions by side and key: an index for each side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sapwood.errors import InvariantError
from sapwood.matching.choice import Engines
from sapwood.matching.index import Index
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.routing.tables import CLIENTS


class Matches(NamedTuple):
    """Who wants a publication.

    `keys` are those of the clients' filters that accept it, sorted. `neighbors` have one that does,
    in the order in which their sides were added.
    """

    keys: list[str]
    neighbors: list[str]


class SideIndexes:
    """Filters by side and key, and which sides have one that accepts a publication.

    The sides are `CLIENTS`, which is always there, and those that were added, one for each
    neighbor. A key is unique on its side.
    """

    __slots__ = ("_engines", "_links", "_own")

    def __init__(self, engines: Engines) -> None:
        """Raises `UnknownNameError` for an engine that does not exist."""
        self._engines = engines
        self._own = Index(*engines)
        #: in the order in which the links came up
        self._links: dict[str, Index] = {}

    @property
    def neighbors(self) -> Sequence[str]:
        """The sides but `CLIENTS`, in the order in which they were added."""
        return tuple(self._links)

    def size(self, side: str) -> int:
        """The number of keys of a side."""
        return len(self._of(side))

    def keys(self, side: str) -> Iterable[str]:
        """The keys of a side."""
        return self._of(side)

    def filter(self, side: str, key: str) -> Interest:
        """The filter of a side under a key, equal to the one that was added."""
        return self._of(side).filter(key)

    def add_side(self, side: str) -> None:
        """Add a side without filters."""
        assert side != CLIENTS, "the side of the clients is always there"
        assert side not in self._links, "a side is added once"
        self._links[side] = Index(*self._engines)

    def remove_side(self, side: str) -> None:
        """Remove a side with all its filters."""
        del self._links[side]

    def add(self, side: str, key: str, filter: Interest) -> None:  # noqa: A002 - the field's word
        """Add a filter to a side."""
        self._of(side).add(key, filter)

    def remove(self, side: str, key: str) -> None:
        """Remove a filter of a side."""
        self._of(side).remove(key)

    def match(self, publication: Publication, arrival: str | None) -> Matches:
        """The clients' keys and the neighbors whose filters accept a publication.

        `arrival` is the neighbor that it came from, `None` for a client; it is never among the
        neighbors.
        """
        neighbors = [
            neighbor
            for neighbor, index in self._links.items()
            if neighbor != arrival and index.match_any(publication)
        ]
        return Matches(self._own.match(publication), neighbors)

    def match_batch(
        self, publications: Sequence[Publication], arrival: str | None
    ) -> list[Matches]:
        """`match` for each of some publications from one side."""
        return [self.match(publication, arrival) for publication in publications]

    def match_clients(self, publication: Publication) -> list[str]:
        """The clients' keys only."""
        return self._own.match(publication)

    def validate(self) -> None:
        """Check that there is one side for the clients only; raises `InvariantError`."""
        if CLIENTS in self._links:
            raise InvariantError("a neighbor has the name of the clients' side")

    def _of(self, side: str) -> Index:
        return self._own if side == CLIENTS else self._links[side]
