"""The links of a similarity graph, with their owners.

A link is used in both directions and owned by those that chose it, for being close or by chance;
it goes when it has no owner any more. Each peer has a table from neighbors to flags, and its
closest neighbors with their scores, best first, in two rows of n.

Worked example, n = 2, r = 1: peer 0 chose 1 (0.9) and 2 (0.5), and 3 by chance; peer 1 chose 0::

    peer   links                                  chosen    scores      worst
    0      {1: OWN|CHOSEN, 2: OWN, 3: RANDOM}     1  2      0.9  0.5    0.5
    1      {0: OWN|CHOSEN}                        0 -1      0.9   -     -1 (has room)
    2      {0: CHOSEN}
    3      {0: RANDOM_CHOSEN}

The rows take 8 n bytes a peer, 80 for n = 10, and three numbers 12; a table of 11 to 21 neighbors
takes 632.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sapwood.errors import InvariantError, LimitError, UnknownIdError
from sapwood.limits.semantic import PEERS_MAX

NOBODY: Final = -1

OWN: Final = 1
CHOSEN: Final = 2
RANDOM: Final = 4
RANDOM_CHOSEN: Final = 8
SEMANTIC: Final = OWN | CHOSEN
"""A link is semantic where either end chose it for being close, whatever else it is."""

_START: Final = 64


class GraphState:
    """The links of all peers; numbers begin at 0, and none is given again."""

    __slots__ = ("chosen", "closest", "degree", "interest", "links", "peers", "scores", "worst")

    def __init__(self, closest: int) -> None:
        self.closest = closest
        #: for each peer its neighbors with flags; `None` for a peer that left
        self.links: list[dict[int, int] | None] = []
        #: the closest neighbors, best first, and their scores
        self.chosen: NDArray[np.int32] = np.full((_START, closest), NOBODY, np.int32)
        self.scores: NDArray[np.float32] = np.full((_START, closest), -1, np.float32)
        #: the lowest score of a full list, -1 where there is room, 2 where there is no peer
        self.worst: NDArray[np.float32] = np.full(_START, 2, np.float32)
        #: the number of neighbors
        self.degree: NDArray[np.int32] = np.zeros(_START, np.int32)
        #: the number of the filter; -1 for a peer that left
        self.interest: NDArray[np.int32] = np.full(_START, NOBODY, np.int32)
        self.peers = 0

    def __contains__(self, peer: int) -> bool:
        """True if a peer is there."""
        return 0 <= peer < len(self.links) and self.links[peer] is not None

    def __iter__(self) -> Iterator[int]:
        """All peers that are there."""
        return (peer for peer, links in enumerate(self.links) if links is not None)

    @property
    def bytes(self) -> int:
        """The bytes that the links of all peers take."""
        columns = (self.chosen, self.scores, self.worst, self.degree, self.interest)
        tables = sum(links.__sizeof__() for links in self.links if links is not None)
        return tables + sum(column.nbytes for column in columns)

    def of(self, peer: int) -> dict[int, int]:
        """The links of a peer. Raises `UnknownIdError` where it is not there."""
        if peer not in self:
            raise UnknownIdError("peer", str(peer))
        links = self.links[peer]
        assert links is not None
        return links

    def new(self, interest: int) -> int:
        """A peer with an interest, without neighbors; returns its number."""
        peer = len(self.links)
        if peer >= PEERS_MAX:
            raise LimitError("PEERS_MAX", PEERS_MAX, peer + 1, "the number of peers")
        if peer == len(self.worst):
            for name, value in (("chosen", NOBODY), ("scores", -1), ("worst", 2), ("degree", 0)):
                self._double(name, value)
            self._double("interest", NOBODY)
        self.links.append({})
        self.worst[peer] = -1
        self.interest[peer] = interest
        self.peers += 1
        return peer

    def _double(self, name: str, value: float) -> None:
        column = getattr(self, name)
        setattr(self, name, np.concatenate((column, np.full_like(column, value))))

    def link(self, owner: int, other: int, own: int) -> None:
        """The owner chooses another peer: `own` is `OWN` or `RANDOM`."""
        for peer, neighbor, flag in ((owner, other, own), (other, owner, own * 2)):
            links = self.of(peer)
            links[neighbor] = links.get(neighbor, 0) | flag
            self.degree[peer] = len(links)

    def unlink(self, owner: int, other: int, own: int) -> None:
        """The owner chooses it no longer; the link stays where the other end owns it, too."""
        for peer, neighbor, flag in ((owner, other, own), (other, owner, own * 2)):
            links = self.of(peer)
            links[neighbor] &= ~flag
            if not links[neighbor]:
                del links[neighbor]
            self.degree[peer] = len(links)

    def choose(self, peer: int, other: int, score: float) -> int:
        """Take another peer among the closest, behind those as close; returns the displaced one.

        There has to be room, or a worse one that goes; -1 where there was room.
        """
        scores, chosen = self.scores[peer], self.chosen[peer]
        place = int(np.count_nonzero(scores >= score))
        assert place < self.closest
        evicted = int(chosen[-1])
        if evicted != NOBODY:
            self.unlink(peer, evicted, OWN)
        scores[place + 1 :], chosen[place + 1 :] = scores[place:-1].copy(), chosen[place:-1].copy()
        scores[place], chosen[place] = score, other
        self.worst[peer] = scores[-1]
        self.link(peer, other, OWN)
        return evicted

    def drop(self, peer: int, other: int) -> None:
        """Take another peer out of the closest; there is room then."""
        rows = (self.chosen[peer], NOBODY), (self.scores[peer], -1)
        place = int(np.flatnonzero(self.chosen[peer] == other)[0])
        for row, nothing in rows:
            row[place:-1] = row[place + 1 :].copy()
            row[-1] = nothing
        self.worst[peer] = -1
        self.unlink(peer, other, OWN)

    def closest_of(self, peer: int) -> list[int]:
        """The peers that a peer chose for being close, best first."""
        return [int(one) for one in self.chosen[peer] if one != NOBODY]

    def random_of(self, peer: int) -> list[int]:
        """The peers that a peer chose by chance, in the order of their numbers."""
        return sorted(one for one, flags in self.of(peer).items() if flags & RANDOM)

    def remove(self, peer: int) -> tuple[list[int], list[int]]:
        """Remove a peer and its links; returns the peers that chose it, as close or by chance."""
        links = dict(self.of(peer))
        owners = sorted(one for one, flags in links.items() if flags & CHOSEN)
        by_chance = sorted(one for one, flags in links.items() if flags & RANDOM_CHOSEN)
        for other in owners:
            self.drop(other, peer)
        for other in by_chance:
            self.unlink(other, peer, RANDOM)
        self.forget(peer)
        self.links[peer] = None
        self.interest[peer], self.worst[peer] = NOBODY, 2
        self.peers -= 1
        return owners, by_chance

    def forget(self, peer: int) -> None:
        """A peer gives up all that it chose."""
        for other in self.closest_of(peer):
            self.drop(peer, other)
        for other in self.random_of(peer):
            self.unlink(peer, other, RANDOM)

    def validate(self) -> None:
        """Raise `InvariantError` unless both ends of each link agree, and lists are in order."""
        if sum(links is not None for links in self.links) != self.peers:
            raise InvariantError("similarity graph: the peers are not counted right")
        for peer in self:
            links = self.of(peer)
            own = {one for one, flags in links.items() if flags & OWN}
            scores = self.scores[peer]
            mirrored = all(
                0 < flags < 16 and self.of(one).get(peer, 0) == _seen_from_there(flags)
                for one, flags in links.items()
            )
            if not mirrored or peer in links:
                raise InvariantError(f"similarity graph: the ends of a link of {peer} differ")
            if own != set(self.closest_of(peer)) or len(own) != np.count_nonzero(scores >= 0):
                raise InvariantError(f"similarity graph: {peer} did not choose what it owns")
            if (np.diff(scores) > 0).any() or self.worst[peer] != scores[-1]:
                raise InvariantError(f"similarity graph: the scores of {peer} are not in order")
            if self.degree[peer] != len(links):
                raise InvariantError(f"similarity graph: the degree of {peer} is another one")


def _seen_from_there(flags: int) -> int:
    """The flags of the same link at the other end."""
    return (flags & 5) << 1 | (flags & 10) >> 1
