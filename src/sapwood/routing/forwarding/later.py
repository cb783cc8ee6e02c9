"""Forwarding that is made when somebody first asks where a publication goes.

A router that becomes its earlier self takes in a million changes and is asked nothing meanwhile.
What it forwards with follows from its entries alone, so it is made once, of what is there at the
end: a large index is made in a fraction of the time that growing it takes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.routing.forwarding.protocol import Forwarding, Routed


class Later:
    """Stands for the forwarding that `make` makes and puts in its place; follows nothing."""

    __slots__ = ("_make", "digests_unread")

    def __init__(self, make: Callable[[], Forwarding]) -> None:
        self._make = make
        self.digests_unread = 0

    def add_side(self, side: str) -> None:
        """The entries will say so."""

    def remove_side(self, side: str) -> None:
        """The entries will say so."""

    def learned(self, side: str, key: str, filter: Interest) -> None:
        """The entries have it."""

    def learned_many(self, side: str, entries: Sequence[tuple[str, Interest]]) -> None:
        """The entries have them."""

    def forgot(self, side: str, key: str) -> None:
        """The entries have it no longer."""

    def route(
        self,
        batch: Sequence[Publication],
        arrival: str | None,
        digests: Sequence[bytes],
        now: float,
    ) -> Routed:
        """What the forwarding says that is made now."""
        return self._make().route(batch, arrival, digests, now)

    def matched(self, publication: Publication) -> Sequence[str]:
        """What the forwarding says that is made now."""
        return self._make().matched(publication)

    def validate(self, sides: Mapping[str, Mapping[str, Interest]]) -> None:
        """There is nothing that could be wrong."""
