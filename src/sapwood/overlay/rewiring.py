"""Overlays whose routers and links come and go: each change gives the next overlay, a value again.

Of an overlay with many changes (`Wiring`) that is another one of its kind, and costs nothing much.

Between two changes an overlay may be in parts: a router that joins has no link at first, and a tree
that loses a link is two trees until another one takes its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sapwood.errors import InputError, UnknownNameError
from sapwood.overlay.graph import overlay_of
from sapwood.overlay.topology import Link, Overlay, Topology, abbreviated, check_routers
from sapwood.overlay.wiring import Wiring


@dataclass(frozen=True, slots=True)
class Partitioned(Overlay):
    """Routers in a defined order, and links between some of them: at most one between two.

    Each part, taken by itself, is a tree or a graph, and raises as those do.
    """

    routers: tuple[str, ...]
    links: tuple[Link, ...]

    #: router -> neighbor -> link, neighbors in the order of `links`
    _around: Mapping[str, Mapping[str, Link]] = field(init=False, repr=False, compare=False)
    #: the parts in the order of their first routers, each with its own in the order of the whole
    parts: tuple[Overlay, ...] = field(init=False, repr=False, compare=False)
    #: router -> the part that it is in
    _part_of: Mapping[str, Overlay] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_routers(self.routers)
        around: dict[str, dict[str, Link]] = {name: {} for name in self.routers}
        for link in self.links:
            for end, other in ((link.a, link.b), (link.b, link.a)):
                if end not in around:
                    raise UnknownNameError("router", end, abbreviated(self.routers))
                if other in around[end]:
                    raise InputError(f"two links join {link.a!r} and {link.b!r}: leave one out")
                around[end][other] = link
        parts = tuple(
            overlay_of(
                tuple(name for name in self.routers if name in reached),
                tuple(link for link in self.links if link.a in reached),
            )
            for reached in _parts(around)
        )
        part_of = {router: part for part in parts for router in part.routers}
        object.__setattr__(self, "_around", around)
        object.__setattr__(self, "parts", parts)
        object.__setattr__(self, "_part_of", part_of)

    @property
    def is_tree(self) -> bool:
        """True if there is at most one way between any two routers."""
        return all(part.is_tree for part in self.parts)

    def tree(self, source: str) -> Topology:
        """The ways that the publications of a router take, to all routers of its part."""
        return self._part_of[self.known(source)].tree(source)


def with_router(overlay: Overlay, router: str) -> Overlay:
    """The overlay with one more router, which has no link."""
    if isinstance(overlay, Wiring):
        return overlay.with_router(router)
    return _overlay((*overlay.routers, router), overlay.links)


def without_router(overlay: Overlay, router: str) -> Overlay:
    """The overlay without a router and its links."""
    if isinstance(overlay, Wiring):
        return overlay.without_router(router)
    overlay.known(router)
    return _overlay(
        tuple(name for name in overlay.routers if name != router),
        tuple(link for link in overlay.links if router not in (link.a, link.b)),
    )


def with_link(overlay: Overlay, link: Link) -> Overlay:
    """The overlay with one more link; `InputError` where its ends are linked already."""
    if isinstance(overlay, Wiring):
        return overlay.with_link(link)
    if link.b in overlay.neighbors(overlay.known(link.a)):
        raise InputError(f"{link.a!r} and {link.b!r} are linked already")
    return _overlay(overlay.routers, (*overlay.links, link))


def without_link(overlay: Overlay, a: str, b: str) -> Overlay:
    """The overlay without the link between two routers."""
    if isinstance(overlay, Wiring):
        return overlay.without_link(a, b)
    gone = overlay.link(a, b)
    return _overlay(overlay.routers, tuple(link for link in overlay.links if link != gone))


def _overlay(routers: tuple[str, ...], links: tuple[Link, ...]) -> Overlay:
    """The tree or the graph that the links form; where there are several parts, all of them."""
    overlay = Partitioned(routers, links)
    return overlay.parts[0] if len(overlay.parts) == 1 else overlay


def _parts(around: Mapping[str, Mapping[str, Link]]) -> list[dict[str, None]]:
    """The routers that reach each other, part by part."""
    found: list[dict[str, None]] = []
    seen: set[str] = set()
    for first in around:
        if first not in seen:
            reached = {first: None}
            waiting = [first]
            for router in waiting:
                fresh = [other for other in around[router] if other not in reached]
                reached.update(dict.fromkeys(fresh))
                waiting.extend(fresh)
            seen.update(reached)
            found.append(reached)
    return found
