"""The router: one state machine with one door.

`Router.handle(input, now)` is the only method that changes it, and the list of effects that it
returns is its only output. It owns no clock, no randomness and no socket; the simulator and the
server drive the same object. `next_deadline()` returns the time of the next call with `Tick`.

A router has two parts. *Upkeep* sits between the links and the rest: every input and every message
sent passes through it, and it returns the actions to take (`upkeep/protocol.py`). *Membership* lies
below: it holds the neighbors and routes among them (`membership/protocol.py`), by one core or
several (`core.py`), which hold propagation and forwarding.

Every change of routing state takes one path: an input passes upkeep, and the changes that upkeep
hands on go to the membership by `_apply`. Nothing else reaches it. Membership is deterministic, so
the sequence of changes handed on is the whole state: applying it again makes an equal router.
`Persist` and `Restored` rest on that.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias, cast, get_args

from sapwood.errors import InvariantError
from sapwood.matching.engine_names import Engines
from sapwood.matching.prepared import Prepared
from sapwood.model.publication import Publication
from sapwood.overlay.disjoint import FindTree
from sapwood.routing.core import RoutingCore
from sapwood.routing.counting import Counting
from sapwood.routing.effects import CloseLink, Effect, Remaining, Send, SendMany
from sapwood.routing.forwarding.later import Later
from sapwood.routing.inputs import (
    AttachClient,
    BatchInput,
    Change,
    ClientInput,
    ClientPublish,
    ClientPublishMany,
    Compare,
    DetachClient,
    Input,
    LinkDown,
    LinkUp,
    Measured,
    Recalled,
    Receive,
    ReceiveMany,
    Renewal,
    Restored,
    Suspicion,
    Tick,
)
from sapwood.routing.membership.protocol import Membership
from sapwood.routing.messages import UpkeepNote
from sapwood.routing.propagation.entries import EntryPropagation
from sapwood.routing.protocols import protocol as protocol_named
from sapwood.routing.ready_made import Lists, ReadyMade
from sapwood.routing.strategies import Protocol
from sapwood.routing.tables import ClientIds, LinkSubscription, Table
from sapwood.routing.upkeep.protocol import (
    Action,
    Compared,
    Comparing,
    HoldingBack,
    Refill,
    Resume,
    Suspecting,
    Watching,
    layer_with,
    layers,
)
from sapwood.routing.upkeep.recover.checkpoint import cores_of, refill
from sapwood.routing.upkeep.stabilize.monitor import Monitor

DEFAULT_ENGINES: Final = Engines()
"""Engines that are cheap to change while tables are small."""


_Handed: TypeAlias = Change | BatchInput
"""The inputs that upkeep hands to the membership."""

_MONITORED: Final = (Receive, LinkUp, LinkDown, Compare)
"""The inputs that begin, continue or end a comparison of tables."""

_ROUTED: Final = (*get_args(BatchInput), Receive, ClientPublish, *get_args(ClientInput))
"""Inputs that go straight to the membership if upkeep is passive; publications first."""


class Router:
    """A router of an overlay.

    `name` is unique in the overlay. `incarnation` is a number greater than that of any earlier
    router of that name. `protocol` and `engines` are names from their catalogues, or the protocol
    itself. For what a client may publish, see `RoutingCore`.

    #: _absent are clients that were restored and have not come back; the membership has them
    #: _remaining is the batch of the last `Remaining` effect: upkeep has seen all of it
    #: _monitor compares tables on request, where upkeep does not compare them of its own
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
        self._watching = cast("Watching | None", layer_with(self.upkeep, "comes"))
        self._comparing = cast("Comparing | None", layer_with(self.upkeep, "compare"))
        self._absent: dict[str, None] = {}
        self._remaining: BatchInput | None = None
        self._monitor = self._make_monitor() if self._comparing is None else None

    def handle(self, input: Input, now: float) -> list[Effect]:
        """Take one input at time `now` (seconds, any origin, never going back).

        Returns the effects, to be carried out in order. A client's name must be attached before it
        is used; an input about a link that is not up is ignored, since it crossed with the end of
        the link.
        """
        if self._monitor is not None and isinstance(input, _MONITORED):
            answers = self._monitored(self._monitor, input)
            if answers is not None:
                return answers
        if self._is_passive and isinstance(input, _ROUTED):
            return self.membership.handle(input, now)
        if isinstance(input, BatchInput):
            return self._handle_many(input, now)
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
            case Restored():
                return self._restore(input, now)
            case Recalled():
                return self._do(upkeep.recalled(input, now), now)
            case Suspicion() | Measured():
                return self._hear_of(input, now)
            case Compare():
                assert self._comparing is not None, "else the monitor has compared"
                return self._do(self._comparing.compare(now), now)
            case AttachClient(client) if client in self._absent:
                del self._absent[client]
                return []
            case DetachClient(client):
                self._absent.pop(client, None)
        return self._do(upkeep.asked(input, now), now)

    def refused(self, client: str, publications: Sequence[Publication]) -> Sequence[int]:
        """The places of the publications of a client that would be refused, ascending.

        The remaining publications may come as a `ClientPublishMany`.
        """
        return self.membership.refused(client, publications)

    def ids_of(self, client: str) -> ClientIds:
        """The ids of the subscriptions and advertisements of an attached client."""
        return self.membership.ids_of(client)

    @property
    def is_holding(self) -> bool:
        """True if publications are held back, to be delivered later."""
        return self.membership.table_sizes().get("held", 0) > 0

    @property
    def persists(self) -> bool:
        """True if the router needs a store in which records survive a crash."""
        return self.protocol.persists

    @property
    def absent(self) -> Collection[str]:
        """The clients of an earlier life that have not come back; `DetachClient` removes them."""
        return self._absent.keys()

    def next_deadline(self) -> float | None:
        """The time at which `handle` needs a `Tick` if no input comes before; `None` for never."""
        ours, below = self.upkeep.next_deadline(), self.membership.next_deadline()
        if ours is None or below is None:
            return below if ours is None else ours
        return min(ours, below)

    @property
    def is_tree(self) -> bool:
        """True if the links of all routers together have to form a tree."""
        return self.membership.is_tree

    @property
    def finds(self) -> tuple[FindTree, ...]:
        """The functions that find the trees of a source: see `Membership.finds`."""
        return self.membership.finds

    def tells_over(self) -> frozenset[str] | None:
        """The neighbors on one tree that all routers agree on, for messages along a tree.

        `None` where all links are on it.
        """
        return self.membership.tells_over()

    def behind(self) -> Collection[str]:
        """The neighbors whose backlog is not sent yet; `Drained` lets the router send more of it.

        A neighbor whose link has come up is sent many subscriptions chunk by chunk, as fast as the
        link takes them, so that publications and other requests come in between. In the same way
        the many subscriptions of a client that has gone are removed; then `CLIENTS`, the empty
        name, is among the neighbors. No publication is delivered for these subscriptions any more.
        """
        return self.membership.behind()

    def table_sizes(self) -> dict[str, int]:
        """The number of entries in each table, for metrics.

        `local`: subscriptions of own clients; `received` and `propagated`: subscriptions received
        from, and sent to, neighbors, over all links; `advertisements`: those of own clients and
        those received from neighbors; `unconfirmed`: subscriptions and advertisements not yet in
        force. On many trees, the sums over all trees, and `held`: publications that wait until an
        older tree has drained. Upkeep may add tables of its own. `wrong`, where tables are compared
        or were on request: entries that neighbors had wrong in the last comparison.
        """
        sizes = {**self.membership.table_sizes(), **self.upkeep.table_sizes()}
        if self._monitor is not None and self._monitor.wrong is not None:
            sizes["wrong"] = self._monitor.wrong
        return sizes

    @property
    def ready_made(self) -> int:
        """The number of filters whose engines were ready when the router was restored."""
        return sum(core.ready_made for core in cores_of(self.membership))

    def counters(self) -> dict[str, int]:
        """Counts since the router was made, for metrics.

        `content_matches`: publications times the sides that they were matched against, of which
        clients are one and links without subscriptions none. `digests_unread`: digests of other
        forwarding strategies that were passed on. `lookups`, where matches are looked up by key:
        the keys looked up. Upkeep may add counts of its own.
        """
        counted = self.membership.counters()
        for layer in layers(self.upkeep):
            if isinstance(layer, Counting):
                counted.update(layer.counters())
        return counted

    def received(self) -> Iterator[LinkSubscription]:
        """The subscriptions received over links, for checks."""
        return self.membership.received()

    def sent(self) -> Iterator[LinkSubscription]:
        """The subscriptions sent to neighbors, for checks."""
        return self.membership.sent()

    def compared(self) -> Sequence[Compared] | None:
        """The results of comparing tables with neighbors; `None` where upkeep cannot compare."""
        if self._monitor is not None:
            return self._monitor.compared()
        assert self._comparing is not None, "tables are compared by upkeep, or by the monitor"
        return self._comparing.compared()

    @property
    def tables(self) -> Mapping[str, Table]:
        """The tables of subscriptions and advertisements by noun; see `upkeep.protocol.Kept`."""
        core = self.membership
        if not isinstance(core, RoutingCore):
            return {}
        subscriptions = core.subscriptions
        if not isinstance(subscriptions, EntryPropagation):
            return {}
        return {"subscription": subscriptions, "advertisement": core.advertisements}

    def validate(self) -> None:
        """Check every relation between the tables; raises `InvariantError`."""
        self.membership.validate()
        self.upkeep.validate()

    # Tables that are compared on request -------------------------------------------------------

    def _make_monitor(self) -> Monitor:
        holding = cast("HoldingBack | None", layer_with(self.upkeep, "holds_back"))
        return Monitor(self) if holding is None else Monitor(self, holding.holds_back)

    def _monitored(
        self, monitor: Monitor, input: Receive | LinkUp | LinkDown | Compare
    ) -> list[Effect] | None:
        """Return the effects of a comparison's input; `None` if the input is not part of one."""
        match input:
            case Receive():
                return monitor.heard(input) if isinstance(input.message, UpkeepNote) else None
            case LinkUp() | LinkDown():
                monitor.forget(input.neighbor)
                return None
            case Compare():
                return monitor.compare()

    # The actions of upkeep ---------------------------------------------------------------------

    def _hear_of(self, other: Suspicion | Measured, now: float) -> list[Effect]:
        """The shell has found out something of another router."""
        if isinstance(other, Measured):
            return self._apply(other, now)
        upkeep = self.upkeep
        if not isinstance(upkeep, Suspecting):
            return []
        return self._do(upkeep.suspect(other, now), now)

    def _handle_many(self, batch: BatchInput, now: float) -> list[Effect]:
        """Take a batch of inputs, or its inputs one by one where upkeep inspects each."""
        if batch is self._remaining:
            return self._apply(batch, now)
        match batch:
            case ReceiveMany():
                if self.upkeep.takes_batches:
                    return self._do(self.upkeep.arrived(batch, now), now)
                return [effect for one in batch.messages() for effect in self.handle(one, now)]
            case ClientPublishMany():
                if self.upkeep.takes_batches:
                    return self._do(self.upkeep.asked(batch, now), now)
                return [effect for one in batch.requests() for effect in self.handle(one, now)]

    def _do(self, actions: Iterable[Action], now: float) -> list[Effect]:
        """Carry out the actions of upkeep in order."""
        effects: list[Effect] = []
        for action in actions:
            if isinstance(action, _Handed):
                effects.extend(self._apply(action, now))
            elif isinstance(action, Renewal):
                self._become(action.incarnation)
            elif isinstance(action, Resume | Refill):
                raise InvariantError("a router becomes its earlier self only when it is restored")
            else:
                effects.append(action)
        return effects

    def _apply(self, change: Change | BatchInput | Tick | Measured, now: float) -> list[Effect]:
        """Hand an input to the membership, and its effects to upkeep."""
        below = self.membership.handle(change, now)
        self._remaining = None
        if self._is_passive:
            return below
        if self._watching is not None:
            self._watching.comes(below)
        effects: list[Effect] = []
        for effect in below:
            match effect:
                case Send() | SendMany():
                    effects.extend(self.upkeep.sent(effect, now))
                case Remaining(rest):
                    self._remaining = rest
                    effects.append(effect)
                case CloseLink(neighbor):  # the shell reports no `LinkDown` for it
                    effects.append(effect)
                    effects.extend(self._do(self.upkeep.closed(LinkDown(neighbor), now), now))
                case _:
                    effects.append(effect)
        return effects

    def _restore(self, restored: Restored, now: float) -> list[Effect]:
        """Replay the changes of an earlier life, and drop their effects."""
        effects: list[Effect] = []
        self._put_off()
        for action in self.upkeep.restored(restored, now):
            match action:
                case Resume(incarnation):
                    self._become(incarnation)
                    self._put_off()
                    continue
                case Renewal(incarnation):
                    self._become(incarnation)
                    self._put_off()
                    self._absent.clear()
                    continue
                case Refill(checkpoint):
                    self._absent = dict.fromkeys(refill(self.membership, checkpoint.parts))
                    self._expect(checkpoint.prepared)
                    continue
                case AttachClient(client):
                    self._absent[client] = None
                case DetachClient(client):
                    self._absent.pop(client, None)
                case _:
                    pass
            if isinstance(action, _Handed):
                self._apply(action, now)
                while self._remaining is not None:
                    self._apply(self._remaining, now)
            else:
                effects.append(action)
        for core in cores_of(self.membership):
            core.caught_up()
        return effects

    def _put_off(self) -> None:
        """Defer the building of matching engines until many changes have been applied."""
        if isinstance(self.membership, RoutingCore):
            self.membership.put_off()

    def _expect(self, prepared: Prepared | None) -> None:
        """Let deferred engines start from the ones prepared for the present filters."""
        if prepared is None:
            return
        for core in cores_of(self.membership):
            if isinstance(core.forwarding, Later):
                core.forwarding.ready = ReadyMade(prepared, Lists.of(core.subscriptions.entries))

    def _become(self, incarnation: int) -> None:
        """Become another incarnation, with empty tables."""
        self.incarnation = incarnation
        self.membership = self._make_membership()

    def _make_membership(self) -> Membership:
        strategy = self.protocol.membership
        return strategy.make(self.name, self.protocol, self._engines, self.incarnation)
