"""The common part of all routers with places on a circle: they keep their links.

`Circle` finds the neighbors; this is the router around it. Three kinds are built on it: `Pastry`
(IRBR, ranges), `Rendezvous` (Scribe) and `ReversePaths`, which differ in what they do when a link
comes or goes, and with clients' requests.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import get_args

from sapwood.limits.structured import LEAVES_HALF, RANGES_REPAIR_S
from sapwood.matching.engine_names import Engines
from sapwood.overlay.disjoint import FindTree
from sapwood.overlay.identifiers import IdentifierSpace, Range
from sapwood.overlay.pastry import PastryTables
from sapwood.routing.client_entries import unexpected_message
from sapwood.routing.core import RoutingCore
from sapwood.routing.effects import CloseLink, Effect
from sapwood.routing.inputs import (
    ClientPublishMany,
    Input,
    LinkDown,
    LinkUp,
    Receive,
    ReceiveMany,
    Tick,
)
from sapwood.routing.membership.pastry.circle import Circle
from sapwood.routing.membership.protocol import OnOneTree
from sapwood.routing.messages import CircleMessage, Contacts, Found, Seek
from sapwood.routing.strategies import Protocol


class OnCircle(RoutingCore):
    """The neighbors of a router on a circle.

    #: _out are the effects that the parts need, in order; empty between two inputs
    """

    def __init__(
        self,
        name: str,
        protocol: Protocol,
        engines: Engines,
        incarnation: int,
        space: IdentifierSpace,
    ) -> None:
        super().__init__(name, protocol, engines, incarnation)
        self._life = incarnation
        self._out: list[Effect] = []
        self.tables = PastryTables(space, space.identifier_of(name), LEAVES_HALF)
        self.circle = Circle(name, self.tables, self._out)
        self._now = 0.0
        self._due: float | None = None

    # Membership --------------------------------------------------------------------------------

    @property
    def is_tree(self) -> bool:
        """False: links form circles."""
        return False

    @property
    def finds(self) -> tuple[FindTree, ...]:
        """Empty: no tree of a source is agreed on beforehand."""
        return ()

    def neighbors(self, source: str | None = None) -> tuple[str, ...]:  # noqa: ARG002
        """All neighbors whose links are up."""
        return tuple(self.tables.peers)

    def cores(self, source: str) -> tuple[OnOneTree | None, ...]:  # noqa: ARG002
        """Empty: no tree is the same for all publications of a source."""
        return ()

    def tells_over(self) -> frozenset[str] | None:
        """No neighbors: no tree is the same for all."""
        return frozenset()

    def next_deadline(self) -> float | None:
        """The next time to send contacts to leaves again, and to check empty slots."""
        return self._due

    def handle(self, input: Input, now: float) -> list[Effect]:
        """Take one input; see `Router.handle`."""
        self._now = now
        if self._due is None and isinstance(input, LinkUp):
            self._due = now + RANGES_REPAIR_S
        match input:
            case ClientPublishMany():
                effects = [one for each in input.requests() for one in self.handle(each, now)]
            case ReceiveMany():
                effects = [one for each in input.messages() for one in self.handle(each, now)]
            case Receive(neighbor, message) if isinstance(message, get_args(CircleMessage)):
                effects = self._take(neighbor, message)
            case LinkUp():
                effects = self._joined(input)
            case LinkDown(neighbor):
                self._parted(neighbor)
                effects = []
            case Tick():
                self._beat(now)
                effects = []
            case _:
                effects = super().handle(input, now)
        done = list(effects)
        while self._out:  # the withdrawal of entries set aside adds further effects
            said = self._out.copy()
            self._out.clear()
            done += self.subscriptions.settle(said)
        return done

    def validate(self) -> None:
        """Check every relation between the tables; raises `InvariantError`."""
        self.tables.validate()
        self.advertisements.validate()
        self.subscriptions.validate()
        self.forwarding.validate(self.subscriptions.entries.sides())

    # Links -------------------------------------------------------------------------------------

    def _joined(self, up: LinkUp) -> list[Effect]:
        neighbor = up.neighbor
        identifier = self.tables.space.identifier_of(neighbor)
        if identifier in (self.tables.identifier, *self.tables.peers.values()):
            reason = (
                f"two routers are at the identifier {identifier}: give {neighbor!r} another name"
            )
            return [CloseLink(neighbor, reason)]
        self._filled(self.circle.link_up(neighbor, up.address))
        return []

    def _parted(self, neighbor: str) -> None:
        if neighbor in self.tables.peers:
            self._left(neighbor)

    def _close(self, neighbor: str, reason: str, *, for_good: bool = True) -> list[Effect]:
        self._parted(neighbor)
        return [CloseLink(neighbor, reason, for_good)]

    def _take(self, neighbor: str, message: CircleMessage) -> list[Effect]:
        """Handle a neighbor's message of the circle."""
        if neighbor not in self.tables.peers:
            return []
        match message:
            case Contacts(routers, _, addresses):
                self.circle.heard(routers, addresses)
            case Seek():
                self.circle.pass_on(message)
            case Found():
                is_ours = self.circle.pass_back(message)
                if is_ours and not message.routers:
                    self._nobody_in(message.range)
            case _:
                return self._take_more(neighbor, message)
        return []

    def _beat(self, now: float) -> None:
        """From time to time, send again what may have been lost with a link."""
        if self._due is None or now < self._due:
            return
        self._due = now + RANGES_REPAIR_S
        self.circle.tell_again()
        self.circle.seek_all()
        self._look_again()

    # The differences of the kinds of routers ---------------------------------------------------

    @abstractmethod
    def _filled(self, slot: Range | None) -> None:
        """Handle a link that has come up, with the empty slot that it fills, if any."""

    @abstractmethod
    def _left(self, neighbor: str) -> None:
        """Handle the end of a peer's link; it has to call `Circle.link_down`."""

    def _take_more(self, neighbor: str, message: CircleMessage) -> list[Effect]:
        """Handle a message that only some kinds of routers have."""
        return self._close(neighbor, unexpected_message(message), for_good=False)

    def _nobody_in(self, range_: Range) -> None:
        """Handle a range in which no router was found."""

    def _look_again(self) -> None:
        """Check the tables from time to time."""
