"""Links that stand by: those that a scenario has added, and that routers do without.

Where routers link themselves they may have joined the ends of a link before it is added, and on one
tree it would close a circle; or they give it up for another. Brokers leave such a link out, and its
dialer stands by; here it comes up when the overlay has come to rest without a way between its ends.
"""

from __future__ import annotations

from typing import Protocol

from sapwood.errors import InputError
from sapwood.overlay.topology import Hop, Overlay, undirected
from sapwood.simulation.tally import Tally
from sapwood.simulation.trace import Trace


class Linked(Protocol):
    """An overlay that links can be added to; `tally` counts those that its routers changed."""

    topology: Overlay
    tally: Tally
    trace: Trace

    @property
    def now(self) -> float:
        """The time in seconds."""

    def add_link(self, a: str, b: str, latency_s: float) -> None:
        """Link two routers; raises `InputError` where that closes a circle."""


class StandingBy:
    """The links that one scenario has added, with their latencies; some of them stand by."""

    def __init__(self) -> None:
        self._added: dict[Hop, float] = {}

    def add(self, world: Linked, a: str, b: str, latency_s: float) -> None:
        """Add a link, or let it stand by.

        Raises `InputError` for a circle where no router has changed a link itself.
        """
        if b in world.topology.neighbors(a):  # routers have linked themselves
            return
        try:
            world.add_link(a, b, latency_s)
        except InputError as error:
            if not world.tally.links_rewired:
                raise
            world.trace.remark(world.now, str(error))
        self._added[undirected(a, b)] = latency_s

    def remove(self, a: str, b: str) -> None:
        """Let a link stand by no more, if it did."""
        self._added.pop(undirected(a, b), None)

    def come_up(self, world: Linked) -> bool:
        """Add those that close no circle any more; true if there was one."""
        before = world.topology
        if world.tally.links_rewired:
            for (a, b), latency_s in self._added.items():
                if a in world.topology and b in world.topology:
                    self.add(world, a, b, latency_s)
        return world.topology is not before
