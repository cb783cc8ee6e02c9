"""A content match at every hop: reverse path forwarding.

XSiena 2.3 (equation 2.15); Shen calls it Never-Reuse (2.3, algorithm 3.1), since no result of an
earlier hop is used. Writes no digest and reads none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from sapwood.errors import InvariantError
from sapwood.matching.engine_names import Engines
from sapwood.matching.publication_batch import PublicationBatch
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.routing.forwarding.protocol import NO_DIGEST, Onward, Routed
from sapwood.routing.holders import Holders
from sapwood.routing.ready_made import ReadyMade
from sapwood.routing.sided_index import Adopted, SidedIndex
from sapwood.routing.tables import CLIENTS

_ONLY: Final = (0,)
_NONE: Final = (NO_DIGEST,)


class EveryHop:
    """Matches each publication against the subscriptions of all sides.

    #: the index holds exactly the subscriptions that were learned and not forgotten, side by side
    #: _sizes are the numbers of subscriptions of each neighbor that has any
    """

    __slots__ = ("_index", "_sizes", "content_matches", "digests_unread")

    def __init__(self, engines: Engines) -> None:
        self._index = SidedIndex(engines)
        self._sizes: dict[str, int] = {}
        self.digests_unread = 0
        #: publications times the sides that they were matched against
        self.content_matches = 0

    @property
    def holders(self) -> Holders:
        """The keys of the clients' subscriptions by number."""
        return self._index.holders

    def adopt(self, ready: ReadyMade, present: Mapping[str, object]) -> Adopted:
        """Begin with engines that are ready-made: see `later.Adopting`."""
        return self._index.adopt(ready, present)

    def let_go(self) -> None:
        """Remove the adopted filters that no side holds."""
        self._index.let_go()

    def add_side(self, side: str) -> None:
        """Add a neighbor, from which nothing has come."""
        self._index.add_side(side)

    def remove_side(self, side: str) -> None:
        """Remove a neighbor, with all its subscriptions."""
        self._index.remove_side(side)
        self._sizes.pop(side, None)

    @property
    def has_left(self) -> bool:
        """True if filters of sides that were removed are in the index."""
        return self._index.has_left

    def clear(self, count: int) -> None:
        """Remove up to `count` of them."""
        self._index.clear(count)

    def learned(self, side: str, key: str, filter: Interest) -> None:
        """Add a subscription to a side."""
        self._index.add(side, key, filter)
        self._grow(side, 1)

    def learned_many(self, side: str, entries: Sequence[tuple[str, Interest]]) -> None:
        """Add several subscriptions to a side together."""
        self._index.add_many(side, entries)
        self._grow(side, len(entries))

    def forgot(self, side: str, key: str) -> None:
        """Remove a subscription of a side."""
        self._index.remove(side, key)
        self._grow(side, -1)

    def _grow(self, side: str, by: int) -> None:
        if side == CLIENTS:
            return
        size = self._sizes.get(side, 0) + by
        if size:
            self._sizes[side] = size
        else:
            self._sizes.pop(side, None)

    def route(
        self,
        batch: Sequence[Publication],
        arrival: str | None,
        digests: Sequence[bytes],
        now: float,  # noqa: ARG002 - no earlier result is used
    ) -> Routed:
        """Route each publication to the sides that accept it; digests go on as they came."""
        sides = 1 + len(self._sizes) - (arrival in self._sizes)
        if len(batch) == 1 and not isinstance(batch, PublicationBatch):
            own, neighbors = self._index.match(batch[0], arrival)
            passed = digests if digests[0] else _NONE
            self.digests_unread += passed is digests
            self.content_matches += sides
            return Routed((own,), [Onward(neighbor, _ONLY, passed) for neighbor in neighbors])
        keys, places = self._index.match_batch(batch, arrival)
        unread = sum(map(bool, digests[: len(keys)]))
        self.digests_unread += unread
        self.content_matches += sides * len(keys)
        onward = [
            Onward(
                neighbor,
                some,
                [digests[place] for place in some] if unread else (NO_DIGEST,) * len(some),
            )
            for neighbor, some in places.items()
        ]
        return Routed(keys, onward)

    def counters(self) -> dict[str, int]:
        """The matches so far; clients' subscriptions are a side, links without any are none."""
        return {"content_matches": self.content_matches}

    def matched(self, publication: Publication) -> Sequence[str]:
        """The keys of the clients' subscriptions that accept a publication."""
        return self._index.match_clients(publication)

    def validate(self, sides: Mapping[str, Mapping[str, Interest]]) -> None:
        """Check that the index holds exactly the subscriptions."""
        self._index.validate()
        if [CLIENTS, *self._index.neighbors] != list(sides):
            raise InvariantError("the index and the received subscriptions are of other links")
        for side, filters in sides.items():
            name = f"the index of link {side}" if side else "the clients' index"
            size = self._index.size(side)
            if side and self._sizes.get(side, 0) != size:
                raise InvariantError(f"{name} is counted as {self._sizes.get(side, 0)}, not {size}")
            if size != len(filters):
                raise InvariantError(f"{name} holds {size} subscriptions, not {len(filters)}")
            known = set(self._index.keys(side))
            for key, wanted in filters.items():
                if key not in known or self._index.filter(side, key) != wanted:
                    raise InvariantError(f"{name} lost or changed {key}")
