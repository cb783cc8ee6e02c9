"""Finding neighbors: a JOIN that goes to all, and answers that may be merged on their way back.

Algorithms 24 and 25. In a flood each peer hands the first copy on to all its neighbors but the
one it came from, and answers the newcomer itself. With reduced probing answers go back the way that
the JOIN came, and each peer hands on one message: the n best of its answers, and of the others the
r with the smallest keys. Keys are drawn for each peer alike, so that both find the same neighbors.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sapwood.overlay.semantic.graph.options import GraphOptions
from sapwood.overlay.semantic.graph.state import GraphState


def flood(state: GraphState, start: int) -> tuple[list[int], dict[int, int], int]:
    """The peers that a JOIN from `start` reaches, in order; their senders; the number of copies.

    The copy of the newcomer for the first is counted.
    """
    came_from, copies = {start: start}, 1
    waiting = deque((start,))
    while waiting:
        peer = waiting.popleft()
        for other in state.of(peer):
            if other == came_from[peer]:
                continue
            copies += 1
            if other not in came_from:
                came_from[other] = peer
                waiting.append(other)
    return list(came_from), came_from, copies


def best_of(
    scores: NDArray[np.float32], degrees: NDArray[np.int32], peers: NDArray[np.int64], count: int
) -> NDArray[np.int64]:
    """The peers with the highest scores, best first; of equals those with fewer neighbors."""
    if len(peers) > count:
        least = np.partition(scores, len(scores) - count)[len(scores) - count]
        among = np.flatnonzero(scores >= least)
        scores, degrees, peers = scores[among], degrees[among], peers[among]
    order = np.lexsort((peers, degrees, -scores))[:count]
    return peers[order]


def merged(
    state: GraphState,
    scores: NDArray[np.float32],
    keys: NDArray[np.float64],
    pool: Sequence[int] | NDArray[np.int64],
    options: GraphOptions,
) -> tuple[list[int], list[int]]:
    """The best of those in a pool, and the others with the smallest keys; by peers' numbers."""
    peers = np.unique(np.asarray(pool, np.int64))
    best = best_of(scores[peers], state.degree[peers], peers, options.closest)
    others = np.ones(len(peers), np.bool_)
    others[np.searchsorted(peers, best)] = False
    rest = peers[others]
    if len(rest) > options.random:
        rest = rest[np.argpartition(keys[rest], options.random)[: options.random]]
    by_chance = rest[np.argsort(keys[rest], kind="stable")]
    return best.tolist(), by_chance.tolist()


def reduced_probe(
    state: GraphState,
    scores: NDArray[np.float32],
    keys: NDArray[np.float64],
    start: int,
    options: GraphOptions,
) -> tuple[list[int], list[int], int]:
    """The neighbors that merged answers give a newcomer, close and random, and all messages.

    A peer that has seen the JOIN already answers at once with nothing, or the wait would end by a
    timer alone.
    """
    reached, came_from, copies = flood(state, start)
    pools: dict[int, list[int]] = {peer: [peer] for peer in reached}
    for peer in reversed(reached):
        best, by_chance = merged(state, scores, keys, pools.pop(peer), options)
        if peer == start:
            return best, by_chance, 2 * copies
        pools[came_from[peer]] += best + by_chance
    raise AssertionError("the first peer of a flood is the last to answer")
