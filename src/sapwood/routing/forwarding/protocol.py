"""What a forwarding strategy is: who has to have a publication next."""

from __future__ import annotations

from typing import Protocol

from sapwood.model.publication import Publication
from sapwood.routing.sided_index import Matches, SidedIndex


class Forwarding(Protocol):
    """Chooses, at one router, the links over which a publication goes on."""

    def __call__(self, publication: Publication, arrival: str | None, index: SidedIndex) -> Matches:
        """The matching keys of clients, and the neighbors to send to as their links came up.

        `arrival` is the neighbor it came from, `None` for a client of this router; it is never
        among the neighbors, which on a tree excludes loops.
        """
        ...
