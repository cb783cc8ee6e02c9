"""An upkeep with a timer for each edge: heartbeats that say how much the neighbor has been told.

A neighbor that knows another number of subscriptions, twice in a row, asks to begin with the link
afresh: it forgets what came from there (`LinkDown`) and takes nothing more until the other end has
forgotten as well, says so and tells everything again (`LinkUp`). So tables that were damaged heal.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sapwood.errors import InvariantError
from sapwood.routing.effects import Effect, Send, SendMany
from sapwood.routing.inputs import (
    Change,
    ClientPublishMany,
    LinkDown,
    LinkUp,
    Recalled,
    Receive,
    ReceiveMany,
    Restored,
)
from sapwood.routing.messages import UpkeepNote
from sapwood.routing.strategies import UpkeepStrategy
from sapwood.routing.upkeep.protocol import Action, Kept

PERIOD_S: Final = 1.0
DOUBTS_MAX: Final = 1
AGAIN: Final = UpkeepNote(b"again")
AFRESH: Final = UpkeepNote(b"afresh")


class Beats:
    """The heartbeats of one router.

    #: _due and _doubts are of the links that are up; _deaf are some of them, down for routing
    """

    def __init__(self, router: Kept) -> None:
        self._router = router
        self._due: dict[str, float] = {}
        self._doubts: dict[str, int] = {}
        self._deaf: set[str] = set()
        self.begun_afresh = 0

    @property
    def is_passive(self) -> bool:
        return False

    @property
    def takes_batches(self) -> bool:
        return False

    def link_up(self, link: LinkUp, now: float) -> Sequence[Action]:
        self._due[link.neighbor] = now + PERIOD_S
        self._doubts[link.neighbor] = 0
        return (link,)

    def link_down(self, link: LinkDown, now: float) -> Sequence[Action]:
        self._due.pop(link.neighbor, None)
        self._doubts.pop(link.neighbor, None)
        self._deaf.discard(link.neighbor)
        return (link,)

    def closed(self, link: LinkDown, now: float) -> Sequence[Action]:
        return self.link_down(link, now)

    def recalled(self, recalled: Recalled, now: float) -> Sequence[Action]:
        return ()

    def asked(self, request: Change | ClientPublishMany, now: float) -> Sequence[Action]:
        return (request,)

    def arrived(self, received: Receive | ReceiveMany, now: float) -> Sequence[Action]:
        assert isinstance(received, Receive), "publications come one by one"
        neighbor, message = received.neighbor, received.message
        if neighbor not in self._due:
            return ()
        is_deaf = neighbor in self._deaf
        if message == AGAIN:
            if is_deaf:  # both ends ask: each forgets, and hears that the other has
                return (Send(neighbor, AFRESH),)
            return (LinkDown(neighbor), Send(neighbor, AFRESH), LinkUp(neighbor))
        if message == AFRESH:
            self._deaf.remove(neighbor)
            return (LinkUp(neighbor),)
        if isinstance(message, UpkeepNote):
            return () if is_deaf else self._compare(neighbor, int.from_bytes(message.note))
        return () if is_deaf else (received,)

    def sent(self, send: Send | SendMany, now: float) -> Sequence[Effect]:
        return (send,)

    def restored(self, restored: Restored, now: float) -> Sequence[Action]:
        return ()

    def tick(self, now: float) -> Sequence[Action]:
        actions: list[Action] = []
        for neighbor, due in self._due.items():
            if due <= now:
                self._due[neighbor] = now + PERIOD_S
                told = sum(one.neighbor == neighbor for one in self._router.sent())
                note = UpkeepNote(told.to_bytes(4), periodic=True)
                actions.append(Send(neighbor, note))
        return actions

    def next_deadline(self) -> float | None:
        return min(self._due.values(), default=None)

    def table_sizes(self) -> dict[str, int]:
        return {"doubts": sum(self._doubts.values())}

    def validate(self) -> None:
        if self._due.keys() != self._doubts.keys() or not self._deaf <= self._due.keys():
            raise InvariantError("there are heartbeats of links that are not up")

    def _compare(self, neighbor: str, told: int) -> Sequence[Action]:
        known = sum(one.neighbor == neighbor for one in self._router.received())
        if known == told:
            self._doubts[neighbor] = 0
            return ()
        self._doubts[neighbor] += 1
        if self._doubts[neighbor] <= DOUBTS_MAX:
            return ()
        self._doubts[neighbor] = 0
        self._deaf.add(neighbor)
        self.begun_afresh += 1
        return (LinkDown(neighbor), Send(neighbor, AGAIN))


BEATS: Final = UpkeepStrategy(name="beats", summary="neighbors compare notes", make=Beats)
