"""Spanning trees with a source, and how one is found where there are several ways."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated

from msgspec import Meta, Struct

from sapwood.errors import InputError
from sapwood.limits import MESH_ROUTERS_MAX
from sapwood.model.fields import Count, Name


class SpanningTree(Struct, array_like=True, frozen=True, gc=False):
    """A tree over routers, of which the first is its source.

    `parents` has, for each router but the first, the place of the next router toward the source.
    That place is before its own: so whatever can be written down is a tree. Raises `InputError`
    where this does not hold, or a router is there twice.
    """

    routers: Annotated[tuple[Name, ...], Meta(max_length=MESH_ROUTERS_MAX)]
    parents: Annotated[tuple[Count, ...], Meta(max_length=MESH_ROUTERS_MAX)] = ()

    def __post_init__(self) -> None:
        if not self.routers or len(set(self.routers)) != len(self.routers):
            raise InputError("a spanning tree has a source, and each router once")
        if len(self.parents) != len(self.routers) - 1:
            raise InputError("in a spanning tree each router but the source has one parent")
        for place, parent in enumerate(self.parents, 1):
            if not 0 <= parent < place:
                raise InputError(f"the parent of {self.routers[place]!r} does not stand before it")

    @property
    def source(self) -> str:
        """The router that the tree is rooted at."""
        return self.routers[0]

    def links(self) -> Iterator[tuple[str, str]]:
        """The links, as pairs of a parent and its child."""
        for child, parent in zip(self.routers[1:], self.parents, strict=True):
            yield self.routers[parent], child


def fewest_links(source: str, around: Mapping[str, Iterable[str]]) -> SpanningTree:
    """The tree over all that `source` reaches, with as few links as can be between any and it.

    `around` has the neighbors of each router. Of ways with equally many links the choice depends on
    nothing but the names of the routers: routers that know the same links find the same tree.
    """
    places = {source: 0}
    parents: list[int] = []
    reached = [source]
    for router in reached:
        for neighbor in sorted(around[router]):
            if neighbor not in places:
                places[neighbor] = len(reached)
                parents.append(places[router])
                reached.append(neighbor)
    return SpanningTree(tuple(reached), tuple(parents))
