"""All protocols against the oracle: on every shape of overlay, with churn, with faults."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache
from random import Random

import pytest

from sapwood.covering.merging import PathUniverse
from sapwood.language import parse_filter
from sapwood.model.interest import Interest
from sapwood.model.publication import Publication
from sapwood.model.subscription import Subscription
from sapwood.overlay.shapes import parse_topology
from sapwood.routing.propagation.merging import Merging
from sapwood.routing.propagation.protocol import Change
from sapwood.routing.protocols import protocol as protocol_named
from sapwood.simulation.history import SubscriptionName
from sapwood.simulation.scenario import Scenario, subscribe_then_publish
from sapwood.simulation.simulator import router_maker
from sapwood.simulation.swarm import Mixture
from sapwood.simulation.vocabulary import draw_filter, draw_record
from sapwood.xml.dtd import read_dtd
from tests.simulation.helpers import (
    ADVERTISED,
    PROTOCOLS,
    assert_right,
    drawn,
    faults_found,
    run,
    run_with,
    seeds,
)
from tests.simulation.recipes import NAMED, NARROW, uncover_under_traffic

SHAPES = ("line:1", "line:2", "line:9", "star:9", "tree:15", "tree:13:3", "random:12")
REACHING_SEEDS = 48
COVERING_PAIRS = (
    "flat-1,columnar",
    "flat-8,counting",
    "flat-1,kdtree",
    "flat-1,sfc-hilbert",
    "flat-1,sfc-z-cubes",
    "flat-8,sfc-hilbert:0.5",
    "dense,reference",
    "poset",
    "forest",
)
ADVERTISING = Mixture(advertisements=True)
SMALL_WORLD = read_dtd(b"".join(b"<!ELEMENT %c (a|b|c)*>" % name for name in b"abc"), "a").paths
"""The paths that the documents of the swarm come from, but for their roots."""

DOCUMENTS = Mixture(actions_max=15, documents=True)


@cache
def calm(shape: str, seed: int, subscriptions: int = 30, publications: int = 25) -> Scenario:
    """Everybody subscribes, then publications are sent so fast that many are under way at once."""
    generator = Random(f"{seed}/calm")
    topology = parse_topology(shape, generator.randrange)
    return subscribe_then_publish(
        f"calm {shape} {seed}",
        topology,
        [Subscription(f"s{i}", parse_filter(draw_filter(generator))) for i in range(subscriptions)],
        [(Publication(f"p{i}", draw_record(generator)), None) for i in range(publications)],
        seed=seed,
        interval_s=0.001,
    )


@cache
def flooded(shape: str, seed: int) -> list[tuple[str, SubscriptionName]]:
    """The deliveries of a calm scenario where every publication goes everywhere."""
    return run(calm(shape, seed), "flooding").pairs


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("shape", SHAPES)
@seeds(1)
@pytest.mark.one_in(12)
def test_protocols_deliver_exactly_what_the_oracle_demands_and_all_the_same_pairs(
    seeds: range, shape: str, protocol: str
) -> None:
    for seed in seeds:
        trial = assert_right(calm(shape, seed), protocol)
        assert trial.judgment.may == 0
        assert trial.judgment.must == len(trial.pairs)
        assert trial.judgment.must > 50
        assert trial.pairs == flooded(shape, seed)


@pytest.mark.parametrize("pair", COVERING_PAIRS)
@pytest.mark.one_in(4)
def test_covering_is_right_whatever_finds_the_covers(pair: str) -> None:
    protocol = f"covering:{pair}"
    trial = assert_right(calm("tree:7", seed=7), protocol)
    assert trial.pairs == flooded("tree:7", seed=7)
    for seed in range(2):
        assert_right(drawn(seed, Mixture(faults=False)), protocol)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("recipe", NAMED, ids=lambda recipe: recipe.__name__)
@pytest.mark.one_in(2)
def test_protocols_are_right_in_situations_with_a_name(
    recipe: Callable[[], Scenario], protocol: str
) -> None:
    trial = assert_right(recipe(), protocol)
    assert trial.judgment.must > 100


def test_no_publication_falls_between_a_withdrawal_and_what_it_uncovers() -> None:
    trial = assert_right(uncover_under_traffic(), "covering")
    always_there = [pair for pair in trial.pairs if pair[1] == NARROW]
    assert len(always_there) == sum(number % 8 >= 3 for number in range(200)) + 1


@pytest.mark.parametrize("protocol", PROTOCOLS)
@seeds(2)
@pytest.mark.one_in(2)
def test_protocols_are_right_under_churn(seeds: range, protocol: str) -> None:
    for seed in seeds:
        assert_right(drawn(seed, Mixture(faults=False)), protocol)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@seeds(6)
@pytest.mark.one_in(4)
def test_protocols_are_right_under_churn_and_faults(seeds: range, protocol: str) -> None:
    for seed in seeds:
        assert_right(drawn(seed), protocol)


@pytest.mark.parametrize("protocol", [*PROTOCOLS, *ADVERTISED])
@seeds(2)
@pytest.mark.one_in(2)
def test_protocols_are_right_for_both_languages_under_churn_and_faults(
    seeds: range, protocol: str
) -> None:
    for seed in seeds:
        mixture = Mixture(advertisements=protocol in ADVERTISED, documents=True)
        assert_right(drawn(seed, mixture), protocol)


@pytest.mark.parametrize("advertised", [False, True])
@pytest.mark.parametrize("budget", ["", ":0.1", ":0.6"])
@seeds(8)
@pytest.mark.one_in(6)
def test_merging_is_right_for_both_languages_whatever_mergers_add(
    seeds: range, budget: str, advertised: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    merge = Merging._pass

    def counted(link: Merging[Interest]) -> Change:
        change = merge(link)
        made.extend(change.propagate)
        return change

    monkeypatch.setattr(Merging, "_pass", counted)
    monkeypatch.setattr("sapwood.routing.propagation.merging.MERGING_PASS_MIN", 2)
    name = f"{'advertisement+' if advertised else ''}covering+merging{budget}"
    chosen = protocol_named(name, PathUniverse(SMALL_WORLD, levels=4))
    for seed in seeds:
        mixture = Mixture(actions_max=60, advertisements=advertised, documents=True)
        scenario = drawn(seed, mixture)
        make_router = router_maker(chosen)
        trial = run_with(scenario, make_router, name, watched=seed == seeds[0])
        assert faults_found(trial, make_router) == {}
    assert len(made) > 5


@pytest.mark.parametrize(
    "found_by",
    [
        "covering:flat-1,columnar",
        "covering:dense,reference",
        "covering:poset",
        "covering:forest",
        "maximal:flat-1,columnar+subscription-tree",
        "maximal:poset+subscription-tree-lazy",
        "maximal:flat-1,columnar+subscription-tree-printed",
        "covering:flat-1,columnar+subscription-tree-lazy",
        "maximal:flat-1,columnar+xpe-procedures",
    ],
)
@seeds(2)
@pytest.mark.one_in(2)
def test_covering_is_right_for_both_languages_whatever_finds_the_covers(
    seeds: range, found_by: str
) -> None:
    for seed in seeds:
        assert_right(drawn(seed, DOCUMENTS), found_by, watched=True)


@pytest.mark.parametrize("protocol", ADVERTISED)
@seeds(3)
@pytest.mark.one_in(2)
def test_protocols_that_route_by_advertisements_are_right_under_churn_and_faults(
    seeds: range, protocol: str
) -> None:
    for seed in seeds:
        assert_right(drawn(seed, ADVERTISING), protocol)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@seeds(3)
@pytest.mark.one_in(2)
def test_protocols_that_route_without_advertisements_enforce_them(
    seeds: range, protocol: str
) -> None:
    for seed in seeds:
        trial = assert_right(drawn(seed, ADVERTISING), protocol, measured=True)
        kinds = {"advertise", "unadvertise", "confirmadvertisement"}
        assert kinds.isdisjoint(trial.metrics.messages)


@pytest.mark.parametrize("protocol", ADVERTISED)
@seeds(2, first=30)
@pytest.mark.one_in(2)
def test_routers_that_route_by_advertisements_are_right_after_every_single_input(
    seeds: range, protocol: str
) -> None:
    for seed in seeds:
        mixture = Mixture(actions_max=15, advertisements=True)
        assert_right(drawn(seed, mixture), protocol, watched=True)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@seeds(2, first=30)
@pytest.mark.one_in(2)
def test_routers_are_right_after_every_single_input(seeds: range, protocol: str) -> None:
    """All other runs look into the tables only when the overlay is at rest."""
    for seed in seeds:
        assert_right(drawn(seed, Mixture(actions_max=15)), protocol, watched=True)


@pytest.mark.parametrize("protocol", ["identity", "covering"])
@seeds(1)
def test_protocols_are_right_on_larger_overlays(seeds: range, protocol: str) -> None:
    for seed in seeds:
        assert_right(drawn(seed, Mixture(routers_max=40, actions_max=150)), protocol)


@pytest.mark.long
def test_the_swarm_reaches_what_it_is_there_to_reach() -> None:
    """Without this, quiet scenarios could make every test above pass."""
    reached = dict.fromkeys(
        ("must", "may", "deliveries", "lost", "refused", "unsent", "unsubscribe", "outages"), 0
    )
    for seed in range(REACHING_SEEDS):
        trial = run(drawn(seed))
        metrics = trial.metrics
        reached["must"] += metrics.verdicts.must
        reached["may"] += metrics.verdicts.may
        reached["deliveries"] += metrics.deliveries
        reached["lost"] += metrics.messages_lost
        reached["refused"] += metrics.refused
        reached["unsent"] += metrics.unsent
        reached["unsubscribe"] += metrics.messages.get("unsubscribe", 0)
        reached["outages"] += len(trial.outcome.world.history.outages)
        if all(count >= 50 for count in reached.values()):
            break
    assert all(count >= 50 for count in reached.values()), reached


@pytest.mark.long
def test_the_swarm_of_both_languages_reaches_what_it_is_there_to_reach() -> None:
    kinds = ("Filter True", "Filter False", "TreePattern True", "TreePattern False")
    reached: Counter[str] = Counter()
    for seed in range(REACHING_SEEDS // 2):
        trial = run(drawn(seed, Mixture(documents=True)), "covering")
        history = trial.outcome.world.history
        for id_, name in trial.pairs:
            publication = history.publications[id_].publication
            wanted = history.subscriptions[name][-1].filter
            both = publication.attributes is not None and publication.document is not None
            reached[f"{type(wanted).__name__} {both}"] += 1
        reached["lost"] += trial.metrics.messages_lost
        reached["unsubscribe"] += trial.metrics.messages.get("unsubscribe", 0)
        if all(reached[kind] >= 30 for kind in (*kinds, "lost", "unsubscribe")):
            break
    assert all(reached[kind] >= 30 for kind in (*kinds, "lost", "unsubscribe")), reached


@pytest.mark.long
def test_the_swarm_of_those_who_advertise_reaches_what_it_is_there_to_reach() -> None:
    reached = dict.fromkeys(
        ("must", "may", "deliveries", "lost", "refused", "unsubscribe", "unadvertise"), 0
    )
    for seed in range(REACHING_SEEDS // 2):
        metrics = run(drawn(seed, ADVERTISING), "advertisement").metrics
        reached["must"] += metrics.verdicts.must
        reached["may"] += metrics.verdicts.may
        reached["deliveries"] += metrics.deliveries
        reached["lost"] += metrics.messages_lost
        reached["refused"] += metrics.refused
        reached["unsubscribe"] += metrics.messages.get("unsubscribe", 0)
        reached["unadvertise"] += metrics.messages.get("unadvertise", 0)
        if all(count >= 50 for count in reached.values()):
            break
    assert all(count >= 50 for count in reached.values()), reached
