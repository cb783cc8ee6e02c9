"""Conditions: what all links, clocks and routers are like from the beginning."""

from __future__ import annotations

from dataclasses import replace
from random import Random

import pytest

from sapwood.errors import InputError, UnknownNameError
from sapwood.limits.timing import DRIFT_PPM
from sapwood.overlay.shapes import parse_topology
from sapwood.simulation.channels import Channel, SetChannel
from sapwood.simulation.clocks import SetClock
from sapwood.simulation.conditions import PERFECT, Conditions, parse_delay, parse_drift
from sapwood.simulation.network import NOMINAL, Timing
from sapwood.simulation.scenario import CrashRouter, Scenario, Step, subscribe_then_publish
from sapwood.simulation.scenario_document import decode_scenario, encode_scenario
from tests.simulation.helpers import drawn, publications, run, seeds, subscriptions

LINE = parse_topology("line:3", Random(0).randrange)
LATENCY_S = 0.01
PROCESSING_S = 0.1


def line(count: int, conditions: Conditions, *others: Step) -> Scenario:
    """A client of r1 publishes so many within a moment, for one of r3."""
    record: dict[str, object] = {"x": 2}
    sent = publications(*((f"p{number}", record, "r1") for number in range(count)))
    wanted = subscriptions(("s", "x > 1", "r3"))
    plain = subscribe_then_publish("line", LINE, wanted, sent, interval_s=0.0, seed=1)
    return conditions.of(replace(plain, steps=(*plain.steps[:-1], *others, plain.steps[-1])))


BUSY = Conditions(timing=Timing(processing_s=PROCESSING_S))


def test_a_router_takes_messages_of_neighbors_one_after_the_other() -> None:
    trial = run(line(3, BUSY), "simple")
    delays = trial.metrics.delay_s
    first = 2 * (LATENCY_S + PROCESSING_S)
    assert delays.p50 == pytest.approx(first + PROCESSING_S)
    assert delays.max == pytest.approx(first + 2 * PROCESSING_S), "r2 was busy with two others"
    assert [publication for publication, _ in trial.pairs] == ["p0", "p1", "p2"]
    assert trial.judgment.must == 3
    assert trial.judgment.is_clean


def test_what_waits_at_a_router_that_crashes_is_lost_and_may_be() -> None:
    crash = Step(CrashRouter("r2"), LATENCY_S + 1.5 * PROCESSING_S)
    trial = run(line(3, BUSY, crash), "simple")
    assert trial.metrics.messages_lost == 3, "two at r2 and one on its way from there"
    assert trial.judgment.is_clean
    assert not trial.pairs


@pytest.mark.parametrize("protocol", ["covering", "xroute", "advertisement+covering+merging"])
@seeds(2)
def test_routers_that_take_time_deliver_the_same(seeds: range, protocol: str) -> None:
    for seed in seeds:
        scenario = drawn(seed)
        timing = replace(scenario.timing, processing_s=0.004 * (1 + seed % 3))
        trial = run(replace(scenario, timing=timing), protocol)
        assert trial.judgment.is_clean, seed


def test_conditions_begin_before_anything_else() -> None:
    channel, clock = Channel(delay="uniform", scale_s=0.5), SetClock(drift_ppm=50)
    scenario = line(1, Conditions(channel, Timing(jitter=0.5), clock))
    assert [step.action for step in scenario.steps[:2]] == [SetChannel(channel), clock]
    assert scenario.timing == Timing(jitter=0.5)
    slow = run(scenario, "simple").metrics
    assert slow.delay_s.max > 2 * LATENCY_S == run(line(1, PERFECT)).metrics.delay_s.max
    assert slow.bounds.wrong == slow.bounds.wrong_ages == 0


def test_what_is_not_said_stays_as_the_scenario_has_it() -> None:
    uneven = replace(line(1, PERFECT), timing=Timing(jitter=2.0))
    assert PERFECT.of(uneven) is uneven
    lossy = Conditions(Channel(loss=0.5)).of(uneven)
    assert lossy.timing == uneven.timing
    assert lossy.steps[1:] == uneven.steps


def test_processing_travels_in_a_scenario_of_a_file() -> None:
    scenario = line(1, BUSY)
    assert decode_scenario(encode_scenario(scenario)) == scenario
    assert scenario.timing != NOMINAL


@pytest.mark.parametrize(
    ("text", "channel"),
    [
        ("uniform:0.5", Channel(delay="uniform", scale_s=0.5)),
        ("pareto:0.002:0.25", Channel(delay="pareto", scale_s=0.002, longest_s=0.25)),
    ],
)
def test_a_delay_is_a_distribution_and_its_seconds(text: str, channel: Channel) -> None:
    assert parse_delay(text) == channel


@pytest.mark.parametrize("text", ["pareto", "pareto:", "pareto:x", "pareto:-1", "uniform:1:2:3"])
def test_a_delay_without_seconds_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is not like pareto"):
        parse_delay(text)


def test_a_distribution_that_there_is_not_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(UnknownNameError, match="known: uniform, exponential, pareto"):
        parse_delay("none:1")


def test_a_drift_is_a_number_or_drawn() -> None:
    assert parse_drift("drawn") == SetClock(is_drawn=True)
    assert parse_drift(f"-{DRIFT_PPM}") == SetClock(drift_ppm=-DRIFT_PPM)
    assert parse_drift("+7") == SetClock(drift_ppm=7)
    for text in ("", "1.5", "--3", "fast"):
        with pytest.raises(InputError, match="neither `drawn` nor"):
            parse_drift(text)
