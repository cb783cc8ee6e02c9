from __future__ import annotations

import json
from dataclasses import replace
from random import Random

import pytest

from sapwood.language import parse_filter
from sapwood.overlay.shapes import parse_topology
from sapwood.routing.protocols import protocol
from sapwood.simulation.history import History, SubscriptionName
from sapwood.simulation.metrics import (
    Delays,
    LinkUse,
    link_use,
    quantiles,
    recovery_delays,
    update_delays,
)
from sapwood.simulation.scenario import CrashRouter, Scenario, Step, subscribe_then_publish
from sapwood.simulation.stopwatch import Stopwatch
from sapwood.simulation.world import World
from tests.simulation.helpers import publications, run, subscriptions

LINE = parse_topology("line:4", Random(0).randrange)
SCENARIO = subscribe_then_publish(
    "plain",
    LINE,
    subscriptions(("s1", "x > 1", "r4"), ("s2", "x > 1", "r2")),
    publications(("p1", {"x": 2}, "r1"), ("p2", {"x": 0}, "r1")),
    seed=3,
)


def test_measure_counts_what_happened() -> None:
    metrics = run(SCENARIO, "simple").metrics
    assert metrics.routers == 4
    assert metrics.subscriptions == 2
    assert metrics.publications == 2
    assert metrics.deliveries == 2
    assert metrics.messages == {"confirm": 6, "publish": 3, "subscribe": 6}
    assert metrics.content_matches == (2 + 2 + 2 + 1) + 2, "clients, and the link onward if any"
    assert metrics.hops == {1: 1, 3: 1}
    assert metrics.delay_s.p50 == pytest.approx(0.01)
    assert metrics.delay_s.max == pytest.approx(0.03)
    assert metrics.virtual_seconds == pytest.approx(0.06 + 0.03)
    assert metrics.seed == 3
    assert (metrics.refused, metrics.unsent, metrics.messages_lost, metrics.links_closed) == (
        (0,) * 4
    )
    assert list(metrics.tables) == ["r1", "r2", "r3", "r4"]
    assert metrics.tables["r1"]["received"] == 2
    assert metrics.verdicts.must == 2
    assert metrics.verdicts.checked_publications == 2
    assert metrics.verdicts.diverged is None


def test_updates_take_the_way_there_and_back_and_those_of_who_has_gone_do_not_count() -> None:
    metrics = run(SCENARIO, "simple").metrics
    assert metrics.update_s.max == pytest.approx(2 * 0.03), "s1 has three links to go"
    assert metrics.recovery_s == Delays(0.0, 0.0, 0.0, 0.0)
    assert metrics.processing_s == {}
    history = History(LINE)
    name, other = SubscriptionName("r1", "ann", "s"), SubscriptionName("r1", "bob", "s")
    for one in (name, other):
        history.subscribe(0.0, one, parse_filter("x > 1"))
        history.subscribed(1.0, one)
    history.subscribe(2.0, name, parse_filter("x > 2"))
    history.subscribed(4.0, name)
    history.unsubscribe(5.0, name)
    history.unsubscribed(5.5, name)
    history.gone(9.0, "r1", "bob")
    assert sorted(update_delays(history)) == [0.5, 1.0, 1.0, 2.0]


def test_recovering_takes_from_the_return_of_the_last_link_until_all_is_settled() -> None:
    history = History(LINE)
    history.link_down(1.0, "r1", "r2")
    history.link_down(1.0, "r2", "r3")
    history.link_joined(5.0, "r1", "r2")
    history.link_joined(7.0, "r2", "r3")
    history.settle(9.5)
    history.link_down(11.0, "r1", "r2")
    history.link_joined(12.0, "r1", "r2")
    history.settle(12.25)
    history.settle(20.0)
    assert recovery_delays(history) == [2.5, 0.25]


