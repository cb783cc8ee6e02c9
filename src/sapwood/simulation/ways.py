"""The longest time of a publication on its way to a subscriber, and its possible disturbances.

On one tree there is one way: its links disturb, from when they fail until the overlay has settled
after their return. Where routers route on many trees, too, only links disturb that go down, and of
these only those that a tree of the publication's source may have on the way; then the way is not to
be relied on until the overlay has settled, with whatever links it has then. Links that come up
disturb nothing.

Where routers have stores, an outage only delays: a disturbance is a link that is not there yet, or
goes for good, and any event before all neighbors have come to know each other. The delay by an
outage has no bound; nor has the time of anything on many trees.

Where routers choose their links themselves, anything that happens to one disturbs all ways.

A fault that is no link's alone (`History.disturb`) disturbs all ways between routers.

Routers and links may come and go (`History.overlays`). A link that is added was down before, and
one that is removed goes down for good; on one tree the way is that of the overlay in which a
publication was accepted, and where there is none it may arrive all the same, should a link come in
time.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import combinations
from typing import Final, NamedTuple, Protocol, TypeAlias

from sapwood.limits import VIEWED_CHANGES_MAX
from sapwood.overlay.disjoint import FindTree
from sapwood.overlay.spanning import SpanningTree
from sapwood.overlay.topology import Link
from sapwood.simulation.history import BEGINNING, History, Moment, Outage

LongestDelay: TypeAlias = Callable[[Link], float]
"""The longest, in seconds, that a message may be under way on a link."""

_SLACK_S: Final = 1e-9
"""Times are sums of floats in different orders; within this they count as equal."""

_ALWAYS: Final = (Outage(BEGINNING),)


class Way(NamedTuple):
    """The longest that a publication takes, in seconds, and the outages that may disturb it."""

    delay_s: float
    outages: tuple[Outage, ...]


class Ways(Protocol):
    """The ways of an overlay, as a history shows them."""

    def way(self, start: str, end: str, sent: Moment) -> Way:
        """The way from a router to another, for publications accepted at a moment."""


def ways_of(history: History, longest: LongestDelay) -> tuple[Ways, ...]:
    """The ways of the overlay that a history is of: publications take all of them at once."""
    if history.is_kept:
        return (_KeptWays(history, longest),)
    if not history.is_mesh:
        return (_TreeWays(history, longest),)
    if not history.finds:
        return (_OpenWays(history, longest),)
    return tuple(_MeshWays(history, longest, find) for find in history.finds)


class _TreeWays:
    """Ways on one tree, where the moment decides only which tree that is."""

    def __init__(self, history: History, longest: LongestDelay) -> None:
        self._history = history
        self._longest = longest
        #: (number of the overlay, start, end) -> the way
        self._ways: dict[tuple[int, str, str], Way] = {}

    def way(self, start: str, end: str, sent: Moment) -> Way:
        number = self._history.overlay_number(sent)
        way = self._ways.get((number, start, end))
        if way is None:
            way = self._ways[number, start, end] = self._find(number, start, end)
        return way

    def _find(self, number: int, start: str, end: str) -> Way:
        overlay = self._history.overlays[number][1]
        always = tuple(self._history.disturbances) if start != end else ()
        if start not in overlay or end not in (tree := overlay.tree(start)):
            return Way(math.fsum(map(self._longest, self._history.links())), _ALWAYS)
        hops = tree.hops(start, end)
        delay = math.fsum(self._longest(overlay.link(a, b)) for a, b in hops)
        outages = tuple(o for hop in hops for o in self._history.outages.get(hop, ()))
        return Way(delay, (*always, *outages))


class _KeptWays:
    """Ways where a link or a router that comes back goes on where it stopped."""

    def __init__(self, history: History, longest: LongestDelay) -> None:
        self._history = history
        self._tree = None if history.is_mesh else _TreeWays(history, longest)
        is_rewired = history.is_mesh and len(history.overlays) > 1
        self._mesh = _MeshWays(history, longest, history.finds[0]) if is_rewired else None

    def way(self, start: str, end: str, sent: Moment) -> Way:
        wrong = self._history.disturbances
        if self._tree is None:
            return Way(math.inf, (*wrong, *self._mesh_outages(start, end, sent)))
        delay, outages = self._tree.way(start, end, sent)
        until = Moment(sent.time + delay + _SLACK_S, 0)
        begun = self._history.unrests[:1]
        if any(outage.down <= until for outage in outages):
            delay = math.inf
        return Way(
            delay, (*begun, *wrong, *(o for o in outages if o.for_good or o.down == BEGINNING))
        )

    def _mesh_outages(self, start: str, end: str, sent: Moment) -> tuple[Outage, ...]:
        """The first unrest, in which routers get to know each other; all, where links go for good.

        Then there may be no way at all.
        """
        unrests = tuple(self._history.unrests)
        if self._mesh is None:
            return unrests[:1]
        return (*unrests, *self._mesh.way(start, end, sent).outages)


class _MeshWays:
    """On a tree for each source, where a new one takes over only when it is in force.

    A source's knowledge of links decides which tree it takes. Until the overlay has settled it may
    know of any of the changes since, or not; whatever goes down beside its tree under all of these
    views disturbs nothing.
    """

    def __init__(self, history: History, longest: LongestDelay, find: FindTree) -> None:
        self._history = history
        self._longest = longest
        self._find = find
        self._begun = [unrest.down for unrest in history.unrests]
        self._routers = history.routers()
        self._links = history.links()
        self._total_s = math.fsum(map(longest, self._links))
        #: (number of the last unrest, source) -> router -> the longest delay; both only at rest
        self._delays: dict[tuple[int, str], Mapping[str, float]] = {}
        self._changes = _changes(history)
        #: (number of an unrest, source) -> router -> since when ways there are not sure
        self._broken: dict[tuple[int, str], Mapping[str, Moment]] = {}

    def way(self, start: str, end: str, sent: Moment) -> Way:
        at = bisect_right(self._begun, sent)
        settled = self._history.unrests[at - 1].settled
        delay = self._total_s
        if settled is not None and settled < sent:
            delays = self._delays.get((at, start))
            if delays is None:
                delays = self._delays[at, start] = self._delays_from(start, sent)
            if end not in delays:
                return Way(self._total_s, _ALWAYS)
            delay = delays[end]
        always = self._history.disturbances if start != end else ()
        return Way(delay, (*always, *self._outages(start, end, at - 1, sent.time + delay)))

    def _outages(self, start: str, end: str, first: int, until_s: float) -> Iterator[Outage]:
        """The outages that may disturb a way, of unrests from `first` on begun by `until_s`."""
        for number, unrest in enumerate(self._history.unrests[first:], first):
            if unrest.down.time > until_s + _SLACK_S:
                return
            broken = self._broken.get((number, start))
            if broken is None:
                broken = self._broken[number, start] = self._broken_from(number, start)
            if end in broken:
                yield Outage(broken[end], settled=unrest.settled)

    def _broken_from(self, number: int, source: str) -> Mapping[str, Moment]:
        """For each router to which a way from the source broke in an unrest: since when."""
        begun = self._history.unrests[number].down
        up = self._up(begun) if number else set()  # before the first, there were no trees
        reached = self._tree(source, up).routers
        broken = {router: begun for router in self._routers if router not in reached}
        changed: dict[Link, None] = {}
        ever = set(up)
        for moment, link, is_up in self._changes[number]:
            if is_up:
                changed[link] = None
                ever.add(link)
            elif link in ever:
                changed[link] = None
                for router in self._beyond(source, link, ever, tuple(changed)):
                    broken.setdefault(router, moment)
        return broken

    def _beyond(
        self, source: str, link: Link, ever: set[Link], changed: tuple[Link, ...]
    ) -> Iterable[str]:
        """The routers that the source may reach over a link, whatever it knows of the changes."""
        if len(changed) > VIEWED_CHANGES_MAX:
            return [router for router in self._routers if router != source]
        beyond: dict[str, None] = {}
        others = [other for other in changed if other != link]
        sure = ever.difference(others)
        for count in range(len(others) + 1):
            for known in combinations(others, count):
                beyond.update(_behind(self._tree(source, sure.union(known)), link))
        return beyond

    def _tree(self, source: str, links: Iterable[Link]) -> SpanningTree:
        around: dict[str, list[str]] = {router: [] for router in self._routers}
        for link in links:
            around[link.a].append(link.b)
            around[link.b].append(link.a)
        return self._find(source, around)

    def _up(self, at: Moment) -> set[Link]:
        """The links that carried messages before the unrest that began at a moment.

        What began it is in the history right before it.
        """
        before = Moment(at.time, at.order - 2)
        return {link for link in self._links if self._is_up(link, before)}

    def _is_up(self, link: Link, at: Moment) -> bool:
        outages = self._history.outages.get((link.a, link.b), ())
        # Of those before, one that went down again before both ends knew was never over.
        last = next((outage for outage in reversed(outages) if outage.down <= at), None)
        return last is None or (last.joined is not None and last.joined <= at)

    def _delays_from(self, source: str, sent: Moment) -> Mapping[str, float]:
        """For each router in reach, the longest that a publication takes on the source's tree."""
        overlay = self._history.overlay_at(sent)
        links = [link for link in overlay.links if self._is_up(link, sent)]
        delays = {source: 0.0}
        for parent, child in self._tree(source, links).links():
            delays[child] = delays[parent] + self._longest(overlay.link(parent, child))
        return delays


