"""The choices of a similarity graph, with the work's values."""

from __future__ import annotations

from dataclasses import dataclass

from sapwood.errors import InputError
from sapwood.limits.semantic import CLOSEST_NEIGHBORS, RANDOM_NEIGHBORS


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphOptions:
    """The choices of a graph.

    A peer chooses its `closest` (n) and `random` (r) neighbors. It forwards over a link that is
    only random with the chance `forwarding` (rho), in either direction; up to `indulgence` (gamma)
    peers on a path that are not interested forward all the same. Where `one_way`, a link that is
    only random carries publications from the peer that chose it to the chosen one, and never back:
    "to actually forward a message to its r random neighbors" (L2870) can be read so, against "links
    are used in both directions" (L2862). Where `flooded`, a JOIN reaches every peer to which links
    lead; otherwise all, as in the work's experiments (L3313).

    Raises `InputError` for anything that is no such choice.
    """

    closest: int = CLOSEST_NEIGHBORS
    random: int = RANDOM_NEIGHBORS
    forwarding: float = 1.0
    indulgence: int = 0
    one_way: bool = False
    flooded: bool = False

    def __post_init__(self) -> None:
        if self.closest < 1 or min(self.random, self.indulgence) < 0:
            raise InputError("a peer has one closest neighbor at least; no count is below 0")
        if not 0 <= self.forwarding <= 1:
            raise InputError("the share of random links that forward is between 0 and 1")
