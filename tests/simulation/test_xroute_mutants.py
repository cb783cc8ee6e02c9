"""Planted bugs in XRoute: each must be found, by the word that names it. What the swarm reaches.

The first ones are what the thesis prints, where that cannot be right.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice

import pytest

from sapwood.covering.reference import ReferenceCovering
from sapwood.errors import InvariantError
from sapwood.model.interest import Interest
from sapwood.routing.effects import Effect, Send, Subscribed
from sapwood.routing.inputs import Input, LinkDown, LinkUp, Receive
from sapwood.routing.membership.given import Given
from sapwood.routing.messages import ConfirmUpdate, Update
from sapwood.routing.propagation.xroute.counting import CountingPropagation
from sapwood.routing.propagation.xroute.interface import (
    Booking,
    Canceled,
    Interface,
    Registered,
)
from sapwood.routing.propagation.xroute.node import Node
from sapwood.routing.propagation.xroute.search import Containment
from sapwood.routing.propagation.xroute.triples import NO_COUNT, Count, Operation, Triple
from sapwood.routing.propagation.xroute.view import Entry, View
from sapwood.routing.protocols import protocol
from sapwood.routing.tables import CLIENTS
from sapwood.simulation.scenario import Scenario
from sapwood.simulation.simulator import router_maker
from tests.simulation.helpers import assert_found, drawn, faults_found, run_with
from tests.simulation.recipes import NAMED
from tests.simulation.test_mutants import SEEDS_MAX, Mutant, sends

SEEN: Counter[str] = Counter()


def containment() -> Containment:
    return Containment(ReferenceCovering())


class Parts(Node):
    """A node whose interfaces and views are of these kinds."""

    view: type[View] = View
    interface: type[Interface] = Interface

    def __init__(self) -> None:
        super().__init__(ReferenceCovering)

    def connect(self, neighbor: str, *, is_told: bool = True) -> None:
        super().connect(neighbor, is_told=is_told)
        self.interfaces[neighbor] = self.interface(containment())
        self.views[neighbor] = self.view(containment())


class CountedMutant(Mutant):
    """A router that counts subscriptions in a node of its own."""

    protocol_used = protocol("xroute")
    node: Callable[[], Node] = Parts

    def __init__(self, name: str, incarnation: int) -> None:
        super().__init__(name, incarnation)
        assert isinstance(self.subscriptions, CountingPropagation)
        self.subscriptions._node = self.node()

    def without(self, effects: list[Effect], kind: type) -> list[Effect]:
        dropped = sends(effects, kind)
        return [effect for effect in effects if effect not in dropped]


def mutant_of(
    view: type[View] = View, interface: type[Interface] = Interface
) -> type[CountedMutant]:
    """A mutant with a defect in its views or in its interfaces."""
    defect = view if view is not View else interface
    node = type("Node", (Parts,), {"view": view, "interface": interface})
    return type(defect.__name__, (CountedMutant,), {"node": node, "__doc__": defect.__doc__})


class CancelsByTheCountOfInstances(Interface):
    """A filter that hides nothing here is not removed with its last instance (dispatch, L1191)."""

    def book(self, operation: Operation) -> Booking:
        main, *appended = operation
        known = self.counts.get(main.filter)
        if known is None or known.instances != -main.instances or known.hidden:
            return super().book(operation)
        self.counts[main.filter] = NO_COUNT
        return Registered(main, False, (), tuple(appended))


class CancelsWithoutWhatWasHidden(View):
    """The filters that a canceled one stood for stay counted (algorithm 8, line 31)."""

    def take(self, booking: Booking) -> list[Operation]:
        if isinstance(booking, Canceled):
            booking = replace(booking, count=Count(booking.count.instances, 0))
        return super().take(booking)


class TakesTheLostSideForAlive(View):
    """A filter is kept because of the interface that it was canceled at (algorithm 8, line 35)."""

    def _cancel(self, booked: Canceled) -> Operation:
        entry = self.entries[booked.filter]
        entry.instances += 1
        operation = super()._cancel(booked)
        entry.instances -= 1
        return operation


class ForgetsOrphans(View):
    """The filters that a top stood for are not sent when the top goes."""

    def _reinsert(self, entry: Entry) -> list[Triple]:
        super()._reinsert(entry)
        return []


class LeavesOrphansAlone(View):
    """A neighbor is not told what another top stands for in place of the one that goes."""

    def _reinsert(self, entry: Entry) -> list[Triple]:
        told = super()._reinsert(entry)
        return [triple for triple in told if triple.instances]


class TakesApartForAbove(Containment):
    """A filter that intersects counts as one that contains."""

    def containing(self, filter: Interest) -> Interest | None:
        found = super().containing(filter)
        if found is not None:
            return found
        return next((f for f in self if f != filter and f.intersects(filter)), None)


class IntersectingSubstitutes(Parts):
    def connect(self, neighbor: str, *, is_told: bool = True) -> None:
        super().connect(neighbor, is_told=is_told)
        self.views[neighbor] = View(TakesApartForAbove(ReferenceCovering()))


class TakesWhatIntersectsForCovered(CountedMutant):
    """Any filter that intersects may stand for another."""

    node = IntersectingSubstitutes


class HidingClients(Parts):
    def __init__(self) -> None:
        super().__init__()
        self.interfaces[CLIENTS] = Interface(containment())

    def unsubscribe(self, filter: Interest) -> dict[str, list[Operation]]:
        known = self.clients.counts.get(filter)
        return {} if known is None else super().unsubscribe(filter)


class HidesItsOwnClients(CountedMutant):
    """A client's subscription is represented, and forgotten, like one of a neighbor (L1165)."""

    node = HidingClients


