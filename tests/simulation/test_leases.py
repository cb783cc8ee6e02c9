"""Under leases tables are right again after the stated bound, whatever they held.

The properties P37 to P44 of XSiena chapter 7 are named where they are tested.
"""

from __future__ import annotations

import pytest

from sapwood.language import parse_filter
from sapwood.routing.effects import Effect, Send
from sapwood.routing.inputs import Input
from sapwood.routing.messages import (
    Replace,
    Subscribe,
    Unadvertise,
    Unsubscribe,
    UnsubscribeMany,
    UpkeepNote,
)
from sapwood.routing.upkeep.leases.extension import Uncertainty, Unextended
from sapwood.routing.upkeep.leases.terms import Seen, Terms
from sapwood.simulation.divergence import leaks
from sapwood.simulation.examination import draw_for, examine
from sapwood.simulation.history import AdvertisementName, SubscriptionName
from sapwood.simulation.machine import Machine, MakeRouter
from sapwood.simulation.network import NOMINAL, Timing
from sapwood.simulation.simulator import router_maker
from sapwood.simulation.tampering import How, Tamper
from sapwood.simulation.world import World
from tests.simulation.helpers import delivered, ids, publish, subscribe
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

LEASED = (
    "simple+leases",
    "identity+leases",
    "covering+leases",
    "covering+merging+leases",
    "advertisement+leases",
    "advertisement+covering+leases",
)
SECOND = Timing(jitter=1.0)


def right(name: str, seeds: range) -> None:
    """Examine scenarios of the swarm; fail, with the story, if anything at all is wrong."""
    for seed in seeds:
        examined = examine(draw_for(name, seed), name)
        if examined.found:
            story = "\n".join(examined.outcome.world.trace.story)
            pytest.fail(f"seed {seed} under {name}: {examined.found}\n{story}")


@pytest.mark.parametrize("name", LEASED)
@pytest.mark.one_in(4)
def test_all_is_right_after_messages_were_lost_altered_and_reordered(name: str) -> None:
    right(name, range(2))


@pytest.mark.long
@pytest.mark.parametrize("name", LEASED)
def test_all_is_right_on_thousands_of_seeds(name: str) -> None:
    right(name, range(2000))


def test_tables_are_right_within_the_bound_whatever_they_held() -> None:  # P39
    terms = Terms()
    make_router = leasing(terms=terms)
    world = settled_world(make_router, terms)
    corrupt(world)
    assert "bogus" in keys_at(world, "r2")["r3"]
    assert keys_at(world, "r4")["r3"] == ["r3.0.1"]
    assert not wrong_after(world, terms.healed_s + 1.0, make_router)
    world.validate()


def race(name: str) -> World:
    """Figure 7.1: the subscription does not come to where it is advertised."""
    world = World(line(2, 2.0), router_maker(name), calm_s=Terms().healed_s)
    promised = AdvertisementName("r2", "P2", "a2")
    world.advertise(promised, parse_filter("x > 0"))
    world.run_until(3.0)  # a2 is at B1, and f is on its way to B2 when that link fails
    world.history.disturb(world.now)
    world.tampering.begin(Tamper(2.0, ("r1", "r2"), 1.0, How.DROP), world.now)
    subscribe(world, "r1", "f", "x > 2")
    world.run_until(6.0)
    return world


def test_the_race_of_figure_7_1_heals_within_one_renewal() -> None:  # P40
    published = []
    for name in ("advertisement+covering", "advertisement+covering+leases"):
        world = race(name)
        world.run_until(6.0 + Terms().period_s + 3 * 2.0)  # the renewal, the question, the answer
        publish(world, "r2", "e", client="P2", x=3)
        world.run_until(world.now + 3.0)
        published.append(ids(delivered(world)))
    assert published == [[], ["e"]]


def test_the_race_of_figure_7_1_as_it_is_printed_is_none_here() -> None:  # P40
    world = World(line(2, 2.0), router_maker("advertisement+covering"))
    subscribe(world, "r1", "f", "x > 2")  # before a2 is there: it waits as a candidate
    world.advertise(AdvertisementName("r2", "P2", "a2"), parse_filter("x > 0"))
    world.drain()
    publish(world, "r2", "e", client="P2", x=3)
    world.drain()
    assert ids(delivered(world)) == ["e"]


class Discreet:
    """A router that never withdraws anything, as far as its neighbors hear."""

    def __init__(self, inner: Machine) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> object:
        return getattr(self._inner, name)

    def handle(self, event: Input, now: float) -> list[Effect]:
        kept: list[Effect] = []
        for effect in self._inner.handle(event, now):
            match effect:
                case Send(_, Unsubscribe() | UnsubscribeMany() | Unadvertise()):
                    continue
                case Send(neighbor, Replace(key, wanted, sending)):
                    kept.append(Send(neighbor, Subscribe(key, wanted, sending)))
                case _:
                    kept.append(effect)
        return kept


