"""Algorithm 21 on a similarity graph, with its two options (L2870).

Over a link that is only random a publication goes with the chance rho, in either direction: without
that, rho = 0 would not be the graph without random links, as the work says it is. And as many
as gamma peers on a path that are not interested hand it on all the same. The budget goes along each
path ("gamma times per message" in print, which can be read in two ways).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

from sapwood.overlay.semantic.graph.options import GraphOptions
from sapwood.overlay.semantic.graph.state import SEMANTIC, GraphState
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
            if not flags & SEMANTIC and _coin(seed, sender, receiver) >= options.forwarding:
                continue
            way.sent[sender] += 1
            if receiver in way.came_from:
                way.again += 1
            else:
                way.came_from[receiver] = sender
                waiting.append((receiver, budget))
    return way


def _coin(seed: int, sender: int, receiver: int) -> float:
    """A number in [0, 1) that is anything, and the same each time (the mixer of SplitMix64)."""
    mixed = (seed + 0x9E3779B97F4A7C15 * ((sender << 32 | receiver) + 1)) & _MASK
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EB & _MASK
    return ((mixed ^ mixed >> 31) & ~0x7FF & _MASK) * _SCALE
