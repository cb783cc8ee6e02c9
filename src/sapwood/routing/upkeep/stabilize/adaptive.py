"""Edge stabilization whose timer waits, when a link fails, for what waiting costs (Shen 5.6).

Every publication carries the number of hops for which only one direction has wanted it (`wasted`).
Where that direction is a link that is down, these hops were useless, and count against it (T-37).
When they are more than a withdrawal could cost, the routers on this side times a threshold, the
entries of the link are dropped.

Each publication has a count of its own, and batches are taken apart for it. So that this costs
nothing while all links are up, routers tell each other when one of them begins or ends to keep the
entries of a link that is down (`notes.Cut`, and in every comparison): until then batches pass as
they are, and what crosses a link before the note does is not counted::

    r1 ------ r2 ------ r3 --x-- r4        r3: Cut(true) to r2, r2: Cut(true) to r1
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import TypeGuard

from sapwood.limits.healing import STABILIZE_PERIOD_S
from sapwood.routing.effects import Deliver, Effect, Send, SendMany
from sapwood.routing.inputs import LinkDown, LinkUp, Receive, ReceiveMany
from sapwood.routing.messages import Publish, Stamped, UpkeepNote
from sapwood.routing.upkeep.protocol import Action, Kept
from sapwood.routing.upkeep.stabilize.notes import Cut, note_of
from sapwood.routing.upkeep.stabilize.stabilize import Stabilize
from sapwood.routing.upkeep.stabilize.timers import ADAPTIVE, Timer
from sapwood.routing.upkeep.stabilize.wasted import counted_on, hops_in, stamp_of


class Adaptive(Stabilize):
    """Compares tables, and counts the publications that come in vain while a link is down.

    #: _hops is the count of the publication that is routed now, `None` where it is not counted, as
    #: when it has just begun
    """

    def __init__(
        self, router: Kept, period_s: float = STABILIZE_PERIOD_S, timer: Timer = ADAPTIVE
    ) -> None:
        super().__init__(router, period_s, timer)
        assert timer.threshold is not None, "there is something to be counted for"
        self._threshold = timer.threshold
        self._hops: int | None = None
        #: the count to stamp on the publication when it is sent
        self._onward = 0

    def is_cut_without(self, neighbor: str) -> bool:
        """True if a router on this side of a link keeps the entries of one that is down."""
        return any(outage.is_kept for outage in self.outages.values()) or any(
            link.is_cut for name, link in self.links.items() if name != neighbor
        )

    def _told(self) -> Iterator[Action]:
        """Tell the neighbors for which it has changed whether somebody on this side is cut off."""
        for neighbor, link in self.links.items():
            is_cut = self.is_cut_without(neighbor)
            if is_cut != link.told_cut:
                link.told_cut = is_cut
                yield Send(neighbor, note_of(Cut(is_cut)))

    def link_up(self, link: LinkUp, now: float) -> Iterable[Action]:
        """Begin with an edge, or go on with one whose link was down."""
        yield from super().link_up(link, now)
        yield from self._told()

    def link_down(self, link: LinkDown, now: float) -> Iterable[Action]:
        """Keep the entries of a link that was not closed for good, and say so."""
        yield from super().link_down(link, now)
        yield from self._told()

    def closed(self, link: LinkDown, now: float) -> Sequence[Action]:
        """Forget a link that routing has closed, and what its neighbor reported."""
        return [*super().closed(link, now), *self._told()]

    def arrived(self, received: Receive | ReceiveMany, now: float) -> Iterable[Action]:
        """Take off the count of a publication, and hand it on.

        A batch is handed on as it is, unless somebody beyond this router is cut off.
        """
        neighbor = received.neighbor
        if isinstance(received, ReceiveMany):
            if not self.is_cut_without(neighbor):
                return super().arrived(received, now)
            singly = (self.arrived(one, now) for one in received.messages())
            return chain.from_iterable(singly)
        match received.message:
            case Publish() if self.is_cut_without(neighbor):
                return self._counted(received, 0)
            case Stamped(stamp, Publish() as inner) if (hops := hops_in(stamp)) is not None:
                return self._counted(replace(received, message=inner), hops)
            case UpkeepNote():
                return chain(super().arrived(received, now), self._told())
            case _:
                return super().arrived(received, now)

    def _counted(self, publication: Receive, hops: int) -> Iterable[Action]:
        """Route a publication; drop the entries of a link with too many useless hops."""
        self._hops, self._onward = hops, 0
        yield publication
        self._hops, self._onward = None, 0
        if spent := self._spent():
            yield from chain.from_iterable(map(self._let_go, spent))
            yield from self._told()

    def _spent(self) -> Sequence[str]:
        """The links that have been down for longer than waiting is worth."""
        return [
            neighbor
            for neighbor, outage in self.outages.items()
            if outage.is_kept and outage.useless > self._threshold * self.routers_without(neighbor)
        ]

    def comes(self, effects: Sequence[Effect]) -> None:
        """Count the directions that the publication is sent in, and the useless hops of links."""
        if self._hops is None:
            return
        wanting = [one.neighbor for one in effects if _is_publication(one)]
        has_clients = any(isinstance(one, Deliver) for one in effects)
        self._onward = counted_on(self._hops, len(wanting) + has_clients)
        if has_clients or not all(neighbor in self.outages for neighbor in wanting):
            return
        self.useless += self._onward if wanting else 0
        for neighbor in wanting:
            self.outages[neighbor].useless += self._onward

    def sent(self, send: Send | SendMany, now: float) -> Sequence[Effect]:
        """Stamp a publication with its count."""
        effects = super().sent(send, now)
        if self._onward and effects and _is_publication(send):
            assert isinstance(send.message, Publish), "a publication is routed on one tree"
            return (replace(send, message=Stamped(stamp_of(self._onward), send.message)),)
        return effects


def _is_publication(effect: Effect) -> TypeGuard[Send]:
    return isinstance(effect, Send) and isinstance(effect.message, Publish)