def test_routers_that_are_timed_say_what_they_computed_and_when_they_last_heard() -> None:
    ticks = iter(range(10**6))
    watch = Stopwatch(lambda: float(next(ticks)))
    world = World(LINE, watch.maker(protocol("simple")), validate=False)
    world.drain()
    watch.restart()
    begun = world.now
    world.subscribe(SubscriptionName("r1", "ann", "s"), parse_filter("x > 1"))
    world.drain()
    assert watch.processing_s == {"r1": 2.0 + 1.0, "r2": 2.0, "r3": 2.0, "r4": 1.0}
    assert watch.delay_s(begun) == pytest.approx(2 * 0.03 + watch.seconds)
    watch.restart()
    assert watch.delay_s(world.now) == 0.0


def test_content_matches_are_those_of_the_sides_that_are_asked() -> None:
    assert run(SCENARIO, "flooding").metrics.content_matches == 2 * 4, "only clients are asked"
    crash = Step(CrashRouter("r4"))
    crashed = replace(SCENARIO, steps=(*SCENARIO.steps, crash))
    assert run(crashed, "flooding").metrics.content_matches == 2 * 4, "what r4 has counted counts"


def test_measure_counts_what_advertisements_cost_and_save() -> None:
    scenario = subscribe_then_publish(
        "promised",
        LINE,
        subscriptions(("s1", "x > 1", "r3"), ("s2", "x > 1", "r4"), ("s3", "y = 1", "r1")),
        publications(("p1", {"x": 2}, "r2"), ("p2", {"x": 0}, "r2")),
        advertisements=[("a1", parse_filter("x > 0 and not exists y"), "r2")],
    )
    metrics = run(scenario, "advertisement+identity").metrics
    assert metrics.advertisements == 1
    assert metrics.refused == 1
    assert metrics.messages == {
        "advertise": 3,
        "confirm": 2,
        "confirmadvertisement": 3,
        "publish": 2,
        "subscribe": 2,
    }
    assert metrics.tables["r2"]["received"] == 1
    assert [metrics.tables[name]["advertisements"] for name in metrics.tables] == [1] * 4
    assert (metrics.verdicts.admitted, metrics.verdicts.rebuffed) == (0, 0)


def test_measure_finds_needless_crossings_only_where_publications_flood() -> None:
    assert run(SCENARIO, "covering").metrics.false_positives == LinkUse(3, 3, 0)
    assert run(SCENARIO, "flooding").metrics.false_positives == LinkUse(6, 6, 3)


def test_link_use_leaves_out_what_was_not_checked() -> None:
    world = run(SCENARIO, "flooding").outcome.world
    assert link_use(world, {"p2": ()}) == LinkUse(6, 3, 3)
    assert link_use(world, {}) == LinkUse(6, 0, 0)


def test_measure_counts_what_could_not_be_sent_or_was_refused() -> None:
    publish = SCENARIO.steps[-2]
    steps = (*SCENARIO.steps[:-2], Step(CrashRouter("r1")), publish)
    assert run(Scenario("unsent", LINE, steps)).metrics.unsent == 1


def test_metrics_are_json() -> None:
    trial = run(SCENARIO)
    written = json.loads(trial.metrics.to_json())
    assert written == json.loads(json.dumps(trial.metrics.to_builtins()))
    assert written["verdicts"]["lost"] == 0
    assert written["hops"] == {"1": 1, "3": 1}
    assert written["trace"] == trial.outcome.world.trace.digest


def test_with_diverged_changes_that_figure_alone() -> None:
    metrics = run(SCENARIO).metrics
    verdicts = metrics.with_diverged(2).verdicts
    assert verdicts.diverged == 2
    assert replace(verdicts, diverged=None) == metrics.verdicts


def test_quantiles_are_delays_that_happened() -> None:
    delays = [float(number) for number in range(1, 101)]
    assert quantiles(delays) == Delays(p50=50.0, p90=90.0, p99=99.0, max=100.0)
    assert quantiles([3.0]) == Delays(3.0, 3.0, 3.0, 3.0)
    assert quantiles([2.0, 1.0]) == Delays(1.0, 2.0, 2.0, 2.0)
    assert quantiles([]) == Delays(0.0, 0.0, 0.0, 0.0)
