from __future__ import annotations

from random import Random

import pytest

from sapwood.errors import InvariantError, LimitError
from sapwood.overlay.shapes import parse_topology
from sapwood.routing.effects import Effect
from sapwood.routing.inputs import Input
from sapwood.routing.router import Router
from sapwood.simulation.scenario import (
    CrashRouter,
    FailLink,
    Scenario,
    Step,
    Until,
    WaitAction,
    subscribe_then_publish,
)
from sapwood.simulation.simulator import router_maker, simulate
from tests.simulation.helpers import PROTOCOLS, publications, run, subscriptions

LINE = parse_topology("line:4", Random(0).randrange)


def plain(**options: object) -> Scenario:
    return subscribe_then_publish(
        "plain",
        LINE,
        subscriptions(("s1", "x > 1", "r4"), ("s2", "x > 2", "r1"), ("s3", "x > 1", "r3")),
        publications(("p1", {"x": 2}, "r1"), ("p2", {"x": 3}, "r4"), ("p3", {"x": 0}, "r2")),
        **options,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_simulate_delivers_what_the_oracle_demands(protocol: str) -> None:
    trial = run(plain(), protocol)
    assert [(p, s.id) for p, s in trial.pairs] == [
        ("p1", "s3"),
        ("p1", "s1"),
        ("p2", "s2"),
        ("p2", "s3"),
        ("p2", "s1"),
    ]
    assert trial.judgment.is_clean
    assert (trial.judgment.must, trial.judgment.may, trial.judgment.must_not) == (5, 0, 4)


def test_simulate_waits_for_confirmations_before_it_goes_on() -> None:
    scenario = plain()
    steps = tuple(s for s in scenario.steps if s.action != WaitAction(Until.QUIET))
    trial = run(Scenario("impatient", LINE, steps))
    assert trial.judgment.must == 5
    without = tuple(s for s in steps if not isinstance(s.action, WaitAction))
    trial = run(Scenario("hasty", LINE, without))
    assert trial.judgment.must < 5
    assert trial.judgment.is_clean


def test_simulate_goes_on_when_what_it_waits_for_cannot_happen() -> None:
    class Silent(Router):
        def handle(self, event: Input, now: float) -> list[Effect]:
            return []

    outcome = simulate(plain(), lambda name, _: Silent(name))
    assert len(outcome.stuck) == 6
    assert outcome.stuck[0] == "r4/subscriber/s1: x > 1"


def test_simulate_ends_faults_that_the_scenario_left_and_drains() -> None:
    steps = (*plain().steps, Step(FailLink("r1", "r2")), Step(CrashRouter("r4")))
    trial = run(Scenario("unfinished", LINE, steps))
    world = trial.outcome.world
    assert world.quiet
    assert list(world.routers) == ["r1", "r2", "r3", "r4"]
    assert all(world.network.is_joined(link.a, link.b) for link in LINE.links)
    assert trial.outcome.stuck == ()


def test_simulate_reports_every_step() -> None:
    done: list[int] = []
    simulate(plain(), router_maker("simple"), progress=done.append)
    assert done == list(range(1, len(plain().steps) + 1))


def test_simulate_checks_routers_at_rest_even_when_not_after_each_input() -> None:
    class Broken(Router):
        def validate(self) -> None:
            raise InvariantError("broken")

    with pytest.raises(InvariantError, match="broken"):
        simulate(plain(), lambda name, _: Broken(name), validate=False)


def test_simulate_stops_at_the_limit() -> None:
    with pytest.raises(LimitError, match="SIMULATION_INPUTS_MAX is 20"):
        simulate(plain(), router_maker("simple"), inputs_max=20)


def test_router_maker_gives_each_incarnation_its_own_keys() -> None:
    scenario = plain()
    steps = (*scenario.steps, Step(CrashRouter("r4")))
    trial = run(Scenario("crash", LINE, steps), "simple")
    story = "\n".join(trial.outcome.world.trace.story)
    assert "subscribe r4.1.1, sending 1: x > 1 to r3" in story


@pytest.mark.parametrize("engine", ["counting", "columnar", "reference"])
def test_router_maker_takes_any_engine(engine: str) -> None:
    assert run(plain(), "covering", engine).pairs == run(plain(), "simple").pairs
