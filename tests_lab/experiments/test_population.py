"""Consumers on XNet's overlay."""

from __future__ import annotations

from itertools import islice

import pytest

from sapwood.errors import UnknownNameError
from sapwood_lab.experiments.design import Choices
from sapwood_lab.experiments.particular import is_particular
from sapwood_lab.experiments.population import SIZES, configurations, interests, populate, settings

SMALL = {"subscriptions": 60, "seed": 3, "workload": "news"}


def test_population_has_consumers_at_edge_routers_only() -> None:
    registered = populate(SMALL)
    consumers = registered.stub.consumers
    assert len(registered.inner) == 64 - len(consumers) == 40
    registered.overlay.validate()
    at_edges = {f for name in consumers for f in registered.overlay.simple[name]}
    assert set(registered.overlay.simple[registered.stub.producer]) == at_edges
    assert 40 < len(at_edges) <= 60


def test_population_of_fewer_is_the_beginning_of_one_of_more() -> None:
    few, more = (populate({**SMALL, "subscriptions": n}).overlay for n in (20, 60))
    assert all(set(few.simple[name]) <= set(more.simple[name]) for name in more.simple)


def test_probes_ask_for_something_in_particular_and_come_from_another_seed() -> None:
    registered = populate(SMALL)
    probes = registered.probes(30)
    assert probes == registered.probes(30)
    assert {home for home, _ in probes} <= set(registered.stub.consumers)
    assert all(is_particular(interest) for _, interest in probes)
    drawn = list(islice(interests(registered.source, 30, 3), 30))
    assert [interest for _, interest in probes] != drawn


def test_configurations_are_one_a_size() -> None:
    assert [one["subscriptions"] for one in configurations(Choices())] == list(SIZES)
    chosen = Choices((5,), 2, "mix")
    assert configurations(chosen) == [{"subscriptions": 5, "seed": 2, "workload": "mix"}]
    assert settings(chosen)["workload"] == "mix"


def test_population_needs_a_workload_that_exists() -> None:
    with pytest.raises(UnknownNameError, match="workload"):
        populate({**SMALL, "workload": "nonsense"})


def test_registered_subscriptions_can_go_and_come_back() -> None:
    registered = populate({"subscriptions": 200, "seed": 2, "workload": "news"})
    overlay, routers = registered.overlay, registered.stub.tree.routers
    drawn = registered.registered(10)
    assert len({(home, interest) for home, interest, _ in drawn}) == 10
    before = {name: set(overlay.table(name)) for name in routers}
    for home, interest, count in drawn:
        overlay.tell(home, interest, -count)
        assert not overlay.holds(home, interest), "all instances are gone"
    overlay.validate()
    for home, interest, count in drawn:
        overlay.tell(home, interest, count)
    assert {name: set(overlay.table(name)) for name in routers} == before
    assert len(registered.registered(10_000)) == len(registered.instances)
