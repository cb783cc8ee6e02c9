"""Send every publication over every link: XSiena 2.2, equation 2.13.

Only the clients' subscriptions matter. Writes no digest and reads none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sapwood.errors import InvariantError
from sapwood.matching.engine_names import Engines
from sapwood.matching.index import Index
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.routing.forwarding.protocol import Onward, Routed
from sapwood.routing.tables import CLIENTS


class Flood:
    """Sends everything to all neighbors but the one it came from; content is for clients only.

    #: the index holds exactly the clients' subscriptions
    """

    __slots__ = ("_neighbors", "_own", "content_matches", "digests_unread")

    def __init__(self, engines: Engines) -> None:
        self._own = Index(*engines, warns=False)
        #: in the order in which their links came up
        self._neighbors: dict[str, None] = {}
        self.digests_unread = 0
        #: publications that were matched against the clients' subscriptions
        self.content_matches = 0

    def add_side(self, side: str) -> None:
        """Add a neighbor."""
        self._neighbors[side] = None

    def remove_side(self, side: str) -> None:
        """Remove a neighbor."""
        del self._neighbors[side]

    def learned(self, side: str, key: str, filter: Interest) -> None:
        """Add a subscription to a side; only the clients' are kept."""
        if side == CLIENTS:
            self._own.add(key, filter)

    def learned_many(self, side: str, entries: Sequence[tuple[str, Interest]]) -> None:
        """Add several subscriptions to a side together."""
        if side == CLIENTS:
            self._own.add_many(entries)

    def forgot(self, side: str, key: str) -> None:
        """Remove a subscription of a side."""
        if side == CLIENTS:
            self._own.remove(key)

    def route(
        self,
        batch: Sequence[Publication],
        arrival: str | None,
        digests: Sequence[bytes],
        now: float,  # noqa: ARG002 - nothing here depends on time
    ) -> Routed:
        """Route all publications to all neighbors; digests go on as they came."""
        self.digests_unread += sum(map(bool, digests))
        self.content_matches += len(batch)
        places = range(len(batch))
        onward = [
            Onward(neighbor, places, digests) for neighbor in self._neighbors if neighbor != arrival
        ]
        return Routed([self._own.match(publication) for publication in batch], onward)

    def counters(self) -> dict[str, int]:
        """The matches so far: one for each publication that came."""
        return {"content_matches": self.content_matches}

    def matched(self, publication: Publication) -> Sequence[str]:
        """The keys of the clients' subscriptions that accept a publication."""
        return self._own.match(publication)

    def validate(self, sides: Mapping[str, Mapping[str, Interest]]) -> None:
        """Check the neighbors, and that the index has exactly the clients' subscriptions."""
        if [CLIENTS, *self._neighbors] != list(sides):
            raise InvariantError("publications are flooded over other links than are up")
        own = sides[CLIENTS]
        if len(self._own) != len(own):
            raise InvariantError(
                f"the clients' index holds {len(self._own)} subscriptions, not {len(own)}"
            )
        for key, wanted in own.items():
            if key not in self._own or self._own.filter(key) != wanted:
                raise InvariantError(f"the clients' index lost or changed {key}")
