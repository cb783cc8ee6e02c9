"""Algorithm 21 on a similarity graph, with its two options (L2870).

Over a link that is only random a publication goes with the chance rho, in either direction: without
that, rho = 0 would not be the graph without random links, as it is in the work. And as many as
gamma peers on a path that are not interested hand it on all the same. The budget goes along each
path ("gamma times per message" in print, which can be read in two ways).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import NDArray

from sapwood.overlay.semantic.graph.options import GraphOptions
from sapwood.overlay.semantic.graph.state import RANDOM, SEMANTIC, GraphState
from sapwood.overlay.semantic.spreading import Spread

_MASK: Final = (1 << 64) - 1
_SCALE: Final = 2.0**-64


def spread_in_graph(
    state: GraphState,
    options: GraphOptions,
    is_interested: Callable[[int], bool],
    publisher: int,
    seed: int,
) -> Spread:
    """Send one publication from a peer; messages arrive in the order they were sent.

    Whether a random link forwards depends on the seed and its two ends alone: so what gets through
    with a small rho gets through with a larger one.
    """
    state.of(publisher)
    way = Spread({publisher: publisher})
    waiting = deque(((publisher, options.indulgence),))
    while waiting:
        sender, budget = waiting.popleft()
        if sender != publisher and not is_interested(sender):
            if not budget:
                continue
            budget -= 1
        before = way.came_from[sender]
        for receiver, flags in state.of(sender).items():
            if receiver == before and sender != publisher:
                continue
            if not flags & SEMANTIC and (
                (options.one_way and not flags & RANDOM)
                or _coin(seed, sender, receiver) >= options.forwarding
            ):
                continue
            way.sent[sender] += 1
            if receiver in way.came_from:
                way.again += 1
            else:
                way.came_from[receiver] = sender
                waiting.append((receiver, budget))
    return way


class Links:
    """All links of a graph as it is now, in arrays: for publications of which only counts matter.

    A graph of 20,000 peers with 19 links each is 3.5 MB, and a publication takes milliseconds.
    """

    __slots__ = ("_by_chance", "_is_own", "_receivers", "_senders", "_size")

    def __init__(self, state: GraphState) -> None:
        ends = [(peer, other, flags) for peer in state for other, flags in state.of(peer).items()]
        senders, receivers, flags = np.array(ends, np.int64).reshape(-1, 3).T
        self._senders, self._receivers = senders, receivers
        #: the places of those that are only random
        self._by_chance = np.flatnonzero((flags & SEMANTIC) == 0)
        #: of each of those whether the sender is the one that chose it
        self._is_own = (flags[self._by_chance] & RANDOM) > 0
        self._size = len(state.links)

    def received(
        self,
        wanting: NDArray[np.bool_],
        publisher: int,
        seed: int,
        forwarding: float = 1.0,
        *,
        one_way: bool = False,
    ) -> NDArray[np.bool_]:
        """True for the number of each peer that gets a publication, as `spread_in_graph` has it.

        `wanting` is true for the numbers of interested peers; no other peer hands a publication on
        (gamma is 0).
        """
        by_chance = self._by_chance
        chances = _coins(seed, self._senders[by_chance], self._receivers[by_chance])
        is_open = np.ones(len(self._senders), np.bool_)
        is_open[by_chance] = (chances < forwarding) & (self._is_own | (not one_way))
        senders, receivers = self._senders[is_open], self._receivers[is_open]
        reached = np.zeros(self._size, np.bool_)
        reached[publisher] = True
        sending = reached.copy()
        while sending.any():
            got = np.zeros(self._size, np.bool_)
            got[receivers[sending[senders]]] = True
            sending = got & ~reached & wanting
            reached |= got
        return reached


def _coins(
    seed: int, senders: NDArray[np.int64], receivers: NDArray[np.int64]
) -> NDArray[np.float64]:
    """`_coin` for many links."""
    links = senders.astype(np.uint64) << np.uint64(32) | receivers.astype(np.uint64)
    mixed = np.uint64(seed) + np.uint64(0x9E3779B97F4A7C15) * (links + np.uint64(1))
    mixed = (mixed ^ mixed >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ mixed >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    high = (mixed ^ mixed >> np.uint64(31)) & np.uint64(_MASK & ~0x7FF)
    return high.astype(np.float64) * _SCALE


def _coin(seed: int, sender: int, receiver: int) -> float:
    """A number in [0, 1) that is anything, and the same each time (the mixer of SplitMix64)."""
    mixed = (seed + 0x9E3779B97F4A7C15 * ((sender << 32 | receiver) + 1)) & _MASK
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB & _MASK
    return ((mixed ^ mixed >> 31) & ~0x7FF & _MASK) * _SCALE
