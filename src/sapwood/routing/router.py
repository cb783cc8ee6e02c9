"""The router: one state machine with one door.

`Router.handle(input, now)` is all that changes it, and the list of effects it returns is all that
comes out. It owns no clock, no randomness and no socket; the simulator and the server drive the
same object. `next_deadline()` tells them when to call again with `Tick`.

Inside are two parts. *Upkeep* sits between the links and all else: it sees what comes and what
goes, and says what is to be done (`upkeep/protocol.py`). *Membership* is below it: it knows the
neighbors and routes among them (`membership/protocol.py`), by one core or several (`core.py`),
which hold propagation and forwarding.

Every change of routing state goes one way: an input passes upkeep, and what upkeep hands on goes to
the membership by `_apply`. Nothing else reaches it. Membership is deterministic, so whoever keeps
what was handed on, in order, has the whole state: carrying it out again makes an equal router. That
is what `Persist` and `Restored` rest on.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Final, get_args

from sapwood.errors import InvariantError
from sapwood.matching.engine_names import Engines
from sapwood.model.publication import Publication
from sapwood.overlay.disjoint import FindTree
from sapwood.routing.effects import CloseLink, Effect, Send
from sapwood.routing.inputs import (
    AttachClient,
    BatchInput,
    Change,
    ClientInput,
    ClientPublish,
    ClientPublishMany,
    DetachClient,
    Input,
    LinkDown,
    LinkUp,
    Receive,
    ReceiveMany,
    Record,
    Restored,
    Suspicion,
    Tick,
)
from sapwood.routing.membership.protocol import Membership
from sapwood.routing.protocols import protocol as protocol_named
from sapwood.routing.strategies import Protocol
from sapwood.routing.tables import LinkSubscription
from sapwood.routing.upkeep.protocol import Action, Resume, Suspecting

DEFAULT_ENGINES: Final = Engines()
"""Engines that are cheap to change while tables are small."""


_ROUTED: Final = (*get_args(BatchInput), Receive, ClientPublish, *get_args(ClientInput))
"""What goes straight to the membership where upkeep looks at links only; publications first."""


class Router:
    """A router of an overlay.

    `name` is unique in the overlay. `incarnation` is a number greater than that of any earlier
    router of that name. `protocol` and `engines` are names from their catalogues, or the protocol
    itself. What a client may publish: see `RoutingCore`.

    #: absent are clients that were restored and have not come back; the membership has them
    """

    def __init__(
        self,
        name: str,
        protocol: str | Protocol = "covering",
        engines: Engines = DEFAULT_ENGINES,
        incarnation: int = 0,
    ) -> None:
        self.name = name
        self.protocol = protocol_named(protocol) if isinstance(protocol, str) else protocol
        self.incarnation = incarnation
        self._engines = engines
        self.membership = self._make_membership()
        self.upkeep = self.protocol.upkeep.make(self)
        self._is_passive = self.upkeep.is_passive
        self._absent: dict[str, None] = {}

    def handle(self, input: Input, now: float) -> list[Effect]:
        """Take one input at time `now` (seconds, any origin, never going back).

        Returns the effects, to be carried out in order. A client's name must be attached before it
        is used; what concerns a link that is not up is ignored, as it crossed with the end of the
        link.
        """
        if self._is_passive and isinstance(input, _ROUTED):
            return self.membership.handle(input, now)
        if isinstance(input, ReceiveMany):  # upkeep looks at each message
            return [effect for one in input.messages() for effect in self.handle(one, now)]
        if isinstance(input, ClientPublishMany):
            return [effect for one in input.requests() for effect in self.handle(one, now)]
        upkeep = self.upkeep
        match input:
            case Receive():
                return self._do(upkeep.arrived(input, now), now)
            case LinkUp():
                return self._do(upkeep.link_up(input, now), now)
            case LinkDown():
                return self._do(upkeep.link_down(input, now), now)
            case Tick():
                effects = self._do(upkeep.tick(now), now)
                return [*effects, *self._apply(input, now)]
            case Restored(records):
                return self._restore(records, now)
            case Suspicion():
                return self._suspect(input, now)
            case AttachClient(client) if client in self._absent:
                del self._absent[client]
                return []
            case DetachClient(client):
                self._absent.pop(client, None)
        return self._do(upkeep.asked(input, now), now)

    def refused(self, client: str, publications: Sequence[Publication]) -> Sequence[int]:
        """The places of those publications of a client that would be refused, ascending.

        The others may come as a `ClientPublishMany`.
        """
        return self.membership.refused(client, publications)

    def next_deadline(self) -> float | None:
        """When `handle` wants a `Tick`, if no input comes before; `None` for never."""
        ours, below = self.upkeep.next_deadline(), self.membership.next_deadline()
        if ours is None or below is None:
            return below if ours is None else ours
        return min(ours, below)

    @property
    def is_tree(self) -> bool:
        """Whether the links of all routers together have to form a tree."""
        return self.membership.is_tree

    @property
    def finds(self) -> tuple[FindTree, ...]:
        """How the trees of a source are found: see `Membership.finds`."""
        return self.membership.finds

    def tells_over(self) -> frozenset[str] | None:
        """The neighbors on one tree that all routers agree on, for what is told along a tree.

        `None` where all links are on it.
        """
        return self.membership.tells_over()

    def behind(self) -> Collection[str]:
        """The neighbors that are not told everything yet: `Drained` lets the router tell more.

        A neighbor whose link has come up is told of many subscriptions bit by bit, as fast as the
        link takes them, so that publications and other requests come in between.
        """
        return self.membership.behind()

    def table_sizes(self) -> dict[str, int]:
        """Entries in each table: for metrics.

        `local`: subscriptions of own clients; `received` and `propagated`: subscriptions known
        from, and told to, neighbors, over all links; `advertisements`: those of own clients and
        those known from neighbors; `unconfirmed`: what of all these is not yet in force. On many
        trees, all of them together, and `held`: publications that wait until an older tree has run
        dry. Upkeep may have tables of its own.
        """
        return {**self.membership.table_sizes(), **self.upkeep.table_sizes()}

    def counters(self) -> dict[str, int]:
        """What was counted since the router was made: for metrics.

        `digests_unread`: digests of other forwarding strategies that were passed on.
        """
        return self.membership.counters()

    def received(self) -> Iterator[LinkSubscription]:
        """The subscriptions that came over links, for checks."""
        return self.membership.received()

    def told(self) -> Iterator[LinkSubscription]:
        """The subscriptions that neighbors have been told of, for checks."""
        return self.membership.told()

    def validate(self) -> None:
        """Check every relation between the tables; raises `InvariantError`."""
        self.membership.validate()
        self.upkeep.validate()

    # What upkeep answers -----------------------------------------------------------------------

    def _suspect(self, suspicion: Suspicion, now: float) -> list[Effect]:
        upkeep = self.upkeep
        if not isinstance(upkeep, Suspecting):
            return []
        return self._do(upkeep.suspect(suspicion, now), now)

    def _do(self, actions: Sequence[Action], now: float) -> list[Effect]:
        """Do what upkeep says, in order."""
        effects: list[Effect] = []
        for action in actions:
            if isinstance(action, Change):
                effects.extend(self._apply(action, now))
            elif isinstance(action, Resume):
                raise InvariantError("a router becomes its earlier self only when it is restored")
            else:
                effects.append(action)
        return effects

    def _apply(self, change: Change | Tick, now: float) -> list[Effect]:
        """Let the membership take an input, and upkeep see what comes of it."""
        below = self.membership.handle(change, now)
        if self._is_passive:
            return below
        effects: list[Effect] = []
        for effect in below:
            if isinstance(effect, Send):
                effects.extend(self.upkeep.sent(effect, now))
                continue
            effects.append(effect)
            if isinstance(effect, CloseLink):  # what the shell does not say, as we know it
                effects.extend(self._do(self.upkeep.link_down(LinkDown(effect.neighbor), now), now))
        return effects

    def _restore(self, records: Sequence[Record], now: float) -> list[Effect]:
        """Become what an earlier life was: its changes again, and not what came of them."""
        effects: list[Effect] = []
        for action in self.upkeep.restored(records, now):
            match action:
                case Resume(incarnation):
                    self.incarnation = incarnation
                    self.membership = self._make_membership()
                case AttachClient(client):
                    self._absent[client] = None
                    self._apply(action, now)
                case DetachClient(client):
                    self._absent.pop(client, None)
                    self._apply(action, now)
                case _:
                    if isinstance(action, Change):
                        self._apply(action, now)
                    else:
                        effects.append(action)
        return effects

    def _make_membership(self) -> Membership:
        strategy = self.protocol.membership
        return strategy.make(self.name, self.protocol, self._engines, self.incarnation)
