"""Messages along a path of nodes with clocks of their own, and the truth about their delays.

A path is as little as there can be around `LinkBounds`: no routers, no filters, one heap of what
happens when. Messages begin at both ends, go from node to node after a pause at each, and may be
lost, repeated and overtaken; nodes restart. Time is in whole nanoseconds, so that every bound is
compared with the truth to the nanosecond.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

from sapwood.simulation.clocks import DriftingClock
from sapwood.timing.drift import Drift
from sapwood.timing.link_bounds import LinkBounds, Passage, Stamp

Delay = Callable[[Random], int]
"""Draws how long a message is under way, in nanoseconds."""

MakeBounds = Callable[[Drift, Drift, int], LinkBounds]
"""Makes one end of a link: own drift, the other's, the epoch."""


@dataclass(frozen=True, slots=True)
class Spikes:
    """Mostly the base, exponentially a little more; now and then anything up to the spike."""

    base_ns: int = 20_000_000
    jitter_ns: int = 2_000_000
    share: float = 0.02
    spike_ns: int = 500_000_000

    def __call__(self, generator: Random) -> int:
        """Draw a delay."""
        if generator.random() < self.share:
            return self.base_ns + int(generator.random() * self.spike_ns)
        return self.base_ns + int(generator.expovariate(1.0) * self.jitter_ns)


@dataclass(frozen=True, slots=True)
class HeavyTail:
    """The base, and a Pareto tail (shape 1.1) that begins at `scale_ns`; sometimes nothing."""

    base_ns: int = 1_000_000
    scale_ns: int = 500_000
    at_once: float = 0.01

    def __call__(self, generator: Random) -> int:
        """Draw a delay."""
        if generator.random() < self.at_once:
            return 0
        return self.base_ns + min(int(self.scale_ns * (generator.paretovariate(1.1) - 1)), 10**12)


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """The conditions of messages, clocks and nodes. Rates of clocks change within their drift."""

    nodes: int = 4
    ppm: int = 500
    delay: Delay = field(default_factory=HeavyTail)
    interval_ns: int = 5_000_000
    pause_ns: int = 1_000_000
    loss: float = 0.05
    repeated: float = 0.05
    restart: float = 0.0005
    rate_change: float = 0.01


class Flight(NamedTuple):
    """A message on a link, which was created and sent at these times."""

    target: int
    step: int
    created: int
    sent: int
    stamp: Stamp


class Held(NamedTuple):
    """A message at a node, in that life of it, where it was born at `born` or later."""

    node: int
    life: int
    step: int
    created: int
    born: int | None


@dataclass(slots=True)
class Verdicts:
    """The counts of messages and of wrong bounds."""

    messages: int = 0
    bounded: int = 0
    too_small: int = 0
    too_large: int = 0
    younger: int = 0
    shrunk: int = 0
    ages: int = 0
    restarts: int = 0
    contradictions: int = 0

    @property
    def violations(self) -> int:
        """All that must never be."""
        return self.too_small + self.too_large + self.younger + self.shrunk + self.contradictions


class Heard(NamedTuple):
    """One message as it arrived, for callers that look at each."""

    at: int
    source: int
    target: int
    delay: int
    passage: Passage


