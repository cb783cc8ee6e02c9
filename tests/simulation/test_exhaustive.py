"""All small worlds: every tree of up to four routers, every way to interleave three operations.

The three operations are those whose order matters most to routing: a wide subscription goes while a
narrower one that it covers stays and a publication passes. They begin at every home, in every
order, within a hop, within two, and after a rest.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations, product
from typing import Any

import pytest

from sapwood.language import parse_filter
from sapwood.overlay.topology import Link, Topology
from sapwood.simulation.examination import strayed
from sapwood.simulation.history import AdvertisementName, SubscriptionName
from sapwood.simulation.simulator import router_maker
from sapwood.simulation.world import World
from tests.simulation.helpers import (
    PROTOCOLS,
    advertise,
    judge_world,
    publish,
    subscribe,
)

HOP_S = 1.0
PAUSES = (0.5 * HOP_S, 1.5 * HOP_S, None)
"""Seconds between two operations; `None`: until all is at rest."""

SHAPES = ((), (0,), (0, 1), (0, 1, 2), (0, 0, 0))
"""Trees up to renaming, as the parent of each router but the first: point, lines, star."""

AT_REST = ("flooding", "simple", "covering+merging")
"""The protocols whose runs on three routers are known: under flooding no subscription leaves its
router, two subscriptions are too few to be merged, so that `covering` shows it, and where no two
filters are equal `identity` sends what `simple` does."""

WORLDS: list[Any] = [(parents, protocol) for parents in SHAPES[:2] for protocol in PROTOCOLS]
WORLDS += [
    pytest.param(SHAPES[2], protocol, marks=[pytest.mark.long] if protocol in AT_REST else [])
    for protocol in PROTOCOLS
]
# Four routers take longest, and show what three do: the gate has no time for them.
WORLDS += [pytest.param(parents, "covering", marks=pytest.mark.long) for parents in SHAPES[3:]]
WIDE, NARROW = parse_filter("x >= 1"), parse_filter("x >= 3")


def topology(parents: tuple[int, ...]) -> Topology:
    names = tuple(f"r{i}" for i in range(len(parents) + 1))
    links = tuple(Link(names[p], names[i + 1], HOP_S) for i, p in enumerate(parents))
    return Topology(names, links)


def homes_of_three(overlay: Topology) -> list[tuple[str, ...]]:
    """The homes of three operations, one choice of those that differ only by a symmetry."""
    links = {frozenset((link.a, link.b)) for link in overlay.links}
    symmetries = [
        renaming
        for image in permutations(overlay.routers)
        for renaming in [dict(zip(overlay.routers, image, strict=True))]
        if {frozenset(renaming[end] for end in link) for link in links} == links
    ]
    return [
        homes
        for homes in product(overlay.routers, repeat=3)
        if all(homes <= tuple(renaming[home] for home in homes) for renaming in symmetries)
    ]


class Script:
    """Operations and the pauses between them; whoever carries it out may give it up in one."""

    def __init__(self, parts: tuple[object, ...]) -> None:
        self.parts = parts
        self._taken = 0

    def __iter__(self) -> Iterator[object]:
        for at, part in enumerate(self.parts):
            self._taken = at
            yield part

    def __repr__(self) -> str:
        return repr(self.parts)

    @property
    def ended_in_its_first_pause(self) -> bool:
        """True if no step behind the first pause was taken."""
        return self._taken == 1


def schedules(
    overlay: Topology, operations: tuple[str, str, str] = ("wide", "narrow", "publish")
) -> Iterator[tuple[dict[str, str], Script]]:
    """Every choice of homes, and every order and spacing of the three operations.

    Where a script was given up in its first pause, so would be all that begin as it does.
    """
    for homes in homes_of_three(overlay):
        named = dict(zip(operations, homes, strict=True))
        for order, first in product(permutations(operations), PAUSES):
            for second in PAUSES:
                yield named, (script := Script((order[0], first, order[1], second, order[2])))
                if script.ended_in_its_first_pause:
                    break


def let_pass(world: World, pause: object) -> bool:
    """Let time pass; false where it comes to the same as a rest, which another script has.

    So it does where nothing is under way any more, before a pause or after it.
    """
    if pause is None:
        world.drain()
        return True
    assert isinstance(pause, float)
    was_quiet = world.quiet
    world.run_until(world.now + pause)
    return not (was_quiet or world.quiet)


@pytest.mark.parametrize(("parents", "protocol"), WORLDS, ids=str)
@pytest.mark.one_in(16)
def test_every_interleaving_of_two_subscriptions_and_a_publication_is_right(
    parents: tuple[int, ...], protocol: str
) -> None:
    overlay = topology(parents)
    for homes, script in schedules(overlay):
        world = World(overlay, router_maker(protocol), validate=False, traced=False)
        for part in script:
            match part:
                case "wide":
                    world.subscribe(SubscriptionName(homes["wide"], "ann", "wide"), WIDE)
                case "narrow":
                    world.subscribe(SubscriptionName(homes["narrow"], "ann", "narrow"), NARROW)
                case "publish":
                    publish(world, homes["publish"], "p", x=5)
                case pause if not let_pass(world, pause):
                    break  # another script is the same
        else:
            settle_and_judge(world, (homes, script))


@pytest.mark.parametrize(("parents", "protocol"), WORLDS, ids=str)
@pytest.mark.one_in(10)
def test_every_interleaving_of_a_withdrawal_a_return_and_a_publication_is_right(
    parents: tuple[int, ...], protocol: str
) -> None:
    """The narrow subscription is there all the time: it must miss nothing."""
    overlay = topology(parents)
    for homes, script in schedules(overlay):
        world = World(overlay, router_maker(protocol), validate=False, traced=False)
        wide = SubscriptionName(homes["wide"], "ann", "wide")
        world.subscribe(wide, WIDE)
        world.drain()
        world.subscribe(SubscriptionName(homes["narrow"], "eve", "narrow"), NARROW)
        world.drain()
        for part in script:
            match part:
                case "wide":
                    world.unsubscribe(wide)
                case "narrow":
                    world.subscribe(SubscriptionName(homes["narrow"], "eve", "again"), WIDE)
                case "publish":
                    publish(world, homes["publish"], "p", x=5)
                case pause if not let_pass(world, pause):
                    break  # another script is the same
        else:
            settle_and_judge(world, (homes, script))
            reached = [d.subscription.id for d in world.history.deliveries]
            assert reached.count("narrow") == 1, (homes, script)


@pytest.mark.parametrize(("parents", "protocol"), WORLDS[len(PROTOCOLS) :], ids=str)
@pytest.mark.one_in(10)
def test_every_interleaving_with_an_outage_of_each_link_is_right(
    parents: tuple[int, ...], protocol: str
) -> None:
    overlay = topology(parents)
    for link in overlay.links:
        for home, publisher in product(overlay.routers, repeat=2):
            for order in permutations(("subscribe", "outage", "publish")):
                for pause in (0.0, *PAUSES):
                    world = World(overlay, router_maker(protocol), validate=False, traced=False)
                    for part in order:
                        match part:
                            case "subscribe":
                                subscribe(world, home, "s", "true")
                            case "publish":
                                publish(world, publisher, "p")
                            case _:
                                world.fail_link(link.a, link.b)
                                let_pass(world, pause)
                                world.return_link(link.a, link.b)
                        let_pass(world, pause)
                    settle_and_judge(world, (link, home, publisher, order, pause))
                    publish(world, publisher, "late")
                    world.drain()
                    assert world.history.deliveries[-1].publication == "late"


ADVERTISED_WORLDS: list[Any] = [
    (parents, protocol)
    for parents in SHAPES[:2]
    for protocol in ("advertisement", "advertisement+covering")
]
# As above: what is not covered goes the ways of what is.
ADVERTISED_WORLDS += [
    pytest.param(SHAPES[2], "advertisement", marks=pytest.mark.long),
    (SHAPES[2], "advertisement+covering"),
    (SHAPES[0], "advertisement+xroute"),
    pytest.param(SHAPES[2], "advertisement+xroute", marks=pytest.mark.long),
]


@pytest.mark.parametrize(("parents", "protocol"), ADVERTISED_WORLDS, ids=str)
@pytest.mark.one_in(4)
def test_every_interleaving_of_an_advertisement_a_subscription_and_a_publication_is_right(
    parents: tuple[int, ...], protocol: str
) -> None:
    """One who published under another advertisement all the time advertises more."""
    overlay = topology(parents)
    for homes, script in schedules(overlay, ("advertise", "subscribe", "publish")):
        world = World(overlay, router_maker(protocol), validate=False, traced=False)
        subscribe(world, homes["subscribe"], "narrow", "x >= 3", "eve")
        advertise(world, homes["advertise"], "some", "x >= 4")
        world.drain()
        for part in script:
            match part:
                case "advertise":
                    advertise(world, homes["advertise"], "more", "x >= 1")
                case "subscribe":
                    subscribe(world, homes["subscribe"], "wide", "x >= 1")
                case "publish":
                    publish(world, homes["advertise"], "p", x=5)
                    publish(world, homes["advertise"], "q", x=2)
                    publish(world, homes["publish"], "r", "eve", x=2)
                case pause if not let_pass(world, pause):
                    break  # another script is the same
        else:
            settle_and_judge(world, (homes, script), protocol)


@pytest.mark.parametrize(("parents", "protocol"), ADVERTISED_WORLDS, ids=str)
@pytest.mark.one_in(8)
def test_every_interleaving_of_a_withdrawn_advertisement_and_a_withdrawn_cover_is_right(
    parents: tuple[int, ...], protocol: str
) -> None:
    overlay = topology(parents)
    for homes, script in schedules(overlay, ("unadvertise", "wide", "publish")):
        world = World(overlay, router_maker(protocol), validate=False, traced=False)
        wide = SubscriptionName(homes["wide"], "ann", "wide")
        world.subscribe(wide, WIDE)
        subscribe(world, homes["wide"], "narrow", "x >= 3", "eve")
        advertise(world, homes["unadvertise"], "a", "x >= 1")
        advertise(world, homes["publish"], "a", "x >= 4", "joe")
        world.drain()
        for part in script:
            match part:
                case "unadvertise":
                    world.unadvertise(AdvertisementName(homes["unadvertise"], "bob", "a"))
                case "wide":
                    world.unsubscribe(wide)
                case "publish":
                    publish(world, homes["unadvertise"], "p", x=5)
                    publish(world, homes["publish"], "q", "joe", x=5)
                case pause if not let_pass(world, pause):
                    break  # another script is the same
        else:
            settle_and_judge(world, (homes, script), protocol)
            reached = [
                d.publication for d in world.history.deliveries if d.subscription.id == "narrow"
            ]
            accepted = world.history.publications["p"].accepted is not None
            assert sorted(reached) == (["p", "q"] if accepted else ["q"]), (homes, script)


def settle_and_judge(world: World, story: object, protocol: str = "covering") -> None:
    world.drain()
    judgment = judge_world(world, world.history.unanswered(), protocol)
    assert judgment.is_clean, (story, judgment)
    assert strayed(world, protocol) == (), story