def discreet(make_router: MakeRouter) -> MakeRouter:
    return lambda name, incarnation: Discreet(make_router(name, incarnation))  # type: ignore[return-value]


@pytest.mark.parametrize("name", ["covering+leases", "advertisement+covering+leases"])
def test_all_is_right_although_nobody_ever_unsubscribes(name: str) -> None:  # P41
    terms = Terms()
    make_router = discreet(leasing(name, terms))
    world = World(line(4, 0.01), make_router, calm_s=terms.healed_s)
    for number, home in enumerate(("r1", "r2", "r4", "r1")):
        subscribe(world, home, f"s{number}", f"x >= {number}")
        world.advertise(AdvertisementName(home, "ann", f"a{number}"), parse_filter("x > 0"))
    world.drain()
    world.unsubscribe(SubscriptionName("r1", "ann", "s0"))
    world.unadvertise(AdvertisementName("r4", "ann", "a2"))
    world.drain()
    publish(world, "r2", "e", client="ann", x=3)
    world.drain()
    assert sorted(delivered(world)) == ["e>r1/ann/s3", "e>r2/ann/s1", "e>r4/ann/s2"]
    assert not leaks(world, make_router)


def test_who_leaves_without_a_word_is_forgotten_when_its_leases_run_out() -> None:  # P42
    terms = Terms()
    world = World(line(3, 0.01), discreet(leasing(terms=terms)), calm_s=terms.healed_s)
    subscribe(world, "r1", "s", "x > 0")
    world.run_until(1.0)
    assert keys_at(world, "r3") == {"r2": ["r1.0.1"]}
    world.unsubscribe(SubscriptionName("r1", "ann", "s"))
    world.run_until(1.0 + terms.longest_s + 0.1)
    assert keys_at(world, "r2") == keys_at(world, "r3") == {}


def test_what_runs_out_is_nobody_elses_business() -> None:  # P41
    said: list[object] = []
    terms = Terms()

    def watched(name: str, incarnation: int) -> Machine:
        router = leasing(terms=terms)(name, incarnation)
        inner = router.handle

        def handle(event: Input, now: float) -> list[Effect]:
            effects = inner(event, now)
            sent = [one.message for one in effects if isinstance(one, Send)]
            said.extend(one for one in sent if not isinstance(one, UpkeepNote))
            return effects

        router.handle = handle  # type: ignore[method-assign]
        return router

    world = settled_world(discreet(watched), terms)
    world.unsubscribe(SubscriptionName("r1", "ann", "wide"))
    said.clear()
    world.drain()  # the wide one runs out everywhere, and what it covered is told of when renewed
    withdrawals = (Unsubscribe, UnsubscribeMany, Replace)
    assert not [one for one in said if isinstance(one, withdrawals)]
    assert keys_at(world, "r3")["r2"] == ["r1.0.1"]


@pytest.mark.long
def test_leases_outlive_slow_links_that_intervals_alone_do_not() -> None:
    # Figure 9.38: with T_I of a second and renewals each 0.8 s, over 0.6 s of links with jitter.
    assert not slow_line(leasing(terms=short()), short(), SECOND, 20.0)
    uncertain = short(extension=lambda: Uncertainty(20.0))
    bare = short(extension=Unextended)
    lost = [len(slow_line(leasing(terms=one), one, SECOND, 20.0)) for one in (uncertain, bare)]
    assert lost[0] < lost[1]


def test_utilization_is_that_of_the_longer_lease() -> None:  # P44
    seen: list[Seen] = []
    for extension, far in ((None, (0.3, 0.6)), (lambda: Uncertainty(20.0), (0.7, 0.81))):
        seen.clear()
        terms = short(observe=seen.append) if extension is None else short(
            extension=extension, observe=seen.append
        )  # fmt: skip
        world = World(line(5, 0.15), leasing(terms=terms), timing=NOMINAL, calm_s=terms.healed_s)
        subscribe(world, "r1", "s", "x > 0")
        world.run_until(30.0)
        last = [one.utilization for one in seen if one.neighbor == "r4"][10:]
        assert far[0] < sum(last) / len(last) < far[1]


def test_a_renewal_that_comes_twice_changes_nothing_but_its_lease() -> None:  # P43
    terms = Terms()
    world = settled_world(leasing(terms=terms), terms)
    world.run_until(terms.period_s + 2.0)
    before = [(name, keys_at(world, name)) for name in world.topology.routers]
    for name in world.topology.routers:
        leases_of(world, name)._due = world.now
        world.run_until(world.now + 1.0)
    assert [(name, keys_at(world, name)) for name in world.topology.routers] == before
