"""An upkeep that asks for one more link, and a second later gives it up."""

from __future__ import annotations

from collections.abc import Sequence

from sapwood.routing.effects import Connect, Disconnect
from sapwood.routing.inputs import LinkDown, LinkUp
from sapwood.routing.strategies import UpkeepStrategy
from sapwood.routing.upkeep.protocol import Action, Kept
from sapwood.routing.upkeep.replay import Replay


class Calling(Replay):
    """Of one router it makes a caller; others do nothing."""

    __slots__ = ("_due", "_is_caller", "_next")

    def __init__(self, router: Kept, caller: str, callee: str, address: str) -> None:
        self._next: Connect | Disconnect = Connect(callee, address)
        self._is_caller = router.name == caller
        self._due: float | None = 0.0 if self._is_caller else None

    def link_up(self, link: LinkUp, now: float) -> Sequence[Action]:
        if self._is_caller and link.neighbor == self._next.neighbor:
            self._due, self._next = now + 1.0, Disconnect(link.neighbor)
        return (link,)

    def link_down(self, link: LinkDown, now: float) -> Sequence[Action]:
        return (link,)

    def tick(self, now: float) -> Sequence[Action]:
        self._due = None
        return (self._next,)

    def next_deadline(self) -> float | None:
        return self._due


def calling(caller: str, callee: str, address: str = "") -> UpkeepStrategy:
    """The upkeep under which one router calls another."""
    return UpkeepStrategy(
        name="calling",
        summary=f"{caller} calls {callee}",
        make=lambda router: Calling(router, caller, callee, address),
    )
