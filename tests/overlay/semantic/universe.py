"""Interests whose containment is exact: sets of publications out of a small universe."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

from hypothesis import strategies as st

from sapwood.overlay.semantic.hierarchy.hierarchy import Hierarchy
from sapwood.overlay.semantic.hierarchy.options import HierarchyOptions
from sapwood.overlay.semantic.hierarchy.state import ROOT

SIZE = 6
"""Publications of the universe, 0 to 5."""


@dataclass(frozen=True, slots=True)
class Bits:
    """The set of publications that a filter accepts, as bits."""

    bits: int

    def covers(self, other: Bits) -> bool:
        """True if the other set is within this one."""
        return self.bits & other.bits == other.bits

    def accepts(self, publication: int) -> bool:
        """True if a publication is in the set."""
        return bool(self.bits >> publication & 1)


FILTERS = st.integers(1, 2**SIZE - 1).map(Bits)


def grown(
    filters: list[Bits], options: HierarchyOptions | None = None, seed: int = 0
) -> Hierarchy[Bits]:
    """A hierarchy that all those joined, one after the other; peers are 1, 2, ..."""
    hierarchy: Hierarchy[Bits] = Hierarchy(options)
    random = Random(seed)
    for one in filters:
        hierarchy.join(one, random)
        hierarchy.validate()
    return hierarchy


def chain(own: int, bits: set[int]) -> int:
    """The length of the longest chain of containers in a set of sets, `own` counted."""
    above = [one for one in bits if one != own and one & own == own]
    return 1 + max((chain(one, bits) for one in above), default=0)


def ideal_depths(hierarchy: Hierarchy[Bits]) -> dict[int, int]:
    """The depth that each peer has where every one is below its deepest container."""
    sets = {hierarchy.interests[hierarchy.state.interest[peer]].bits for peer in hierarchy.state}
    return {
        peer: chain(hierarchy.interests[hierarchy.state.interest[peer]].bits, sets)
        for peer in hierarchy.state
    }


def depths(hierarchy: Hierarchy[Bits]) -> dict[int, int]:
    """The depth of each peer, counted from parents alone."""
    state = hierarchy.state
    found = {}
    for peer in state:
        depth, at = 0, peer
        while at != ROOT:
            depth += not state.tagged[at]
            at = state.parent[at]
        found[peer] = depth
    return found


def interest(hierarchy: Hierarchy[Bits], peer: int) -> Bits:
    """The filter of a peer."""
    return hierarchy.interests[hierarchy.state.interest[peer]]
