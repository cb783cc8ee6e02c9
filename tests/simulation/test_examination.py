"""A scenario looked at in every way."""

from __future__ import annotations

import pytest

from sapwood.simulation.examination import draw_for, examine, findings, judge_world, strayed
from sapwood.simulation.scenario import AdvertiseAction, PublishAction, Scenario
from sapwood.simulation.simulator import router_maker, simulate
from tests.simulation.test_mutants import DeliversTwice


def advertises(scenario: Scenario) -> bool:
    return any(isinstance(step.action, AdvertiseAction) for step in scenario.steps)


def has_documents(scenario: Scenario) -> bool:
    published = [
        s.action.publication for s in scenario.steps if isinstance(s.action, PublishAction)
    ]
    return any(publication.document is not None for publication in published)


def test_examine_finds_nothing_wrong_with_right_routers() -> None:
    for protocol in ("xroute", "advertisement+covering"):
        examined = examine(draw_for(protocol, 6), protocol)
        assert examined.found == {}
        assert examined.judgment.is_clean
        assert examined.judgment.must > 0


def test_findings_name_what_is_wrong_and_count_it() -> None:
    scenario = draw_for("covering", 7)
    outcome = simulate(scenario, DeliversTwice, validate=False)
    judgment = judge_world(outcome.world, outcome.stuck, "covering")
    found = findings(outcome.world, judgment, "covering", router_maker("covering"))
    assert found["duplicated"] == judgment.duplicated.count > 0


def test_draw_for_lets_clients_advertise_where_they_must_and_elsewhere_at_times() -> None:
    assert all(advertises(draw_for("advertisement", seed)) for seed in range(1, 4))
    assert [advertises(draw_for("simple", seed)) for seed in range(1, 6)].count(True) == 1


def test_draw_for_speaks_of_documents_at_times() -> None:
    drawn = [has_documents(draw_for("simple", seed)) for seed in range(20)]
    assert 5 <= drawn.count(True) <= 10


def test_strayed_asks_only_where_advertisements_decide() -> None:
    outcome = simulate(draw_for("simple", 3), router_maker("simple"))
    assert strayed(outcome.world, "simple") == ()


@pytest.mark.long
def test_draw_for_closes_circles_where_the_protocol_asks_for_them_and_elsewhere_at_times() -> None:
    drawn = [draw_for("simple", seed).topology.is_tree for seed in range(1, 31)]
    assert 3 <= drawn.count(False) <= 6
    sizes = {draw_for("mesh+simple", seed).topology.is_tree for seed in range(1, 31)
             if len(draw_for("mesh+simple", seed).topology.routers) > 2}  # fmt: skip
    assert sizes == {False}


@pytest.mark.parametrize("protocol", ["covering", "mesh+xroute", "mesh+advertisement+covering"])
@pytest.mark.one_in(3)
def test_examine_finds_nothing_wrong_where_links_form_circles(protocol: str) -> None:
    examined = examine(draw_for(protocol, 25), protocol)
    assert not examined.scenario.topology.is_tree
    assert examined.found == {}
    assert examined.judgment.must > 0