class Loyal(Parts):
    def disconnect(self, neighbor: str) -> list[dict[str, list[Operation]]]:
        super().disconnect(neighbor)
        return []


class KeepsCountsOfLostLinks(CountedMutant):
    """Counts that came over a link that is gone are not taken back elsewhere."""

    node = Loyal


class SaysNothingOfCountsOnLinkUp(CountedMutant):
    """A neighbor that comes back is told nothing."""

    def spoil(self, event: Input, effects: list[Effect]) -> list[Effect]:
        return self.without(effects, Update) if isinstance(event, LinkUp) else effects


class ConfirmsUpdatesEarly(CountedMutant):
    """An update is confirmed before it is counted beyond."""

    def spoil(self, event: Input, effects: list[Effect]) -> list[Effect]:
        match event:
            case Receive(neighbor, Update(_, _, sending)) if sends(effects, Update):
                return [*effects, Send(neighbor, ConfirmUpdate(sending))]
        return effects


class LosesConfirmationsOfUpdates(CountedMutant):
    """Now and then the confirmation of an update is not passed on."""

    def spoil(self, event: Input, effects: list[Effect]) -> list[Effect]:
        return self.without(effects, ConfirmUpdate) if self.handled % 4 == 0 else effects


class WaitsForLostLinks(CountedMutant):
    """Entries that wait for a confirmation on a link that is gone wait for ever."""

    def spoil(self, event: Input, effects: list[Effect]) -> list[Effect]:
        if not isinstance(event, LinkDown):
            return effects
        return [e for e in self.without(effects, ConfirmUpdate) if not isinstance(e, Subscribed)]


MUTANTS: dict[Callable[[str, int], CountedMutant], frozenset[str]] = {
    mutant_of(interface=CancelsByTheCountOfInstances): frozenset({"closed", "leaked", "diverged"}),
    mutant_of(view=TakesTheLostSideForAlive): frozenset({"lost", "diverged"}),
    mutant_of(view=ForgetsOrphans): frozenset({"lost"}),
    mutant_of(view=LeavesOrphansAlone): frozenset({"closed", "leaked"}),
    TakesWhatIntersectsForCovered: frozenset({"lost"}),
    HidesItsOwnClients: frozenset({"lost"}),
    KeepsCountsOfLostLinks: frozenset({"diverged", "leaked", "closed"}),
    SaysNothingOfCountsOnLinkUp: frozenset({"lost"}),
    ConfirmsUpdatesEarly: frozenset({"lost"}),
    LosesConfirmationsOfUpdates: frozenset({"stuck"}),
    WaitsForLostLinks: frozenset({"stuck"}),
}
"""Each defect, and the words of which at least one must be said of it."""


