"""Membership by identifiers: routers have places on a circle, and request their links themselves.

Three parts share a router's links: `Circle` finds the neighbors, `Errands` brings everything to the
routers that it concerns, and propagation keeps subscriptions by range (`propagation/ranges`), by
which forwarding selects the ranges of a publication. Tables that are by neighbor on a tree are by
range here: a range may get another representative, and no table changes with it.

The guarantee. A publication that is accepted reaches all clients with a subscription in force, once
and in the order of its publisher, as long as routers stay: those of the two, and each with some
link that goes towards the other (`Errands`, and `ranges.own` for concurrent requests). When routers
crash, join or leave, that holds again when tables have been compared as often as there are digits
in which routers differ; meanwhile messages under way go round.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import partial

from sapwood.errors import InvariantError
from sapwood.limits.structured import RANGES_REPAIR_S
from sapwood.matching.engine_names import Engines
from sapwood.model.publication import Publication
from sapwood.overlay.identifiers import EVERYTHING, IdentifierSpace, Range, slot_of
from sapwood.routing.admitting import objection_to
from sapwood.routing.client_entries import unexpected_message
from sapwood.routing.effects import Accepted, Effect, Refused, Subscribed
from sapwood.routing.forwarding.delegation.digest import Delegated, encode
from sapwood.routing.inputs import (
    Input,
)
from sapwood.routing.membership.pastry.errands import Errand, Errands, Order, order_of
from sapwood.routing.membership.pastry.on_circle import OnCircle
from sapwood.routing.messages import (
    CircleMessage,
    Publish,
    RangeCancel,
    RangeEntries,
    RangePull,
    RangeReached,
    RangeSubscribe,
)
from sapwood.routing.propagation.ranges.own import Own
from sapwood.routing.propagation.ranges.ranges import RangePropagation
from sapwood.routing.strategies import Protocol


class Pastry(OnCircle):
    """A router on a circle that routes by ranges.

    #: _began is the time of its first input
    """

    def __init__(
        self,
        name: str,
        protocol: Protocol,
        engines: Engines,
        incarnation: int,
        space: IdentifierSpace,
    ) -> None:
        super().__init__(name, protocol, engines, incarnation, space)
        assert isinstance(self.subscriptions, RangePropagation), "the catalogue sees to that"
        self._spread: RangePropagation = self.subscriptions
        self.errands = Errands(self.circle, incarnation, self._parts)
        self._spread.follow_circle(_Teller(self))
        self._began = math.inf

    def handle(self, input: Input, now: float) -> list[Effect]:
        """Take one input; see `Router.handle`."""
        self._began = min(self._began, now)
        return super().handle(input, now)

    def answered(self, own: Own) -> None:
        """Note that all in a level have answered the errand of a subscription."""
        self._spread.own_subscriptions.answered(own)

    def say_in_force(self, key: str) -> None:
        """Notify a client that its subscription is in force."""
        entries = self._spread.entries
        entry = entries.by_key.get(key)
        if entry is not None and entries.is_current(entry):
            self._out.append(Subscribed(entry.client, entry.id))

    def table_sizes(self) -> dict[str, int]:
        """The sizes of every router's tables, and `errands`: those that may not be done."""
        return {**super().table_sizes(), "errands": len(self.errands)}

    def validate(self) -> None:
        """Check every relation between the tables; raises `InvariantError`."""
        super().validate()
        for range_, received in self._spread.entries.received.items():
            for key in received:
                if self._slot_of(key) != range_:
                    raise InvariantError(f"{key} is in the table of {range_}, where it is not from")

    # Links -------------------------------------------------------------------------------------

    def _filled(self, slot: Range | None) -> None:
        if slot is not None:
            self._pull(slot, periodic=False)

    def _left(self, neighbor: str) -> None:
        slot = slot_of(self.tables.identifier, self.tables.peers[neighbor])
        stood = self.tables.representative(slot) == neighbor
        self.circle.link_down(neighbor)
        if stood and self.tables.representative(slot) is not None:
            self._pull(slot, periodic=False)
        self.errands.link_down(neighbor)

    def _take_more(self, neighbor: str, message: CircleMessage) -> list[Effect]:
        match message:
            case RangeReached():
                self.errands.reached(neighbor, message)
            case RangeSubscribe() | RangeCancel():
                return self._take_errand(neighbor, message, order_of(message))
            case RangePull(range_, digest):
                for part in self._spread.differing(range_, digest):
                    self.circle.send(neighbor, part)
            case RangeEntries():
                self._spread.reconcile(message, self._now)
        return []

    def _nobody_in(self, range_: Range) -> None:
        self._spread.nobody_in(range_, self._now)

    def _take_errand(self, neighbor: str, errand: Errand, order: Order | None) -> list[Effect]:
        own = self.tables.identifier
        if order is None or not (order.is_redirected or own.startswith(order.range)):
            return self._close(neighbor, unexpected_message(errand), for_good=False)
        self.errands.take(neighbor, errand, order)
        return []

    def _parts(self, errand: Errand, range_: Range, is_first: bool) -> Iterable[Range]:  # noqa: FBT001
        """Carry out an errand, once, and return the slots in a range that it concerns."""
        match errand:
            case Publish(_, _, publication, digest):
                routed = self.forwarding.route((publication,), None, (digest,), self._now)
                if is_first and not self._may_have_had(errand):
                    self._out.extend(self._deliveries(publication, routed.keys[0]))
                return [onward.neighbor for onward in routed.onward]
            case RangeSubscribe(key=key) if is_first:
                slot = self._slot_of(key)
                self._spread.learn(slot, key, errand.filter, errand.reach, self._now)
            case RangeCancel(key=key) if is_first:
                self._uncover(key, errand)
        return self.errands.all_slots(range_)

    def _may_have_had(self, publication: Publish) -> bool:
        """True if an earlier life of this router may have delivered what it now gets again.

        That life had its clients, which are back, and its answer was lost with it.
        """
        is_young = self._life > 0 and self._now < self._began + RANGES_REPAIR_S
        order = order_of(publication)
        return is_young and order is not None and order.is_again

    def _uncover(self, key: str, errand: RangeCancel) -> None:
        """Forget a cancelled subscription; the answer waits for those that relied on it."""
        left = [one for one in self._spread.unlearn(self._slot_of(key), key) if not one.is_settled]
        run = self.errands.running(Order(errand.task, errand.range, is_redirected=False))
        if left and run is not None:
            self._spread.own_subscriptions.when_settled(left, self.errands.block(run))

    def _slot_of(self, key: str) -> Range:
        """The slot of a subscription's home: its key begins with the home's name."""
        home, _, _ = key.rsplit(".", 2)
        return slot_of(self.tables.identifier, self.tables.space.identifier_of(home))

    # Publications ------------------------------------------------------------------------------

    def _client_publish(self, client: str, publication: Publication, now: float) -> list[Effect]:
        own = self.advertisements.own(client).values()
        in_force = self.advertisements.confirmations.in_force
        objection = objection_to(publication, own, in_force, self.protocol)
        if objection is not None:
            return [Refused(client, publication.id, objection)]
        task = self.errands.new_task()
        digest = encode(Delegated(task.life, task.number, EVERYTHING, False, False))  # noqa: FBT003
        routed = self.forwarding.route((publication,), None, (digest,), now)
        effects: list[Effect] = [*self._deliveries(publication, routed.keys[0])]
        errand = Publish(self.name, 0, publication, digest)
        slots = [onward.neighbor for onward in routed.onward]
        self.errands.check(self.errands.begin(errand, task, slots))
        return [*effects, Accepted(client, publication.id)]

    def _receive_publication(self, neighbor: str, message: Publish, now: float) -> list[Effect]:  # noqa: ARG002
        if neighbor not in self.tables.peers:
            return []
        return self._take_errand(neighbor, message, order_of(message))

    # Repair ------------------------------------------------------------------------------------

    def _look_again(self) -> None:
        """Compare the entries of each slot with those of a router in it."""
        for slot, _ in self.tables.rows():
            self._pull(slot, periodic=True)
        for range_ in [*self._spread.entries.received]:
            if self.tables.representative(range_) is None and (
                self.tables.spans(range_) or not self.circle.seek(range_)
            ):
                self._spread.nobody_in(range_, self._now)

    def _pull(self, slot: Range, *, periodic: bool) -> None:
        stands = self.tables.representative(slot)
        if stands is not None:
            self.circle.send(stands, RangePull(slot, self._spread.digest(slot), periodic))


