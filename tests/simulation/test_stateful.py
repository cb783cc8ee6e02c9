"""A network of routers driven at will, one act at a time, against the oracle."""

from __future__ import annotations

from random import Random
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule

from sapwood.overlay.topology import Link, Overlay, Topology
from sapwood.simulation.divergence import divergences, leaks
from sapwood.simulation.examination import strayed
from sapwood.simulation.history import AdvertisementName, ClientName, SubscriptionName
from sapwood.simulation.machine import MakeRouter
from sapwood.simulation.network import Timing
from sapwood.simulation.simulator import router_maker
from sapwood.simulation.swarm import close_circles
from sapwood.simulation.world import World
from tests.examples import examples
from tests.simulation.helpers import (
    ADVERTISED,
    INPUTS_MAX,
    PROTOCOLS,
    advertise,
    judge_world,
    publish,
    subscribe,
)

WANTED = ("x >= 1", "x >= 3", "x >= 3.0", "x between 2 and 4", "x = 5 or t = 'oak'", "exists t")
RECORDS: tuple[dict[str, Any], ...] = ({"x": 0}, {"x": 3}, {"x": 5, "t": "elm"}, {"t": "oak"})
PROMISES = ("true", "x >= 3", "exists t and x < 5")
CLIENTS = ("ann", "bob")
IDS = ("s1", "s2", "s3")


class NetworkMachine(RuleBasedStateMachine):
    """Routers check themselves after every input; the oracle judges when all has come to rest."""

    world: World
    make_router: MakeRouter
    protocol: str
    published = 0
    prefix = ""

    def overlay(self, tree: Topology, seed: int) -> Overlay:
        return tree

    @initialize(
        protocol=st.sampled_from((*PROTOCOLS, *ADVERTISED)),
        parents=st.lists(st.integers(0, 100), max_size=5),
        latencies=st.lists(st.sampled_from((0.0, 0.01, 0.1)), min_size=5, max_size=5),
        timing=st.sampled_from((Timing(), Timing(jitter=3.0, notice_s=0.05))),
        seed=st.integers(0, 1000),
        first=st.lists(
            st.tuples(
                st.integers(0, 5),
                st.sampled_from(CLIENTS),
                st.sampled_from(IDS),
                st.sampled_from(WANTED),
            ),
            min_size=2,
            max_size=8,
        ),
    )
    def build(
        self,
        protocol: str,
        parents: list[int],
        latencies: list[float],
        timing: Timing,
        seed: int,
        first: list[tuple[int, str, str, str]],
    ) -> None:
        """An overlay at rest, in which some have subscribed."""
        names = tuple(f"r{i}" for i in range(len(parents) + 1))
        links = tuple(
            Link(names[parent % (i + 1)], names[i + 1], latencies[i])
            for i, parent in enumerate(parents)
        )
        self.protocol = f"{self.prefix}{protocol}"
        self.make_router = router_maker(self.protocol)
        self.world = World(
            self.overlay(Topology(names, links), seed),
            self.make_router,
            seed=seed,
            timing=timing,
            inputs_max=INPUTS_MAX,
        )
        for number, client, id_, wanted in first:
            self.subscribe(number, client, id_, wanted)
        self.world.drain()

    def router(self, number: int) -> str:
        return self.world.topology.routers[number % len(self.world.topology.routers)]

    def link(self, number: int) -> Link:
        return self.world.topology.links[number % len(self.world.topology.links)]

    @rule(
        number=st.integers(0, 5),
        client=st.sampled_from(CLIENTS),
        id_=st.sampled_from(IDS),
        wanted=st.sampled_from(WANTED),
    )
    def subscribe(self, number: int, client: str, id_: str, wanted: str) -> None:
        subscribe(self.world, self.router(number), id_, wanted, client)

    @rule(number=st.integers(0, 5), client=st.sampled_from(CLIENTS), id_=st.sampled_from(IDS))
    def unsubscribe(self, number: int, client: str, id_: str) -> None:
        self.world.unsubscribe(SubscriptionName(self.router(number), client, id_))

    @rule(
        number=st.integers(0, 5),
        client=st.sampled_from(CLIENTS),
        id_=st.sampled_from(IDS),
        promised=st.sampled_from(PROMISES),
    )
    def advertise(self, number: int, client: str, id_: str, promised: str) -> None:
        advertise(self.world, self.router(number), id_, promised, client)

    @rule(number=st.integers(0, 5), client=st.sampled_from(CLIENTS), id_=st.sampled_from(IDS))
    def unadvertise(self, number: int, client: str, id_: str) -> None:
        self.world.unadvertise(AdvertisementName(self.router(number), client, id_))

    @rule(number=st.integers(0, 5), client=st.sampled_from(CLIENTS))
    def detach(self, number: int, client: str) -> None:
        self.world.detach(ClientName(self.router(number), client))

    @rule(record=st.sampled_from(RECORDS))
    def publish_everywhere(self, record: dict[str, Any]) -> None:
        for router in self.world.topology.routers:
            self.published += 1
            publish(self.world, router, f"p{self.published}", **record)

    @precondition(lambda self: self.world.topology.links)
    @rule(number=st.integers(0, 4))
    def fail_link(self, number: int) -> None:
        link = self.link(number)
        self.world.fail_link(link.a, link.b)

    @precondition(lambda self: self.world.topology.links)
    @rule(number=st.integers(0, 4))
    def return_link(self, number: int) -> None:
        link = self.link(number)
        self.world.return_link(link.a, link.b)

    @rule(number=st.integers(0, 5))
    def crash_router(self, number: int) -> None:
        self.world.crash_router(self.router(number))

    @rule(number=st.integers(0, 5))
    def return_router(self, number: int) -> None:
        self.world.return_router(self.router(number))

    @rule(seconds=st.sampled_from((0.0, 0.005, 0.02, 0.3)))
    def let_time_pass(self, seconds: float) -> None:
        self.world.run_until(self.world.now + seconds)

    @rule()
    def rest(self) -> None:
        self.world.drain()
        judgment = judge_world(self.world, protocol=self.protocol)
        assert judgment.is_clean, judgment

    def teardown(self) -> None:
        if not hasattr(self, "world"):
            return
        self.world.heal()
        self.world.drain()
        self.world.validate()
        judgment = judge_world(self.world, self.world.history.unanswered(), self.protocol)
        assert judgment.is_clean, judgment
        assert self.world.tally.links_closed == 0
        assert strayed(self.world, self.protocol) == ()
        assert divergences(self.world, self.make_router, RECORDS) == ()
        assert leaks(self.world, self.make_router) == ()


class CirclesMachine(NetworkMachine):
    """The same where links form circles, and each source has a tree."""

    prefix = "mesh+"

    def overlay(self, tree: Topology, seed: int) -> Overlay:
        return close_circles(Random(seed), tree)


TestNetwork = NetworkMachine.TestCase
TestNetwork.settings = settings(
    max_examples=examples(30), suppress_health_check=[HealthCheck.too_slow]
)
TestCircles = CirclesMachine.TestCase
TestCircles.settings = settings(
    max_examples=examples(15), suppress_health_check=[HealthCheck.too_slow]
)
