"""How long a publication may be under way to a subscriber, and what may disturb it meanwhile.

On one tree there is one way: its links disturb, from when they fail until the overlay has settled
after their return. Where routers route on many trees any link may change any of them, and then no
way is to be relied on until the overlay has settled, with whatever links it has then.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, Protocol, TypeAlias

from sapwood.overlay.spanning import fewest_links
from sapwood.overlay.topology import Link
from sapwood.simulation.history import History, Moment, Outage

LongestDelay: TypeAlias = Callable[[Link], float]
"""The longest, in seconds, that a message may be under way on a link."""

_ALWAYS: Final = (Outage(Moment(-math.inf, 0)),)


class Way(NamedTuple):
    """The longest that a publication takes, in seconds, and the outages that may disturb it."""

    delay_s: float
    outages: tuple[Outage, ...]


class Ways(Protocol):
    """The ways of an overlay, as a history shows them."""

    def way(self, start: str, end: str, sent: Moment) -> Way:
        """The way from a router to another, for what was accepted at a moment."""


def ways_of(history: History, longest: LongestDelay) -> Ways:
    """The ways of the overlay that a history is of."""
    kind = _MeshWays if history.is_mesh else _TreeWays
    return kind(history, longest)


class _TreeWays:
    """On one tree, where the moment does not matter."""

    def __init__(self, history: History, longest: LongestDelay) -> None:
        self._history = history
        self._longest = longest
        self._ways: dict[tuple[str, str], Way] = {}

    def way(self, start: str, end: str, sent: Moment) -> Way:  # noqa: ARG002
        way = self._ways.get((start, end))
        if way is None:
            topology = self._history.topology
            hops = topology.tree(start).hops(start, end)
            delay = math.fsum(self._longest(topology.link(a, b)) for a, b in hops)
            outages = tuple(o for hop in hops for o in self._history.outages.get(hop, ()))
            way = self._ways[start, end] = Way(delay, outages)
        return way


class _MeshWays:
    """On a tree for each source."""

    def __init__(self, history: History, longest: LongestDelay) -> None:
        self._history = history
        self._longest = longest
        self._begun = [unrest.down for unrest in history.unrests]
        self._total_s = math.fsum(map(longest, history.topology.links))
        #: (number of the last unrest, source) -> router -> the longest delay; both only at rest
        self._delays: dict[tuple[int, str], Mapping[str, float]] = {}

    def way(self, start: str, end: str, sent: Moment) -> Way:
        at = bisect_right(self._begun, sent)
        unrests = self._history.unrests[at - 1 : at + 1]  # the last one, and the next
        settled = unrests[0].settled
        if settled is None or settled >= sent:
            return Way(self._total_s, tuple(unrests))
        delays = self._delays.get((at, start))
        if delays is None:
            delays = self._delays[at, start] = self._delays_from(start, sent)
        if end not in delays:
            return Way(self._total_s, _ALWAYS)
        return Way(delays[end], tuple(unrests))

    def _is_up(self, link: Link, at: Moment) -> bool:
        outages = self._history.outages.get((link.a, link.b), ())
        # Of those before, one that went down again before both ends knew was never over.
        last = next((outage for outage in reversed(outages) if outage.down <= at), None)
        return last is None or (last.joined is not None and last.joined <= at)

    def _delays_from(self, source: str, sent: Moment) -> Mapping[str, float]:
        """For each router in reach, the longest that a publication takes on the source's tree."""
        topology = self._history.topology
        around: dict[str, list[str]] = {router: [] for router in topology.routers}
        for link in topology.links:
            if self._is_up(link, sent):
                around[link.a].append(link.b)
                around[link.b].append(link.a)
        delays = {source: 0.0}
        for parent, child in fewest_links(source, around).links():
            delays[child] = delays[parent] + self._longest(topology.link(parent, child))
        return delays