class _Teller:
    """Sends subscriptions for propagation: by errands of a router."""

    __slots__ = ("_router",)

    def __init__(self, router: Pastry) -> None:
        self._router = router

    @property
    def digits(self) -> int:
        """The number of digits of an identifier."""
        return self._router.tables.space.digits

    def levels(self) -> list[int]:
        """The lengths of the slots with a router in them, ascending."""
        return self._router.errands.levels()

    def tell(self, own: Own, level: int) -> None:
        """Send a subscription to all in a level."""
        router, task = self._router, self._router.errands.new_task()
        subscriber = router.tables.identifier[:level]
        key, wanted, reach = own.key, own.filter, own.reach
        errand = RangeSubscribe(task, EVERYTHING, False, subscriber, key, wanted, reach)  # noqa: FBT003
        self._begin(own, errand, level)

    def cancel(self, own: Own, level: int) -> None:
        """Send the cancel of a subscription to all in a level."""
        router, task = self._router, self._router.errands.new_task()
        subscriber = router.tables.identifier[:level]
        self._begin(own, RangeCancel(task, EVERYTHING, False, subscriber, own.key), level)  # noqa: FBT003

    def _begin(self, own: Own, errand: RangeSubscribe | RangeCancel, level: int) -> None:
        errands = self._router.errands
        run = errands.begin(errand, errand.task, errands.level(level))
        run.after.append(partial(self._router.answered, own))
        errands.check(run)

    def in_force(self, key: str) -> None:
        """Notify the client."""
        self._router.say_in_force(key)
