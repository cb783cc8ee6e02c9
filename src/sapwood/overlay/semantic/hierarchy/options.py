"""The choices of a containment hierarchy, with the work's values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from sapwood.errors import InputError
from sapwood.limits.semantic import (
    ADAPTIVE_LOAD,
    ADAPTIVE_RATE,
    EQUIVALENT_CHILDREN,
    EQUIVALENT_ROOT_SHARE,
)


class Variant(Enum):
    """The thoroughness of a join (section 7.3.3)."""

    FULL = "full"
    """Peers that the newcomer contains are found as well, and moved below it."""
    BASIC = "basic"
    """The newcomer is placed, and no other peer moves."""
    ADAPTIVE = "adaptive"
    """The adaptive periodic join: each peer on the way decides, by its load and by chance."""


class Departure(Enum):
    """The way to place the peers below a leaving one again (section 7.3.4)."""

    BASIC = "basic"
    """The children go to their grandparent."""
    FULL = "full"
    """The children look for the best place, and so do peers below that got nearer to the root."""


@dataclass(frozen=True, slots=True)
class Clusters:
    """Child clusters: a hot peer sends one copy to each cluster of its children (L2826).

    A peer with more than `hot` children puts them into clusters of `members`, in order. The member
    that gets the copy, drawn each time, sends it to the others whatever its own filter: under the
    normal rule a member that is not interested would keep it from those that are.

    Raises `InputError` for clusters without members.
    """

    hot: int
    members: int

    def __post_init__(self) -> None:
        if self.members < 1 or self.hot < 0:
            raise InputError("a cluster has one member at least, a hot peer 0 children at least")

    def of(self, children: Sequence[int]) -> list[Sequence[int]]:
        """The clusters of a peer's children; each by itself where they are not too many."""
        size = self.members if len(children) > self.hot else 1
        return [children[at : at + size] for at in range(0, len(children), size)]


@dataclass(frozen=True, slots=True, kw_only=True)
class HierarchyOptions:
    """The choices of a hierarchy.

    `equivalent_children` is L, and the root of an equivalence tree takes L / `root_share`, rounded
    down, at least 1. `load` and `rate` belong to the adaptive join (L_APJ, gamma_APJ). `strict`
    moves a peer for balance only where that is a gain of its own (the work's test also swaps 0
    against 1). `cascade` lets peers that got deeper search again for peers that now belong below
    them, without which a full join is not optimal, although the work states it (L2801). With
    `clusters` hot peers send one copy to each cluster of their children.

    Raises `InputError` for any other value.
    """

    variant: Variant = Variant.ADAPTIVE
    equivalent_children: int = EQUIVALENT_CHILDREN
    root_share: int = EQUIVALENT_ROOT_SHARE
    load: int = ADAPTIVE_LOAD
    rate: float = ADAPTIVE_RATE
    strict: bool = False
    cascade: bool = False
    clusters: Clusters | None = None

    def __post_init__(self) -> None:
        if min(self.equivalent_children, self.root_share) < 1:
            raise InputError("a peer takes one equivalent child at least: L and its share are >= 1")
        if not 0 <= self.rate <= 1 or self.load < 0:
            raise InputError("the rate of adaptive joins is a chance, their load at least 0")

    @property
    def root_children(self) -> int:
        """The equivalent children that the root of an equivalence tree takes."""
        return max(1, self.equivalent_children // self.root_share)
