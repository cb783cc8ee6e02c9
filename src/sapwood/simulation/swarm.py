"""Random scenarios from a seed: topology, subscriptions, churn, publications, faults.

Each seed draws its own mixture (how many routers, how busy, which faults), so that a swarm of seeds
visits corners that one average mixture never would. Filters and records come from a small world in
which covering, equal and overlapping filters are frequent.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any, Final

from sapwood.language import parse_filter
from sapwood.model.filter import Filter
from sapwood.model.publication import Publication
from sapwood.overlay.topology import Link, Topology
from sapwood.simulation.faults import RECIPES, Window
from sapwood.simulation.history import AdvertisementName, ClientName, SubscriptionName
from sapwood.simulation.network import NOMINAL, Timing
from sapwood.simulation.scenario import (
    Action,
    AdvertiseAction,
    DetachAction,
    PublishAction,
    Scenario,
    Step,
    SubscribeAction,
    UnadvertiseAction,
    UnsubscribeAction,
    Until,
    WaitAction,
    timed_steps,
)

_ATTRIBUTES: Final = "xytb"
_TEXTS: Final = ("ash", "elm", "oak", "oak leaf")
_NUMBERS: Final = range(8)
_CLIENTS: Final = ("ann", "bob")
_TRIES: Final = 8
"""Records that are drawn at most in search of one that an advertisement accepts."""


@dataclass(frozen=True, slots=True)
class Mixture:
    """What a seed may draw from: upper bounds, whether faults happen, whether clients advertise."""

    routers_max: int = 8
    rounds_max: int = 6
    actions_max: int = 40
    faults: bool = True
    advertisements: bool = False


def draw_scenario(seed: int, mixture: Mixture | None = None) -> Scenario:
    """The scenario of a seed; the same seed and mixture always give the same one.

    It goes through rounds of actions, each with a density of its own and most with a rest after
    it, and ends with a calm in which publications from every router show whether all is well.
    """
    limits = mixture or Mixture()
    generator = Random(f"{seed}/swarm")  # noqa: S311 - reproducible on purpose
    topology = draw_topology(generator, generator.randint(1, limits.routers_max))
    actions = (_AdvertisedActions if limits.advertisements else _Actions)(generator, topology)
    with_faults = limits.faults and generator.random() < 0.7
    steps: list[Step] = []
    for _ in range(generator.randint(1, limits.rounds_max)):
        # As short as one hop, so that messages cross on the links, or so long that few do.
        seconds = generator.choice((0.01, 0.05, 0.5, 5.0))
        drawn = actions.draw(generator.randint(1, limits.actions_max))
        times = sorted(generator.random() * seconds for _ in drawn)
        timed = list(zip(times, drawn, strict=True))
        if with_faults:
            timed.extend(_draw_faults(generator, topology, seconds))
        steps.extend(timed_steps(timed))
        if generator.random() < 0.7:
            steps.append(Step(WaitAction(generator.choice(tuple(Until)))))
    steps.append(Step(WaitAction(Until.QUIET)))
    last = [ClientName(router, "last") for router in topology.routers]
    if limits.advertisements:
        steps.extend(
            Step(AdvertiseAction(AdvertisementName(*client, "all"), parse_filter("true")))
            for client in last
        )
        steps.append(Step(WaitAction(Until.CONFIRMED)))
    steps.extend(
        Step(PublishAction(client, _publication(generator, f"last-{client.home}")))
        for client in last
    )
    if limits.advertisements:
        steps.extend(Step(DetachAction(client)) for client in last)
    timing = generator.choice((NOMINAL, Timing(jitter=3.0), Timing(jitter=1.0, notice_s=0.05)))
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


def draw_filter(generator: Random, attributes: str = _ATTRIBUTES) -> str:
    """The text of a filter over some of `x`, `y` (small numbers), `t` (text) and `b` (boolean)."""
    count = generator.choice((1, 1, 1, 2, 2, 3))
    parts = [_draw_condition(generator, generator.choice(attributes)) for _ in range(count)]
    return generator.choice((" and ", " and ", " or ")).join(parts)


def draw_chain_filter(generator: Random) -> str:
    """The text of one of the filters of which any two cover each other, one way or both."""
    return f"x >= {generator.choice(_NUMBERS)}"


def draw_record(generator: Random) -> dict[str, Any]:
    """A record over the same attributes; each may be missing."""
    values: dict[str, Any] = {
        "x": generator.choice(_NUMBERS),
        "y": generator.choice((*_NUMBERS, 2.5)),
        "t": generator.choice(_TEXTS),
        "b": generator.random() < 0.5,
    }
    return {name: value for name, value in values.items() if generator.random() < 0.8}


def _draw_condition(generator: Random, name: str) -> str:
    if generator.random() < 0.02:
        return "true"
    if name == "b":
        return generator.choice(("b", "not b"))
    if name == "t":
        text = generator.choice(_TEXTS)
        return generator.choice((f"t = '{text}'", f"t like '{text[0]}%'", f"t >= '{text}'"))
    low, high = sorted((generator.choice(_NUMBERS), generator.choice(_NUMBERS)))
    return generator.choice(
        (
            f"{name} >= {low}",
            f"{name} < {high}",
            f"{name} between {low} and {high}",
            f"{name} = {low}",
            f"exists {name}",
            f"not {name} in ({low}, {high})",
        )
    )


class _Actions:
    """Draws subscriptions, withdrawals, publications and departures, in changing proportions."""

    def __init__(self, generator: Random, topology: Topology) -> None:
        self._generator = generator
        self._topology = topology
        vocabularies: tuple[Callable[[Random], str], ...] = (
            draw_chain_filter,
            *(partial(draw_filter, attributes=names) for names in ("x", "xy", _ATTRIBUTES)),
        )
        self._draw_filter = generator.choice(vocabularies)
        # Few live subscriptions leave narrow ones uncovered more often than many do.
        self._live_max = generator.choice((3, 6, 12, 100))
        self._live: list[SubscriptionName] = []
        #: so many of the live ones, the first, are from earlier rounds
        self._settled = 0
        self._published = 0

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
        return SubscribeAction(name, parse_filter(self._draw_filter(self._generator)))

    def _unsubscribe(self) -> Action:
        if not self._live:
            return self._subscribe()
        # Mostly one that is there since an earlier round, and therefore likely to be confirmed.
        settled = self._settled > 0 and self._generator.random() < 0.8
        chosen = self._generator.randrange(self._settled if settled else len(self._live))
        self._settled -= chosen < self._settled
        return UnsubscribeAction(self._live.pop(chosen))

    def _publish(self) -> Action:
        self._published += 1
        return PublishAction(self._client(), _publication(self._generator, f"p{self._published}"))

    def _detach(self) -> Action:
        return DetachAction(self._client())


class _AdvertisedActions(_Actions):
    """The same for clients that advertise: much, little, at times what they do not publish."""

    def __init__(self, generator: Random, topology: Topology) -> None:
        super().__init__(generator, topology)
        self._promises_max = generator.choice((2, 5, 12))
        self._wide_share = generator.choice((0.0, 0.3, 0.8))
        self._promises: list[tuple[AdvertisementName, Filter]] = []

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
        text = "true" if is_wide else self._draw_filter(self._generator)
        promised = parse_filter(text)
        self._promises.append((name, promised))
        return AdvertiseAction(name, promised)

    def _detach(self) -> Action:
        client = self._client()
        self._promises = [one for one in self._promises if one[0].owner != client]
        return DetachAction(client)

    def _publish(self) -> Action:
        """Mostly by one who advertised, and mostly something that was advertised."""
        if not self._promises or self._generator.random() < 0.2:
            return super()._publish()
        self._published += 1
        name, promised = self._generator.choice(self._promises)
        publication = _publication(self._generator, f"p{self._published}")
        for _ in range(_TRIES):
            if promised.matches(publication):
                break
            publication = _publication(self._generator, f"p{self._published}")
        return PublishAction(name.owner, publication)


def _draw_faults(
    generator: Random, topology: Topology, seconds: float
) -> list[tuple[float, Action]]:
    timed: list[tuple[float, Action]] = []
    for name in generator.sample(sorted(RECIPES), generator.randint(0, len(RECIPES))):
        window = Window(0.0, seconds, generator.random())
        for fault in RECIPES[name](topology, window, generator):
            timed.extend(fault.actions())
    return timed


def _publication(generator: Random, id_: str) -> Publication:
    return Publication(id_, draw_record(generator))
