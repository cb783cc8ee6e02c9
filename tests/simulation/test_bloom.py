"""Bloom forwarding under the oracle: what is delivered, and what links carry for nothing."""

from __future__ import annotations

from random import Random

import pytest

from sapwood.model.publication import Publication
from sapwood.overlay.shapes import parse_topology
from sapwood.simulation.history import ClientName
from sapwood.simulation.simulator import router_maker
from sapwood.simulation.swarm import Mixture
from sapwood.simulation.world import World
from sapwood.sketches.accuracy import false_on_link
from tests.simulation.helpers import Trial, assert_right, drawn, subscribe
from tests.simulation.test_protocols import calm
from tests.simulation.test_seams import routers_of

WORDS = (
    "identity+bloom",
    "simple+bloom:1024:3",
    "identity+bloom:64:1",
    "advertisement+identity+bloom",
    "mesh+identity+bloom",
    "identity+bloom:counting-sbstree",
)


def counted(trial: Trial, name: str) -> int:
    """A counter of all routers."""
    return sum(router.counters().get(name, 0) for router in routers_of(trial.outcome.world))


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize(
    "seeds", [range(2), pytest.param(range(2, 2000), marks=pytest.mark.long)], ids=["gate", "long"]
)
@pytest.mark.one_in(2)
def test_bloom_forwarding_delivers_exactly_under_churn_and_faults(word: str, seeds: range) -> None:
    for seed in seeds:
        assert_right(drawn(seed, Mixture(documents=seed % 2 == 0)), word)


@pytest.mark.parametrize("shape", ["line:9", "tree:15"])
@pytest.mark.one_in(2)
def test_content_is_looked_at_where_it_enters_and_where_it_is_delivered(shape: str) -> None:
    scenario = calm(shape, 1)
    plain = assert_right(scenario, "identity", measured=True)
    exact = assert_right(scenario, "identity+bloom", measured=True)
    crowded = assert_right(scenario, "identity+bloom:64:1", measured=True)
    assert exact.pairs == crowded.pairs == plain.pairs
    assert exact.metrics.messages == plain.metrics.messages
    assert counted(exact, "false_positives") == 0 < counted(exact, "digests_read")
    # Links carry more where bits are few, and nobody gets more.
    assert counted(crowded, "false_positives") > 0
    needless = [one.metrics.false_positives.needless for one in (plain, exact, crowded)]
    assert needless[0] == needless[1] < needless[2]


@pytest.mark.parametrize(("bits", "hashes"), [(64, 2), (128, 1)])
@pytest.mark.one_in(2)
def test_links_carry_for_nothing_as_often_as_the_formula_says(bits: int, hashes: int) -> None:
    """Of a star: one filter of each leaf is about one publication, and all others seem to be.

    So no two publications have a filter in common, and their draws are independent.
    """
    leaves, count, generator = 14, 20, Random(5)
    word = f"identity+bloom:{bits}:{hashes}"
    star = parse_topology(f"star:{leaves + 2}", lambda n: 0)
    world = World(star, router_maker(word), validate=False)
    for leaf in range(leaves):
        for number in range(count):
            subscribe(world, f"r{leaf + 3}", f"s{number}", f"x{leaf}.y{number} = 1")
    world.drain()
    needed, expected, variance = 0, 0.0, 0.0
    for number in range(count):
        wanted = generator.sample(range(leaves), generator.randrange(1, 9))
        attributes = {f"x{leaf}.y{number}": 1 for leaf in wanted}
        world.publish(ClientName("r2", "bob"), Publication(f"p{number}", attributes))
        needed += 1 + len(wanted)
        chance = false_on_link(bits // hashes, hashes, len(wanted), count)
        expected += (leaves - len(wanted)) * chance
        variance += (leaves - len(wanted)) * chance * (1 - chance)
    world.drain()
    needless = world.tally.messages["publish"] - needed
    assert expected > 40
    assert abs(needless - expected) < 3 * variance**0.5, (needless, expected, variance)
