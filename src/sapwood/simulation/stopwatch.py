"""Processing time of routers, and when a message last changed routing state.

Links take virtual time, what routers compute takes none: so the delays of XNet's set-up B (thesis
6.3.2: routing, update and recovery delay) are the virtual time until all is consistent and the
processor time that it took, in full, as if no two routers worked at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from sapwood.routing.effects import Effect
from sapwood.routing.inputs import Input, Receive
from sapwood.routing.messages import UpkeepNote
from sapwood.routing.router import Router
from sapwood.routing.strategies import Protocol


class Stopwatch:
    """Times the routers that `maker` makes by a `clock` of processor time, in seconds.

    `processing_s` is by router, since `restart`; `heard` is the virtual time of the last message to
    a router about routing state, which notes between upkeeps are not.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self.processing_s: dict[str, float] = {}
        self.heard = -math.inf

    def restart(self) -> None:
        """Forget all measurements."""
        self.processing_s.clear()
        self.heard = -math.inf

    @property
    def seconds(self) -> float:
        """The processing time of all routers together."""
        return math.fsum(self.processing_s.values())

    def delay_s(self, since: float) -> float:
        """Seconds from a virtual time until the last message about routing state.

        The processing time of all routers since `restart` is added.
        """
        return max(0.0, self.heard - since) + self.seconds

    def maker(self, chosen: Protocol) -> Callable[[str, int], Router]:
        """Makes the routers of a protocol, by name and incarnation."""
        watch, clock = self, self._clock

        class Timed(Router):
            """A router that is timed."""

            def handle(self, input: Input, now: float) -> list[Effect]:
                begun = clock()
                effects = super().handle(input, now)
                spent = watch.processing_s.get(self.name, 0.0) + clock() - begun
                watch.processing_s[self.name] = spent
                if isinstance(input, Receive) and not isinstance(input.message, UpkeepNote):
                    watch.heard = now
                return effects

        return lambda name, incarnation: Timed(name, chosen, incarnation=incarnation)