class _OpenWays:
    """Ways where routers choose their links themselves: any router may be on the way to another.

    So whatever happens to a router or a link disturbs all ways until the overlay has settled.
    Routers that are not joined by any links, as all were taken away, know nothing of each other.
    All may go over one router, and so over the same links there and back.
    """

    def __init__(self, history: History, longest: LongestDelay) -> None:
        self._history = history
        delay_s = max(map(longest, history.links()), default=0.0)
        self._delay_s = 2 * delay_s * (len(history.routers()) - 1)
        #: (number of the overlay, router) -> all that are joined to it
        self._joined: dict[tuple[int, str], frozenset[str]] = {}

    def way(self, start: str, end: str, sent: Moment) -> Way:
        if end not in self._joined_to(start, self._history.overlay_number(sent)):
            return Way(self._delay_s, _ALWAYS)
        disturbing = (*self._history.unrests, *self._history.disturbances)
        return Way(self._delay_s, disturbing if start != end else ())

    def _joined_to(self, router: str, number: int) -> frozenset[str]:
        joined = self._joined.get((number, router))
        if joined is None:
            overlay = self._history.overlays[number][1]
            found = overlay.joined(router) if router in overlay else ()
            joined = frozenset(found)
            self._joined.update(((number, one), joined) for one in (*found, router))
        return joined


def _behind(tree: SpanningTree, link: Link) -> dict[str, None]:
    """The routers that a tree reaches over a link."""
    behind: dict[str, None] = {}
    for parent, child in tree.links():  # parents come before their children
        if parent in behind or {parent, child} == {link.a, link.b}:
            behind[child] = None
    return behind


def _changes(history: History) -> list[list[tuple[Moment, Link, bool]]]:
    """For each unrest the links that went down or came up (true) in it, in order."""
    found: list[tuple[Moment, Link, bool]] = []
    for link in history.links():
        for outage in history.outages.get((link.a, link.b), ()):
            if outage.down > BEGINNING:
                found.append((outage.down, link, False))
            if outage.joined is not None:
                found.append((outage.joined, link, True))
    found.sort(key=lambda change: change[0])
    changes: list[list[tuple[Moment, Link, bool]]] = [[] for _ in history.unrests]
    number = 0
    for change in found:
        while (settled := history.unrests[number].settled) is not None and settled < change[0]:
            number += 1
        changes[number].append(change)
    return changes
