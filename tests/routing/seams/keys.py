"""A forwarding with a digest: the first router names the subscriptions that it has found.

Where every subscription travels to every router, under its own key, those that a publication was
matched with at the first router are all that there are; the others look keys up and never look at
content. A digest is the mark, and the keys as a list in MessagePack.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from sapwood.errors import InvariantError
from sapwood.matching.engine_names import Engines
from sapwood.matching.index import Index
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.routing.forwarding.protocol import Onward, Routed
from sapwood.routing.strategies import ForwardingStrategy, Rule
from sapwood.routing.tables import CLIENTS

MARK: Final = 107


class Keys:
    """The keys of all sides at one router, and an index of all of them.

    #: _side_of[k] is a side, for exactly the keys of the index
    """

    def __init__(self, router: str, engines: Engines) -> None:
        self._index = Index(*engines)
        self._side_of: dict[str, str] = {}
        self._neighbors: dict[str, None] = {}
        self.digests_unread = 0
        self.matches = 0
        self.lookups = 0

    def add_side(self, side: str) -> None:
        self._neighbors[side] = None

    def remove_side(self, side: str) -> None:
        del self._neighbors[side]
        for key in [key for key, known in self._side_of.items() if known == side]:
            self.forgot(side, key)

    def learned(self, side: str, key: str, filter: Interest) -> None:
        self._side_of[key] = side
        self._index.add(key, filter)

    def learned_many(self, side: str, entries: Sequence[tuple[str, Interest]]) -> None:
        for key, wanted in entries:
            self.learned(side, key, wanted)

    def forgot(self, side: str, key: str) -> None:
        del self._side_of[key]
        self._index.remove(key)

    def route(
        self,
        batch: Sequence[Publication],
        arrival: str | None,
        digests: Sequence[bytes],
        now: float,
    ) -> Routed:
        keys: list[Sequence[str]] = []
        parts: dict[str, tuple[list[int], list[bytes]]] = {n: ([], []) for n in self._neighbors}
        for place, (publication, came) in enumerate(zip(batch, digests, strict=True)):
            if came[:1] == bytes([MARK]):
                self.lookups += 1
                found, digest = msgspec.msgpack.decode(came[1:], type=list[str]), came
            else:
                self.matches += 1
                found = self._index.match(publication)
                self.digests_unread += bool(came)
                digest = came or bytes([MARK]) + msgspec.msgpack.encode(found)
            sides = [self._side_of.get(key) for key in found]
            keys.append([key for key, side in zip(found, sides, strict=True) if side == CLIENTS])
            for neighbor, (places, written) in parts.items():
                if neighbor != arrival and neighbor in sides:
                    places.append(place)
                    written.append(digest)
        return Routed(keys, [Onward(n, *part) for n, part in parts.items() if part[0]])

    def matched(self, publication: Publication) -> Sequence[str]:
        return [key for key in self._index.match(publication) if self._side_of[key] == CLIENTS]

    def validate(self, sides: Mapping[str, Mapping[str, Interest]]) -> None:
        if list(sides) != [CLIENTS, *self._neighbors]:
            raise InvariantError("keys are kept of other links than those that are up")
        known = {key: side for side, filters in sides.items() for key in filters}
        if self._side_of != known or set(self._index) != known.keys():
            raise InvariantError("other keys are known than those that came")


KEYS: Final = ForwardingStrategy(
    name="keys",
    summary="the first router names the subscriptions that it has found",
    make=lambda router, engines, _: Keys(router, engines),
    mark=MARK,
    requires=(
        Rule(
            frozenset({"simple"}),
            "keys that the first router has found have to mean the same everywhere, so every "
            "subscription has to travel: put keys behind simple",
        ),
    ),
)
