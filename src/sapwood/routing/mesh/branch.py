"""One router's part of one source's tree: a router of its own, and who it is linked to there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from sapwood.overlay.spanning import SpanningTree
from sapwood.routing.messages import Announce, Version
from sapwood.routing.router import Router


@dataclass(frozen=True, slots=True)
class Place:
    """Where a router stands in an announced tree; at the source, and outside, without parent."""

    announced: Announce
    is_inside: bool
    parent: str | None
    children: tuple[str, ...]

    @classmethod
    def of(cls, router: str, announced: Announce) -> Place:
        """The place of a router in a tree."""
        tree: SpanningTree = announced.tree
        parent: str | None = None
        children: list[str] = []
        for above, below in tree.links():
            if below == router:
                parent = above
            if above == router:
                children.append(below)
        return cls(announced, parent is not None or tree.source == router, parent, tuple(children))


class Basis(NamedTuple):
    """What a branch depends on: when this changes it is begun afresh."""

    version: Version
    #: which life of the parent's branch it is joined to; `None` at the source
    parent_life: int | None


@dataclass(slots=True)
class Branch:
    """An ordinary router that routes the publications of one source.

    #: the links of the router are the peers
    #: peers are the parent, and the children that have joined; each with its life
    """

    source: str
    basis: Basis
    life: int
    router: Router
    peers: dict[str, int] = field(default_factory=dict)
