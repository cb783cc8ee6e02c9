"""One scenario, two worlds: real processes over TCP deliver what the simulator delivers."""

from __future__ import annotations

from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from sapwood.simulation.scenario import FailLink, ReturnLink, Scenario
from sapwood.simulation.scenario_document import decode_scenario
from sapwood.testing.overlay import BrokerProcesses
from tests.forked import forked_brokers
from tests.parity.driver import Driver, Pair
from tests.simulation.helpers import ADVERTISED, PROTOCOLS, assert_right

__all__ = ("forked_brokers",)

SCENARIOS = sorted((Path(__file__).parent / "scenarios").glob("*.json"))


def read(path: Path) -> Scenario:
    return decode_scenario(path.read_bytes())


ADVERTISEMENTS = Path(__file__).parent / "scenarios" / "advertisements.json"
"""Whoever publishes in this one has advertised, so that every protocol gives the same answer."""


CIRCLE = Path(__file__).parent / "scenarios" / "circles" / "crash-on-a-circle.json"
"""Four routers on a circle, of which one crashes and returns."""


@cache
def simulated(path: Path, protocol: str) -> Counter[Pair]:
    """The deliveries of the simulator, once for all that ask."""
    return Counter(assert_right(read(path), protocol).pairs)


async def over_tcp(scenario: Scenario, protocol: str) -> Counter[Pair]:
    topology = scenario.topology
    edges = [(link.a, link.b) for link in topology.links]
    with BrokerProcesses(topology.routers, edges, protocol=protocol) as overlay:
        return await Driver(overlay).run(scenario)


def test_there_are_scenarios_to_compare() -> None:
    assert len(SCENARIOS) >= 4
    for path in SCENARIOS:
        actions = [step.action for step in read(path).steps]
        assert not any(isinstance(action, FailLink | ReturnLink) for action in actions)


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
@pytest.mark.one_in(4)
def test_all_protocols_agree_in_the_simulator(path: Path) -> None:
    outcomes = [simulated(path, protocol) for protocol in PROTOCOLS]
    assert len(outcomes[0]) > 20
    assert all(pairs == outcomes[0] for pairs in outcomes)


@pytest.mark.network
@pytest.mark.usefixtures("forked_brokers")
@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
@pytest.mark.one_in(4)
async def test_processes_deliver_what_the_simulator_delivers(path: Path) -> None:
    assert await over_tcp(read(path), "covering") == simulated(path, "covering")


@pytest.mark.network
@pytest.mark.usefixtures("forked_brokers")
@pytest.mark.parametrize("protocol", ["flooding", "simple", "identity", "xroute"])
@pytest.mark.one_in(2)
async def test_processes_deliver_the_same_under_every_protocol(protocol: str) -> None:
    path = Path(__file__).parent / "scenarios" / "crash-in-the-middle.json"
    assert await over_tcp(read(path), protocol) == simulated(path, protocol)


@pytest.mark.parametrize("protocol", ADVERTISED)
@pytest.mark.one_in(2)
def test_protocols_that_route_by_advertisements_agree_with_all_others_if_all_advertise(
    protocol: str,
) -> None:
    assert simulated(ADVERTISEMENTS, protocol) == simulated(ADVERTISEMENTS, "flooding")


@pytest.mark.network
@pytest.mark.usefixtures("forked_brokers")
@pytest.mark.parametrize("protocol", ["advertisement", "advertisement+covering"])
@pytest.mark.one_in(2)
async def test_processes_route_by_advertisements_as_the_simulator_does(protocol: str) -> None:
    scenario = read(ADVERTISEMENTS)
    trial = assert_right(scenario, protocol)
    topology = scenario.topology
    edges = [(link.a, link.b) for link in topology.links]
    with BrokerProcesses(topology.routers, edges, protocol=protocol) as overlay:
        driver = Driver(overlay)
        assert await driver.run(scenario) == Counter(trial.pairs)
    published = trial.outcome.world.history.publications
    refused = [id_ for id_, one in published.items() if one.refused is not None]
    assert len(driver.refused) == 5
    assert driver.refused == [id_ for id_ in refused if not id_.startswith("probe")]


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.one_in(4)
def test_all_protocols_agree_on_a_circle(protocol: str) -> None:
    pairs = simulated(CIRCLE, f"mesh+{protocol}")
    assert pairs == simulated(CIRCLE, "mesh+simple")
    assert {id_ for id_, _ in pairs} >= {"before-r2", "during-r1", "during-r4", "after-r2"}


@pytest.mark.network
@pytest.mark.usefixtures("forked_brokers")
@pytest.mark.parametrize("protocol", ["mesh+covering", "mesh+xroute"])
@pytest.mark.one_in(2)
async def test_processes_on_a_circle_deliver_what_the_simulator_delivers(protocol: str) -> None:
    assert await over_tcp(read(CIRCLE), protocol) == simulated(CIRCLE, protocol)
