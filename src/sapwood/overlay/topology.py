"""Topologies: routers, the links between them, and the way between any two.

A `Topology` is a tree: connected, and without a second way between two routers, so that a
publication reaches each router at most once. Overlays with circles are in `graph`. Everything here
is a value; files are read elsewhere, and random choices come from a function that the caller
passes.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from sapwood.errors import InputError, LimitError, UnknownNameError
from sapwood.limits import HOPS_MAX, LINK_LATENCY_MAX_S, NAME_CHARS_MAX, OVERLAY_ROUTERS_MAX

LINK_LATENCY_DEFAULT_S: Final = 0.01
"""The default latency in seconds, that of two sites of one country."""

_NAMES_SHOWN: Final = 12
"""Routers that a message names before it abbreviates."""

Hop: TypeAlias = tuple[str, str]
"""A link in one direction: from a router to a neighbor."""


def undirected(a: str, b: str) -> Hop:
    """The key of a link in whichever direction: its ends in the order of their names."""
    return min(a, b), max(a, b)


@dataclass(frozen=True, slots=True)
class Link:
    """Two routers that can talk to each other; a message takes `latency_s` seconds either way."""

    a: str
    b: str
    latency_s: float = LINK_LATENCY_DEFAULT_S

    def __post_init__(self) -> None:
        if self.a == self.b:
            raise InputError(f"a link joins two routers, not {self.a!r} with itself")
        if not 0 <= self.latency_s <= LINK_LATENCY_MAX_S:
            raise InputError(
                f"link {self}: a latency lies between 0 and {LINK_LATENCY_MAX_S:g} seconds, "
                f"not {self.latency_s!r}"
            )

    def __str__(self) -> str:
        return f"{self.a}-{self.b}"


class Overlay(ABC):
    """Routers in a defined order, and links between them."""

    __slots__ = ()

    routers: tuple[str, ...]
    links: tuple[Link, ...]
    #: router -> neighbor -> link, neighbors in the order of `links`; the same links, by their ends
    _around: Mapping[str, Mapping[str, Link]]

    def __contains__(self, router: object) -> bool:
        return router in self._around

    @property
    def is_tree(self) -> bool:
        """True if there is one way only between any two routers."""
        return len(self.links) == len(self.routers) - 1

    def neighbors(self, router: str) -> tuple[str, ...]:
        """The routers that `router` has a link to, in the order of the links."""
        return tuple(self._around[self.known(router)])

    def link(self, a: str, b: str) -> Link:
        """The link between two neighbors; `InputError` where there is none."""
        found = self._around[self.known(a)].get(self.known(b))
        if found is None:
            raise InputError(
                f"there is no link between {a!r} and {b!r}; "
                f"{a!r} is linked to {named(self.neighbors(a)) or 'nobody'}"
            )
        return found

    def known(self, router: str) -> str:
        """`router`, if the overlay has it; else `UnknownNameError` with the names it has."""
        if router not in self._around:
            raise UnknownNameError("router", router, abbreviated(self.routers))
        return router

    def joined(self, router: str) -> tuple[str, ...]:
        """All routers to which links lead from one, that one first, then the nearest."""
        reached = {self.known(router): None}
        waiting = [router]
        for one in waiting:
            fresh = [other for other in self._around[one] if other not in reached]
            reached.update(dict.fromkeys(fresh))
            waiting.extend(fresh)
        return tuple(reached)

    @property
    def news(self) -> tuple[tuple[str, ...], tuple[Link, ...]]:
        """The routers and links that the overlay before this one may not have had."""
        return self.routers, self.links

    @abstractmethod
    def tree(self, source: str) -> Topology:
        """The ways that the publications of a router take, as long as no link fails."""


@dataclass(frozen=True, slots=True)
class Topology(Overlay):
    """Routers in a defined order, and the links of a tree over them.

    Raises `InputError` where the links do not form a tree over the routers, and `LimitError` for
    more than `OVERLAY_ROUTERS_MAX` routers or a path of more than `HOPS_MAX` links.
    """

    routers: tuple[str, ...]
    links: tuple[Link, ...]

    #: router -> neighbor -> link, neighbors in the order of `links`; the same links, by their ends
    _around: Mapping[str, Mapping[str, Link]] = field(init=False, repr=False, compare=False)
    #: router -> the next router toward the first one (which has none): enough to find any path
    _parents: Mapping[str, str | None] = field(init=False, repr=False, compare=False)
    #: router -> number of links to the first one
    _depths: Mapping[str, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        check_routers(self.routers)
        around = _adjacency(self.routers, self.links)
        parents, depths = _rooted(self.routers[0], around)
        unreached = [name for name in self.routers if name not in parents]
        if unreached:
            raise InputError(
                f"the overlay is not connected: no way from {self.routers[0]!r} to "
                f"{named(unreached)}; add the missing links"
            )
        _check_longest_path(around, depths)
        object.__setattr__(self, "_around", around)
        object.__setattr__(self, "_parents", parents)
        object.__setattr__(self, "_depths", depths)

    def tree(self, source: str) -> Topology:
        """The same for all."""
        self.known(source)
        return self

    def path(self, start: str, end: str) -> tuple[str, ...]:
        """All routers on the way from `start` to `end`, both included."""
        climb, descend = [self.known(start)], [self.known(end)]
        while climb[-1] != descend[-1]:
            deeper = climb if self._depths[climb[-1]] >= self._depths[descend[-1]] else descend
            parent = self._parents[deeper[-1]]
            assert parent is not None, "two paths to the root must meet at the root"
            deeper.append(parent)
        return (*climb, *reversed(descend[:-1]))

    def hops(self, start: str, end: str) -> tuple[Hop, ...]:
        """The links from `start` to `end`, each in the direction of travel."""
        path = self.path(start, end)
        return tuple(itertools.pairwise(path))

    def next_hop(self, router: str, destination: str) -> str:
        """The neighbor of `router` that is nearest to `destination`, another router."""
        if router == destination:
            raise InputError(f"{router!r} is the destination already")
        return self.path(router, destination)[1]

    def behind(self, router: str, neighbor: str) -> Iterator[str]:
        """All routers that `router` reaches through `neighbor`, nearest first."""
        self.link(router, neighbor)
        reached = [(router, neighbor)]
        for previous, current in reached:
            yield current
            reached.extend((current, n) for n in self._around[current] if n != previous)


def abbreviated(names: Sequence[str]) -> tuple[str, ...]:
    """The names for a message: all of them if they are few, else the first ones and the last."""
    if len(names) <= _NAMES_SHOWN:
        return tuple(names)
    return (*names[: _NAMES_SHOWN - 1], "…", names[-1])


def check_routers(routers: tuple[str, ...]) -> None:
    """Refuse names that no router may have, names that two have, and more than are allowed."""
    if not routers:
        raise InputError("an overlay needs at least one router")
    if len(routers) > OVERLAY_ROUTERS_MAX:
        raise LimitError(
            "OVERLAY_ROUTERS_MAX", OVERLAY_ROUTERS_MAX, len(routers), "the number of routers"
        )
    seen: set[str] = set()
    for name in routers:
        if not isinstance(name, str) or not name or not name.isprintable():
            raise InputError(f"a router's name is a non-empty printable text, not {name!r}")
        if len(name) > NAME_CHARS_MAX:
            raise LimitError("NAME_CHARS_MAX", NAME_CHARS_MAX, len(name), f"the name {name!r}")
        if name in seen:
            raise InputError(f"two routers are called {name!r}; give each its own name")
        seen.add(name)


def _adjacency(routers: tuple[str, ...], links: tuple[Link, ...]) -> dict[str, dict[str, Link]]:
    """Router -> neighbor -> link; refuses links that would close a second way."""
    around: dict[str, dict[str, Link]] = {name: {} for name in routers}
    # Each router points toward a representative of the part it is joined to (union-find).
    joined = {name: name for name in routers}
    for link in links:
        for end in (link.a, link.b):
            if end not in around:
                raise UnknownNameError("router", end, abbreviated(routers))
        a, b = _representative(joined, link.a), _representative(joined, link.b)
        if a == b:
            raise InputError(
                f"link {link} closes a circle: there is another way between {link.a!r} and "
                f"{link.b!r}; a tree has none, so leave one of the links out"
            )
        joined[b] = a
        around[link.a][link.b] = link
        around[link.b][link.a] = link
    return around


def _representative(joined: dict[str, str], name: str) -> str:
    while joined[name] != name:
        joined[name] = joined[joined[name]]
        name = joined[name]
    return name


def _rooted(
    root: str, around: Mapping[str, Mapping[str, Link]]
) -> tuple[dict[str, str | None], dict[str, int]]:
    """Parents and depths of all routers that are reached from `root`."""
    parents: dict[str, str | None] = {root: None}
    depths = {root: 0}
    reached = [root]
    for router in reached:
        for neighbor in around[router]:
            if neighbor not in parents:
                parents[neighbor] = router
                depths[neighbor] = depths[router] + 1
                reached.append(neighbor)
    return parents, depths


def _check_longest_path(
    around: Mapping[str, Mapping[str, Link]], depths: Mapping[str, int]
) -> None:
    """Refuse paths that no publication could travel: the longest one starts at a deepest router."""
    end = max(depths, key=depths.__getitem__)
    longest = max(_rooted(end, around)[1].values())
    if longest > HOPS_MAX:
        raise LimitError("HOPS_MAX", HOPS_MAX, longest, "the longest path, in links,")


def named(names: Sequence[str]) -> str:
    """The names for a message, as one text; abbreviated where they are many."""
    return ", ".join(repr(name) if name != "…" else name for name in abbreviated(names))
