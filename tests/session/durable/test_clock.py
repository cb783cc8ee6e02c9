"""The time of ages."""

from __future__ import annotations

from sapwood.session.durable.clock import SteadyClock
from sapwood.session.durable.restoring import latest
from tests.session.durable.world import World


def test_time_goes_on_by_the_time_of_timers() -> None:
    clock = SteadyClock(1000.0, 5.0)
    assert (clock.time(5.0), clock.time(7.5)) == (1000.0, 1002.5)


def test_time_never_goes_back_behind_an_earlier_life() -> None:
    clock = SteadyClock(1000.0, 5.0, latest=5000.0)
    assert (clock.time(5.0), clock.time(6.0)) == (5000.0, 5001.0)


def test_the_latest_time_of_a_life_is_kept() -> None:
    world = World()
    assert latest(world.kept.values()) == 0.0
    world.open("all")
    world.advance(900.0)
    world.publish(1)
    world.commit()
    assert latest(world.kept.values()) == world.time


def test_what_is_younger_than_its_bound_survives_a_clock_that_was_set_back() -> None:
    world = World()
    world.open("all")
    world.publish(1)
    world.commit()
    kept = latest(world.kept.values())
    world.time = SteadyClock(kept - 10_000_000.0, 0.0, kept).time(0.0)
    world.crash()
    assert world.hub.show("all", world.time).oldest_s == 0.0
    assert world.hub.show("all", world.time).waiting == 1
