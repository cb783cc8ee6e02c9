"""Figures of a simulation: its cost, its delays, and the verdicts."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest
from types import MappingProxyType
from typing import Any

import msgspec

from sapwood.overlay.topology import Hop, Topology
from sapwood.simulation.history import History, Moment, Published
from sapwood.simulation.oracle import Judgment
from sapwood.simulation.simulator import Outcome
from sapwood.simulation.timekeeping import Bounds
from sapwood.simulation.world import World


@dataclass(frozen=True, slots=True)
class Delays:
    """Quantiles of delays in seconds, as a rule virtual ones; 0 where there were none.

    A quantile is the smallest delay that at least that share of them did not exceed.
    """

    p50: float
    p90: float
    p99: float
    max: float


@dataclass(frozen=True, slots=True)
class LinkUse:
    """Publications on links.

    `needless` of the `crossings` of checked publications led to no subscriber that must or may
    receive them: the false positives of routing.
    """

    crossings: int
    checked_crossings: int
    needless: int


@dataclass(frozen=True, slots=True)
class Verdicts:
    """Counts of pairs, in the oracle's words; see `sapwood.simulation.oracle`.

    `diverged` counts the probes that went another way than in an overlay built afresh; `None`
    where none were sent.
    """

    checked_publications: int
    must: int
    may: int
    must_not: int
    lost: int
    unexpected: int
    duplicated: int
    reordered: int
    recovered: int
    stuck: int
    admitted: int
    rebuffed: int
    diverged: int | None


@dataclass(frozen=True, slots=True)
class Metrics:
    """All figures of one simulation; `to_json` writes them.

    `content_matches` are publications times the sides (clients, links with subscriptions) that a
    router matched them against; `messages` counts messages on links by kind, each one of several
    sent at once, `tables` the entries per router at the end, `hops` the pairs by the number of
    links between the two homes in the overlay in which the publication was sent, as long as no link
    fails; those that no links joined then are left out.

    `delay_s` is from acceptance to delivery, over all pairs. `update_s` is from a client's request
    for a subscription, another filter, or the end of one until the answer that this is done: in
    force, or withdrawn. `recovery_s` is from the return of the last link that was down until
    nothing was left that could still change a routing table (XNet 6.3.2, with the way back to the
    client). `processing_s` is the processor time of each router, where that was measured
    (`Stopwatch`).
    """

    protocol: str
    engine: str
    routers: int
    seed: int
    subscriptions: int
    advertisements: int
    publications: int
    unsent: int
    refused: int
    deliveries: int
    virtual_seconds: float
    inputs: int
    messages: Mapping[str, int]
    messages_lost: int
    links_closed: int
    content_matches: int
    false_positives: LinkUse
    hops: Mapping[int, int]
    delay_s: Delays
    update_s: Delays
    recovery_s: Delays
    processing_s: Mapping[str, float]
    tables: Mapping[str, Mapping[str, int]]
    verdicts: Verdicts
    bounds: Bounds
    trace: str

    def with_diverged(self, count: int) -> Metrics:
        """The metrics with the number of divergences, which is determined afterwards."""
        return replace(self, verdicts=replace(self.verdicts, diverged=count))

    def to_json(self) -> bytes:
        """The metrics as JSON text, one figure a line."""
        return msgspec.json.format(msgspec.json.encode(self), indent=2) + b"\n"

    def to_builtins(self) -> dict[str, Any]:
        """The metrics as nested dictionaries."""
        built: dict[str, Any] = msgspec.to_builtins(self)
        return built


def measure(
    outcome: Outcome,
    judgment: Judgment,
    *,
    protocol: str,
    engine: str,
    seed: int,
    processing_s: Mapping[str, float] = MappingProxyType({}),
) -> Metrics:
    """The figures of a simulation and of the oracle's judgment on it."""
    world = outcome.world
    history = world.history
    tally = world.tally
    hops: Counter[int] = Counter()
    delays: list[float] = []
    for moment, id_, subscription in history.deliveries:
        published = history.publications.get(id_)
        if published is not None:
            delays.append(round(moment.time - published.asked.time, 9))
            tree = _tree_of(world, published)
            if subscription.home in tree:
                ends = published.publisher.home, subscription.home
                hops[len(tree.path(*ends)) - 1] += 1
    return Metrics(
        protocol=protocol,
        engine=engine,
        routers=len(world.topology.routers),
        seed=seed,
        subscriptions=len(history.subscriptions),
        advertisements=len(history.advertisements),
        publications=len(history.publications),
        unsent=tally.unsent,
        refused=len(history.refusals),
        deliveries=len(history.deliveries),
        virtual_seconds=round(world.now, 9),
        inputs=tally.inputs,
        messages=dict(sorted(tally.messages.items())),
        messages_lost=world.network.messages_lost,
        links_closed=tally.links_closed,
        content_matches=world.counted()["content_matches"],
        false_positives=link_use(world, judgment.interested),
        hops=dict(sorted(hops.items())),
        delay_s=quantiles(delays),
        update_s=quantiles(update_delays(history)),
        recovery_s=quantiles(recovery_delays(history)),
        processing_s=dict(processing_s),
        tables={name: router.table_sizes() for name, router in world.routers.items()},
        verdicts=_verdicts(judgment),
        bounds=world.time.bounds,
        trace=world.trace.digest,
    )


