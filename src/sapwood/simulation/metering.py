"""Routers with a meter: the cost of an overlay, by part.

A meter measures the routers of one simulation. It adds up the processor time that inputs take, and
the bytes that go over links, apart for publications and for messages about routing state. The clock
and the weight of a message are given: the simulation itself knows neither.

Publications of clients are timed apart from those of neighbors: a forwarding strategy with digests
moves work from the latter to the former.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from sapwood.matching.engine_names import Engines
from sapwood.routing.effects import Effect, Send
from sapwood.routing.inputs import ClientPublish, Input, Receive
from sapwood.routing.messages import Message, Publish, carried
from sapwood.routing.router import Router
from sapwood.routing.strategies import Protocol
from sapwood.simulation.machine import MakeRouter

Weigh: TypeAlias = Callable[[Message], int]
"""The bytes of a message on a link."""


@dataclass(slots=True)
class Part:
    """The cost of a part of the work: inputs, their processor seconds, and bytes sent.

    The part `state` has the bytes of all messages but publications, whatever input caused them.
    """

    inputs: int = 0
    seconds: float = 0.0
    bytes: int = 0


class Meter:
    """Adds up the cost of the routers of one overlay.

    `entered` are publications at the routers where they enter, `passed` those at later routers, and
    `state` is all else: subscriptions, advertisements, links, timers.
    """

    __slots__ = ("_clock", "_routers", "_weigh", "entered", "passed", "state")

    def __init__(self, clock: Callable[[], float], weigh: Weigh) -> None:
        self._clock = clock
        self._weigh = weigh
        self.entered, self.passed, self.state = Part(), Part(), Part()
        #: every router that there ever was
        self._routers: list[Router] = []

    @property
    def seconds(self) -> float:
        """All processor time."""
        return self.entered.seconds + self.passed.seconds + self.state.seconds

    @property
    def bytes(self) -> int:
        """All bytes on links."""
        return self.entered.bytes + self.passed.bytes + self.state.bytes

    def counters(self) -> dict[str, int]:
        """The sums of the counters of all routers: see `Router.counters`."""
        found: Counter[str] = Counter()
        for router in self._routers:
            found.update(router.counters())
        return dict(found)

    def maker(self, protocol: Protocol, engine: str) -> MakeRouter:
        """Makes routers of a protocol that are measured here."""
        engines = Engines(engine)

        def make(name: str, incarnation: int) -> Router:
            router = MeteredRouter(self, name, protocol, engines, incarnation)
            self._routers.append(router)
            return router

        return make

    def measured(
        self, handle: Callable[[Input, float], list[Effect]], input: Input, now: float
    ) -> list[Effect]:
        """Handle an input, add it to the cost of the overlay, and return its effects."""
        part = self._part_of(input)
        began = self._clock()
        effects = handle(input, now)
        part.seconds += self._clock() - began
        part.inputs += 1
        for effect in effects:
            if isinstance(effect, Send):
                is_publication = isinstance(carried(effect.message), Publish)
                sent = part if is_publication else self.state
                sent.bytes += self._weigh(effect.message)
        return effects

    def _part_of(self, input: Input) -> Part:
        match input:
            case ClientPublish():
                return self.entered
            case Receive(_, message) if isinstance(carried(message), Publish):
                return self.passed
            case _:
                return self.state


class MeteredRouter(Router):
    """A router whose inputs a meter measures."""

    def __init__(
        self, meter: Meter, name: str, protocol: Protocol, engines: Engines, incarnation: int
    ) -> None:
        super().__init__(name, protocol, engines, incarnation)
        self._meter = meter

    def handle(self, input: Input, now: float) -> list[Effect]:
        """Take one input, as every router does."""
        return self._meter.measured(super().handle, input, now)
