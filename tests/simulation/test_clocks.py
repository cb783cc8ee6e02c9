"""Clocks that drift, jump and stop in virtual time, and what routers know of time then."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sapwood.errors import InputError
from sapwood.language import parse_filter
from sapwood.model.publication import Publication
from sapwood.overlay.shapes import parse_topology
from sapwood.overlay.topology import Overlay
from sapwood.simulation.channels import DELAYS, Channel, SetChannel
from sapwood.simulation.clocks import STOPPED, DriftingClock, SetClock
from sapwood.simulation.corruption import corrupt
from sapwood.simulation.faults import decode_faults
from sapwood.simulation.history import ClientName, SubscriptionName
from sapwood.simulation.scenario import CorruptTables, Scenario, Step
from sapwood.simulation.scenario_document import decode_scenario, encode_scenario
from sapwood.simulation.simulator import check_loss, protocol_on, router_maker
from sapwood.simulation.timekeeping import Timekeeping, exact
from sapwood.simulation.world import World
from sapwood.timing.drift import PER, Drift
from sapwood.timing.link_bounds import LinkBounds


def line(count: int) -> Overlay:
    """Routers r1, r2 and so on in a row."""
    return parse_topology(f"line:{count}", lambda _: 0)


def test_a_clock_shows_what_the_worked_example_says() -> None:
    clock = DriftingClock(500, 500, 5_000)
    assert (clock.read(0), clock.read(1_000_000)) == (5_000, 1_005_500)
    clock.set_rate(1_000_000, -500)
    assert clock.read(2_000_000) == 2_005_000


@given(
    st.lists(st.tuples(st.integers(0, 10**10), st.integers(-500, 500)), max_size=8),
    st.integers(0, 10**11),
    st.integers(0, 10**10),
)
def test_a_clock_whose_rate_changes_keeps_its_drift(
    changes: list[tuple[int, int]], waiting: int, from_: int
) -> None:
    clock, at, drift = DriftingClock(500), 0, Drift(500)
    readings = [(0, clock.read(0))]
    for after, rate in changes:
        at += after
        clock.set_rate(at, rate)
        readings.append((at, clock.read(at)))
    at += waiting
    readings.append((at, clock.read(at)))
    for then, shown in readings[:-1]:
        passed = readings[-1][1] - shown
        assert drift.down(passed) <= at - then <= drift.up(passed)
    assert clock.is_right
    reading = clock.read(at) + from_
    when = clock.when(reading)
    assert when is not None
    assert clock.read(when) >= reading
    assert when <= at or clock.read(when - 1) < reading


def test_a_clock_that_stopped_or_jumped_is_right_no_more() -> None:
    stopped, jumped = DriftingClock(500), DriftingClock(500)
    stopped.set_rate(10, STOPPED)
    jumped.jump(10, 5)
    assert (stopped.read(10**9), stopped.when(11)) == (10, None)
    assert jumped.read(10) == 15
    assert not stopped.is_right
    assert not jumped.is_right
    with pytest.raises(InputError):
        stopped.set_rate(10, STOPPED - 1)
    with pytest.raises(InputError):
        SetClock("r1", PER + 1)


@given(st.floats(0, 1e6), st.integers(-500, 500), st.floats(0, 1e3))
def test_a_deadline_by_a_drifting_clock_comes_when_that_shows_it(
    now: float, drift: int, wait: float
) -> None:
    time = Timekeeping(lambda: 0.5)
    time.change("r1", SetClock("r1", drift), 0.0)
    deadline = time.shown("r1", now) + wait
    at = time.when("r1", deadline)
    assert at is not None
    assert time.shown("r1", at) >= deadline


@pytest.mark.parametrize("delay", sorted(DELAYS))
def test_delays_lie_between_nothing_and_the_longest(delay: str) -> None:
    generator = Random(1)
    channel = Channel(delay=delay, scale_s=0.01, longest_s=0.5)
    drawn = [channel.draw_delay(generator.random) for _ in range(10_000)]
    assert min(drawn) >= 0
    assert max(drawn) <= 0.5
    if delay == "pareto":
        assert max(drawn) == 0.5, "the tail is heavy"
    assert channel.extra_max_s == (0.0 if delay == "none" else 0.5)


ROUGH = Channel(delay="pareto", scale_s=0.002, pause_s=0.003)


def run(topology: Overlay, changes: list[Any], protocol: str = "covering") -> World:
    """Publications from both ends, 300 each, to a subscriber at each router."""
    world = World(topology, router_maker(protocol_on(topology, protocol)), seed=7)
    for home in topology.routers:
        world.subscribe(SubscriptionName(home, "c", "s"), parse_filter("true"))
    world.drain()
    for change in changes:
        (world.set_clock if isinstance(change, SetClock) else world.set_channel)(change)
    for number in range(300):
        for home in (topology.routers[0], topology.routers[-1]):
            world.publish(ClientName(home, "p"), Publication(f"{home}.{number}", {"x": 1}))
        world.run_until(world.now + 0.01)
    world.heal()
    world.drain()
    return world


def test_ages_are_bounded_under_drift_delays_and_pauses() -> None:
    world = run(line(4), [SetClock(is_drawn=True), SetChannel(ROUGH)])
    told = world.time.bounds
    assert (told.wrong, told.wrong_ages) == (0, 0)
    assert told.messages > 1800
    assert told.unknown < 20
    assert told.deliveries == 600 * 4
    assert told.unbounded < 20


@pytest.mark.parametrize("rates", [(-500, 500), (500, -500)])
@pytest.mark.one_in(2)
def test_clocks_at_their_limits_make_no_bound_wrong(rates: tuple[int, int]) -> None:
    changes: list[Any] = [SetClock(f"r{number}", rates[number % 2]) for number in range(1, 4)]
    told = run(line(3), [*changes, SetChannel(ROUGH)]).time.bounds
    assert (told.wrong, told.wrong_ages) == (0, 0)
    assert told.deliveries > told.unbounded + 1000


def test_under_flooding_bounds_hold_where_links_lose_repeat_and_reorder() -> None:
    rough = Channel(0.1, 0.1, 0.3, "pareto", 0.01)
    world = run(line(4), [SetClock(is_drawn=True), SetChannel(rough)], "flooding")
    told = world.time.bounds
    assert world.network.messages_lost > 100
    assert (told.wrong, told.wrong_ages) == (0, 0)
    assert told.deliveries > 1000


def test_what_rests_on_a_clock_that_fails_is_not_judged() -> None:
    world = run(line(3), [SetClock("r2", STOPPED)])
    assert world.time.bounds.wrong == 0
    assert not world.time.is_right()
    assert world.time.is_right("r1", "r3")


def test_faults_say_what_links_and_clocks_do() -> None:
    document = {
        "channel": [{"between": ["r1", "r2"], "loss": 0.5, "start": 1.0, "stop": 2.0}],
        "clock": [{"router": "r1", "at": 0.5, "drift": 100}, {"drift": "drawn"}],
    }
    assert decode_faults(document, line(2), 0) == [
        (0.0, SetClock(is_drawn=True)),
        (0.5, SetClock("r1", 100)),
        (1.0, SetChannel(Channel(loss=0.5), ("r1", "r2"))),
        (2.0, SetChannel(Channel(), ("r1", "r2"))),
    ]


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({"channel": [{"loss": 2}]}, "share from 0 to 1"),
        ({"channel": [{"delay": "gauss"}]}, "distribution of delays"),
        ({"channel": [{"start": 2, "stop": 1}]}, "cannot stop"),
        ({"channel": [{"between": ["r1", "r9"]}]}, "channel 1"),
        ({"clock": [{"router": "r9"}]}, "clock 1"),
        ({"clock": [{"stops": 1}]}, "true or false"),
    ],
)
def test_entries_that_cannot_be_are_refused(document: Any, said: str) -> None:
    with pytest.raises(InputError, match=said):
        decode_faults(document, line(2), 0)


def test_a_protocol_that_rests_on_order_is_refused_where_links_lose() -> None:
    lossy = Scenario("x", line(2), (Step(SetChannel(Channel(loss=0.1))),))
    check_loss(lossy, protocol_on(line(2), "flooding"))
    with pytest.raises(InputError, match="rests on links that do not"):
        check_loss(lossy, protocol_on(line(2), "covering"))


def test_virtual_time_is_counted_in_whole_nanoseconds() -> None:
    assert exact(0.1) == 100_000_000


def test_a_scenario_with_clocks_and_channels_is_written_and_read_back() -> None:
    steps = (
        Step(SetClock("r1", 100, 0.5)),
        Step(SetClock(is_drawn=True), 0.25),
        Step(SetChannel(Channel(0.1, 0.2, 0.3, "pareto", 0.01, 2.0, 0.5), ("r1", "r2"))),
        Step(SetChannel(ROUGH)),
    )
    scenario = Scenario("x", line(2), steps)
    assert decode_scenario(encode_scenario(scenario)) == scenario


@pytest.mark.parametrize("share", [0.3, 1.0])
def test_marks_that_are_damaged_are_given_up_and_no_bound_is_wrong_because_of_them(
    share: float,
) -> None:
    world = World(line(4), router_maker("flooding"), seed=3, validate=False)
    world.set_clock(SetClock(is_drawn=True))
    world.set_channel(SetChannel(Channel(delay="pareto", scale_s=0.01)))
    world.subscribe(SubscriptionName("r4", "ann", "s"), parse_filter("true"))
    world.drain()
    for number in range(300):
        source, name = ("r1", "r4")[number % 2], f"r{number % 4 + 1}"
        world.publish(ClientName(source, "bob"), Publication(f"p{number}", {"x": number}))
        world.run_until(world.now + 0.02)
        corrupt(world, CorruptTables(name, ("marks",), share, number))
    world.drain()
    bounds = world.time.bounds
    assert (bounds.wrong, bounds.wrong_ages) == (0, 0)
    assert 0 < bounds.unknown < bounds.messages, "bounds are given up, and are known again"


def test_marks_that_are_believed_although_they_are_damaged_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(LinkBounds, "_is_sound", lambda _: True)
    with pytest.raises(AssertionError):
        test_marks_that_are_damaged_are_given_up_and_no_bound_is_wrong_because_of_them(1.0)
