from __future__ import annotations

from random import Random

from sapwood.language import parse_filter
from sapwood.simulation.scenario import (
    AdvertiseAction,
    CrashRouter,
    DetachAction,
    FailLink,
    PublishAction,
    ReturnLink,
    ReturnRouter,
    SubscribeAction,
    UnadvertiseAction,
    UnsubscribeAction,
    WaitAction,
)
from sapwood.simulation.scenario_document import encode_scenario
from sapwood.simulation.swarm import (
    Mixture,
    draw_scenario,
    draw_topology,
)
from sapwood.simulation.vocabulary import draw_filter, draw_record
from tests.simulation.helpers import drawn

SEEDS = range(60)


def test_draw_scenario_gives_the_same_scenario_for_the_same_seed() -> None:
    for seed in SEEDS:
        assert draw_scenario(seed) == drawn(seed)
    assert len({encode_scenario(drawn(seed)) for seed in SEEDS}) == len(SEEDS)


def test_draw_scenario_uses_every_kind_of_action() -> None:
    seen = {type(step.action) for seed in SEEDS for step in drawn(seed).steps}
    assert seen == {
        SubscribeAction,
        UnsubscribeAction,
        PublishAction,
        DetachAction,
        FailLink,
        ReturnLink,
        CrashRouter,
        ReturnRouter,
        WaitAction,
    }


def test_draw_scenario_lets_clients_advertise_only_when_told() -> None:
    promises = (AdvertiseAction, UnadvertiseAction)
    for seed in SEEDS:
        assert not any(isinstance(s.action, promises) for s in drawn(seed).steps)
    mixture = Mixture(advertisements=True)
    seen = {type(step.action) for seed in SEEDS for step in drawn(seed, mixture).steps}
    assert seen.issuperset(promises)


def test_draw_scenario_mostly_publishes_what_was_advertised() -> None:
    allowed = total = 0
    for seed in SEEDS:
        promised = {}
        for step in drawn(seed, Mixture(advertisements=True)).steps:
            match step.action:
                case AdvertiseAction(name, wanted):
                    promised[name] = wanted
                case PublishAction(publisher, publication):
                    total += 1
                    allowed += any(
                        name.owner == publisher and wanted.matches(publication)
                        for name, wanted in promised.items()
                    )
    assert 0.5 < allowed / total < 0.95


def test_draw_scenario_leaves_faults_out_when_told() -> None:
    faults = (FailLink, ReturnLink, CrashRouter, ReturnRouter)
    for seed in SEEDS:
        steps = draw_scenario(seed, Mixture(faults=False)).steps
        assert not any(isinstance(step.action, faults) for step in steps)


def test_draw_scenario_stays_within_its_mixture() -> None:
    mixture = Mixture(routers_max=3, rounds_max=2, actions_max=5, faults=False)
    for seed in SEEDS:
        scenario = draw_scenario(seed, mixture)
        assert len(scenario.topology.routers) <= 3
        assert len(scenario.steps) <= 2 * (5 + 1) + 1 + 3


def test_draw_scenario_ends_every_fault_it_begins() -> None:
    for seed in SEEDS:
        down: set[object] = set()
        for step in drawn(seed).steps:
            match step.action:
                case FailLink(a, b):
                    down.add((a, b))
                case ReturnLink(a, b):
                    down.discard((a, b))
                case CrashRouter(router):
                    down.add(router)
                case ReturnRouter(router):
                    down.discard(router)
        assert not down


def test_draw_scenario_ends_with_a_publication_from_every_router() -> None:
    scenario = draw_scenario(3)
    last = scenario.steps[-len(scenario.topology.routers) :]
    homes = [s.action.publisher.home for s in last if isinstance(s.action, PublishAction)]
    assert homes == list(scenario.topology.routers)


def test_drawn_filters_cover_and_match_often_enough_to_matter() -> None:
    generator = Random(1)
    wanted = [parse_filter(draw_filter(generator)) for _ in range(60)]
    records = [draw_record(generator) for _ in range(60)]
    pairs = [(f, g) for f in wanted for g in wanted if f is not g]
    assert sum(f.covers(g) for f, g in pairs) > len(pairs) * 0.05
    matches = sum(f.matches(record) for f in wanted for record in records)
    assert 0.1 < matches / 3600 < 0.9


def test_draw_topology_draws_links_that_are_alike_and_links_that_are_not() -> None:
    kinds = {
        len({link.latency_s for link in draw_topology(Random(seed), 12).links}) for seed in SEEDS
    }
    assert 1 in kinds
    assert max(kinds) > 1


def test_draw_scenario_closes_circles_when_told() -> None:
    mixture = Mixture(circles=True)
    overlays = [draw_scenario(seed, mixture).topology for seed in SEEDS]
    assert all(not overlay.is_tree for overlay in overlays if len(overlay.routers) > 2)
    assert {len(overlay.links) - len(overlay.routers) for overlay in overlays} > {-1, 0, 1, 2}
    assert all(drawn(seed).topology.is_tree for seed in SEEDS)