def link_use(world: World, interested: Mapping[str, Iterable[str]]) -> LinkUse:
    """The number of times that publications crossed links, and of those without need.

    `interested` holds for each checked publication the homes of the subscriptions that may receive
    it.
    """
    checked = needless = 0
    for id_, homes in interested.items():
        crossed = world.tally.crossings.get(id_, ())
        needed = _needed(world, id_, homes, crossed) if crossed else frozenset()
        checked += len(crossed)
        needless += sum(hop not in needed for hop in crossed)
    return LinkUse(sum(map(len, world.tally.crossings.values())), checked, needless)


def update_delays(history: History) -> list[float]:
    """The seconds from each request to change a subscription until the answer to its client.

    Requests of a client that has gone do not count.
    """
    found: list[float] = []
    for lives in history.subscriptions.values():
        for life, following in zip_longest(lives, lives[1:]):
            if life.confirmed is not None:
                found.append(_between(life.asked, life.confirmed))
            changed = following is not None and following.is_change
            if life.left is not None and life.leaving is not None and not changed:
                gone = life.left.order == life.leaving.order
                found.extend(() if gone else (_between(life.leaving, life.left),))
    return found


def recovery_delays(history: History) -> list[float]:
    """For each time that an overlay settled, the seconds since its last link had returned."""
    outages = {id(one): one for both in history.outages.values() for one in both}.values()
    joined = sorted(one.joined for one in outages if one.joined is not None)
    ends = [one.settled for one in (*outages, *history.unrests) if one.settled is not None]
    found: dict[Moment, float] = {}
    for settled in sorted(ends):
        place = bisect_right(joined, settled)
        if place and joined[place - 1] not in found:
            found[joined[place - 1]] = _between(joined[place - 1], settled)
    return list(found.values())


def _between(begun: Moment, ended: Moment) -> float:
    return round(ended.time - begun.time, 9)


def quantiles(delays: list[float]) -> Delays:
    """The quantiles of some delays."""
    if not delays:
        return Delays(0.0, 0.0, 0.0, 0.0)
    ordered = sorted(delays)

    def at(share: float) -> float:
        return ordered[math.ceil(share * len(ordered)) - 1]

    return Delays(at(0.5), at(0.9), at(0.99), ordered[-1])


def _needed(
    world: World, publication: str, homes: Iterable[str], crossed: Iterable[Hop]
) -> frozenset[Hop]:
    """The links between a publication's origin and some homes.

    Where there are many trees, it may have been any: what counts is the way that it took.
    """
    published = world.history.publications[publication]
    origin = published.publisher.home
    if not world.history.is_mesh:
        tree = _tree_of(world, published)
        reached = (home for home in homes if home in tree)
        return frozenset(hop for home in reached for hop in tree.hops(origin, home))
    arrivals = {target: (source, target) for source, target in crossed}
    needed: set[Hop] = set()
    for home in homes:
        at = home
        while at != origin and at in arrivals and arrivals[at] not in needed:
            needed.add(arrivals[at])
            at = arrivals[at][0]
    return frozenset(needed)


def _tree_of(world: World, published: Published) -> Topology:
    """The tree of a publication's source, in the overlay that it was published in."""
    return world.history.overlay_at(published.asked).tree(published.publisher.home)


def _verdicts(judgment: Judgment) -> Verdicts:
    return Verdicts(
        checked_publications=judgment.checked,
        must=judgment.must,
        may=judgment.may,
        must_not=judgment.must_not,
        lost=judgment.lost.count,
        unexpected=judgment.unexpected.count,
        duplicated=judgment.duplicated.count,
        reordered=judgment.reordered.count,
        recovered=judgment.recovered.count,
        stuck=len(judgment.stuck),
        admitted=len(judgment.admitted),
        rebuffed=len(judgment.rebuffed),
        diverged=None,
    )
