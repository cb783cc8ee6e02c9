"""What a forwarding strategy is: the next links of a publication."""

from __future__ import annotations

from typing import Protocol

from sapwood.model.publication import Publication
from sapwood.routing.tables import Tables


class Forwarding(Protocol):
    """Chooses, at one router, the links over which a publication goes on."""

    def __call__(self, publication: Publication, arrival: str | None, tables: Tables) -> list[str]:
        """The neighbors to send to, in the order in which their links came up.

        `arrival` is the neighbor it came from, `None` for a client of this router; it is never
        among the result, which on a tree excludes loops.
        """
        ...