def scenarios() -> Iterator[Scenario]:
    """The named ones first, then those of the swarm."""
    yield from (recipe() for recipe in NAMED)
    yield from (drawn(seed) for seed in range(SEEDS_MAX))


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.__name__)
@pytest.mark.one_in(4)
def test_the_oracle_finds_a_planted_bug(mutant: Callable[[str, int], CountedMutant]) -> None:
    assert_found(mutant, MUTANTS[mutant], scenarios(), "xroute")


@pytest.mark.long
def test_routers_find_by_themselves_what_only_their_books_show() -> None:
    """Nothing is delivered wrongly for it, so it takes a router that checks itself."""

    class Checked(mutant_of(view=CancelsWithoutWhatWasHidden)):  # type: ignore[misc]
        def validate(self) -> None:
            Given.validate(self)

    def run_all() -> None:
        for scenario in scenarios():
            run_with(scenario, Checked, "xroute", watched=True)

    with pytest.raises(InvariantError, match="a view counts wrongly what"):
        run_all()


@pytest.mark.long
def test_a_mutant_without_a_defect_is_found_right() -> None:
    for scenario in islice(scenarios(), 6):
        trial = run_with(scenario, CountedMutant, "xroute")
        assert faults_found(trial, router_maker("xroute")) == {}


class Watched(View):
    """Counts which of the rare ways through the algorithms are gone."""

    def _register(self, booked: Registered) -> list[Operation]:
        known = self.entries.get(booked.main.filter)
        kind = "duplicate"
        if booked.is_new:
            kind = "new" if known is None else "supplementary"
        elif booked.main.instances < 0:
            kind = "partial cancellation"
        SEEN[kind] += 1
        SEEN["new and substituted"] += known is None and any(
            one.covers(booked.main.filter) for one in self.propagated
        )
        SEEN["represented"] += len(booked.absorbed)
        for filter_, count in booked.absorbed:
            below = self.entries[filter_]
            SEEN["represented and gone"] += below.instances == count.instances
            SEEN["represented with what it hid"] += count.hidden > 0
        told = super()._register(booked)
        SEEN["moved between heads"] += any(len(operation) > 1 for operation in told)
        return told

    def _cancel(self, booked: Canceled) -> Operation:
        entry = self.entries[booked.filter]
        is_last = entry.instances == booked.count.instances
        what = "substituted" if entry.substitute else "top"
        SEEN[f"{what} canceled, {'last' if is_last else 'others left'}"] += 1
        SEEN["returned and new"] += sum(t.filter not in self.entries for t in booked.returned)
        SEEN["returned and known"] += sum(t.filter in self.entries for t in booked.returned)
        return super()._cancel(booked)

    def _take_back(self, entry: Entry, returned: Operation) -> tuple[int, list[Triple]]:
        kept, extra = super()._take_back(entry, returned)
        SEEN["returned below another head"] += len(extra)
        return kept, extra

    def _reinsert(self, entry: Entry) -> list[Triple]:
        orphans = len(entry.children)
        told = super()._reinsert(entry)
        SEEN["orphans that became tops"] += sum(t.instances > 0 for t in told)
        SEEN["orphans below another top"] += sum(not t.instances for t in told)
        SEEN["orphans below an orphan"] += orphans - len(told)
        return told


WAYS = (
    *("new", "new and substituted", "supplementary", "duplicate", "partial cancellation"),
    *("represented", "represented and gone", "represented with what it hid"),
    "moved between heads",
    *(f"{what} canceled, {left}" for what in ("substituted", "top")
      for left in ("last", "others left")),
    *("returned and new", "returned and known", "returned below another head"),
    *("orphans that became tops", "orphans below another top", "orphans below an orphan"),
)  # fmt: skip


@pytest.mark.long
def test_the_swarm_goes_every_way_through_the_algorithms() -> None:
    """Without this, quiet scenarios could make every test of XRoute pass."""
    SEEN.clear()
    for seed in range(20):
        run_with(drawn(seed), mutant_of(view=Watched), "xroute")
        if all(SEEN[way] >= 3 for way in WAYS):
            break
    assert {way: SEEN[way] for way in WAYS if SEEN[way] < 3} == {}
