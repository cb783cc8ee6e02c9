"""Hard state: a link that goes takes its subscriptions with it, one that comes is told everything.

XSiena 2.3 (interface removed, interface added). Right as long as routers do not lie and links are
FIFO; what is on a link when it fails is lost, and so are publications accepted before the state
has travelled again.
"""

from __future__ import annotations

from sapwood.routing.upkeep.protocol import Action


class HardState:
    """No memory beyond the links that are up, and no timers."""

    __slots__ = ()

    def link_up(self, neighbor: str, now: float) -> tuple[Action, ...]:  # noqa: ARG002
        """Replay all."""
        return (Action.REPLAY,)

    def link_down(self, neighbor: str, now: float) -> tuple[Action, ...]:  # noqa: ARG002
        """Forget all."""
        return (Action.FORGET,)

    def next_deadline(self) -> float | None:
        """Never."""
        return None
