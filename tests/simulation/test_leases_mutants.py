"""Planted bugs of leases: each must be found by one of the laws that leases have.

A mutant is the strategy with one defect, under routers that do not check themselves; so what finds
it is what its clients see, or its neighbors hear.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import pytest

from sapwood.routing.effects import Effect, Send, SendMany
from sapwood.routing.inputs import LinkUp
from sapwood.routing.upkeep.leases import leases as leases_module
from sapwood.routing.upkeep.leases.extension import Conservative, Uncertainty
from sapwood.routing.upkeep.leases.gate import Gate
from sapwood.routing.upkeep.leases.leases import Leases
from sapwood.routing.upkeep.leases.notes import Missing, Number, Renewal, Renewed
from sapwood.routing.upkeep.leases.table import Lease
from sapwood.routing.upkeep.leases.terms import Terms
from sapwood.routing.upkeep.protocol import Action
from sapwood.simulation.channels import CALM, Channel, SetChannel
from sapwood.simulation.history import SubscriptionName
from sapwood.simulation.machine import MakeRouter
from sapwood.simulation.network import NOMINAL, Timing
from sapwood.simulation.oracle import judge
from sapwood.simulation.tampering import How, Tamper
from sapwood.simulation.world import World
from tests.simulation.helpers import publish, subscribe
from tests.simulation.leasing import (
    corrupt,
    keys_at,
    leases_of,
    leasing,
    line,
    settled_world,
    short,
    slow_line,
    wrong_after,
)

# Laws --------------------------------------------------------------------------------------------


def far_leases_last(make: Callable[[Terms], MakeRouter]) -> bool:
    """Over slow links, nothing that is renewed runs out (P38)."""
    return not slow_line(make(short()), short(), Timing(jitter=1.0), 12.0)


def steady_paths_are_used(make: Callable[[Terms], MakeRouter]) -> bool:
    """Uncertainty does not extend leases on steady paths, and does on others (P44)."""
    terms = short(extension=lambda: Uncertainty(20.0))
    world = World(line(4, 0.15), make(terms), timing=NOMINAL, calm_s=terms.healed_s)
    subscribe(world, "r1", "s", "x > 0")
    world.run_until(15.0)
    table = leases_of(world, "r4")._tables[0]
    lease = table.get("r3", "r1.0.1")
    return lease is not None and lease.length_s < 1.1


def leases_are_as_long_as_the_way(make: Callable[[Terms], MakeRouter]) -> bool:
    """At the far end a lease is longer by all that the renewal may have taken (7.2.3)."""
    world = World(line(5, 0.15), make(short()), timing=NOMINAL, calm_s=short().healed_s)
    subscribe(world, "r1", "s", "x > 0")
    world.run_until(15.0)
    lease = leases_of(world, "r5")._tables[0].get("r4", "r1.0.1")
    return lease is not None and lease.length_s >= 1.6


def tables_heal(make: Callable[[Terms], MakeRouter]) -> bool:
    """Whatever tables hold, they are right after the bound (P39)."""
    terms = Terms()
    world = settled_world(make(terms), terms)
    corrupt(world)
    return not world.tally.links_closed and not wrong_after(world, terms.healed_s + 1, make(terms))


def nothing_is_shared(make: Callable[[Terms], MakeRouter]) -> bool:
    """The consequences of an expiry are not sent (P41)."""
    terms = Terms()
    world = settled_world(make(terms), terms)
    world.tampering.begin(Tamper(1000.0, ("r1", "r2"), 1.0, How.DROP), world.now)
    before = dict(world.tally.messages)
    world.run_until(world.now + terms.healed_s)
    said = {kind: count - before.get(kind, 0) for kind, count in world.tally.messages.items()}
    return not any(said.get(kind) for kind in ("unsubscribe", "replace", "subscribe"))


def what_is_lost_comes_again(make: Callable[[Terms], MakeRouter]) -> bool:
    """A subscription that was lost is there, and confirmed, with the next renewal (P40)."""
    terms = Terms()
    world = World(line(3, 0.01), make(terms), calm_s=terms.healed_s)
    world.tampering.begin(Tamper(1.0, ("r1", "r2"), 1.0, How.DROP), 0.0)
    subscribe(world, "r1", "s", "x > 0")
    world.run_until(1.5 + terms.period_s)
    return keys_at(world, "r3") == {"r2": ["r1.0.1"]} and not world.history.owed


def confirmations_come_again(make: Callable[[Terms], MakeRouter]) -> bool:
    """A confirmation that was lost comes with the next renewal."""
    terms = Terms()
    world = World(line(2, 0.1), make(terms), calm_s=terms.healed_s)
    subscribe(world, "r1", "s", "x > 0")
    world.run_until(0.15)
    world.tampering.begin(Tamper(1.0, ("r1", "r2"), 1.0, How.DROP), 0.15)
    world.run_until(1.5 + terms.period_s)
    return not world.history.owed


def lossy_links_keep_order(make: Callable[[Terms], MakeRouter]) -> bool:
    """On links that repeat and reorder, clients get things at most once and in order."""
    terms = Terms()
    world = World(line(3, 0.05), make(terms), seed=1, calm_s=terms.healed_s, lossy=True)
    subscribe(world, "r1", "s", "x >= 0")
    world.run_until(1.0)
    channel = Channel(0.0, 0.4, 0.6, "uniform", scale_s=0.2)
    world.set_channel(SetChannel(channel))
    for number in range(40):
        publish(world, "r3", f"p{number}", x=number)
        world.run_until(world.now + 0.02)
    world.set_channel(SetChannel(CALM))
    world.run_until(world.now + 2.0)
    judgment = judge(world.history, world.network.delay_max_s)
    return not judgment.duplicated.count and not judgment.reordered.count


def the_silent_are_forgotten(make: Callable[[Terms], MakeRouter]) -> bool:
    """An entry that nobody renews is gone when the longest lease is over (P42)."""
    terms = Terms()
    world = World(line(3, 0.01), make(terms), calm_s=terms.healed_s)
    subscribe(world, "r1", "s", "x > 0")
    world.run_until(1.0)
    world.tampering.begin(Tamper(1000.0, ("r1", "r2"), 1.0, How.DROP), 1.0)
    world.unsubscribe(SubscriptionName("r1", "ann", "s"))
    world.run_until(1.0 + terms.longest_s + terms.period_s)
    return keys_at(world, "r2") == keys_at(world, "r3") == {}


LAWS = (
    far_leases_last,
    steady_paths_are_used,
    leases_are_as_long_as_the_way,
    tables_heal,
    nothing_is_shared,
    what_is_lost_comes_again,
    confirmations_come_again,
    lossy_links_keep_order,
    the_silent_are_forgotten,
)

# Mutants -----------------------------------------------------------------------------------------


class ExtendsFromTheWrongEnd(Leases):
    """A lease is shorter by the age of what renews it."""

    def __init__(self, router: Any, terms: Terms) -> None:
        super().__init__(router, terms)
        self._extension = _Backwards()


class _Backwards(Conservative):
    def of(self, path: str, age_ns: int | None, now: float) -> int:
        return -super().of(path, age_ns, now)


class ForgetsTheAge(Leases):
    """A renewal that is passed on counts as new."""

    def _renew(self, *args: Any) -> Iterator[Effect]:
        for effect in super()._renew(*args):
            yield Send(effect.neighbor, effect.message, 0) if isinstance(effect, Send) else effect


class IgnoresUncertainty(Leases):
    """Whatever the terms say, a lease is extended by the whole age."""

    def __init__(self, router: Any, terms: Terms) -> None:
        super().__init__(router, terms)
        self._extension = Conservative()


class RunsOutThoughRenewed(Leases):
    """A renewal does not count: a lease ends when the first one did."""

    def _prolong(self, kind: int, neighbor: str, renewed: Renewed, *args: Any) -> None:
        if self._tables[kind].get(neighbor, renewed.key) is None:
            super()._prolong(kind, neighbor, renewed, *args)


class SharesExpiries(Leases):
    """The consequences of an expiry are sent as if the neighbor had withdrawn the entry."""

    def sent(self, send: Send | SendMany, now: float) -> Sequence[Effect]:
        was_private, self._is_private = self._is_private, False
        try:
            return super().sent(send, now)
        finally:
            self._is_private = was_private


class KeepsRenewals(Leases):
    """Renewals are not passed on."""

    def _renewed(self, neighbor: str, renewal: Renewal, *args: Any) -> Iterator[Action]:
        for action in super()._renewed(neighbor, renewal, *args):
            if not isinstance(action, Send) or action.neighbor == neighbor:
                yield action


class AsksForNothing(Leases):
    """An entry that is renewed and not here is passed over."""

    def _ask(self, *args: Any) -> Iterator[Effect]:
        yield from ()


class AnswersNothing(Leases):
    """A neighbor that asks for entries gets no answer."""

    def _restated(self, neighbor: str, missing: Missing, now: float) -> Iterator[Action]:
        yield from ()


class LooksAtNoFilter(Leases):
    """A filter that is not the one that is renewed is kept."""

    def _renewed(self, neighbor: str, renewal: Renewal, *args: Any) -> Iterator[Action]:
        names = vars(leases_module)
        digest_of, names["digest_of"] = names["digest_of"], _Always()
        try:
            yield from super()._renewed(neighbor, renewal, *args)
        finally:
            names["digest_of"] = digest_of


class _Always:
    def __call__(self, content: object) -> _Always:
        return self

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 0


class AwaitsNoConfirmation(Leases):
    """Renewals never say which entries have not been seen confirmed."""

    def _renew(self, neighbor: str, origin: str, us: int, said: Any, age: Any) -> Iterator[Effect]:
        for entries in said.entries:
            entries[:] = [Renewed(one.key, one.digest) for one in entries]
        yield from super()._renew(neighbor, origin, us, said, age)


class AdoptsNothing(Leases):
    """An entry in a table without a lease stays."""

    def _adopt(self, now: float) -> None:
        """Look away."""


class BelievesTheLatecomer(Leases):
    """A key that is known from another side goes on to routing."""

    def _is_doubtful(self, kind: int, key: str, now: float) -> bool:
        return False


class AdmitsEverything(Leases):
    """On lossy links nothing is dropped."""

    def link_up(self, link: LinkUp, now: float) -> Sequence[Action]:
        actions = super().link_up(link, now)
        gate = self._gates.get(link.neighbor)
        if gate is not None:
            self._gates[link.neighbor] = _Open(1, 1, 1.0)
        return actions


class _Open(Gate):
    def admits(self, number: Number | None, now: float) -> bool:
        return number is not None


class LeasesForEver(Leases):
    """Expiries are looked for and never found."""

    def tick(self, now: float) -> Iterable[Action]:
        for table in self._tables:
            for leases in table.of.values():
                for key, lease in leases.items():
                    leases[key] = Lease(lease.begun, now + 1e6, None, lease.sending, lease.ticket)
        return super().tick(now)


MUTANTS: tuple[tuple[type[Leases], Callable[..., bool]], ...] = (
    (ExtendsFromTheWrongEnd, far_leases_last),
    (ForgetsTheAge, leases_are_as_long_as_the_way),
    (IgnoresUncertainty, steady_paths_are_used),
    (RunsOutThoughRenewed, far_leases_last),
    (SharesExpiries, nothing_is_shared),
    (KeepsRenewals, far_leases_last),
    (AsksForNothing, what_is_lost_comes_again),
    (AnswersNothing, what_is_lost_comes_again),
    (LooksAtNoFilter, tables_heal),
    (AwaitsNoConfirmation, confirmations_come_again),
    (AdoptsNothing, tables_heal),
    (BelievesTheLatecomer, tables_heal),
    (AdmitsEverything, lossy_links_keep_order),
    (LeasesForEver, the_silent_are_forgotten),
)


def maker(kind: type[Leases]) -> Callable[[Terms], MakeRouter]:
    return lambda terms: leasing(terms=terms, make=kind)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.__name__)
@pytest.mark.one_in(3)
def test_leases_keep(law: Callable[..., bool]) -> None:
    assert law(maker(Leases))


@pytest.mark.parametrize(("kind", "law"), MUTANTS, ids=lambda one: one.__name__)
@pytest.mark.one_in(6)
def test_a_planted_bug_is_found(kind: type[Leases], law: Callable[..., bool]) -> None:
    assert not law(maker(kind))