class Path:
    """Nodes 0, 1, ... in a row. Deterministic in the seed."""

    def __init__(self, conditions: Conditions, seed: int, make: MakeBounds = LinkBounds) -> None:
        self.verdicts = Verdicts()
        self.now = 0
        self._conditions = conditions
        self._make = make
        self._generator = Random(f"{seed}/path")  # noqa: S311 - reproducible on purpose
        self._drift = Drift(conditions.ppm)
        self._due: list[tuple[int, int, Flight | Held]] = []
        self._count = 0
        self._lives = 0
        self._life: list[int] = [0] * conditions.nodes
        self._clocks: list[DriftingClock] = []
        self._bounds: list[dict[int, LinkBounds]] = []
        for _ in range(conditions.nodes):
            self._clocks.append(self._clock())
            self._bounds.append({})
        for node in range(conditions.nodes):
            self._begin(node)

    def run(self, messages: int) -> Iterator[Heard]:
        """Let `messages` messages arrive on links; yield each as it does."""
        conditions, generator = self._conditions, self._generator
        begin = last = 0
        end = self.verdicts.messages + messages
        while self.verdicts.messages < end:
            if not self._due or self._due[0][0] >= begin:
                begin, self.now = (
                    begin + 1 + int(generator.expovariate(1.0) * conditions.interval_ns),
                    begin,
                )
                first, step = ((0, 1), (conditions.nodes - 1, -1))[last]
                last = 1 - last
                self._fate(first)
                self._hold(first, step, self.now, self._read(first))
                continue
            self.now, _, what = heapq.heappop(self._due)
            if isinstance(what, Flight):
                yield self._arrive(what)
            else:
                self._send(what)

    def _fate(self, node: int) -> None:
        """Maybe a node restarts, or the rate of a clock changes."""
        conditions, generator = self._conditions, self._generator
        if generator.random() < conditions.restart:
            node = generator.randrange(conditions.nodes)
            self.verdicts.restarts += 1
            self._clocks[node] = self._clock()
            self._life[node] += 1
            self._begin(node)
        if generator.random() < conditions.rate_change:
            ppm = conditions.ppm
            self._clocks[node].set_rate(self.now, generator.randint(-ppm, ppm))

    def _clock(self) -> DriftingClock:
        ppm, generator = self._conditions.ppm, self._generator
        rate = generator.choice((-ppm, ppm, generator.randint(-ppm, ppm)))
        clock = DriftingClock(ppm, 0, generator.randrange(-(10**15), 10**15))
        clock.set_rate(self.now, rate)
        return clock

    def _begin(self, node: int) -> None:
        self._bounds[node] = {}
        for other in (node - 1, node + 1):
            if 0 <= other < self._conditions.nodes:
                self._lives += 1
                self._bounds[node][other] = self._make(self._drift, self._drift, self._lives)

    def _read(self, node: int) -> int:
        return self._clocks[node].read(self.now)

    def _pause(self) -> int:
        return int(self._generator.random() * self._conditions.pause_ns)

    def _schedule(self, at: int, what: Flight | Held) -> None:
        self._count += 1
        heapq.heappush(self._due, (at, self._count, what))

    def _hold(self, node: int, step: int, created: int, born: int | None) -> None:
        held = Held(node, self._life[node], step, created, born)
        self._schedule(self.now + self._pause(), held)

    def _send(self, held: Held) -> None:
        node, life, step, created, born = held
        if life != self._life[node]:
            return
        target, conditions, generator = node + step, self._conditions, self._generator
        stamp = self._bounds[node][target].stamp(self._read(node), born)
        flight = Flight(target, step, created, self.now, stamp)
        if generator.random() >= conditions.loss:
            self._schedule(self.now + conditions.delay(generator), flight)
        if generator.random() < conditions.repeated:
            self._schedule(self.now + conditions.delay(generator), flight)

    def _arrive(self, flight: Flight) -> Heard:
        target, step, created, sent, stamp = flight
        verdicts, source = self.verdicts, target - step
        verdicts.messages += 1
        shown = self._read(target)
        bounds = self._bounds[target][source]
        upper, lower = passage = bounds.arrived(stamp, shown)
        delay = self.now - sent
        if upper is not None:
            verdicts.bounded += 1
            verdicts.too_small += upper < delay
        verdicts.too_large += lower > delay
        verdicts.contradictions += bounds.contradictions
        born = self._born(stamp, upper, shown, created)
        onward = target + step
        if 0 <= onward < self._conditions.nodes:
            self._hold(target, step, created, born)
        return Heard(self.now, source, target, delay, passage)

    def _born(self, stamp: Stamp, upper: int | None, shown: int, created: int) -> int | None:
        """The earliest birth of a message, by its receiver's clock; judges the stamps as well."""
        before = self._drift.age_ns(stamp.born, stamp.sent)
        if upper is None or before is None:
            return None
        age = upper + before
        self.verdicts.ages += 1
        self.verdicts.younger += age < self.now - created
        self.verdicts.shrunk += age < before
        return shown - age
