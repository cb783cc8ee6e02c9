"""Random scenarios from a seed: topology, subscriptions, churn, publications, faults.

Each seed draws its own mixture (how many routers, how busy, which faults), so that a swarm of seeds
visits corners that one average mixture never would. Filters and records come from a small world in
which covering, equal and overlapping filters are frequent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from random import Random
from typing import Final

from sapwood.language import parse_filter
from sapwood.language.advertisements import parse_advertisement
from sapwood.language.xpath import parse_xpath
from sapwood.model.advertised_content import AdvertisedContent
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.overlay.graph import Graph
from sapwood.overlay.topology import Link, Overlay, Topology
from sapwood.simulation.channels import CALM, Channel, SetChannel
from sapwood.simulation.clocks import SetClock
from sapwood.simulation.faults import RECIPES, Window
from sapwood.simulation.history import AdvertisementName, ClientName, SubscriptionName
from sapwood.simulation.network import NOMINAL, Timing
from sapwood.simulation.rewiring import Rewiring
from sapwood.simulation.scenario import (
    Action,
    AdvertiseAction,
    ChangeAction,
    CrashRouter,
    DetachAction,
    PublishAction,
    ReturnRouter,
    Scenario,
    Step,
    SubscribeAction,
    Suspect,
    UnadvertiseAction,
    UnsubscribeAction,
    Until,
    WaitAction,
    timed_steps,
)
from sapwood.simulation.stored import Tail
from sapwood.simulation.tampering import draw_tampering
from sapwood.simulation.vocabulary import (
    RECORD_ATTRIBUTES,
    draw_chain_filter,
    draw_chain_xpath,
    draw_filter,
    draw_paths,
    draw_publication,
    draw_xpath,
)

_TAILS: Final = (Tail.LOST, Tail.TORN, Tail.WHOLE)
"""The tails of crashes within the guarantees of a store."""

_CLIENTS: Final = ("ann", "bob")
_PATHS_SHARE: Final = 0.4
"""The share of path expressions among advertisements, where there are documents."""

_TRIES: Final = 8
"""Records that are drawn at most in search of one that an advertisement accepts."""


@dataclass(frozen=True, slots=True)
class Mixture:
    """The bounds of a seed's draw: numbers, whether faults happen, whether clients advertise.

    With `documents` there are subscriptions of both languages, and publications with documents;
    with `circles` there is more than one way between some routers, where there are three or more;
    with `rewiring` routers join and leave, and links are added and removed. With `stores` writing
    takes time, and routers crash while they write, too; with `suspicions` routers suspect neighbors
    that are alive; with `tampering` messages are dropped and altered in flight, and timers
    stall; with `losses` clocks drift, and links lose, repeat and reorder for a while. With
    `changes` clients change the filters of what they have subscribed to, in some rounds often.
    """

    routers_max: int = 8
    rounds_max: int = 6
    actions_max: int = 40
    faults: bool = True
    advertisements: bool = False
    documents: bool = False
    circles: bool = False
    rewiring: bool = False
    stores: bool = False
    suspicions: bool = False
    tampering: bool = False
    losses: bool = False
    relapses: bool = False
    changes: bool = False


def draw_scenario(seed: int, mixture: Mixture | None = None) -> Scenario:
    """The scenario of a seed; the same seed and mixture always give the same one.

    It goes through rounds of actions, each with a density of its own and most with a rest after
    it, and ends with a calm in which publications from every router show whether all is well.
    """
    limits = mixture or Mixture()
    generator = Random(f"{seed}/swarm")  # noqa: S311 - reproducible on purpose
    disturbing = Random(f"{seed}/suspicions")  # noqa: S311 - reproducible on purpose
    topology: Overlay = draw_topology(generator, generator.randint(1, limits.routers_max))
    if limits.circles:
        topology = close_circles(generator, topology)
    actions = (_AdvertisedActions if limits.advertisements else _Actions)(
        generator, topology, limits
    )
    with_faults = limits.faults and generator.random() < 0.7
    # Circles where they could be closed: else the routers are of a kind that routes on one tree.
    rewiring = (
        Rewiring(generator, topology, circles=not topology.is_tree) if limits.rewiring else None
    )
    steps: list[Step] = []
    if limits.stores and generator.random() < 0.8:  # neighbors know each other from then on
        steps.append(Step(WaitAction(Until.QUIET)))
    for _ in range(generator.randint(1, limits.rounds_max)):
        # As short as one hop, so that messages cross on the links, or so long that few do.
        seconds = generator.choice((0.01, 0.05, 0.5, 5.0))
        drawn = actions.draw(generator.randint(1, limits.actions_max))
        times = sorted(generator.random() * seconds for _ in drawn)
        timed = list(zip(times, drawn, strict=True))
        if limits.changes:
            timed.extend(actions.changes(seconds))
        still: Overlay | None = topology
        if rewiring is not None:
            timed.extend(rewiring.draw(seconds))
            still = rewiring.still
            actions.move(rewiring.overlay)
        if with_faults and still is not None:
            timed.extend(_draw_faults(generator, still, seconds))
            if limits.stores:
                timed.extend(_draw_dooms(generator, still, seconds))
        if still is not None:
            timed.extend(_draw_disturbances(disturbing, still, seconds, limits))
        steps.extend(timed_steps(timed))
        if rewiring is not None and rewiring.must_rest:
            steps.append(Step(WaitAction(Until.QUIET)))
        elif generator.random() < 0.7:
            steps.append(Step(WaitAction(generator.choice(tuple(Until)))))
    if rewiring is not None:
        steps.extend(map(Step, rewiring.rejoin()))
    steps.append(Step(WaitAction(Until.QUIET)))
    routers = topology.routers if rewiring is None else rewiring.overlay.routers
    last = [ClientName(router, "last") for router in routers]
    if limits.advertisements:
        everything = (parse_filter("true"), parse_xpath("/*"))[: 1 + limits.documents]
        steps.extend(
            Step(AdvertiseAction(AdvertisementName(*client, f"all-{number}"), promised))
            for client in last
            for number, promised in enumerate(everything)
        )
        steps.append(Step(WaitAction(Until.CONFIRMED)))
    steps.extend(
        Step(PublishAction(client, draw_publication(generator, id_, documents=limits.documents)))
        for client, id_ in ((client, f"last-{client.home}") for client in last)
    )
    if limits.advertisements:
        steps.extend(Step(DetachAction(client)) for client in last)
    timing = generator.choice((NOMINAL, Timing(jitter=3.0), Timing(jitter=1.0, notice_s=0.05)))
    if limits.stores:
        timing = replace(timing, commit_s=generator.choice((0.0, 0.001, 0.02, 0.2)))
    return Scenario(f"swarm {seed}", topology, tuple(steps), seed, timing)


def draw_topology(generator: Random, routers: int) -> Topology:
    """A random tree; its latencies are all alike, or a mixture from nothing to much."""
    names = tuple(f"r{number}" for number in range(1, routers + 1))
    latencies = generator.choice(((0.01,), (0.1,), (0.0, 0.001, 0.01, 0.1)))
    links = tuple(
        Link(names[generator.randrange(i)], names[i], generator.choice(latencies))
        for i in range(1, routers)
    )
    return Topology(names, links)


def close_circles(generator: Random, tree: Overlay) -> Overlay:
    """The overlay with further links between routers: from one to all there can be."""
    apart = [(a, b) for a, b in combinations(tree.routers, 2) if b not in set(tree.neighbors(a))]
    if not apart:
        return tree
    few = min(len(apart), 3)
    count = generator.choice((1, generator.randint(1, few), generator.randint(1, len(apart))))
    latencies = sorted({link.latency_s for link in tree.links})
    links = [
        Link(*generator.choice((ends, ends[::-1])), generator.choice(latencies))
        for ends in generator.sample(apart, count)
    ]
    return Graph(tree.routers, (*tree.links, *links))


class _Actions:
    """Draws subscriptions, withdrawals, publications and departures, in changing proportions."""

    def __init__(self, generator: Random, topology: Overlay, limits: Mixture) -> None:
        self._generator = generator
        self._topology = topology
        vocabularies: tuple[Callable[[Random], str], ...] = (
            draw_chain_filter,
            *(partial(draw_filter, attributes=names) for names in ("x", "xy", RECORD_ATTRIBUTES)),
        )
        self._draw_filter = generator.choice(vocabularies)
        self._documents = limits.documents
        self._draw_xpath = draw_xpath
        self._documents_share = 0.0
        if limits.documents:
            self._draw_xpath = generator.choice((draw_xpath, draw_xpath, draw_chain_xpath))
            self._documents_share = generator.choice((0.5, 0.9, 1.0))
        # Few live subscriptions leave narrow ones uncovered more often than many do.
        self._live_max = generator.choice((3, 6, 12, 100))
        self._live: list[SubscriptionName] = []
        #: the number of live subscriptions, the first ones, that are from earlier rounds
        self._settled = 0
        self._published = 0

    def move(self, topology: Overlay) -> None:
        """Draw for an overlay with other routers from now on; what clients had there is left."""
        self._topology = topology

    def draw(self, count: int) -> list[Action]:
        """The actions of one round, which has its own proportions."""
        self._settled = len(self._live)
        mixed = (*(self._generator.random() for _ in range(3)), 0.05)
        growth = (1.0, 0.0, 0.2, 0.0)
        decline = (0.0, 1.0, 3.0, 0.02)  # watched by many publications
        weights = self._generator.choice((mixed, mixed, decline if self._live else growth))
        makers = (self._subscribe, self._unsubscribe, self._publish, self._detach)
        return [make() for make in self._generator.choices(makers, weights, k=count)]

    def _client(self) -> ClientName:
        home = self._generator.choice(self._topology.routers)
        return ClientName(home, self._generator.choice(_CLIENTS))

    def _subscribe(self) -> Action:
        if len(self._live) >= self._live_max:
            return self._publish()
        # Few ids, so that some are used again: while they are taken, and after.
        name = SubscriptionName(*self._client(), f"s{self._generator.randrange(6)}")
        self._live.append(name)
        return SubscribeAction(name, self._interest())

    def _interest(self, *, wide: bool = False) -> Interest:
        if self._documents_share and self._generator.random() < self._documents_share:
            return parse_xpath("/*" if wide else self._draw_xpath(self._generator))
        return parse_filter("true" if wide else self._draw_filter(self._generator))

    def _publication(self) -> Publication:
        id_ = f"p{self._published}"
        return draw_publication(self._generator, id_, documents=self._documents)

    def _unsubscribe(self) -> Action:
        if not self._live:
            return self._subscribe()
        # Mostly one that is there since an earlier round, and therefore likely to be confirmed.
        settled = self._settled > 0 and self._generator.random() < 0.8
        chosen = self._generator.randrange(self._settled if settled else len(self._live))
        self._settled -= chosen < self._settled
        return UnsubscribeAction(self._live.pop(chosen))

    def changes(self, seconds: float) -> list[tuple[float, Action]]:
        """Changes of live subscriptions in a round of `seconds`; at times several of one."""
        if not self._live:
            return []
        count = self._generator.choice((0, 1, 3, 10))
        some = self._generator.choices(self._live, k=count)
        return [
            (self._generator.random() * seconds, ChangeAction(name, self._interest()))
            for name in some
        ]

    def _publish(self) -> Action:
        self._published += 1
        return PublishAction(self._client(), self._publication())

    def _detach(self) -> Action:
        return DetachAction(self._client())


class _AdvertisedActions(_Actions):
    """Actions of clients that advertise: much, little, at times what they do not publish."""

    def __init__(self, generator: Random, topology: Overlay, limits: Mixture) -> None:
        super().__init__(generator, topology, limits)
        self._promises_max = generator.choice((2, 5, 12))
        self._wide_share = generator.choice((0.0, 0.3, 0.8))
        self._promises: list[tuple[AdvertisementName, AdvertisedContent]] = []

    def draw(self, count: int) -> list[Action]:
        """The actions of one round: what clients promise changes in some of them only."""
        changing = self._generator.choice((0.05, 0.2, 0.5))
        if not self._promises:
            first = [self._advertise() for _ in range(self._generator.randint(1, count))]
            return [*first, *super().draw(count)]
        drawn = super().draw(count)
        return [self._change() if self._generator.random() < changing else a for a in drawn]

    def _change(self) -> Action:
        is_full = len(self._promises) >= self._promises_max
        if self._promises and (is_full or self._generator.random() < 0.4):
            chosen = self._generator.randrange(len(self._promises))
            return UnadvertiseAction(self._promises.pop(chosen)[0])
        return self._advertise()

    def _advertise(self) -> Action:
        # Few ids, of which one that is taken is taken up again only by chance.
        name = AdvertisementName(*self._client(), f"a{self._generator.randrange(3)}")
        if any(name == taken for taken, _ in self._promises):
            name = AdvertisementName(*self._client(), f"a{self._generator.randrange(3)}")
        is_wide = self._generator.random() < self._wide_share
        promised = self._promise(wide=is_wide)
        self._promises.append((name, promised))
        return AdvertiseAction(name, promised)

    def _promise(self, *, wide: bool) -> AdvertisedContent:
        if self._documents and not wide and self._generator.random() < _PATHS_SHARE:
            return parse_advertisement(draw_paths(self._generator))
        return self._interest(wide=wide)

    def _detach(self) -> Action:
        client = self._client()
        self._promises = [one for one in self._promises if one[0].owner != client]
        return DetachAction(client)

    def _publish(self) -> Action:
        """Mostly by a client that advertised, and mostly within an advertisement."""
        if not self._promises or self._generator.random() < 0.2:
            return super()._publish()
        self._published += 1
        name, promised = self._generator.choice(self._promises)
        publication = self._publication()
        for _ in range(_TRIES):
            if promised.matches(publication):
                break
            publication = self._publication()
        return PublishAction(name.owner, publication)


def _draw_faults(
    generator: Random, topology: Overlay, seconds: float
) -> list[tuple[float, Action]]:
    timed: list[tuple[float, Action]] = []
    for name in generator.sample(sorted(RECIPES), generator.randint(0, len(RECIPES))):
        window = Window(0.0, seconds, generator.random())
        for fault in RECIPES[name](topology, window, generator):
            timed.extend(fault.actions())
    return timed


def _draw_dooms(generator: Random, topology: Overlay, seconds: float) -> list[tuple[float, Action]]:
    """Crashes while routers write, which leave a part of the unwritten inputs."""
    timed: list[tuple[float, Action]] = []
    for _ in range(generator.choice((0, 1, 2, 4))):
        router = generator.choice(topology.routers)
        steps = generator.choice((None, 0, 1, 2, generator.randrange(12)))
        down, up = sorted((generator.random() * seconds, generator.random() * seconds))
        if down < up:
            timed.append((down, CrashRouter(router, generator.choice(_TAILS), steps)))
            timed.append((up, ReturnRouter(router)))
    return timed


def _draw_disturbances(
    generator: Random, topology: Overlay, seconds: float, limits: Mixture
) -> list[tuple[float, Action]]:
    """Disturbances beside failures: relapses, suspicions, and faults of messages and timers."""
    timed: list[tuple[float, Action]] = []
    if limits.relapses:
        timed.extend(_draw_relapses(generator, topology, seconds))
    if limits.suspicions:
        timed.extend(_draw_suspicions(generator, topology, seconds))
    if limits.tampering:
        ends = tuple((link.a, link.b) for link in topology.links)
        timed.extend(draw_tampering(generator, topology.routers, ends, seconds))
    if limits.losses:
        ends = tuple((link.a, link.b) for link in topology.links)
        timed.extend(_draw_channels(generator, ends, seconds))
    return timed


def _draw_relapses(
    generator: Random, topology: Overlay, seconds: float
) -> list[tuple[float, Action]]:
    """Crashes after which disks have older states."""
    timed: list[tuple[float, Action]] = []
    for _ in range(generator.choice((0, 1, 1, 2))):
        router = generator.choice(topology.routers)
        down, up = sorted((generator.random() * seconds, generator.random() * seconds))
        timed += [(down, CrashRouter(router, Tail.OLD)), (up, ReturnRouter(router))]
    return timed


def _draw_channels(
    generator: Random, links: tuple[tuple[str, str], ...], seconds: float
) -> list[tuple[float, Action]]:
    """Links that lose, repeat and reorder for a while, in some rounds, and clocks that drift."""
    timed: list[tuple[float, Action]] = []
    if generator.random() < 0.5:
        timed.append((0.0, SetClock(is_drawn=True)))
    if generator.random() < 0.5:
        return timed
    between = generator.choice((None, *links))
    loss, duplication, reordering = (generator.choice((0.0, 0.1, 0.4)) for _ in range(3))
    delay = generator.choice(("none", "pareto"))
    channel = Channel(loss, duplication, reordering, delay, scale_s=seconds / 20)
    begin, end = sorted((generator.random() * seconds, generator.random() * seconds))
    return [*timed, (begin, SetChannel(channel, between)), (end, SetChannel(CALM, between))]


def _draw_suspicions(
    generator: Random, topology: Overlay, seconds: float
) -> list[tuple[float, Action]]:
    """Up to two, each of a neighbor at the beginning of the scenario."""
    timed: list[tuple[float, Action]] = []
    for _ in range(generator.choice((0, 0, 1, 2))):
        router = generator.choice(topology.routers)
        neighbors = sorted(topology.neighbors(router))
        if neighbors:
            suspect = Suspect(router, generator.choice(neighbors), 2 * seconds)
            timed.append((generator.random() * seconds, suspect))
    return timed
